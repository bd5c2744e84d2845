package wire

import (
	"strings"
	"testing"
)

// follow gives stream to c in cuts of that size and returns what it took and the
// content of that.
func follow(c *Chunked, stream string, size int) (taken, payload string, err error) {
	var t, p strings.Builder
	for b := []byte(stream); len(b) > 0 && err == nil && !c.Done(); {
		part := b[:min(size, len(b))]
		b = b[len(part):]
		for len(part) > 0 && err == nil && !c.Done() {
			var n int
			var content []byte
			n, content, err = c.Next(part)
			if string(part[n-len(content):n]) != string(content) {
				panic("payload is not the end of what was taken")
			}
			t.Write(part[:n])
			p.Write(content)
			part = part[n:]
		}
	}
	return t.String(), p.String(), err
}

func TestChunked(t *testing.T) {
	const ext = `;a=b;c="d e";f`
	tests := []struct {
		name, body string
		payload    string
		trailers   string
		lenient    bool // only then is it read
	}{
		{name: "nothing", body: "0\r\n\r\n"},
		{name: "one", body: "5\r\nhello\r\n0\r\n\r\n", payload: "hello"},
		{name: "more", body: "1\r\na\r\nA\r\n0123456789\r\n0c\r\nhello\r\n0\r\n\r\n\r\n000\r\n\r\n", payload: "a0123456789hello\r\n0\r\n\r\n"},
		{name: "extensions", body: "5" + ext + "\r\nhello\r\n0;x=\"\xff\"\t\r\n\r\n", payload: "hello"},
		{name: "sixteen digits", body: "0000000000000001\r\na\r\n0000000000000000\r\n\r\n", payload: "a"},
		{name: "trailers", body: "1\r\na\r\n0\r\nX-A: 1\r\nx-b:\t\xff \r\n\r\n", payload: "a", trailers: "X-A=1|x-b=\xff|"},
		{name: "the longest line", body: "1;" + strings.Repeat("x", maxChunkLine-3) + "\r\na\r\n0\r\n\r\n", payload: "a"},
		{name: "the longest trailers", body: "0\r\nA:" + strings.Repeat("x", maxTrailers-4) + "\r\n\r\n", trailers: "A=" + strings.Repeat("x", maxTrailers-4) + "|"},
		{name: "padding", body: "5 \t \r\nhello\r\n0  ;a\r\n\r\n", payload: "hello", lenient: true},
		{name: "folded trailer", body: "0\r\nA B: a\r\n b\r\n\r\n", trailers: "A B=a b|", lenient: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, size := range []int{1, 2, 3, 5, 1 << 20} {
				for _, lenient := range []bool{false, true} {
					c := Chunked{Lenient: lenient}
					taken, payload, err := follow(&c, test.body+"next", size)
					if !lenient && test.lenient {
						if err == nil {
							t.Errorf("in cuts of %d: not refused", size)
						}
						continue
					}
					if err != nil || !c.Done() || taken != test.body || payload != test.payload || pairs(c.Trailers()) != test.trailers {
						t.Errorf("in cuts of %d, lenient %t: %v, done %t, took %q, payload %q, trailers %s",
							size, lenient, err, c.Done(), taken, payload, pairs(c.Trailers()))
					}
					if n, content, err := c.Next([]byte("next")); n != 0 || content != nil || err != nil {
						t.Errorf("behind the end: %d, %q, %v", n, content, err)
					}
				}
			}
			if test.lenient {
				return
			}
			for i := range len(test.body) {
				if i > 200 && i < len(test.body)-200 {
					continue
				}
				var c Chunked
				taken, payload, err := follow(&c, test.body[:i], 1<<20)
				if err != nil || c.Done() || taken != test.body[:i] || !strings.HasPrefix(test.payload, payload) {
					t.Errorf("%d bytes: %v, done %t, took %q, payload %q", i, err, c.Done(), taken, payload)
				}
			}
		})
	}
}

