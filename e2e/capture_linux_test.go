package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The ring has gone round several times: it has the newest packets of the cable
// and of loopback, up to the last before it was stopped.
func TestARingHoldsTheNewestPackets(t *testing.T) {
	heavy(t)
	t.Parallel()
	n := newLAN(t)
	r := n.capture("--file-size", "1", "--files", "4")
	for range 10 {
		n.ask(false, 8, "part")
		n.ask(true, 8, "part")
	}
	r.stop()
	if s := r.status(); s.State != "stopped" || s.Dropped != 0 || s.Captured != s.Received {
		t.Errorf("the status is %+v", s)
	}
	packets := n.joined()
	n.wantTheLast(packets, 3_000_000/(64<<10)-8)
	devices := map[string]int{}
	for _, p := range packets {
		devices[p.device]++
	}
	if len(devices) != 2 {
		t.Errorf("the packets are of the interfaces %v, want two", devices)
	}
}

// What comes at 20 MB/s is in the files: no packet is dropped, none is missing.
func TestNoPacketIsDroppedAt20MBASecond(t *testing.T) {
	heavy(t)
	n := newLAN(t)
	r := n.capture()
	n.ask(false, 3, "flood", "--limit-rate", "20M")
	n.ask(true, 3, "flood", "--limit-rate", "20M")
	if code, stderr := r.check(); code != 0 {
		t.Errorf("the check says %s", stderr)
	}
	r.stop()
	var packets int64
	var all []int
	for _, f := range n.files() {
		packets += int64(len(wholePackets(t, f.content)))
		all = append(all, requests(t, f.content)...)
	}
	if s := r.status(); s.Dropped != 0 || s.Received != packets || s.Captured != packets {
		t.Errorf("the files have %d packets, and the status is %+v", packets, s)
	}
	if want := []int{1, 2, 3, 4, 5, 6}; !slices.Equal(all, want) {
		t.Errorf("the files have the requests %v, want %v", all, want)
	}
}

// With a buffer that is too small packets are dropped, and counted as tcpdump does.
func TestDroppedPacketsAreCounted(t *testing.T) {
	heavy(t)
	n := newLAN(t)
	words := filepath.Join(n.dir, "words")
	n.wrap("tcpdump", fmt.Sprintf(`exec %s "$@" 2> >(tee -a %s >&2)`, need(t, "tcpdump"), words))
	r := n.capture("--buffer", "64", "--file-size", "1000")
	for r.status().Dropped == 0 {
		if n.asked > 300 {
			t.Fatal("nothing was dropped in 5 GB")
		}
		n.ask(true, 10, "flood")
	}
	until(t, "a warning", func() bool { return strings.Contains(r.said.String(), "packets were dropped") })
	r.stop()
	s := r.status()
	packets := 0
	for _, file := range n.files() {
		packets += len(wholePackets(t, file.content))
	}
	if s.Received != s.Captured+s.Dropped || int64(packets) != s.Captured {
		t.Errorf("the files have %d packets, and the status is %+v", packets, s)
	}
	text, err := os.ReadFile(words)
	if err != nil {
		t.Fatal(err)
	}
	for what, got := range map[string]int64{"captured": s.Captured, "received by filter": s.Received, "dropped by kernel": s.Dropped} {
		all := regexp.MustCompile(`(\d+) packets? `+what).FindAllStringSubmatch(string(text), -1)
		if len(all) == 0 || all[len(all)-1][1] != fmt.Sprint(got) {
			t.Errorf("the status has %d %s; tcpdump says\n%s", got, what, text)
		}
	}
}

// tcpdump is killed when the ring has gone round: the new one overwrites nothing
// that the ring still holds, and the two rings are one to whoever reads them.
func TestAKilledTcpdumpLosesNothingThatTheRingHolds(t *testing.T) {
	heavy(t)
	t.Parallel()
	n := newLAN(t)
	r := n.capture("--file-size", "1", "--files", "4")
	n.ask(false, 100, "part")
	before := n.settled()
	syscall.Kill(r.status().PID, syscall.SIGKILL)
	until(t, "the next tcpdump", func() bool { s := r.status(); return s.Restarts == 1 && s.State == "running" })
	after := n.files()
	if len(after) != len(before)+1 || after[len(after)-1].name != "site.pcap0" {
		t.Fatalf("there were %d files, and now there are %d, %s the newest", len(before), len(after), after[len(after)-1].name)
	}
	for i, had := range before {
		if got := after[i]; got.name != fmt.Sprint("site.pcap", 1000+i) || !bytes.Equal(got.content, had.content) {
			t.Errorf("%s with %d bytes became %s with %d", had.name, len(had.content), got.name, len(got.content))
		}
	}
	for range 10 {
		n.ask(false, 5, "part")
		var all []int
		for _, f := range n.settled() {
			all = append(all, requests(t, f.content)...)
		}
		wantRow(t, "the ring", all)
	}
	until(t, "the first ring to be gone", func() bool {
		n.ask(false, 5, "part")
		names := []string{}
		for _, f := range n.files() {
			names = append(names, f.name)
		}
		return len(names) == 4 && !slices.ContainsFunc(names, func(name string) bool { return len(name) > len("site.pcap0") })
	})
	r.stop()
	if !strings.Contains(r.said.String(), "tcpdump has ended and is started again") {
		t.Errorf("it did not say so:\n%s", r.said)
	}
	n.wantTheLast(n.joined(), 20)
}

