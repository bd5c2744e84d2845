package har

import (
	"encoding/base64"
	"errors"
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
		err := d.undone(&p, kept, b.Chunks, codings, limit, cut)
		if err == nil {
			return p
		}
		if errors.Is(err, errUnknownCoding) && looksText(kept, cut) { // such as utf-8: browsers have it as it is
			p.note.Misencoded, p.true = reason(codings, err), true
		} else {
			p.note.Undecoded = reason(codings, err)
		}
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

// undone makes p what codings were applied to, as far as browsers do.
func (d *decoder) undone(p *payload, kept []byte, chunks []netlog.Chunk, codings []string, limit int64, cut bool) error {
	in := &source{data: kept, chunks: chunks}
	out, more, err := d.decode(codings, in, limit, cut)
	misencoded := ""
	if err != nil && isForgiven(err) && !looksText(kept, cut) { // else its coding is a lie
		fault := err
		misencoded = reason(codings, fault)
		if out, more, err = d.decode(codings, in, limit, true); err == nil && len(out) == 0 {
			err = fault
		}
	}
	if err != nil {
		return err
	}
	p.note.Misencoded = misencoded
	p.bytes, p.size, p.over = out, int64(len(out)), more
	p.true = !cut && !more && misencoded == ""
	if len(codings) == 1 {
		p.marks = in.marks
	}
	if cut || more {
		p.truncate(len(kept))
	}
	return nil
}

// looksText says whether b is UTF-8 that people can read. cut says that its end
// is missing.
func looksText(b []byte, cut bool) bool {
	if cut {
		b = trimRune(b)
	}
	return utf8.Valid(b) && printable(b)
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
