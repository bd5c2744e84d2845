package har

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	forms "mime/multipart"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	martian "github.com/google/martian/v3/har"
	"golang.org/x/text/encoding/htmlindex"

	"github.com/agentenv/netlog/netlog"
)

// allBytes are the 256 byte values.
func allBytes() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// fieldBytes are all that a field's value may hold (RFC 9110 §5.5), and the
// control characters that servers send all the same.
func fieldBytes() string {
	return "a" + strings.NewReplacer("\x00", "", "\r", "", "\n", "").Replace(string(allBytes())) + "b"
}

// decodedBodies are what the log has of an exchange's bodies, decoded.
type decodedBodies struct{ request, response []byte }

// roundTripFixture writes a log of everything that bodies, fields and frames may
// hold, and says what the bodies are.
func roundTripFixture(t testing.TB) (*fixture, map[int64]decodedBodies) {
	t.Helper()
	f := newFixture(t)
	want := map[int64]decodedBodies{}
	exchange := func(contentType string, coding coder, body []byte) {
		coded := body
		fields := h("Content-Type", contentType, "X-All", fieldBytes(), "x-all", "", "X-ALL", "žluť")
		if coding.coding != "" {
			coded = coding.encode(body)
			fields = append(fields, netlog.Header{Name: "Content-Encoding", Value: coding.coding})
		}
		req := &netlog.Request{Method: "PUT", URL: "https://h.example/", Version: "HTTP/1.1", Headers: fields, Body: kept(coded), Trailers: h("X-Sum", fieldBytes())}
		resp := &netlog.Response{Status: 207, Reason: "Multi-Status", Version: "HTTP/1.1", Headers: slices.Clone(fields), Body: kept(coded), Trailers: h("X-Sum", fieldBytes()),
			Informational: []netlog.Informational{{Status: 103, Headers: h("Link", fieldBytes())}}}
		want[f.exchange(req, resp)] = decodedBodies{body, body}
	}
	for _, coding := range append([]coder{{}}, coders...) {
		for _, contentType := range []string{"", "application/octet-stream", "text/plain", "text/plain; charset=utf-8", "application/json", "image/png", "text/html; charset=iso-8859-1",
			"text/html; charset=shift_jis", "text/plain; charset=utf-16", "application/grpc"} {
			exchange(contentType, coding, allBytes())
			exchange(contentType, coding, []byte("žluť \ufeff\u2028\ufffd\x00 🦊"))
			exchange(contentType, coding, []byte("caf\xe9 \x93\xfa\x96\x7b"))
			exchange(contentType, coding, []byte("\xff\xfea\x00\xac\x20"))
		}
	}
	// A file of all bytes in a form, and names that are hard to write.
	var form bytes.Buffer
	w := forms.NewWriter(&form)
	w.WriteField("plain", "value")
	part, err := w.CreateFormFile("file", "naïve \"x\".bin")
	if err != nil {
		t.Fatal(err)
	}
	part.Write(allBytes())
	w.Close()
	want[f.exchange(post(w.FormDataContentType(), form.Bytes()), ok("", nil))] = decodedBodies{request: form.Bytes()}

	// Frames.
	id := f.open(&netlog.Open{Request: &netlog.Request{Method: "GET", URL: "https://h.example/chat", Version: "HTTP/1.1", Headers: h("Upgrade", "websocket")}})
	size, text := int64(256), "žluť \x00 🦊"
	f.message(id, &netlog.Message{Dir: "send", Opcode: 2, Size: &size, WireSize: 256, Frames: 1, Base64: allBytes()})
	textSize := int64(len(text))
	f.message(id, &netlog.Message{Dir: "receive", Opcode: 1, Size: &textSize, WireSize: textSize, Frames: 1, Text: &text})
	f.message(id, &netlog.Message{Dir: "receive", Opcode: 1, Size: &size, WireSize: 256, Frames: 1, Base64: allBytes()})
	f.message(id, &netlog.Message{Dir: "send", Opcode: 8, Size: &size, WireSize: 256, Frames: 1, Base64: allBytes()})
	f.end(id, &netlog.End{Response: &netlog.Response{Status: 101, Version: "HTTP/1.1", Headers: h("Upgrade", "websocket")}, WebSocket: &netlog.WebSocket{}, Timings: netlog.NoTimings(1)})
	return f, want
}