// Files are downloaded while the ring goes round: each is of one round, and whole.
func TestDownloadsDuringRotationAreNeverMixedNorTorn(t *testing.T) {
	heavy(t)
	const downloads = 100
	n := newLAN(t)
	n.capture("--file-size", "1", "--files", "3")
	s := n.serve()
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for from := 1; ; from += 500 {
			url := fmt.Sprintf("http://%s/part?n=[%d-%d]", siteAddress, from, from+499)
			select {
			case <-stop:
				stopped <- nil
				return
			default:
				if out, err := n.browser.command("curl", "-sSf", "--rate", "400/s", "-o", "/dev/null", url).CombinedOutput(); err != nil {
					stopped <- fmt.Errorf("curl: %w: %s", err, out)
					return
				}
			}
		}
	}()
	until(t, "the ring to be full", func() bool { return len(s.list()) == 3 })
	seen, taken := map[int]bool{}, 0
	for tries := 0; taken < downloads && len(stopped) == 0; tries++ {
		if tries > 10*downloads {
			t.Fatalf("of %d downloads %d succeeded", tries, taken)
		}
		for _, name := range s.list() {
			to := filepath.Join(t.TempDir(), name)
			if !s.download(name, to) {
				continue
			}
			b, err := os.ReadFile(to)
			if err != nil {
				t.Fatal(err)
			}
			numbers := requests(t, b)
			wantRow(t, name, numbers)
			for _, number := range numbers {
				seen[number] = true
			}
			taken++
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	t.Logf("%d downloads had %d of the requests", taken, len(seen))
}

// Whoever is killed takes tcpdump along, and the next one may begin at once.
func TestAKilledCaptureLeavesNoTcpdump(t *testing.T) {
	heavy(t)
	t.Parallel()
	n := newLAN(t)
	r := n.capture()
	n.ask(false, 5, "part")
	r.cmd.Process.Kill()
	<-r.ended
	until(t, "tcpdump to be gone", func() bool {
		code, stderr := r.check()
		return code == 1 && strings.Contains(stderr, "it was killed")
	})
	again := n.capture()
	if code, stderr := again.check(); code != 0 {
		t.Errorf("the check of the next one ends with %d: %s", code, stderr)
	}
	n.ask(false, 5, "part")
	again.stop()
	files := n.files()
	if all := requests(t, files[len(files)-1].content); !slices.Equal(all, []int{6, 7, 8, 9, 10}) {
		t.Errorf("the second has the requests %v", all)
	}
}

// What tcpdump may do is what its capabilities say.
func TestACaptureWantsCapabilities(t *testing.T) {
	heavy(t)
	t.Parallel()
	need(t, "tcpdump")
	for _, c := range []struct{ has, says string }{
		{"+net_raw,+setgid", "capturing site on lo"},
		{"+setgid", "permission to perform this capture"},
		{"+net_raw", "Couldn't change to 'root'"},
	} {
		n := newNamespace(t)
		ring := t.TempDir()
		cmd := n.command("setpriv", "--bounding-set", "-all,"+c.has, "--inh-caps", "-all", binary(t), "capture", "--name", "site", "--captures", ring, "-i", "lo")
		said := &said{}
		cmd.Stderr = said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		until(t, c.says, func() bool { return strings.Contains(said.String(), c.says) })
		cmd.Process.Signal(syscall.SIGTERM)
		err := <-ended
		if works := strings.Contains(c.says, "capturing"); works != (err == nil) || !works && cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("with %s it ends with %v\n%s", c.has, err, said)
		}
	}
}

// tcpdump does not notice a full disk, and would leave damage in its files.
func TestACaptureGoesOnWhenTheDiskHasRoomAgain(t *testing.T) {
	heavy(t)
	t.Parallel()
	n := newLAN(t)
	d := mountDisk(t, "-t", "tmpfs", "-o", "size=4m", "tmpfs")
	if err := os.Symlink(d.path, filepath.Join(n.dir, "ring")); err != nil {
		t.Fatal(err)
	}
	r := n.capture("--file-size", "1", "--files", "10")
	n.ask(false, 100, "part")
	until(t, "the disk to be full", func() bool { return strings.Contains(r.said.String(), "can't write its files") })
	until(t, "its status to say so", func() bool {
		code, said := r.check()
		return code == 1 && strings.Contains(said, "it is restarting: tcpdump can't write its files")
	})
	d.do("mount", "-o", "remount,size=64m", d.path)
	room := time.Now()
	until(t, "it to capture again", func() bool { s := r.status(); return s.State == "running" && s.UpdatedAt.After(room) })
	n.ask(false, 10, "part")
	r.stop()
	files := n.files()
	wantRow(t, "the newest file", requests(t, files[len(files)-1].content))
	if all := requests(t, files[len(files)-1].content); len(all) == 0 || all[len(all)-1] != n.asked {
		t.Errorf("the newest file has the requests %v, want them up to %d", all, n.asked)
	}
}

