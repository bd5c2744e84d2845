package traffic

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentenv/netlog/capture"
)

func TestListHasTheProtocolsShape(t *testing.T) {
	dir := t.TempDir()
	server := ringServer(t, dir)
	if _, b := mustFetch(t, "GET", server.URL+ListPath); string(b) != `{"format":"pcap","captures":[]}` {
		t.Errorf("an empty folder: %s", b)
	}
	for i, name := range []string{"site.pcap2", "site.pcap0", "db.pcap1", "site.pcap1"} {
		write(t, dir, name, pcap(i, 1))
		at := began.Add(time.Duration(i) * time.Second).Add(345 * time.Nanosecond)
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	answer, b := mustFetch(t, "GET", server.URL+ListPath)
	const want = `{"format":"pcap","captures":[` +
		`{"name":"db.pcap1","container":"db","bytes":140,"modified_at":"2026-03-04T05:06:09.000008Z"},` +
		`{"name":"site.pcap2","container":"site","bytes":140,"modified_at":"2026-03-04T05:06:07.000008Z"},` +
		`{"name":"site.pcap0","container":"site","bytes":140,"modified_at":"2026-03-04T05:06:08.000008Z"},` +
		`{"name":"site.pcap1","container":"site","bytes":140,"modified_at":"2026-03-04T05:06:10.000008Z"}]}`
	if answer.StatusCode != 200 || answer.Header.Get("Content-Type") != "application/json" || string(b) != want {
		t.Errorf("%d %s\nwant %s", answer.StatusCode, b, want)
	}
	if answer, b := mustFetch(t, "HEAD", server.URL+ListPath); answer.StatusCode != 200 || len(b) > 0 || answer.ContentLength != int64(len(want)) {
		t.Errorf("HEAD: %d, %d bytes of %d", answer.StatusCode, len(b), answer.ContentLength)
	}
}

func TestAFolderThatIsNotThereListsNothing(t *testing.T) {
	server := ringServer(t, filepath.Join(t.TempDir(), "later"))
	if _, b := mustFetch(t, "GET", server.URL+ListPath); string(b) != `{"format":"pcap","captures":[]}` {
		t.Errorf("%s", b)
	}
	answer, b := mustFetch(t, "GET", server.URL+GetPath+"?name=site.pcap0")
	refused(t, answer, b, 404, CodeNotFound)
}

func TestAFolderThatCannotBeReadIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	answer, b := mustFetch(t, "GET", ringServer(t, file).URL+ListPath)
	refused(t, answer, b, 500, CodeFailed)
}

func TestTenThousandCaptures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const n = 10_000
	for i := range n {
		write(t, dir, fmt.Sprintf("site.pcap%d", i), nil)
	}
	_, b := mustFetch(t, "GET", ringServer(t, dir).URL+ListPath)
	var l listing
	if err := json.Unmarshal(b, &l); err != nil || len(l.Captures) != n {
		t.Errorf("%d captures, %v", len(l.Captures), err)
	}
}

func TestGetGivesACaptureWhole(t *testing.T) {
	dir := t.TempDir()
	server := ringServer(t, dir)
	file := pcap(0, 1000)
	write(t, dir, "site.pcap3", append(bytes.Clone(file), "torn"...))
	for _, method := range []string{"GET", "HEAD"} {
		answer, b := mustFetch(t, method, server.URL+GetPath+"?name=site.pcap3")
		want := file
		if method == "HEAD" {
			want = nil
		}
		if answer.StatusCode != 200 || !bytes.Equal(b, want) || answer.ContentLength != int64(len(file)) {
			t.Errorf("%s: %d, %d bytes, Content-Length %d", method, answer.StatusCode, len(b), answer.ContentLength)
		}
		for name, want := range map[string]string{
			"Content-Type": "application/vnd.tcpdump.pcap", "Content-Disposition": `attachment; filename="site.pcap3"`, "Accept-Ranges": "bytes", "Cache-Control": "no-store",
		} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%s: %s %q, want %q", method, name, got, want)
			}
		}
	}
}