// From the HAR can be had back what is in the log, byte for byte: every body,
// header, trailer, frame and status, in their order.
func TestRoundTrip(t *testing.T) {
	f, want := roundTripFixture(t)
	log := f.log()
	archive, _ := convertLog(t, log, Options{})
	opens, ends, messages := map[int64]*netlog.Open{}, map[int64]*netlog.End{}, map[int64][]*netlog.Message{}
	var order []int64
	for lines := log.Scan(); lines.Next(); {
		b, err := log.ReadLine(lines.Pos(), nil)
		if err != nil {
			t.Fatal(err)
		}
		line, err := netlog.ParseLine(b)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case line.Open != nil:
			opens[line.ID] = line.Open
			order = append(order, line.ID)
		case line.End != nil:
			ends[line.ID] = line.End
		case line.Message != nil:
			messages[line.ID] = append(messages[line.ID], line.Message)
		}
	}
	if len(archive.Entries) != len(order) {
		t.Fatalf("%d entries of %d", len(archive.Entries), len(order))
	}
	for i := range archive.Entries {
		e := &archive.Entries[i]
		if e.ID != order[i] {
			t.Fatalf("entry %d is %d, want %d", i, e.ID, order[i])
		}
		open, end := opens[e.ID], ends[e.ID]
		sameFields(t, e.ID, e.Request.Headers, open.Request.Headers)
		sameFields(t, e.ID, e.Request.Trailers, open.Request.Trailers)
		sameFields(t, e.ID, e.Response.Headers, end.Response.Headers)
		sameFields(t, e.ID, e.Response.Trailers, end.Response.Trailers)
		for k, informational := range end.Response.Informational {
			sameFields(t, e.ID, e.Response.Informational[k].Headers, informational.Headers)
		}
		if e.Response.Status != end.Response.Status || e.Response.StatusText != end.Response.Reason || e.Request.Method != open.Request.Method {
			t.Errorf("entry %d: %s, status %d %q", e.ID, e.Request.Method, e.Response.Status, e.Response.StatusText)
		}
		if p := e.Request.PostData; p != nil && !bytes.Equal(postBytes(t, p), want[e.ID].request) {
			t.Errorf("entry %d, %s: posted %q, want %q", e.ID, p.MimeType, postBytes(t, p), want[e.ID].request)
		} else if (p == nil) != (len(want[e.ID].request) == 0) {
			t.Errorf("entry %d: postData %+v", e.ID, p)
		}
		if c := &e.Response.Content; c.Text != nil && !bytes.Equal(contentBytes(t, c), want[e.ID].response) {
			t.Errorf("entry %d, %s: content %q, want %q", e.ID, c.MimeType, contentBytes(t, c), want[e.ID].response)
		} else if c.Text == nil && len(want[e.ID].response) > 0 {
			t.Errorf("entry %d has no content", e.ID)
		}
		for k, m := range e.WebSocketMessages {
			logged := messages[e.ID][k]
			payload := logged.Base64
			if logged.Text != nil {
				payload = []byte(*logged.Text)
			}
			if got := messageBytes(t, m); !bytes.Equal(got, payload) || m.Type != logged.Dir || m.Opcode != logged.Opcode || m.Truncated {
				t.Errorf("entry %d, message %d: %q, want %q", e.ID, k, got, payload)
			}
		}
		if len(e.WebSocketMessages) != len(messages[e.ID]) {
			t.Errorf("entry %d: %d messages of %d", e.ID, len(e.WebSocketMessages), len(messages[e.ID]))
		}
	}

	// The file out of the form.
	upload := archive.Entries[len(archive.Entries)-2].Request.PostData
	_, boundary, _ := strings.Cut(upload.MimeType, "boundary=")
	r := forms.NewReader(bytes.NewReader(postBytes(t, upload)), boundary)
	if part, err := r.NextPart(); err != nil || part.FormName() != "plain" || upload.Params[0].Value != "value" {
		t.Errorf("the form's first part: %+v, %v; %+v", part, err, upload.Params)
	}
	part, err := r.NextPart()
	if err != nil {
		t.Fatal(err)
	}
	if file, err := io.ReadAll(part); err != nil || !bytes.Equal(file, allBytes()) || upload.Params[1].FileName != "naïve \"x\".bin" {
		t.Errorf("the form's file is %q, %v; %+v", file, err, upload.Params[1])
	}
}

