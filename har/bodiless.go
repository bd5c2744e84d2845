package har

import (
	"bytes"
	"io"
)

// WithoutBodies gives r's HAR with every body and every message empty, and any
// other string cut that is longer than 1 MiB. What is left out is never held, so
// that a [Reader] of it needs little memory for large ones. It does not look
// whether r is a HAR, or JSON.
func WithoutBodies(r io.Reader) io.Reader { return &bodiless{r: r} }

// longestString is how much there is of a string that is no body.
const longestString = 1 << 20

type bodiless struct {
	r       io.Reader
	word    []byte // the beginning of the last string
	colon   bool   // the last token was one
	inside  bool   // of a string
	escape  int    // of the escape in it, 1: the letter is to come; below 0: so many digits
	drops   bool   // its bytes
	written int    // of its bytes
}

func (b *bodiless) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for idle := 0; idle < 100; idle++ {
		got, err := b.r.Read(p)
		n := 0
		for in := p[:got]; len(in) > 0; in = in[1:] {
			if b.drops && b.escape == 0 {
				if in = in[dropLen(in):]; len(in) == 0 {
					break
				}
			}
			if b.keeps(in[0]) {
				p[n] = in[0]
				n++
			}
		}
		if n > 0 || err != nil {
			return n, err
		} else if got > 0 {
			idle = 0
		}
	}
	return 0, io.ErrNoProgress
}

// dropLen is how much of b comes before what may end a string.
func dropLen(b []byte) int {
	if i := bytes.IndexByte(b, '"'); i >= 0 {
		b = b[:i]
	}
	if i := bytes.IndexByte(b, '\\'); i >= 0 {
		return i
	}
	return len(b)
}

// keeps goes on by a byte.
func (b *bodiless) keeps(c byte) bool {
	if b.inside {
		return b.keepsInside(c)
	}
	switch c {
	case ' ', '\t', '\r', '\n':
	case '"':
		b.drops = b.colon && isBodyName(string(b.word))
		b.inside, b.colon, b.word, b.written = true, false, b.word[:0], 0
	default:
		b.colon = c == ':'
	}
	return true
}

func (b *bodiless) keepsInside(c byte) bool {
	switch {
	case b.escape > 0:
		b.escape = 0
		if c == 'u' {
			b.escape = -len("0000")
		}
	case c == '"':
		b.inside, b.drops, b.escape = false, false, 0
		return true
	case b.escape < 0:
		b.escape++
	default:
		// The cut is not inside an escape.
		b.drops = b.drops || b.written >= longestString
		if c == '\\' {
			b.escape = 1
		}
	}
	if len(b.word) < longestBodyName+1 {
		b.word = append(b.word, c)
	}
	b.written++
	return !b.drops
}

const longestBodyName = len("_base64")

// isBodyName says whether a member of that name is a body, in any of a HAR's
// objects, or a message.
func isBodyName(name string) bool { return name == "text" || name == "_base64" || name == "data" }