func TestGetRefusesWhatListCouldNotGive(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "site.pcap0", pcap(0, 1))
	write(t, dir, "notes.txt", nil)
	for name, err := range map[string]error{
		"folder.pcap0": os.Mkdir(filepath.Join(dir, "folder.pcap0"), 0o700),
		"fifo.pcap0":   syscall.Mkfifo(filepath.Join(dir, "fifo.pcap0"), 0o600),
		"link.pcap0":   os.Symlink("site.pcap0", filepath.Join(dir, "link.pcap0")),
		"out.pcap0":    os.Symlink("/etc/passwd", filepath.Join(dir, "out.pcap0")),
	} {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	server := ringServer(t, dir)
	for name, status := range map[string]int{
		"": 400, ".": 400, "..": 400, "../x": 400, "../site.pcap0": 400, "./site.pcap0": 400, "/etc/passwd": 400, ".pcap0": 400, "x": 400, "notes.txt": 400,
		"site.pcap0\x00": 400, "site.pcap0/": 400, "site.pcap0\n": 400, "séte.pcap0": 400, "%2e%2e/x": 400, `..\x.pcap0`: 400, strings.Repeat("x", 5000): 400,
		"gone.pcap0": 404, "site.pcap": 404, "folder.pcap0": 404, "fifo.pcap0": 404, "link.pcap0": 404, "out.pcap0": 404, strings.Repeat("x", 5000) + ".pcap": 404,
	} {
		answer, b := mustFetch(t, "GET", server.URL+GetPath+"?name="+url.QueryEscape(name))
		refused(t, answer, b, status, map[int]string{400: CodeInvalidParams, 404: CodeNotFound}[status])
	}
	for _, query := range []string{"", "?", "?Name=site.pcap0", "?name=site.pcap0&name=site.pcap0", "?name=%zz"} {
		answer, b := mustFetch(t, "GET", server.URL+GetPath+query)
		refused(t, answer, b, 400, CodeInvalidParams)
	}
	_, b := mustFetch(t, "GET", server.URL+ListPath)
	var l listing
	if err := json.Unmarshal(b, &l); err != nil || len(l.Captures) != 1 {
		t.Errorf("%s, %v", b, err)
	}
}

func TestPartsOfACaptureAndTheRestOfOneThatGrew(t *testing.T) {
	dir := t.TempDir()
	server := ringServer(t, dir)
	at := server.URL + GetPath + "?name=site.pcap0"
	file := pcap(0, 100)
	write(t, dir, "site.pcap0", file[:5000])
	whole, first := mustFetch(t, "GET", at)
	tag := whole.Header.Get("ETag")
	if tag == "" || strings.HasPrefix(tag, "W/") {
		t.Fatalf("ETag %q is none that If-Range takes", tag)
	}
	answer, b := mustFetch(t, "GET", at, "Range", "bytes=24-39")
	if answer.StatusCode != 206 || !bytes.Equal(b, file[24:40]) || answer.Header.Get("Content-Range") != fmt.Sprintf("bytes 24-39/%d", len(first)) {
		t.Errorf("a range: %d %q, %d bytes", answer.StatusCode, answer.Header.Get("Content-Range"), len(b))
	}

	for _, c := range []struct{ method, asked string }{{"HEAD", "bytes=24-39"}, {"GET", "packets=1-2"}} {
		answer, _ := mustFetch(t, c.method, at, "Range", c.asked)
		if answer.StatusCode != 200 || answer.ContentLength != int64(len(first)) {
			t.Errorf("%s of %s: %d, %d bytes", c.method, c.asked, answer.StatusCode, answer.ContentLength)
		}
	}

	write(t, dir, "site.pcap0", file) // in its place, as a writer that appends
	rest := fmt.Sprintf("bytes=%d-", len(first))
	answer, b = mustFetch(t, "GET", at, "Range", rest, "If-Range", tag)
	if answer.StatusCode != 206 || !bytes.Equal(append(bytes.Clone(first), b...), file) || answer.Header.Get("ETag") != tag {
		t.Errorf("the rest: %d, %d bytes behind %d, ETag %s and %s", answer.StatusCode, len(b), len(first), tag, answer.Header.Get("ETag"))
	}
	if answer, b = mustFetch(t, "GET", at, "Range", fmt.Sprintf("bytes=%d-", len(file)), "If-Range", tag); answer.StatusCode != 416 {
		t.Errorf("the rest of what is whole: %d, %d bytes", answer.StatusCode, len(b))
	}
	// A tag that holds while a capture grows does not say that there is nothing new.
	if answer, b = mustFetch(t, "GET", at, "If-None-Match", tag); answer.StatusCode != 200 || !bytes.Equal(b, file) {
		t.Errorf("If-None-Match: %d, %d bytes", answer.StatusCode, len(b))
	}

	write(t, dir, "site.pcap0", pcap(1, 100)) // the next round
	answer, b = mustFetch(t, "GET", at, "Range", rest, "If-Range", tag)
	if answer.StatusCode != 200 || !bytes.Equal(b, pcap(1, 100)) || answer.Header.Get("ETag") == tag {
		t.Errorf("the rest of another round: %d, %d bytes", answer.StatusCode, len(b))
	}
}

// Whoever runs the server is told why there is no copy, such as that a disk is full.
func TestWhyThereIsNoCopyIsTold(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "site.pcap0", nil) // its header is about to be written
	var told bytes.Buffer
	h := Handler{Ring: capture.Ring{Dir: dir}, Logger: slog.New(slog.NewTextHandler(&told, nil))}
	answer := httptest.NewRecorder()
	h.Get(answer, httptest.NewRequest("GET", GetPath+"?name=site.pcap0", nil))
	if answer.Code != 503 || !strings.Contains(told.String(), "capture=site.pcap0") || !strings.Contains(told.String(), "overwritten while it was read") {
		t.Errorf("%d: %s", answer.Code, &told)
	}
}