func sameFields(t *testing.T, id int64, got []Header, want []netlog.Header) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("entry %d: %d fields, want %d", id, len(got), len(want))
		return
	}
	for i, h := range got {
		value := h.Value
		if h.ValueBase64 != "" {
			value = string(unbase64(t, h.ValueBase64))
		}
		if h.Name != want[i].Name || value != want[i].Value {
			t.Errorf("entry %d: field %q: %q, want %q: %q", id, h.Name, value, want[i].Name, want[i].Value)
		}
	}
}

func unbase64(t testing.TB, s string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Error(err)
	}
	return b
}

func postBytes(t testing.TB, p *PostData) []byte {
	if p.Base64 != "" {
		return unbase64(t, p.Base64)
	}
	return []byte(p.Text)
}

func contentBytes(t testing.TB, c *Content) []byte {
	t.Helper()
	switch {
	case c.Encoding == "base64":
		return unbase64(t, *c.Text)
	case c.Charset != "":
		e, err := htmlindex.Get(c.Charset)
		if err != nil {
			t.Fatal(err)
		}
		b, err := e.NewEncoder().Bytes([]byte(*c.Text))
		if err != nil {
			t.Error(err)
		}
		return b
	}
	return []byte(*c.Text)
}

func messageBytes(t testing.TB, m WebSocketMessage) []byte {
	if m.Opcode != 1 || m.Encoding == "base64" {
		return unbase64(t, m.Data)
	}
	return []byte(m.Data)
}

// Martian's own types read a HAR of ours, strictly but for what they lack of
// HAR 1.2: fields of pages, connections and timings, fractions of a millisecond,
// and whatever begins with an underscore.
func TestMartianReadsIt(t *testing.T) {
	f, _ := roundTripFixture(t)
	every(f)
	var out bytes.Buffer
	if _, err := Convert(f.log(), &out, Options{}); err != nil {
		t.Fatal(err)
	}
	var ours HAR
	var tree map[string]any
	if err := json.Unmarshal(out.Bytes(), &ours); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &tree); err != nil {
		t.Fatal(err)
	}
	forMartian(tree)
	stripped, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	var theirs martian.HAR
	d := json.NewDecoder(bytes.NewReader(stripped))
	d.DisallowUnknownFields()
	if err := d.Decode(&theirs); err != nil {
		t.Fatal(err)
	}
	if theirs.Log.Version != "1.2" || theirs.Log.Creator.Name != "agentenv-netlog" || len(theirs.Log.Entries) != len(ours.Log.Entries) {
		t.Fatalf("version %q by %q, %d entries", theirs.Log.Version, theirs.Log.Creator.Name, len(theirs.Log.Entries))
	}
	for i, e := range theirs.Log.Entries {
		sameAsMartian(t, &ours.Log.Entries[i], e)
	}
}