func TestChunkedRefuses(t *testing.T) {
	tests := []struct {
		name, body string
		taken      int // bytes before the one to blame
		want       string
		strict     bool // Lenient reads it
	}{
		{"no size", "\r\n", 0, "a chunk has no size", false},
		{"an extension alone", ";a\r\n", 0, "a chunk has no size", false},
		{"a plus", "+1\r\n", 0, "a chunk has no size", false},
		{"a minus", "-1\r\n", 0, "a chunk has no size", false},
		{"whitespace before", " 1\r\n", 0, "a chunk has no size", false},
		{"hexadecimal's sign", "0x1\r\n", 1, "a chunk's size is no hexadecimal number", false},
		{"a letter", "1g\r\n", 1, "a chunk's size is no hexadecimal number", false},
		{"an underscore", "1_0\r\n", 1, "a chunk's size is no hexadecimal number", false},
		{"whitespace behind", "1 \r\n", 1, "a chunk's size is no hexadecimal number", true},
		{"whitespace before an extension", "1\t;a\r\n", 1, "a chunk's size is no hexadecimal number", true},
		{"two numbers", "1 1\r\n", 1, "a chunk's size is no hexadecimal number", true},
		{"a bare LF", "1\na\r\n", 1, "a chunk's size is no hexadecimal number", false},
		{"a bare CR", "1\ra", 2, "a chunk's line has a bare CR", false},
		{"a bare LF behind an extension", "1;a\na", 3, "a chunk's extension has a control byte", false},
		{"a NUL in an extension", "1;\x00\r\n", 2, "a chunk's extension has a control byte", false},
		{"2^63", "8000000000000000\r\n", 15, "a chunk's size is too large", false},
		{"2^64", "10000000000000000\r\n", 16, "a chunk's size is too large", false},
		{"seventeen digits", "00000000000000001\r\n", 16, "a chunk's size is too large", false},
		{"data too long", "1\r\nab\r\n", 4, "a chunk's data is not followed by CRLF", false},
		{"data and a bare LF", "1\r\na\n0\r\n\r\n", 4, "a chunk's data is not followed by CRLF", false},
		{"data and a bare CR", "1\r\na\r0\r\n\r\n", 5, "a chunk's data is not followed by CRLF", false},
		{"a bad second chunk", "1\r\na\r\n-1\r\n", 6, "a chunk has no size", false},
		{"a line too long", "1;" + strings.Repeat("x", maxChunkLine) + "\r\n", maxChunkLine, "a chunk's line is too long", false},
		{"trailers too long", "0\r\nA:" + strings.Repeat("x", maxTrailers) + "\r\n\r\n", 3 + maxTrailers, "the trailer section is too long", false},
		{"a trailer without a colon", "0\r\nA\r\n", 5, "the trailer section: a field line without a colon", false},
		{"a bare LF in the trailers", "0\r\nA: b\n", 7, "the trailer section: a field line ends in a bare LF", false},
		{"a bare LF for the blank line", "0\r\n\n", 3, "the trailer section: a field line ends in a bare LF", false},
		{"a bare CR in the trailers", "0\r\n\ra", 4, "the trailer section: a line begins with a bare CR", false},
		{"a space before a trailer's colon", "0\r\nA : b\r\n", 9, `the trailer section: the field "A" has a space before its colon`, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, size := range []int{1, 2, 3, 1 << 20} {
				var c Chunked
				taken, _, err := follow(&c, test.body, size)
				if said(err) != "bad_request: "+test.want || taken != test.body[:test.taken] || c.Done() {
					t.Errorf("in cuts of %d: %v, took %d bytes; want %s, %d", size, said(err), len(taken), test.want, test.taken)
				}
				if n, _, again := c.Next([]byte("0\r\n\r\n")); n != 0 || again != err {
					t.Errorf("afterwards: %d, %v", n, again)
				}
			}
			c := Chunked{Lenient: true}
			if _, _, err := follow(&c, test.body, 1); err == nil && !test.strict {
				t.Error("Lenient reads it")
			}
		})
	}
}

// The largest size is followed without being believed: what came is counted.
func TestChunkedLargest(t *testing.T) {
	var c Chunked
	taken, payload, err := follow(&c, "7fffffffffffffff\r\n"+strings.Repeat("x", 1000), 1<<20)
	if err != nil || len(taken) != 1018 || len(payload) != 1000 || c.Done() {
		t.Errorf("%v, took %d, payload %d, done %t", err, len(taken), len(payload), c.Done())
	}
}
