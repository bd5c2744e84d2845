package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentenv/netlog/netlog/netlogtest"
)

// A line is a line of the log, read as any reader in the world would: by its
// JSON, with none of the product's code.
type line struct {
	N          int64
	Event      string
	ID         int64
	T          string
	Lost       int64
	Kind, Via  string
	Client     string
	Connection int64
	Target     string
	Request    *message
	Response   *message
	Server     *struct {
		Address string
		Reused  bool
		TLS     *struct{ ALPN, SNI string }
	}
	Tunnel *struct {
		Sent, Received int64
		SNI            string
	}
	WebSocket *struct {
		Sent, Received struct{ Messages, Bytes int64 }
		Close          *struct {
			Code int
			By   string
		}
	}
	Timings  *struct{ Blocked, DNS, Connect, TLS, Send, Wait, Receive, Total int64 }
	Failed   *struct{ Phase, Code, Reason string }
	Refused  *struct{ Code, Reason string }
	Unparsed bool

	// Of a message line.
	Dir    string
	Opcode int
	Text   *string
	Base64 []byte
}

// A message is a request or an answer of a line.
type message struct {
	Method, URL, Target string
	Version             string
	Status              int
	HeaderBytes         int64 `json:"header_bytes"`
	Pseudo              [][]string
	Headers, Trailers   [][]string
	Informational       []struct{ Status int }
	Complete            bool
	Body                *struct {
		Size      int64
		SHA256    string
		Base64    []byte
		Truncated bool
	}
}

// header is the first field of a name; "" when there is none.
func (m *message) header(name string) string {
	for _, h := range m.Headers {
		if strings.EqualFold(h[0], name) {
			return h[1]
		}
	}
	return ""
}

// headers are the values of every field of a name.
func (m *message) headers(name string) (values []string) {
	for _, h := range m.Headers {
		if strings.EqualFold(h[0], name) {
			values = append(values, h[1])
		}
	}
	return values
}

// An entry is an exchange or a tunnel: its open line and its end line.
type entry struct{ open, end *line }

// url is the request's, with the scheme that a browser gives a WebSocket.
func (e entry) url() string {
	if e.end.Response != nil && e.end.WebSocket != nil {
		return "ws" + strings.TrimPrefix(e.open.Request.URL, "http")
	}
	return e.open.Request.URL
}

// request is the request's body, from the line that has it.
func (e entry) request() []byte {
	for _, m := range []*message{e.open.Request, e.end.Request} {
		if m != nil && m.Body != nil {
			return m.Body.Base64
		}
	}
	return nil
}

// trailers are the request's, from the line that has them.
func (e entry) trailers() [][]string {
	if late := e.end.Request; late != nil && late.Trailers != nil {
		return late.Trailers
	}
	return e.open.Request.Trailers
}

// A record is a log, read whole.
type record struct {
	lines      []*line
	unreadable int     // lines that were cut short
	tunnels    []entry // in the order of their open lines
	exchanges  []entry // likewise
}

// readLog reads a log that nobody writes any more, and checks what is true of
// every one: the schema, the numbers, one end for each open, the bodies' own
// figures and the times.
func readLog(t *testing.T, path string) *record {
	t.Helper()
	text := contentOf(t, path)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		t.Errorf("the log ends within a line: %.200q", text[bytes.LastIndexByte(text, '\n')+1:])
	}
	r := &record{}
	opens, ends := map[int64]*line{}, map[int64]*line{}
	for raw := range bytes.Lines(text) {
		l := &line{}
		if err := json.Unmarshal(raw, l); err != nil {
			r.unreadable++
			continue
		}
		r.lines = append(r.lines, l)
		switch l.Event {
		case "open":
			opens[l.ID] = l
			if l.ID != l.N {
				t.Errorf("line %d: an open line with the id %d", l.N, l.ID)
			}
		case "end":
			if ends[l.ID] != nil {
				t.Errorf("line %d ends %d once more", l.N, l.ID)
			}
			if opens[l.ID] == nil {
				t.Errorf("line %d ends %d, which is not open", l.N, l.ID)
			}
			ends[l.ID] = l
		}
		checkBody(t, l, l.Request)
		checkBody(t, l, l.Response)
	}
	netlogtest.ValidateWith(t, path, netlogtest.Options{Unreadable: int64(r.unreadable)})
	for i, l := range r.lines {
		if l.N != int64(i+1) {
			t.Fatalf("whole line %d of the log has the number %d", i+1, l.N)
		}
	}
	for _, id := range slices.Sorted(func(yield func(int64) bool) {
		for id := range opens {
			if !yield(id) {
				return
			}
		}
	}) {
		if ends[id] == nil {
			t.Errorf("%d has no end line", id)
			continue
		}
		e := entry{opens[id], ends[id]}
		checkTimes(t, e)
		if e.open.Kind == "tunnel" {
			r.tunnels = append(r.tunnels, e)
		} else {
			r.exchanges = append(r.exchanges, e)
		}
	}
	return r
}