// What show says of a ring is what tshark sees in it.
func TestShowAgreesWithTshark(t *testing.T) {
	heavy(t)
	t.Parallel()
	n := newLAN(t)
	r := n.capture("--file-size", "1", "--files", "100")
	n.ask(false, 40, "part")
	n.ask(true, 40, "part")
	body := filepath.Join(n.dir, "body")
	fake := "GET /fake HTTP/1.1\r\nHost: fake\r\n\r\n"
	if err := os.WriteFile(body, bytes.Repeat([]byte(fake), 20_000), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--data-binary", "@" + body, "http://" + siteAddress + "/take?" + strings.Repeat("q", 7000), "http://" + siteAddress + "/take"},
		{"-H", "Transfer-Encoding: chunked", "--data-binary", "@" + body, "http://" + siteAddress + "/take/chunks"},
		{"-I", "http://" + siteAddress + "/little"},
		{"-k", "--resolve", "shop.example:443:" + siteAddress, "https://shop.example/part"},
		{"-k", "--resolve", "www.blog.example:443:" + siteAddress, "https://www.blog.example/part"},
		{"-k", "https://" + siteAddress + "/little"}, // no name for an address
	} {
		n.browser.do("curl", append([]string{"-sS", "-H", "Expect:", "-o", "/dev/null"}, args...)...)
	}
	r.stop()

	args := []string{"show", "--json"}
	files := n.files()
	for _, f := range slices.Backward(files) {
		args = append(args, filepath.Join(r.ring, f.name))
	}
	stdout, stderr, code := run(t, n.dir, args...)
	if code != 0 || stderr != "" {
		t.Fatalf("show ends with %d: %s", code, stderr)
	}
	var packets int
	var requests, names, order []string
	connections := 0
	for line := range strings.Lines(stdout) {
		var l struct {
			Kind, Protocol, ServerName, Path string
			Packets                          int
			TLS                              bool
			Requests                         []string
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		switch {
		case l.Kind == "capture":
			packets = l.Packets
		case l.Kind == "file":
			order = append(order, filepath.Base(l.Path))
		case l.Kind == "flow" && l.Protocol == "tcp":
			connections++
			requests = append(requests, l.Requests...)
			if l.TLS {
				names = append(names, l.ServerName)
			}
		}
	}

	joined := filepath.Join(n.dir, "joined.pcap")
	var all []byte
	var want []string
	for i, f := range files {
		want = append(want, f.name)
		if i == 0 {
			all = append(all, f.content[:24]...)
		}
		all = append(all, f.content[24:]...)
	}
	if !slices.Equal(order, want) {
		t.Errorf("show has the files as %q, want %q", order, want)
	}
	if err := os.WriteFile(joined, all, 0o600); err != nil {
		t.Fatal(err)
	}
	seen := dissect(t, joined)
	var lines, hellos []string
	streams := map[string]bool{}
	for _, p := range seen {
		if p.line != "" {
			lines = append(lines, p.line)
		}
		if p.hello {
			hellos = append(hellos, p.serverName)
		}
		if p.connection != "" {
			streams[p.connection] = true
		}
	}
	for _, list := range [][]string{requests, lines, names, hellos} {
		slices.Sort(list)
	}
	if packets != len(seen) || connections != len(streams) {
		t.Errorf("show has %d packets and %d connections; tshark has %d and %d", packets, connections, len(seen), len(streams))
	}
	if !slices.Equal(requests, lines) {
		t.Errorf("show has the requests\n%.100q; tshark has\n%.100q", requests, lines)
	}
	if !slices.Equal(names, hellos) || !slices.Equal(names, []string{"", "shop.example", "www.blog.example"}) {
		t.Errorf("show has the names %q; tshark has %q", names, hellos)
	}
}

func TestACopyForWhichThereIsNoRoomIsUnavailable(t *testing.T) {
	heavy(t)
	t.Parallel()
	small := mountDisk(t, "-t", "tmpfs", "-o", "size=1m", "tmpfs")
	ring := t.TempDir()
	if err := os.WriteFile(filepath.Join(ring, "site.pcap0"), make([]byte, 20<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveRing(t, ring, "TMPDIR="+small.path)
	for range 3 {
		if status, body := s.get("/traffic/capture?name=site.pcap0"); status != http.StatusServiceUnavailable || !bytes.Contains(body, []byte(`"unavailable"`)) {
			t.Errorf("it is %d %s", status, body)
		}
	}
	if entries, err := os.ReadDir(small.path); err != nil || len(entries) != 0 {
		t.Errorf("it left %v, %v", entries, err)
	}
}