// A turner overwrites a ring's files again and again, as tcpdump does, until it
// is stopped.
type turner struct {
	stop    chan struct{}
	running sync.WaitGroup
	rounds  int
	err     error
}

func turn(dir string, files, packets int) *turner {
	r := &turner{stop: make(chan struct{})}
	r.running.Go(func() {
		for ; ; r.rounds++ {
			select {
			case <-r.stop:
				return
			default:
			}
			if r.err = writeRound(filepath.Join(dir, fmt.Sprintf("site.pcap%d", r.rounds%files)), r.rounds, packets); r.err != nil {
				return
			}
		}
	})
	return r
}

// writeRound overwrites a file with packets that say of which round they are, and
// which of it.
func writeRound(path string, round, packets int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	b := header()
	for i := range packets {
		data := binary.LittleEndian.AppendUint32(nil, uint32(round))
		data = binary.LittleEndian.AppendUint32(data, uint32(i))
		b = packet(b, began.Add(time.Duration(round)*time.Second), append(data, make([]byte, 1000)...))
		if i%8 == 0 || i == packets-1 { // packets are torn in between, like tcpdump's
			if _, err := f.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	return nil
}

// oneRound holds that a copy is of one round, without a gap and without a torn
// packet.
func oneRound(b []byte) error {
	if !bytes.HasPrefix(b, header()) {
		return fmt.Errorf("%d bytes do not begin with a header", len(b))
	}
	b = b[len(header()):]
	const size = 16 + 1008
	if len(b)%size != 0 {
		return fmt.Errorf("the last packet is torn: %d bytes", len(b)%size)
	}
	for i := 0; i*size < len(b); i++ {
		data := b[i*size+16:]
		round, first := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(b[16:])
		if round != first || int(binary.LittleEndian.Uint32(data[4:])) != i {
			return fmt.Errorf("packet %d is the %dth of round %d, the first is of %d", i, binary.LittleEndian.Uint32(data[4:]), round, first)
		}
	}
	return nil
}

func TestDownloadsWhileTheRingTurns(t *testing.T) {
	dir := t.TempDir()
	server := ringServer(t, dir)
	for i := range 3 {
		if err := writeRound(filepath.Join(dir, fmt.Sprintf("site.pcap%d", i)), i, 1); err != nil {
			t.Fatal(err)
		}
	}
	r := turn(dir, 3, 500)
	whole, unavailable := 0, 0
	for i := 0; whole < 100 && unavailable < 10_000; i++ {
		answer, b := mustFetch(t, "GET", fmt.Sprintf("%s%s?name=site.pcap%d", server.URL, GetPath, i%3))
		switch answer.StatusCode {
		case 200:
			whole++
			if err := oneRound(b); err != nil || int64(len(b)) != answer.ContentLength {
				t.Errorf("download %d: %v", i, err)
			}
		default:
			unavailable++
			refused(t, answer, b, 503, CodeUnavailable)
			if answer.Header.Get("Retry-After") == "" {
				t.Error("503 without Retry-After")
			}
		}
	}
	close(r.stop)
	r.running.Wait()
	if r.err != nil || whole < 100 {
		t.Errorf("%d downloads of %d rounds, %d times unavailable, %v", whole, r.rounds, unavailable, r.err)
	}
	for i := range 3 { // once it stands still there is no reason for a 503
		if answer, b := mustFetch(t, "GET", fmt.Sprintf("%s%s?name=site.pcap%d", server.URL, GetPath, i)); answer.StatusCode != 200 {
			t.Errorf("%d %s", answer.StatusCode, b)
		}
	}
}

func TestFiftyDownloadsAtOnce(t *testing.T) {
	dir := t.TempDir()
	server := ringServer(t, dir)
	if err := writeRound(filepath.Join(dir, "site.pcap0"), 1, 2000); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(dir, "site.pcap0"))
	if err != nil {
		t.Fatal(err)
	}
	var downloads sync.WaitGroup
	for range 50 {
		downloads.Go(func() {
			answer, b, err := fetch("GET", server.URL+GetPath+"?name=site.pcap0")
			if err != nil || answer.StatusCode != 200 || !bytes.Equal(b, want) {
				t.Errorf("%v, %d bytes, %v", answer, len(b), err)
			}
		})
	}
	downloads.Wait()
}

// The copy of a client that goes away in the middle is given up.
func TestAClientThatGoesAway(t *testing.T) {
	dir := t.TempDir()
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	server := ringServer(t, dir)
	write(t, dir, "site.pcap0", pcap(0, 200_000)) // more than the sockets hold
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", server.URL+GetPath+"?name=site.pcap0", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := io.CopyN(io.Discard, answer.Body, 1000); err != nil {
		t.Fatal(err)
	}
	cancel()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET %s?name=site.pcap0 HTTP/1.1\r\nHost: x\r\n\r\n", GetPath)
	conn.Close()
	server.Close() // waits for both
	left, err := os.ReadDir(temp)
	if err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
