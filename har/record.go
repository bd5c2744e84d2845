package har

import (
	"errors"
	"io"

	"github.com/agentenv/netlog/netlog"
)

// A record is all the lines of one exchange or tunnel.
type record struct {
	id       int64
	open     *netlog.Open
	answer   *netlog.Answer // nil: none
	end      *netlog.End    // nil: still going
	messages []*netlog.Message
}

// response is the answer as far as it is known; nil when there is none.
func (r *record) response() *netlog.Response {
	switch {
	case r.end != nil && r.end.Response != nil:
		return r.end.Response
	case r.answer != nil:
		// Its process died, or it is still going: the head is all that is known.
		return r.answer.Response
	}
	return nil
}

// status is the answer's, -1 when there is none.
func (r *record) status() int {
	if answer := r.response(); answer != nil && answer.Status >= 100 && answer.Status < 1000 { // 0: unparsed
		return answer.Status
	} else if tunnelled(r) {
		return 200
	}
	return -1
}

// A recordReader reads records where they lie in a log.
type recordReader struct {
	log        *netlog.Log
	index      *index
	noMessages bool
	unreadable int64 // lines that read could not use
	buf        []byte
	ahead      stretch
	parser     netlog.Parser
}

// A stretch is a piece of a log's file.
type stretch struct {
	pos   netlog.Pos
	bytes []byte
}

// longestStretch bounds what is read ahead of the lines in it.
const longestStretch = 256 << 10

// readAhead reads what it can of the lines of n items from the first on at once.
// Such a stretch holds lines of others, too, but for no more than half.
func (r *recordReader) readAhead(first, n int) {
	r.ahead.pos.Length = 0
	begin := r.index.items.at(first).open
	length, used := int64(0), int64(0)
	for i := range n {
		it := r.index.items.at(first + i)
		for _, pos := range [...]netlog.Pos{it.open, it.end} {
			end := pos.Offset - begin.Offset + int64(pos.Length)
			if pos.File == begin.File && pos.Offset >= begin.Offset && end <= longestStretch {
				length, used = max(length, end), used+int64(pos.Length)
			}
		}
	}
	if length > 2*used {
		return
	}
	begin.Length = int32(length)
	if b, err := r.log.ReadLine(begin, r.ahead.bytes); err == nil { // else each line has it again
		r.ahead = stretch{begin, b}
	}
}

// line gives the line at pos when the stretch has it.
func (s *stretch) line(pos netlog.Pos) ([]byte, bool) {
	at := pos.Offset - s.pos.Offset
	if pos.File != s.pos.File || at < 0 || at+int64(pos.Length) > int64(s.pos.Length) {
		return nil, false
	}
	return s.bytes[at : at+int64(pos.Length)], true
}

// read reads an item's lines; nil when its open line can't be used. The record is
// valid until the next one is read.
func (r *recordReader) read(it *item) (*record, error) {
	r.parser.Release()
	line, err := r.use(it.open)
	if line == nil || line.Open == nil {
		return nil, err
	}
	out := &record{id: it.id, open: line.Open}
	if err := r.outcome(out, it, r.use); err != nil {
		return nil, err
	}
	for _, pos := range r.index.messages[it.open] {
		if r.noMessages {
			break
		}
		if line, err = r.use(pos); err != nil {
			return nil, err
		}
		if line != nil && line.Message != nil {
			out.messages = append(out.messages, line.Message)
		}
	}
	return out, nil
}

// outcome reads how a record went on, so far as it did.
func (r *recordReader) outcome(out *record, it *item, read func(netlog.Pos) (*netlog.Line, error)) error {
	if it.end.Length > 0 {
		line, err := read(it.end)
		if err != nil {
			return err
		}
		if line != nil {
			out.end = line.End
		}
	}
	if pos, ok := r.index.answers[it.open]; ok && (out.end == nil || out.end.Response == nil) {
		line, err := read(pos)
		if err != nil {
			return err
		}
		if line != nil {
			out.answer = line.Answer
		}
	}
	return nil
}

// use reads a line and counts one that can't be used.
func (r *recordReader) use(pos netlog.Pos) (*netlog.Line, error) {
	line, err := r.line(pos)
	if line == nil && err == nil {
		r.unreadable++
	}
	return line, err
}

// line reads the line at pos; nil when it can't be used.
func (r *recordReader) line(pos netlog.Pos) (*netlog.Line, error) {
	b, ok := r.ahead.line(pos)
	if !ok {
		var err error
		b, err = r.log.ReadLine(pos, r.buf)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, nil // the file was cut since the first pass
		} else if err != nil {
			return nil, err
		}
		r.buf = b
	}
	line, err := r.parser.ParseLine(b)
	if err != nil {
		return nil, nil
	}
	return line, nil
}
