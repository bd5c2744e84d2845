package traffic

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentenv/netlog/capture"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var began = time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC)

// header is a capture's.
func header() []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 0xa1b2c3d4)
	b = le.AppendUint16(b, 2)
	b = le.AppendUint16(b, 4)
	b = le.AppendUint64(b, 0)
	b = le.AppendUint32(b, 262144)
	return le.AppendUint32(b, 276)
}

// packet adds one of that time.
func packet(b []byte, at time.Time, data []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, uint32(at.Unix()))
	b = le.AppendUint32(b, uint32(at.Nanosecond()/1000))
	b = le.AppendUint32(b, uint32(len(data)))
	b = le.AppendUint32(b, uint32(len(data)))
	return append(b, data...)
}

// pcap is a capture that begins so many seconds after began, of so many packets
// of 100 bytes.
func pcap(second, packets int) []byte {
	b := header()
	for i := range packets {
		b = packet(b, began.Add(time.Duration(second)*time.Second+time.Duration(i)*time.Millisecond), make([]byte, 100))
	}
	return b
}

func write(t *testing.T, dir, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// ringServer serves a folder's captures.
func ringServer(t *testing.T, dir string) *httptest.Server {
	t.Helper()
	h := Handler{Ring: capture.Ring{Dir: dir}, Logger: slog.New(slog.DiscardHandler)}
	mux := http.NewServeMux()
	mux.HandleFunc(ListPath, h.List)
	mux.HandleFunc(GetPath, h.Get)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// fetch makes a request; headers are name, value, name, value. It is safe in other
// goroutines than the test's.
func fetch(method, url string, headers ...string) (*http.Response, []byte, error) {
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		return nil, nil, err
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	return answer, b, err
}

func mustFetch(t *testing.T, method, url string, headers ...string) (*http.Response, []byte) {
	t.Helper()
	answer, b, err := fetch(method, url, headers...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return answer, b
}

// refused holds that an answer is an error of this status and code.
func refused(t *testing.T, answer *http.Response, b []byte, status int, code string) {
	t.Helper()
	var f failure
	if err := json.Unmarshal(b, &f); err != nil || answer.StatusCode != status || f.OK || f.Error.Code != code || f.Error.Message == "" {
		t.Errorf("%s: %d %s, want %d %s", answer.Request.URL, answer.StatusCode, b, status, code)
	}
}
