package har

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agentenv/netlog/netlog"
)

// A payload is a body as far as it could be had and decoded.
type payload struct {
	bytes []byte // decoded; as they came when note.Undecoded is set
	kept  bool   // bytes is (a part of) the body, which may be empty
	size  int64  // see Content.Size
	true  bool   // size is the whole decoded body's
	over  bool   // there was more than the limit
	note  BodyNote
	marks []int // of a source with chunks
}

// payload decodes a body. limit bounds what comes out.
func (d *decoder) payload(b *netlog.Body, codings []string, limit int64) payload {
	if b == nil {
		return payload{}
	}
	size := counted(b.Size)
	p := payload{size: size, note: BodyNote{SHA256: b.SHA256}}
	if size == 0 {
		p.kept, p.true = true, true
		return p
	}
	kept := keptBytes(b)
	cut := b.Truncated || int64(len(kept)) < size
	identity := len(codings) == 0
	p.true = identity
	if len(kept) == 0 {
		if b.Truncated {
			p.truncate(0)
		}
		return p
	}
	p.kept = true
	if !identity {
		in := &source{data: kept, chunks: b.Chunks}
		out, more, err := d.decode(codings, in, limit, cut)
		if err != nil && isForgiven(err) && !(utf8.Valid(kept) && printable(kept)) { // else it is text, and its coding a lie
			strict := err
			if out, more, err = d.decode(codings, in, limit, true); err == nil && len(out) > 0 {
				p.note.Misencoded = reason(codings, strict)
			} else if err == nil {
				err = strict
			}
		}
		if err == nil {
			p.bytes, p.size, p.over = out, int64(len(out)), more
			p.true = !cut && !more && p.note.Misencoded == ""
			if len(codings) == 1 {
				p.marks = in.marks
			}
			if cut || more {
				p.truncate(len(kept))
			}
			return p
		}
		p.note.Undecoded = reason(codings, err)
	}
	if int64(len(kept)) > limit {
		kept, p.over = kept[:limit], true
	}
	p.bytes = kept
	if cut || p.over {
		p.truncate(len(kept))
	}
	return p
}

const longestReason = 200

// reason says what is wrong with a body's codings.
func reason(codings []string, err error) string {
	text := err.Error()
	if len(codings) > 1 && len(codings) <= maxCodings {
		text = fmt.Sprintf("%s: %s", strings.Join(codings, ", "), err)
	}
	if len(text) > longestReason { // the names are the server's
		text = text[:longestReason] + "…"
	}
	return text
}

func (p *payload) truncate(kept int) {
	n := int64(kept)
	p.note.Truncated, p.note.KeptSize = true, &n
}

// content makes an answer's content of its body.
func (p *payload) content(contentType string, bodySize int64) Content {
	c := Content{Size: p.size, MimeType: contentType, BodyNote: p.note}
	if contentType == "" {
		c.MimeType = unknownType
	}
	if p.true && bodySize > 0 {
		n := p.size - bodySize
		c.Compression = &n
	}
	if !p.kept {
		return c
	}
	var text string
	if p.note.Undecoded != "" {
		text, c.Encoding = base64.StdEncoding.EncodeToString(p.bytes), "base64"
	} else {
		text, c.Encoding, c.Charset = contentText(p.bytes, contentType, p.note.Truncated)
	}
	c.Text = &text
	return c
}

// unknownType is the mimeType of a body without a Content-Type, as browsers
// write it.
const unknownType = "x-unknown"
