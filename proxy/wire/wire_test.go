package wire

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testLimit = 1 << 20

// cuts are readers of one stream that give it in every awkward way.
func cuts(stream string) map[string]*bufio.Reader {
	return map[string]*bufio.Reader{
		"whole":        bufio.NewReader(strings.NewReader(stream)),
		"small buffer": bufio.NewReaderSize(strings.NewReader(stream), 16),
		"halves":       bufio.NewReader(iotest.HalfReader(strings.NewReader(stream))),
		"bytes":        bufio.NewReader(iotest.OneByteReader(strings.NewReader(stream))),
		"data and EOF": bufio.NewReaderSize(iotest.DataErrReader(iotest.OneByteReader(strings.NewReader(stream))), 16),
	}
}

func rest(t testing.TB, br *bufio.Reader) string {
	t.Helper()
	b, err := io.ReadAll(br)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// lines are a field list's lines, with the name and the value as they were read.
func pairs(f FieldList) string {
	var b strings.Builder
	for i := range f {
		b.WriteString(string(f[i].Name) + "=" + string(f[i].Value) + "|")
	}
	return b.String()
}

// joined are the field lines, which must give the bytes they were read from.
func joined(f FieldList) string {
	var b strings.Builder
	for i := range f {
		b.Write(f[i].Line)
	}
	return b.String()
}

// said is what an error says, and its kind.
func said(err error) string {
	var refusal *Refusal
	var unreadable *Unreadable
	switch {
	case err == nil:
		return ""
	case errors.As(err, &refusal):
		return refusal.Code + ": " + refusal.Reason
	case errors.As(err, &unreadable):
		return "unreadable: " + unreadable.Reason
	}
	return "error: " + err.Error()
}

var errBroken = errors.New("connection reset")

func TestFieldList(t *testing.T) {
	var r Request
	head := "GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nx-a:\r\nConnection: close , , Keep-Alive\r\nconnection:\tUpgrade,\r\n\r\n"
	if err := ReadRequest(bufio.NewReader(strings.NewReader(head)), &r, testLimit); err != nil {
		t.Fatal(err)
	}
	f := r.Fields
	if v, ok := f.Get("x-A"); !ok || string(v) != "1" {
		t.Errorf("Get: %q, %t", v, ok)
	}
	if v, ok := f.Get("x-"); ok || v != nil {
		t.Errorf("Get of nothing: %q, %t", v, ok)
	}
	if n := f.Count("X-A"); n != 2 {
		t.Errorf("Count: %d", n)
	}
	var got []string
	for v := range f.Values("X-A") {
		got = append(got, string(v))
	}
	for e := range f.Elements("CONNECTION") {
		got = append(got, string(e))
	}
	for range f.Elements("connection") {
		break
	}
	if s := strings.Join(got, "|"); s != "1||close|Keep-Alive|Upgrade" {
		t.Errorf("Values and Elements: %s", s)
	}
	for token, want := range map[string]bool{"close": true, "keep-alive": true, "UPGRADE": true, "up": false, "": false} {
		if f.HasToken("Connection", token) != want {
			t.Errorf("HasToken %q: %t", token, !want)
		}
	}
}
