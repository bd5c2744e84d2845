package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/netlog/netlogtest"
)

// The disk is full in the middle of the traffic, and has room again later.
func TestAFullDisk(t *testing.T) {
	heavy(t)
	t.Parallel()
	d := mountDisk(t, "-t", "tmpfs", "-o", "size=3m", "tmpfs")
	outage(t, d, func() {}, func() { d.do("mount", "-o", "remount,size=512m", d.path) })
}

// The disk answers nothing in the middle of the traffic, and goes on later.
func TestAHangingDisk(t *testing.T) {
	heavy(t)
	t.Parallel()
	d := mountImage(t)
	outage(t, d, d.freeze, d.thaw)
}

// Bodies are too many for the memory and the disk of their files hangs: they are
// relayed, and the log says of which not all was kept.
func TestUploadsWhileTheDiskHangs(t *testing.T) {
	heavy(t)
	t.Parallel()
	const uploads, size = 12, 3 << 20
	d := mountImage(t)
	w := newQuietWorld(t, newPatient())
	p := w.proxy("--log", d.log(), "--body-memory", "16MiB", "--sync", "never")
	p.log = d.log()
	client := p.client()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d.freeze()
	meet := meeting(ctx, uploads)
	var running sync.WaitGroup
	for i := range uploads {
		running.Go(func() {
			sent := noise(i)
			body := io.MultiReader(io.LimitReader(sent, size-1), meet, io.LimitReader(sent, 1))
			if _, err := fetch(ctx, client, fmt.Sprintf("https://%s/sink?n=%d", w.origin.host, i), body, size); err != nil {
				t.Error(err)
				cancel()
			}
		})
	}
	running.Wait()
	d.thaw()
	p.stop()
	found, cut := pairs(netlogtest.Validate(t, p.log)), 0
	for i := range uploads {
		url := fmt.Sprintf("https://%s/sink?n=%d", w.origin.host, i)
		sent, err := io.ReadAll(io.LimitReader(noise(i), size))
		if e := found[url]; err != nil || len(e) != 1 || e[0].outcome() != "200" || e[0].body() == nil {
			t.Errorf("%s is in the log %d times (%v)", url, len(e), err)
			continue
		}
		body := found[url][0].body()
		had, _ := body.Kept.(netlog.Bytes)
		if body.Size != size || body.SHA256 != sum(sent) || !bytes.HasPrefix(sent, had) || body.Truncated != (len(had) < size) {
			t.Errorf("%s: size %d, sha256 %s, truncated %v, %d bytes kept", url, body.Size, body.SHA256, body.Truncated, len(had))
		}
		if body.Truncated {
			cut++
		}
	}
	if cut == 0 {
		t.Error("there was memory for all of them")
	}
}

// outage has traffic before, while and after the log can't be written, from
// begins to ends. All of it is served; what the log does not have it counts.
func outage(t *testing.T, d *disk, begins, ends func()) {
	const few, open = 50, 8
	origin := newPatient()
	w := newQuietWorld(t, origin)
	// The fsync of a disk that hangs would be waited for in the end.
	p := w.proxy("--log", d.log(), "--log-stall", "500ms", "--sync", "never", "--key-log", filepath.Join(d.path, "keys.log"))
	p.log = d.log()
	client := p.client()
	var made []string // the URLs, each asked for once
	ask := func(path, body string) (url string) {
		t.Helper()
		url = fmt.Sprintf("https://%s%s?n=%d", w.origin.host, path, len(made))
		made = append(made, url)
		if _, err := fetch(t.Context(), client, url, strings.NewReader(body), int64(len(body))); err != nil {
			t.Fatalf("%s: %v\n%s", url, err, p.said)
		}
		return url
	}
	var before, meanwhile, across, after []string
	for range few {
		before = append(before, ask("/sink", "before"))
	}

	// These are open when the disk fails, and end while it does.
	var waiting sync.WaitGroup
	for i := range open {
		url := fmt.Sprintf("https://%s/waiting?i=%d", w.origin.host, i)
		made, across = append(made, url), append(across, url)
		waiting.Go(func() {
			if said, err := fetch(t.Context(), client, url, nil, 0); err != nil || said != "released" {
				t.Errorf("%s: %q, %v", url, said, err)
			}
		})
	}
	socket, err := startDialogue(t.Context(), client.Transport.(*http.Transport), place{"https", w.origin.host}, "/socket?across")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.conn.Close()
	made, across = append(made, socket.url), append(across, socket.url)
	say := func(text string) {
		t.Helper()
		if err := socket.say(text); err != nil {
			t.Error(err)
		}
	}
	say("before")
	for _, url := range across {
		until(t, "the open line of "+url, func() bool { return contains(t, p.log, url) })
	}

	begins()
	body, err := io.ReadAll(io.LimitReader(noise(1), 4<<20))
	if err != nil {
		t.Fatal(err)
	}
	stalled := func() bool { return p.metric("agentenv_netlog_log_stalled") == 1 }
	for !stalled() {
		if len(made) > 200 {
			t.Fatalf("200 uploads and no stall\n%s", p.said)
		}
		ask("/sink", string(body))
	}
	for range few {
		meanwhile = append(meanwhile, ask("/sink", "meanwhile"))
	}
	say("meanwhile")
	if err := socket.end(); err != nil {
		t.Error(err)
	}
	close(origin.release)
	waiting.Wait()
	until(t, "the ends to be lost", func() bool { return p.metric("agentenv_netlog_log_cut_total") >= float64(len(across)) })
	if !stalled() {
		t.Error("the log can be written again, though nothing was done for it")
	}

	ends()
	until(t, "the log to be written again", func() bool {
		return p.metric("agentenv_netlog_log_stalled") == 0 && p.metric("agentenv_netlog_log_queue_bytes") == 0
	})
	for range few {
		after = append(after, ask("/sink", "after"))
	}
	lost, cut := int64(p.metric("agentenv_netlog_log_lost_total")), 0
	wantCut := int(p.metric("agentenv_netlog_log_cut_total"))
	p.stop()

	lines := netlogtest.Validate(t, p.log) // no gap in the numbers, one end for each open line
	var told int64
	for _, l := range lines {
		told += l.Lost
	}
	found := pairs(lines)
	for url, e := range found {
		if len(e) > 1 {
			t.Errorf("%s is in the log %d times", url, len(e))
		}
		if f := e[0].end.Failed; f != nil && f.Code == netlog.CodeLost {
			cut++
		} else if e[0].outcome() != "200" {
			t.Errorf("%s: %s", url, e[0].outcome())
		}
	}
	t.Logf("%d asked, %d in the log, of which %d without their ends, %d lost", len(made), len(found), cut, told)
	if int64(len(found))+told != int64(len(made)) || told != lost {
		t.Errorf("%d asked; the log has %d and says that it lost %d (the metrics: %d)", len(made), len(found), told, lost)
	}
	is(t, "the number of ends that were lost", cut, wantCut)
	for _, of := range []struct {
		urls []string
		want string // "": no entry
	}{{before, "200"}, {meanwhile, ""}, {across, "lost"}, {after, "200"}} {
		for _, url := range of.urls {
			got := ""
			if e := found[url]; len(e) > 0 {
				got = e[0].outcome()
			}
			if got != of.want {
				t.Errorf("%s: %q in the log, want %q", url, got, of.want)
			}
		}
	}
	for _, says := range []string{"can't be written: exchanges go without lines", "can be written again"} {
		if !strings.Contains(p.said.String(), says) {
			t.Errorf("the proxy did not say %q:\n%s", says, p.said)
		}
	}
}
