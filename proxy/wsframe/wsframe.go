// Package wsframe counts a WebSocket's frames (RFC 6455 §5.2) as they pass.
//
// One [Parser] follows one direction of a socket, from the first byte behind
// the 101's head on. It is fed copies of, or looks at, what a relay passes on, in
// any cut; it never holds a byte back, changes none and answers nothing. It reads
// headers and steps over payloads by their length, so that no extension disturbs
// it; only a close frame's payload is read and, with a Sink, every data frame's.
//
// It does not check what a relay need not know: masks by direction, reserved bits,
// the shortest form of a length, UTF-8, the order of close frames. Where a frame
// can't be one, it stops counting.
package wsframe

import (
	"encoding/binary"
	"errors"
)

// Opcode is a frame's type.
type Opcode byte

// The opcodes that RFC 6455 §11.8 registers.
const (
	Continuation Opcode = 0x0
	Text         Opcode = 0x1
	Binary       Opcode = 0x2
	Close        Opcode = 0x8
	Ping         Opcode = 0x9
	Pong         Opcode = 0xA
)

// Control says whether frames of this type are control frames.
func (o Opcode) Control() bool { return o&0x8 != 0 }

func (o Opcode) reserved() bool { return o > Binary && o < Close || o > Pong }

// Counts are what has passed in one direction.
type Counts struct {
	Messages int64 // whole messages: a fragmented one is one
	Bytes    int64 // payload of data frames as on the wire, of unfinished frames too
	Frames   int64 // whole data frames
	Control  int64 // whole control frames
}

// Header is a frame's header.
type Header struct {
	Final  bool
	RSV1   bool // with permessage-deflate, on a message's first frame: it is compressed
	Opcode Opcode
	Masked bool
	Length int64 // of the payload, in bytes
}

// A Sink is given the payload of data frames, unmasked, in pieces of any size;
// end marks a frame's last one. A frame without payload has one empty piece. The
// piece is valid until the Sink returns.
type Sink func(h Header, piece []byte, end bool)

// Parser follows one direction of a WebSocket. The zero value is ready. It is
// used by one goroutine at a time.
type Parser struct {
	Counts
	Sink Sink // nil: payloads are stepped over

	header    [maxHeader]byte
	have      int // bytes of header
	frame     Header
	mask      [4]byte
	left      int64 // bytes of the frame's payload still to come
	inMessage bool  // between a message's first frame and its final one
	err       error

	closed    bool
	closeBody [maxControl]byte
	closeSize int
	scratch   []byte // unmasked pieces for Sink
}

const (
	maxHeader  = 14
	maxControl = 125
	maxPiece   = 4 << 10
)

// Feed takes the next bytes of the direction.
func (p *Parser) Feed(b []byte) {
	for len(b) > 0 && p.err == nil {
		if p.have < p.headerSize() {
			p.header[p.have] = b[0]
			p.have++
			b = b[1:]
			if p.have == p.headerSize() {
				p.begin()
			}
			continue
		}
		n := int(min(p.left, int64(len(b))))
		p.payload(b[:n])
		b = b[n:]
	}
}

// Err says why counting stopped: something that is no frame had come. It stays.
func (p *Parser) Err() error { return p.err }

// CloseFrame returns the payload of the first close frame, which is not to be
// changed. ok is false when none has passed whole.
func (p *Parser) CloseFrame() (payload []byte, ok bool) {
	return p.closeBody[:p.closeSize], p.closed
}

// Closed returns what the first close frame said: its code (0: none given) and
// its reason, which need not be UTF-8. ok is false when none has passed whole.
func (p *Parser) Closed() (code int, reason string, ok bool) {
	body, ok := p.CloseFrame()
	if len(body) < 2 {
		return 0, "", ok
	}
	return int(binary.BigEndian.Uint16(body)), string(body[2:]), true
}

// headerSize is the header's size as far as its bytes tell.
func (p *Parser) headerSize() int {
	if p.have < 2 {
		return 2
	}
	n := 2
	switch p.header[1] & 0x7f {
	case 126:
		n += 2
	case 127:
		n += 8
	}
	if p.header[1]&0x80 != 0 {
		n += 4
	}
	return n
}

// begin reads the whole header of a frame.
func (p *Parser) begin() {
	h := &p.header
	p.frame = Header{
		Final:  h[0]&0x80 != 0,
		RSV1:   h[0]&0x40 != 0,
		Opcode: Opcode(h[0] & 0x0f),
		Masked: h[1]&0x80 != 0,
		Length: int64(h[1] & 0x7f),
	}
	f := &p.frame
	switch f.Length {
	case 126:
		f.Length = int64(binary.BigEndian.Uint16(h[2:]))
	case 127:
		f.Length = int64(binary.BigEndian.Uint64(h[2:]))
	}
	if f.Masked {
		copy(p.mask[:], h[p.have-4:p.have])
	}
	if p.err = p.check(); p.err != nil {
		return
	}
	p.left = f.Length
	if p.left == 0 {
		p.payload(nil)
	}
}

func (p *Parser) check() error {
	f := &p.frame
	switch {
	case f.Opcode.reserved():
		return errors.New("a frame with a reserved opcode")
	case f.Length < 0:
		return errors.New("a frame whose length has its top bit set")
	case f.Opcode.Control() && f.Length > maxControl:
		return errors.New("a control frame of more than 125 bytes")
	case f.Opcode.Control() && !f.Final:
		return errors.New("a fragmented control frame")
	case f.Opcode == Continuation && !p.inMessage:
		return errors.New("a continuation of no message")
	case (f.Opcode == Text || f.Opcode == Binary) && p.inMessage:
		return errors.New("a new message within a fragmented one")
	}
	return nil
}

// payload takes a piece of the frame's payload, and ends the frame with the last one.
func (p *Parser) payload(b []byte) {
	at := p.frame.Length - p.left
	p.left -= int64(len(b))
	end := p.left == 0
	if end {
		p.have = 0
	}
	if p.frame.Opcode.Control() {
		p.control(b, at, end)
		return
	}
	p.Bytes += int64(len(b))
	if p.Sink != nil {
		p.show(b, at, end)
	}
	if !end {
		return
	}
	p.Frames++
	p.inMessage = !p.frame.Final
	if p.frame.Final {
		p.Messages++
	}
}

func (p *Parser) control(b []byte, at int64, end bool) {
	if p.frame.Opcode == Close && !p.closed {
		copy(p.closeBody[at:], b)
		if end {
			p.closed, p.closeSize = true, int(p.frame.Length)
			p.unmask(p.closeBody[:p.closeSize], 0)
		}
	}
	if end {
		p.Control++
	}
}

// show gives b to Sink, in pieces that fit the scratch buffer where it is masked.
func (p *Parser) show(b []byte, at int64, end bool) {
	if !p.frame.Masked {
		p.Sink(p.frame, b, end)
		return
	}
	for {
		n := min(len(b), maxPiece)
		p.scratch = append(p.scratch[:0], b[:n]...)
		p.unmask(p.scratch, at)
		b, at = b[n:], at+int64(n)
		p.Sink(p.frame, p.scratch, end && len(b) == 0)
		if len(b) == 0 {
			return
		}
	}
}

// unmask undoes the mask of bytes that begin at offset at of the payload.
func (p *Parser) unmask(b []byte, at int64) {
	if !p.frame.Masked {
		return
	}
	for i := range b {
		b[i] ^= p.mask[(at+int64(i))&3]
	}
}