// gaveUp tells whether an entry is a connection that a browser left in the TLS
// handshake. Chromium does so, and connects anew, when an authority that a policy
// gives becomes known to it only while it connects; and any browser with a connection
// that it opened for later, when it ends.
func gaveUp(e entry) bool {
	f := e.end.Failed
	return f != nil && f.Phase == "client_tls" && (f.Code == "client_gone" || f.Code == "client_refused_certificate")
}

// checkTimes checks that an entry's phases fill the time from its open line
// to its end, in microseconds.
func checkTimes(t *testing.T, e entry) {
	t.Helper()
	var at [2]time.Time
	for i, l := range []*line{e.open, e.end} {
		var err error
		if at[i], err = time.Parse("2006-01-02T15:04:05.000000Z", l.T); err != nil {
			t.Errorf("line %d: %v", l.N, err)
			return
		}
	}
	s := e.end.Timings
	if s == nil {
		t.Errorf("line %d has no timings", e.end.N)
		return
	}
	sum := s.Blocked + s.DNS + s.Connect + s.Send + s.Wait + s.Receive
	if f := e.end.Failed; f != nil && f.Code == "restarted" { // whoever knew the phases is dead
		sum = s.Total
	}
	if sum != s.Total || s.Total != at[1].Sub(at[0]).Microseconds() || s.TLS > s.Connect {
		t.Errorf("line %d: from %s to %s, timings %+v", e.end.N, e.open.T, e.end.T, *s)
	}
}

// checkBody compares a body's figures with its own bytes.
func checkBody(t *testing.T, l *line, m *message) {
	t.Helper()
	if m == nil || m.Body == nil {
		return
	}
	b := m.Body
	if int64(len(b.Base64)) > b.Size {
		t.Errorf("line %d keeps %d bytes of %d", l.N, len(b.Base64), b.Size)
	}
	if len(b.Base64) == 0 || int64(len(b.Base64)) < b.Size {
		return
	}
	if hash := sum(b.Base64); b.SHA256 != hash {
		t.Errorf("line %d: sha256 %q, but the bytes' is %q", l.N, b.SHA256, hash)
	}
}

func sum(b []byte) string {
	hash := sha256.Sum256(b)
	return hex.EncodeToString(hash[:])
}

// to are the exchanges with some hosts.
func (r *record) to(hosts ...string) []entry {
	var some []entry
	for _, e := range r.exchanges {
		if isOf(e.open.Request.URL, hosts) {
			some = append(some, e)
		}
	}
	return some
}

// messagesOf are an exchange's messages in order: the direction, and the text or
// "close" of each.
func (r *record) messagesOf(id int64) (all []string) {
	for _, l := range r.lines {
		if l.Event != "message" || l.ID != id {
			continue
		}
		said := string(l.Base64)
		switch {
		case l.Opcode == 8:
			said = "close"
		case l.Text != nil:
			said = *l.Text
		}
		all = append(all, l.Dir+" "+said)
	}
	return all
}

// find is the one exchange with this method and URL.
func (r *record) find(t *testing.T, method, url string) entry {
	t.Helper()
	var found []entry
	for _, e := range r.exchanges {
		if e.open.Request.Method == method && e.open.Request.URL == url {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		t.Fatalf("the log has %s %s %d times", method, url, len(found))
	}
	return found[0]
}

// isOf says whether a URL's authority is one of the hosts.
func isOf(url string, hosts []string) bool {
	_, rest, _ := strings.Cut(url, "://")
	authority, _, _ := strings.Cut(rest, "/")
	return slices.Contains(hosts, authority)
}

func contentOf(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// contains says whether a log, read while it is written, has a text yet.
func contains(t *testing.T, path, text string) bool {
	t.Helper()
	return bytes.Contains(contentOf(t, path), []byte(text))
}
