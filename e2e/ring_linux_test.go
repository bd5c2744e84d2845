package e2e

import (
	"bytes"
	encoding "encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
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
	if errors.Is(err, fs.ErrNotExist) { // for a moment, where the disk is full
		return s
	}
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
	url string
}

func (n *lan) serve() *served {
	n.t.Helper()
	return serveRing(n.t, filepath.Join(n.dir, "ring"))
}

func serveRing(t *testing.T, ring string, env ...string) *served {
	t.Helper()
	d, url := startServe(t, env, "--captures", ring)
	return &served{d, url}
}

func (s *served) get(path string) (status int, body []byte) {
	s.t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	answer, err := client.Get(s.url + path)
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
	if a > b+0.01 {
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

// A file is one of the ring's.
type file struct {
	name    string
	content []byte
}

// files are those of the ring, the oldest first. One that goes while they are read
// has them read again.
func (n *lan) files() (files []file) {
	n.t.Helper()
	until(n.t, "the ring to be read", func() bool {
		var err error
		files, err = n.ring()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			n.t.Fatal(err)
		}
		return err == nil
	})
	return files
}

func (n *lan) ring() (files []file, err error) {
	paths, err := filepath.Glob(filepath.Join(n.dir, "ring", "site.pcap*"))
	if err != nil {
		return nil, err
	}
	written := map[string]time.Time{}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		written[filepath.Base(path)] = info.ModTime()
		files = append(files, file{filepath.Base(path), b})
	}
	slices.SortFunc(files, func(a, b file) int { return written[a.name].Compare(written[b.name]) })
	return files, nil
}

// wholePackets takes a capture apart, which has to end with a whole packet.
func wholePackets(t *testing.T, b []byte) (packets [][]byte) {
	t.Helper()
	if len(b) < 24 || little(b) != 0xa1b2c3d4 {
		t.Fatalf("no capture but %q", b[:min(len(b), 24)])
	}
	packets, whole := packetsOf(b)
	if whole < len(b) {
		t.Fatalf("%d bytes behind the last packet", len(b)-whole)
	}
	return packets
}

// packetsOf takes a capture apart as far as it is whole.
func packetsOf(b []byte) (packets [][]byte, whole int) {
	if len(b) < 24 {
		return nil, 0
	}
	for whole = 24; len(b)-whole >= 16; {
		end := whole + 16 + int(little(b[whole+8:]))
		if end > len(b) {
			break
		}
		packets = append(packets, b[whole+16:end])
		whole = end
	}
	return packets, whole
}

// settled are the files of the ring once tcpdump has written all that there was, to
// the end of the last request's connection: both sides' FINs, and what answers the
// second (RFC 9293 §3.6). Only then does nothing change in them any more.
func (n *lan) settled() (files []file) {
	n.t.Helper()
	until(n.t, "the last connection's end in the ring", func() bool {
		files = n.files()
		last, fins, over := false, 0, false
		for _, f := range files {
			packets, whole := packetsOf(f.content)
			if whole < len(f.content) || whole == 0 {
				return false
			}
			for _, p := range packets {
				if m := numbered.FindSubmatch(p); m != nil {
					last, fins, over = string(m[1]) == strconv.Itoa(n.asked), 0, false
				} else if hasFIN(p) {
					fins++
				} else {
					over = last && fins == 2
				}
			}
		}
		return over
	})
	return files
}

// hasFIN tells whether a packet, behind the header of Linux's "any" device (SLL2),
// is one of TCP over IPv4 with a FIN.
func hasFIN(packet []byte) bool {
	const sll2 = 20
	if len(packet) < sll2+20 || packet[sll2]>>4 != 4 || packet[sll2+9] != 6 {
		return false
	}
	tcp := packet[sll2+int(packet[sll2]&15)*4:]
	return len(tcp) >= 20 && tcp[13]&1 != 0
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
