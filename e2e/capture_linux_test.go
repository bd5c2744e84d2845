package e2e

import (
	"bytes"
	encoding "encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A recording is a capture of a site's network, with its ring.
type recording struct {
	*daemon
	ring string
}

func (n *lan) capture(args ...string) *recording {
	n.t.Helper()
	need(n.t, "tcpdump")
	r := &recording{ring: filepath.Join(n.dir, "ring")}
	if err := os.MkdirAll(r.ring, 0o755); err != nil {
		n.t.Fatal(err)
	}
	args = append([]string{"capture", "--name", "site", "--captures", r.ring, "--container", fmt.Sprint(n.site.pid)}, args...)
	r.daemon = startDaemon(n.t, "capturing site on any", n.env, args...)
	return r
}

// A captureStatus is site.status.json.
type captureStatus struct {
	State, Error                string
	PID, Restarts               int
	Captured, Received, Dropped int64
	DroppedByInterface          int64     `json:"dropped_by_interface"`
	StartedAt                   time.Time `json:"started_at"`
	UpdatedAt                   time.Time `json:"updated_at"`
}

func (r *recording) status() (s captureStatus) {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.ring, "site.status.json"))
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// check is the health check's exit status.
func (r *recording) check() (code int, stderr string) {
	r.t.Helper()
	_, stderr, code = run(r.t, r.ring, "capture", "--name", "site", "--captures", r.ring, "--check")
	return code, stderr
}

// A served is a serve of a ring.
type served struct {
	*daemon
	address string
}

func (n *lan) serve() *served {
	n.t.Helper()
	s := &served{daemon: startDaemon(n.t, "card", nil, "serve", "--listen", "127.0.0.1:0", "--captures", filepath.Join(n.dir, "ring"))}
	s.address = listens.FindString(s.said.String())
	return s
}

func (s *served) get(path string) (status int, body []byte) {
	s.t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	answer, err := client.Get("http://" + s.address + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err = io.ReadAll(answer.Body); err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, body
}

// list are the names of the captures, as listed.
func (s *served) list() (names []string) {
	s.t.Helper()
	status, body := s.get("/traffic/captures")
	var list struct {
		Captures []struct{ Name, Container string }
	}
	if err := json.Unmarshal(body, &list); err != nil || status != http.StatusOK {
		s.t.Fatalf("the list is %d %s", status, body)
	}
	for _, c := range list.Captures {
		if c.Container != "site" {
			s.t.Errorf("%s is of %q", c.Name, c.Container)
		}
		names = append(names, c.Name)
	}
	return names
}

// download saves a capture; false when it is not to be had now.
func (s *served) download(name, to string) bool {
	s.t.Helper()
	status, body := s.get("/traffic/capture?name=" + url.QueryEscape(name))
	switch status {
	case http.StatusOK:
	case http.StatusServiceUnavailable, http.StatusNotFound:
		return false
	default:
		s.t.Fatalf("%s is %d %s", name, status, body)
	}
	if err := os.WriteFile(to, body, 0o600); err != nil {
		s.t.Fatal(err)
	}
	return true
}

// A packet is what tshark has of one.
type packet struct {
	at         float64
	device     string // the interface's number
	request    string // the target
	line       string // all of the request line
	hello      bool   // it has a ClientHello
	serverName string
	connection string // its number, of TCP
}

// dissect has tshark read a capture. It wants whole packets, none malformed.
func dissect(t *testing.T, file string) (packets []packet) {
	t.Helper()
	var complaints bytes.Buffer
	args := []string{"-n", "-r", file, "-T", "fields", "-E", "separator=/t", "-E", "occurrence=f"}
	fields := []string{
		"frame.time_epoch", "sll.ifindex", "http.request.method", "http.request.uri", "http.request.version",
		"tls.handshake.type", "tls.handshake.extensions_server_name", "tcp.stream", "_ws.malformed",
	}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	tshark := exec.CommandContext(t.Context(), need(t, "tshark"), args...)
	tshark.Env = append(clean(os.Environ()), "HOME="+t.TempDir())
	tshark.Stderr = &complaints
	out, err := tshark.Output()
	if err != nil {
		t.Fatalf("tshark of %s: %v\n%s", file, err, complaints.String())
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		at, err := strconv.ParseFloat(f[0], 64)
		if err != nil || len(f) != len(fields) {
			t.Fatalf("tshark of %s: %q", file, line)
		}
		if f[8] != "" {
			t.Errorf("%s has a malformed packet: %s", file, line)
		}
		p := packet{at: at, device: f[1], request: f[3], hello: f[5] == "1", serverName: f[6], connection: f[7]}
		if p.request != "" {
			p.line = f[2] + " " + f[3] + " " + f[4]
		}
		packets = append(packets, p)
	}
	return packets
}

// joined are the packets of a ring's files in the order of the list, which has to
// be that of their times.
func (n *lan) joined() (packets []packet) {
	n.t.Helper()
	s := n.serve()
	defer s.stop()
	for _, name := range s.list() {
		to := filepath.Join(n.t.TempDir(), name)
		if !s.download(name, to) {
			n.t.Fatalf("%s is not to be had", name)
		}
		packets = append(packets, dissect(n.t, to)...)
	}
	if !slices.IsSortedFunc(packets, func(a, b packet) int { return compareTimes(a.at, b.at) }) {
		n.t.Error("the packets are not in the order in which they were captured")
	}
	return packets
}

// compareTimes takes what two processors capture at once as it comes.
func compareTimes(a, b float64) int {
	if a > b+0.001 {
		return 1
	}
	return 0
}

// wantTheLast wants the newest requests, at least so many, without a gap.
func (n *lan) wantTheLast(packets []packet, least int) {
	n.t.Helper()
	var numbers []int
	for _, p := range packets {
		if p.request != "" && strings.Contains(p.request, "?n=") {
			numbers = append(numbers, number(n.t, p.request))
		}
	}
	if len(numbers) < least {
		n.t.Fatalf("the ring has %d requests, want %d at least", len(numbers), least)
	}
	for i, got := range numbers {
		if want := n.asked - len(numbers) + 1 + i; got != want {
			n.t.Fatalf("the ring has the requests %v, want a row that ends with %d", numbers, n.asked)
		}
	}
}

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

// A file is one of the ring's.
type file struct {
	name    string
	content []byte
}

// files are those of the ring, the oldest first.
func (n *lan) files() (files []file) {
	n.t.Helper()
	paths, err := filepath.Glob(filepath.Join(n.dir, "ring", "site.pcap*"))
	if err != nil {
		n.t.Fatal(err)
	}
	written := map[string]time.Time{}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			n.t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			n.t.Fatal(err)
		}
		written[filepath.Base(path)] = info.ModTime()
		files = append(files, file{filepath.Base(path), b})
	}
	slices.SortFunc(files, func(a, b file) int { return written[a.name].Compare(written[b.name]) })
	return files
}

