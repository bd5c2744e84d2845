// Package h2 speaks HTTP/2 (RFC 9113) for a relay, in either role: to browsers as
// a server does, to servers as a client does.
//
//	conn := h2.NewServer(session, h2.Config{Stream: serve})
//	conn.Offer(h2.Offer{MaxStreams: 100})
//	err := conn.Serve()
//
// A Conn has one goroutine that reads (Serve's), one that writes, and any number
// that use its Streams, whose calls wait as those of a net.Conn do. What is to be
// sent is encoded under the connection's lock into one bounded buffer; streams
// that find it full, or their window used up, wait for their turns. The reading
// goroutine never waits for the writing one.
//
// Header lists are passed on as they came: pseudo-header fields with the others,
// in order, repeats and all, those that are never to be indexed as such. What
// comes of a body is held until [Stream.Took] says that it has gone on, and only
// then does the peer get its window back: a stream never holds more than
// Config.StreamWindow, in at most twice that memory, whatever the other side of the
// relay does.
//
// A session's records go to the network together when it is made over what [Gather]
// makes of its connection.
//
// What a client sends is held to RFC 9113 §8; a server is read as tolerantly as is
// safe. Frames that cost work and bring nothing are counted, and too many of them
// end the connection (ENHANCE_YOUR_CALM). There is no push: servers are told so.
//
// The package does not interpret messages beyond that: it knows no URL, no
// connection-specific meaning but what is malformed, and retries nothing.
package h2

import (
	"math"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A Field is one field of a header list. Sensitive says that it came never to be
// indexed (RFC 7541 §7.1.3), and has it go on so.
type Field = hpack.HeaderField

// A Config says how a Conn works. It must not change once it is given.
type Config struct {
	// Stream takes each request, in a server's Conn, also what is refused already. The
	// reading goroutine calls it: it must not wait. Whatever becomes of the stream, it
	// is to be closed in the end.
	Stream func(*Stream)
	// Settings is told the peer's settings whenever they have come, by the reading
	// goroutine; nil: nobody is.
	Settings func(Settings)

	// Fault is told of a panic of the goroutine that writes; nil: it goes on.
	Fault func(fault any)

	// StreamWindow is how much of one body the peer may send ahead of what has gone
	// on, Window of all together; bytes, at least 65,535, which is what 0 stands for.
	StreamWindow, Window int
	// MaxHeaderList bounds a header list by RFC 9113 §6.5.2's measure; bytes. 0: 64 KiB.
	// One that is twice as long as it is encoded ends the connection.
	MaxHeaderList int
	// Buffers are shared with other connections; nil: they are not.
	Buffers *Buffers

	Timeouts
}

// Timeouts are time limits; 0 is none.
type Timeouts struct {
	Preface  time.Duration // for the peer's first frame
	Settings time.Duration // for the peer to acknowledge ours (RFC 9113 §6.5.3)
	Head     time.Duration // for a header block from its first frame to its last
	Idle     time.Duration // without a stream, in a server's Conn
	Write    time.Duration // for the peer to take what it is sent
}

// Settings are what a peer has said (RFC 9113 §6.5.2).
type Settings struct {
	MaxStreams    uint32 // that it lets us have open
	MaxHeaderList uint32
	Connect       bool // extended CONNECT (RFC 8441)
	NoPriorities  bool // the priorities of RFC 7540 are not asked for (RFC 9218 §2.1)

	window    int64 // of a new stream
	frame     int   // the largest payload
	tableSize uint32
}

// Unlimited stands for a setting that the peer has not given.
const Unlimited = math.MaxUint32

// The values before any SETTINGS (RFC 9113 §6.5.2).
func defaultSettings() Settings {
	return Settings{MaxStreams: Unlimited, MaxHeaderList: Unlimited, window: initialWindow, frame: frameSize, tableSize: tableSize}
}

// An Offer is what a server's Conn tells its browser.
type Offer struct {
	MaxStreams    uint32 // that it may have open
	MaxHeaderList uint32 // at most Config's; 0: that
	Connect       bool   // extended CONNECT is understood; not to be taken back
	NoPriorities  bool   // RFC 7540's priorities are not; of the first Offer alone
}

const (
	initialWindow = 65_535    // RFC 9113 §6.9.2
	maxWindow     = 1<<31 - 1 // RFC 9113 §6.9.1
	frameSize     = 16 << 10  // RFC 9113 §4.2: what everybody takes, and what we take
	frameHead     = 9
	recordSize    = 16 << 10 // RFC 8446 §5.1: the most that one of TLS holds
	tableSize     = 4096     // RFC 9113 §6.5.2, of HPACK's dynamic table
	maxStreamID   = 1<<31 - 1

	// outRoom is how much may wait to be written before streams have to wait.
	outRoom = 64 << 10
	// maxAnswers bounds what is written without waiting: frames that answer the
	// peer's own, which it does not read.
	maxAnswers = 20_000

	// maxFields bounds a header list's fields, each of which costs more memory than
	// its bytes.
	maxFields = 10_000
	// A header list above freeList is taken as too long when it is more than maxRatio
	// times its bytes, the name of one long field of the dynamic table again and again:
	// it would go on, and into a log, at many times its cost.
	freeList = 64 << 10
	maxRatio = 16
	// maxContinuations bounds the frames of one header block.
	maxContinuations = 256
	// maxSaid is how much is kept of what a peer's GOAWAY says, for people.
	maxSaid = 256
	// maxHeads bounds the informational answers that wait to be read.
	maxHeads = 128

	// unsettledStreams is how many streams are opened before the server has said how
	// many it takes; RFC 9113 §6.5.2 asks for no fewer.
	unsettledStreams = 100

	lingerTime  = 2 * time.Second
	lingerBytes = 4 << 20 // a flood that is on its way, so that its sender learns why it was cut off
)

// An Error ends a stream or a connection by an error code of HTTP/2.
type Error struct {
	Code   http2.ErrCode
	Reason string // for people; "" where the peer gave none
	Remote bool   // the peer ended it; else it has broken the protocol
	Stream bool   // it is of one stream (RST_STREAM), else of the connection (GOAWAY)
	Late   bool   // what was to come had not come in time

	// Unprocessed says that the peer has not acted on the request, which may be made
	// again (RFC 9113 §8.7).
	Unprocessed bool
}

func (e *Error) Error() string {
	if e.Reason == "" {
		return e.Code.String()
	}
	return e.Code.String() + ": " + e.Reason
}

// connError is the error of a peer that has broken the protocol.
func connError(code http2.ErrCode, reason string) error {
	return &Error{Code: code, Reason: reason}
}

// lateError is the error of a peer that a connection waits for no longer.
func lateError(code http2.ErrCode, reason string) error {
	return &Error{Code: code, Reason: reason, Late: true}
}

func streamError(code http2.ErrCode, reason string) error {
	return &Error{Code: code, Reason: reason, Stream: true}
}