// forMartian takes from a HAR what martian's types have no place for.
func forMartian(v any) {
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			forMartian(element)
		}
	case map[string]any:
		for name, value := range v {
			number, isNumber := value.(float64)
			switch {
			case strings.HasPrefix(name, "_"),
				slices.Contains([]string{"pages", "pageref", "serverIPAddress", "connection", "blocked", "dns", "connect", "ssl", "compression", "sameSite"}, name):
				delete(v, name)
			case isNumber:
				v[name] = math.Trunc(number)
			default:
				forMartian(value)
			}
		}
	}
}

func sameAsMartian(t *testing.T, ours *Entry, theirs *martian.Entry) {
	t.Helper()
	q, p := theirs.Request, theirs.Response
	if q.Method != ours.Request.Method || q.URL != ours.Request.URL || q.HTTPVersion != ours.Request.HTTPVersion || q.BodySize != ours.Request.BodySize || q.HeadersSize != ours.Request.HeadersSize {
		t.Errorf("entry %d: request %+v", ours.ID, q)
	}
	if p.Status != ours.Response.Status || p.StatusText != ours.Response.StatusText || p.RedirectURL != ours.Response.RedirectURL || p.BodySize != ours.Response.BodySize {
		t.Errorf("entry %d: response %+v", ours.ID, p)
	}
	if formatTime(theirs.StartedDateTime) != ours.StartedDateTime || theirs.Timings.Wait != int64(ours.Timings.Wait)/1000 || theirs.Time != int64(ours.Time)/1000 {
		t.Errorf("entry %d: started %v, time %d", ours.ID, theirs.StartedDateTime, theirs.Time)
	}
	named := func(list any) string { // martian's fields have our names for them
		b, err := json.Marshal(list)
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	headers := func(list []Header) []martian.Header {
		out := []martian.Header{}
		for _, h := range list {
			out = append(out, martian.Header{Name: h.Name, Value: h.Value})
		}
		return out
	}
	cookies := func(list []Cookie) []martian.Cookie {
		out := []martian.Cookie{}
		for _, c := range list {
			out = append(out, martian.Cookie{Name: c.Name, Value: c.Value, Path: c.Path, Domain: c.Domain, Expires8601: c.Expires,
				HTTPOnly: c.HTTPOnly != nil && *c.HTTPOnly, Secure: c.Secure != nil && *c.Secure})
		}
		return out
	}
	query := []martian.QueryString{}
	for _, one := range ours.Request.QueryString {
		query = append(query, martian.QueryString{Name: one.Name, Value: one.Value})
	}
	for _, same := range [][2]any{
		{q.Headers, headers(ours.Request.Headers)}, {p.Headers, headers(ours.Response.Headers)}, {q.QueryString, query},
		{q.Cookies, cookies(ours.Request.Cookies)}, {p.Cookies, cookies(ours.Response.Cookies)},
	} {
		if named(same[0]) != named(same[1]) {
			t.Errorf("entry %d:\n got %.500s\nwant %.500s", ours.ID, named(same[0]), named(same[1]))
		}
	}
	if d := ours.Request.PostData; d != nil {
		var params []martian.Param
		for _, one := range d.Params {
			params = append(params, martian.Param{Name: one.Name, Value: one.Value, Filename: one.FileName, ContentType: one.ContentType})
		}
		if q.PostData.Text != d.Text || q.PostData.MimeType != d.MimeType || !slices.Equal(q.PostData.Params, params) {
			t.Errorf("entry %d: postData %+v, want %+v", ours.ID, q.PostData, d)
		}
	} else if q.PostData != nil {
		t.Errorf("entry %d: postData %+v", ours.ID, q.PostData)
	}
	c, d := p.Content, &ours.Response.Content
	text := []byte{}
	if d.Text != nil && d.Encoding == "base64" {
		text = unbase64(t, *d.Text)
	} else if d.Text != nil {
		text = []byte(*d.Text)
	}
	if c.Size != d.Size || c.MimeType != d.MimeType || !bytes.Equal(c.Text, text) || d.Encoding == "" && !utf8.Valid(c.Text) {
		t.Errorf("entry %d: content %+v, want %+v", ours.ID, c, d)
	}
}