// wholePackets takes a capture apart, which has to end with a whole packet.
func wholePackets(t *testing.T, b []byte) (packets [][]byte) {
	t.Helper()
	if len(b) < 24 || little(b) != 0xa1b2c3d4 {
		t.Fatalf("no capture but %q", b[:min(len(b), 24)])
	}
	for b = b[24:]; len(b) > 0; {
		end := len(b) + 1
		if len(b) >= 16 {
			end = 16 + int(little(b[8:]))
		}
		if end > len(b) {
			t.Fatalf("%d bytes behind the last packet", len(b))
		}
		packets = append(packets, b[16:end])
		b = b[end:]
	}
	return packets
}

var numbered = regexp.MustCompile(`GET /\w+\?n=(\d+) HTTP/1\.1\r\n`)

func little(b []byte) uint32 { return encoding.LittleEndian.Uint32(b) }

// requests are the numbers of those in a capture, in its order.
func requests(t *testing.T, b []byte) (numbers []int) {
	t.Helper()
	for _, p := range wholePackets(t, b) {
		if m := numbered.FindSubmatch(p); m != nil {
			n, err := strconv.Atoi(string(m[1]))
			if err != nil {
				t.Fatal(err)
			}
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// wantRow wants numbers that follow one another.
func wantRow(t *testing.T, what string, numbers []int) {
	t.Helper()
	for i, n := range numbers {
		if n != numbers[0]+i {
			t.Fatalf("%s has the requests %v", what, numbers)
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
	until(t, "all of it to be written", func() bool {
		files := n.files()
		all := requests(t, files[len(files)-1].content)
		return len(all) > 0 && all[len(all)-1] == n.asked
	})
	before := n.files()
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
		files := n.files()
		for _, f := range files {
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
				if out, err := n.browser.command("curl", "-sSf", "--limit-rate", "30M", "-o", "/dev/null", url).CombinedOutput(); err != nil {
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
