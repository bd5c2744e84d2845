package api

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentenv/netlog/netlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "Tz4nq0V-4yWq0m1C1d7c8Wb5-3u2pHkq_Zt9xLrS0aE"

// A world is an API that is served, with a log and captures of its own.
type world struct {
	t        *testing.T
	log      string
	captures string
	url      string
	said     *said  // what the API told its logger
	stop     func() // ends what waits
}

// newWorld serves with a token, "" for none.
func newWorld(t *testing.T, token string) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, captures: filepath.Join(dir, "captures"), log: filepath.Join(dir, "network.jsonl"), said: &said{}}
	a := New(Config{
		Name: "env1", Token: token, Captures: w.captures, Log: w.log,
		Logger: slog.New(slog.NewTextHandler(w.said, nil)),
	})
	server := httptest.NewServer(a)
	w.url, w.stop = server.URL, a.Stop
	t.Cleanup(func() {
		a.Stop()
		server.Close()
		a.Wait()
	})
	return w
}

// said gathers what is written to it.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// call makes a request; headers are name, value, name, value.
func (w *world) call(method, path, body string, headers ...string) (*http.Response, []byte) {
	w.t.Helper()
	answer, b, err := w.try(method, path, strings.NewReader(body), headers...)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer, b
}

// try is call for other goroutines than the test's.
func (w *world) try(method, path string, body io.Reader, headers ...string) (*http.Response, []byte, error) {
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, body)
	if err != nil {
		return nil, nil, err
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	answer, err := http.DefaultTransport.RoundTrip(r) // no redirect is followed
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	return answer, b, err
}

// fails holds that a call is answered with an error of this status and code, and
// returns its message.
func (w *world) fails(status int, code, method, path, body string, headers ...string) string {
	w.t.Helper()
	answer, b := w.call(method, path, body, headers...)
	var f struct {
		OK    *bool
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal(b, &f); err != nil || answer.StatusCode != status || f.OK == nil || *f.OK || f.Error.Code != code || f.Error.Message == "" {
		w.t.Errorf("%s %s %.80s: %d %s, want %d %s", method, path, body, answer.StatusCode, b, status, code)
	}
	return f.Error.Message
}

// line is the line n of a log that began at the hour, with site to be told by.
func line(n int64, hour int, site string) string {
	at := time.Date(2026, 1, 1, hour, 0, 0, int(n)*1000, time.UTC)
	l := &netlog.Line{Head: netlog.Head{N: n, Event: netlog.EventOpen, ID: n, Time: at}, Open: &netlog.Open{
		Time: at, Kind: netlog.KindTunnel, Via: netlog.ViaTunnel, Site: site, Client: "127.0.0.1:50000", Connection: 1, Target: "shop.test:443",
	}}
	if n == 1 {
		l = &netlog.Line{Head: netlog.Head{N: 1, Event: netlog.EventStart, Time: at}, Start: &netlog.Start{}}
	}
	b, err := netlog.AppendLine(nil, l)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// lines are those from first to last.
func lines(first, last int64, hour int) string {
	var b strings.Builder
	for n := first; n <= last; n++ {
		b.WriteString(line(n, hour, ""))
	}
	return b.String()
}

func (w *world) write(path, content string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// appendTo is safe in other goroutines than the test's.
func (w *world) appendTo(path, content string) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.WriteString(content)
		f.Close()
	}
	if err != nil {
		w.t.Error(err)
	}
}

// pcap is a capture of packets.
func pcap(packets ...string) string {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 0xa1b2c3d4)
	b = le.AppendUint16(b, 2)
	b = le.AppendUint16(b, 4)
	b = le.AppendUint64(b, 0)
	b = le.AppendUint32(b, 262144)
	b = le.AppendUint32(b, 276)
	for i, p := range packets {
		b = le.AppendUint32(b, 1_760_000_000)
		b = le.AppendUint32(b, uint32(i))
		b = le.AppendUint32(b, uint32(len(p)))
		b = le.AppendUint32(b, uint32(len(p)))
		b = append(b, p...)
	}
	return string(b)
}

var update = flag.Bool("update", false, "write the golden files")

// golden compares got with a file of testdata.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test -update writes it anew):\n%s", path, got)
	}
}
