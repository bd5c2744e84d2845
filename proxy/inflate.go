package proxy

import (
	"bytes"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/flate"

	"github.com/agentenv/netlog/proxy/wire"
)

const (
	// maxDeflated is how much of one compressed message is held to be inflated.
	maxDeflated = 1 << 20

	// maxInflated ends the inflating of a message that was made to be costly.
	maxInflated = 64 << 20

	// maxWindow is the window of DEFLATE (RFC 1951 §2). It serves whatever
	// smaller one was agreed.
	maxWindow = 32 << 10
)

// A deflate is what was agreed of permessage-deflate.
type deflate struct {
	clientTakeover, serverTakeover bool // the window lasts from one message to the next
}

// agreedDeflate finds permessage-deflate in an answer's extensions (RFC 7692 §7.1).
// It is of no use when others were agreed as well: they may change the payload too.
func agreedDeflate(fields wire.FieldList) (deflate, bool) {
	d := deflate{clientTakeover: true, serverTakeover: true}
	agreed := 0
	for extension := range fields.Elements("sec-websocket-extensions") {
		agreed++
		name, parameters, _ := strings.Cut(string(extension), ";")
		if !strings.EqualFold(strings.TrimSpace(name), "permessage-deflate") {
			return d, false
		}
		for parameter := range strings.SplitSeq(parameters, ";") {
			switch strings.ToLower(strings.TrimSpace(parameter)) {
			case "client_no_context_takeover":
				d.clientTakeover = false
			case "server_no_context_takeover":
				d.serverTakeover = false
			}
		}
	}
	return d, agreed == 1
}

// An inflater inflates the messages of one direction.
type inflater struct {
	pool     *sync.Pool // of *inflating
	takeover bool
	lost     bool   // a message was not inflated on which the next may build
	window   []byte // the last of what was inflated
}

// inflating is what one message needs while it is inflated.
type inflating struct {
	flate io.ReadCloser // a flate.Resetter
	in    bytes.Reader
	out   [8 << 10]byte
}

// message inflates a message of which p is what was held, and size what came. It
// gives the beginning, as much as may be kept, and the whole size; ok is false
// when that is not known.
func (f *inflater) message(p []byte, size int64) (kept []byte, inflated int64, ok bool) {
	if f.lost {
		return nil, 0, false
	}
	if !f.takeover {
		f.window = f.window[:0]
	}
	if int64(len(p)) == size {
		kept, inflated, ok = f.inflate(p)
	}
	if !ok && f.takeover {
		f.lost, f.window = true, nil
	}
	return kept, inflated, ok
}

// ending is what a sender leaves off each message (RFC 7692 §7.2.1), and a last
// block that ends the stream for the reader.
const ending = "\x00\x00\xff\xff\x01\x00\x00\xff\xff"

func (f *inflater) inflate(p []byte) (kept []byte, size int64, ok bool) {
	s, _ := f.pool.Get().(*inflating)
	if s == nil {
		s = &inflating{flate: flate.NewReader(nil)}
	}
	defer f.pool.Put(s)
	s.in.Reset(append(p, ending...))
	// A message may hold a last block of its own, and others behind it (§7.2.3.4).
	for s.in.Len() > 0 {
		s.flate.(flate.Resetter).Reset(&s.in, f.window)
		for {
			n, err := s.flate.Read(s.out[:])
			b := s.out[:n]
			size += int64(n)
			kept = append(kept, b[:min(n, keepOfMessage-len(kept))]...)
			f.slide(b)
			if err == io.EOF {
				break
			}
			if err != nil || size > maxInflated {
				return nil, 0, false
			}
		}
	}
	return kept, size, true
}

// slide moves the window on behind b.
func (f *inflater) slide(b []byte) {
	if len(b) >= maxWindow {
		f.window = append(f.window[:0], b[len(b)-maxWindow:]...)
		return
	}
	if over := len(f.window) + len(b) - maxWindow; over > 0 {
		f.window = f.window[:copy(f.window, f.window[over:])]
	}
	f.window = append(f.window, b...)
}
