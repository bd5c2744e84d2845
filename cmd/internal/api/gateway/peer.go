package gateway

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gobwas/ws"
)

// A peer is one end of a WebSocket.
type peer struct {
	conn      io.ReadWriteCloser
	in        *bufio.Reader // of conn
	frames    ws.State      // what its frames have to be like
	lost      ws.StatusCode // what it is told when the other one ends without a word, or with one that can't be passed on
	closeWait time.Duration // for the rest of its close

	mu     sync.Mutex
	told   bool          // it was sent a Close, after which nothing goes to it
	heard  bool          // it has sent one
	code   ws.StatusCode // of that
	giveUp *time.Timer   // closes conn when a close takes too long
}

// pump passes the frames of one peer on to the other, whole and as they came,
// until it closes.
func pump(from, to *peer, most int64) {
	var frame bytes.Buffer
	state, left := from.frames, most // of the message
	for {
		h, err := ws.ReadHeader(from.in)
		if err == nil {
			err = ws.CheckHeader(h, state)
		}
		if err != nil {
			to.close(to.parting(), "")
			from.failed(err)
			return
		}
		if !h.OpCode.IsControl() {
			if h.Length > left {
				from.close(ws.StatusMessageTooBig, "")
				to.close(ws.StatusMessageTooBig, "")
				from.drain(h)
				return
			}
			left -= h.Length
			if state = state.Set(ws.StateFragmented); h.Fin {
				state, left = state.Clear(ws.StateFragmented), most
			}
		}
		if frame.Cap() > 1<<20 {
			frame = bytes.Buffer{}
		}
		frame.Reset()
		ws.WriteHeader(&frame, h)
		payload := frame.Len()
		if _, err := io.CopyN(&frame, from.in, h.Length); err != nil {
			to.close(to.parting(), "")
			from.failed(err)
			return
		}
		if h.OpCode != ws.OpClose {
			to.write(frame.Bytes())
			continue
		}
		code, reason := saidBy(h, frame.Bytes()[payload:])
		from.hear(sendable(code, from.lost)) // before the other one may leave for it
		to.close(sendable(code, to.lost), reason)
		return
	}
}

// saidBy is what a Close frame says; code 0: nothing.
func saidBy(h ws.Header, payload []byte) (code ws.StatusCode, reason string) {
	if h.Masked {
		ws.Cipher(payload, h.Mask, 0)
	}
	if len(payload) < 2 {
		return 0, ""
	}
	code, reason = ws.ParseCloseFrameData(payload)
	return code, strings.ToValidUTF8(reason, "")
}

// sendable is a code that may be sent (RFC 6455 §7.4) in the place of one that was
// not meant to be.
func sendable(code, otherwise ws.StatusCode) ws.StatusCode {
	switch {
	case code == 0, code == ws.StatusNoStatusRcvd:
		return ws.StatusNormalClosure
	case code >= 1000 && code <= 1003, code >= 1007 && code <= 1014, code >= 3000 && code <= 4999:
		return code
	}
	return otherwise
}

// write sends a frame, unless a Close was sent. A peer that can't be written to is
// soon found to be unreadable too.
func (p *peer) write(frame []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.told {
		return
	}
	if _, err := p.conn.Write(frame); err != nil {
		p.conn.Close()
	}
}

// close sends a Close, the first time, and gives the peer closeWait for its own.
func (p *peer) close(code ws.StatusCode, reason string) {
	wait := time.AfterFunc(p.closeWait, func() { p.conn.Close() }) // before a write that may be stuck is waited for
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.told {
		wait.Stop()
		return
	}
	p.told, p.giveUp = true, wait
	frame := ws.NewCloseFrame(ws.NewCloseFrameBody(code, cut(reason)))
	if p.frames == ws.StateClientSide {
		frame = ws.MaskFrameInPlace(frame)
	}
	p.conn.Write(ws.MustCompileFrame(frame))
	if p.heard {
		p.conn.Close()
	}
}

// hear notes that the peer has sent a Close. It may now expect one, and then that
// the connection ends.
func (p *peer) hear(code ws.StatusCode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard, p.code = true, code
	if p.told {
		p.conn.Close()
	}
}

// parting is what the peer is told when the other one says nothing more: what it
// has said itself, if it was the first to close.
func (p *peer) parting() ws.StatusCode {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.heard {
		return p.code
	}
	return p.lost
}

// drain passes over what the peer still sends, from this frame on, to its Close: it
// may not read before it has sent all.
func (p *peer) drain(h ws.Header) {
	for {
		if _, err := io.CopyN(io.Discard, p.in, h.Length); err != nil || h.OpCode == ws.OpClose {
			break
		}
		var err error
		if h, err = ws.ReadHeader(p.in); err != nil {
			break
		}
	}
	p.conn.Close()
}

// failed ends with a peer of which no further frame can be read.
func (p *peer) failed(err error) {
	var bad ws.ProtocolError
	if errors.As(err, &bad) || errors.Is(err, ws.ErrHeaderLengthMSB) {
		p.close(ws.StatusProtocolError, "")
		io.Copy(io.Discard, p.in) // until it has read that, or closeWait is over
	}
	p.conn.Close()
}

// end lets go of the peer.
func (p *peer) end() {
	p.conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.giveUp != nil {
		p.giveUp.Stop()
	}
}

// cut is a reason that fits into a control frame (RFC 6455 §5.5).
func cut(reason string) string {
	for len(reason) > ws.MaxControlFramePayloadSize-2 {
		_, size := utf8.DecodeLastRuneInString(reason)
		reason = reason[:len(reason)-size]
	}
	return reason
}
