package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agentenv/netlog/netlog"
)

// 64 uploads of 20 MiB, each of them past what is kept before one has ended:
// the log has the first 10 MiB of each and the hash of the whole, and the
// process takes no more memory than it may.
func TestManyLargeUploadsAtOnce(t *testing.T) {
	heavy(t)
	t.Parallel()
	const uploads, size, kept, most = 64, 20 << 20, 10 << 20, 400 << 20
	w := newQuietWorld(t, newPatient())
	p := w.proxy("--log-stall", "10m") // however slow the disk is
	client := p.client()
	client.Timeout = 0

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	meet := meeting(ctx, uploads)
	var sums [uploads]string
	var running sync.WaitGroup
	for i := range uploads {
		running.Go(func() {
			hash := sha256.New()
			first := io.LimitReader(noise(i), 3*size/4)
			body := io.TeeReader(io.MultiReader(first, meet, io.LimitReader(noise(uploads+i), size/4)), hash)
			said, err := fetch(ctx, client, fmt.Sprintf("https://%s/sink?n=%d", w.origin.host, i), body, size)
			sums[i] = hex.EncodeToString(hash.Sum(nil))
			if err != nil || said != sums[i] {
				t.Errorf("upload %d: the origin had %q, %s was sent (%v)", i, said, sums[i], err)
				cancel()
			}
		})
	}
	running.Wait()
	if t.Failed() {
		return
	}
	until(t, "the log to be written", func() bool { return p.metric("agentenv_netlog_log_queue_bytes") == 0 })
	after := p.vitals()
	t.Logf("after: %v", after)
	if after.peak > most {
		t.Errorf("%d MiB of memory at most, %d are allowed", after.peak>>20, most>>20)
	}
	p.stop()

	// The lines are too long to have each one validated.
	log, err := netlog.OpenLog(p.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var lines []*netlog.Line
	var buf []byte
	scan := log.Scan()
	for scan.Next() {
		if buf, err = log.ReadLine(scan.Pos(), buf); err != nil {
			t.Fatal(err)
		}
		l, err := netlog.ParseLine(buf)
		if err != nil {
			t.Fatal(err)
		}
		if lines = append(lines, l); l.N != int64(len(lines)) {
			t.Fatalf("line %d has the number %d", len(lines), l.N)
		}
	}
	if scan.Err() != nil || scan.Unreadable() > 0 {
		t.Errorf("%d lines are unreadable (%v)", scan.Unreadable(), scan.Err())
	}
	is(t, "the log's lines", len(lines), 1+2*uploads)
	found := pairs(lines)
	for i := range uploads {
		url := fmt.Sprintf("https://%s/sink?n=%d", w.origin.host, i)
		e := found[url]
		if len(e) != 1 {
			t.Errorf("the log has %s %d times", url, len(e))
			continue
		}
		body := e[0].body()
		if body == nil || e[0].outcome() != "200" {
			t.Errorf("%s: %s, body %v", url, e[0].outcome(), body)
			continue
		}
		want := make([]byte, kept)
		io.ReadFull(noise(i), want)
		had, _ := body.Kept.(netlog.Bytes)
		if body.Size != size || body.SHA256 != sums[i] || !body.Truncated || !bytes.Equal(had, want) {
			t.Errorf("%s: size %d, sha256 %s (it is %s), truncated %v, %d bytes kept, as sent: %v",
				url, body.Size, body.SHA256, sums[i], body.Truncated, len(had), bytes.Equal(had, want))
		}
	}
}

// fetch is a GET, or a POST if there is a body. It returns the answer's body;
// the status has to be 200.
func fetch(ctx context.Context, client *http.Client, url string, body io.Reader, size int64) (string, error) {
	method := "GET"
	if body != nil {
		method = "POST"
	}
	r, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return "", err
	}
	r.ContentLength = size
	answer, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, said)
	}
	return string(said), err
}

// meeting is a part of n bodies at which each waits for the others.
func meeting(ctx context.Context, n int64) calls {
	var come atomic.Int64
	all := make(chan struct{})
	return func() {
		if come.Add(1) == n {
			close(all)
		}
		select {
		case <-all:
		case <-ctx.Done():
		}
	}
}

// noise are endless bytes that no other seed has.
func noise(seed int) io.Reader {
	var key [32]byte
	copy(key[:], fmt.Sprint(seed))
	return rand.NewChaCha8(key)
}

// calls is a part of a body that has no bytes and is read when the parts before
// it have been sent.
type calls func()

func (f calls) Read([]byte) (int, error) {
	f()
	return 0, io.EOF
}
