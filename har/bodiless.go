package har

import "io"

// WithoutBodies gives r's HAR with every body and every message empty. What is
// left out is never held, so that a [Reader] of it needs little memory for large
// ones. It does not look whether r is a HAR, or JSON.
func WithoutBodies(r io.Reader) io.Reader { return &bodiless{r: r} }

type bodiless struct {
	r       io.Reader
	word    []byte // the beginning of the last string
	colon   bool   // the last token was one
	inside  bool   // of a string
	escaped bool   // the byte before was a backslash in it
	drops   bool   // its bytes
}

func (b *bodiless) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for idle := 0; idle < 100; idle++ {
		got, err := b.r.Read(p)
		n := 0
		for _, c := range p[:got] {
			if b.keeps(c) {
				p[n] = c
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

// keeps goes on by a byte.
func (b *bodiless) keeps(c byte) bool {
	if b.inside {
		switch {
		case b.escaped:
			b.escaped = false
		case c == '\\':
			b.escaped = true
		case c == '"':
			b.inside = false
			return true
		}
		if len(b.word) < longestBodyName+1 {
			b.word = append(b.word, c)
		}
		return !b.drops
	}
	switch c {
	case ' ', '\t', '\r', '\n':
	case '"':
		b.drops = b.colon && isBodyName(string(b.word))
		b.inside, b.colon, b.word = true, false, b.word[:0]
	default:
		b.colon = c == ':'
	}
	return true
}

const longestBodyName = len("_base64")

// isBodyName says whether a member of that name is a body, in any of a HAR's
// objects, or a message.
func isBodyName(name string) bool { return name == "text" || name == "_base64" || name == "data" }
