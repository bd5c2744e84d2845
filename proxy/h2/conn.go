package h2

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A Conn is one HTTP/2 connection. Its streams' methods and its own, but Serve, may
// be called by any goroutine.
type Conn struct {
	cfg      Config
	nc       net.Conn
	gathered *gathered // under nc; nil: nothing is
	server   bool

	// Of the reading goroutine.
	in       source
	framer   *http2.Framer // writes to out, under mu
	decoder  *hpack.Decoder
	decoding *Head   // whose fields come
	fields   []Field // of it, up to here
	calm     budget
	resets   budget

	mu      sync.Mutex
	hooks   []func() // to be called once mu is free: see unlock
	err     error    // why it has ended, or ends; nil: it goes on
	peer    Settings
	settled bool // the peer's settings have come
	offer   Offer
	unheard int  // SETTINGS of ours that the peer has not acknowledged
	heard   bool // it has acknowledged some
	streams map[uint32]*Stream
	active  int    // streams that were given to Config.Stream and are not closed
	lastID  uint32 // the highest of the peer's streams, in a server's Conn, or of our own
	passed  uint32 // the highest of those that came behind our GOAWAY
	past    past
	idle    *time.Timer
	waits   waits
	hearing *time.Timer // the time limit of unheard; nil: none is running
	hearBy  time.Time   // when that runs out

	// Receiving.
	window int // what the peer may still send
	owed   int // what has gone on and was not given back

	// Sending.
	out       output    // encoded frames
	answers   int       // frames in it that answer the peer's own
	writer    sync.Cond // there is something in out, or an end to come
	writing   bool      // out may be written: our first frame is in it
	closing   bool      // nothing more comes into out
	renewed   time.Time // the time limit of writing
	encoder   *hpack.Encoder
	block     bytes.Buffer // what the encoder writes
	credit    int64        // the window that the peer gives us
	turns     queue        // streams that wait to send
	starved   queue        // streams that wait for credit
	opening   queue        // streams that wait to be opened
	opened    int          // our streams that are open
	draining  bool         // we have said that no new streams are taken
	goneAway  *Error       // the peer has: what its GOAWAY said
	lastTaken uint32       // the last stream that it acts on
}

// An output is what the framer writes to.
type output []byte

func (o *output) Write(p []byte) (int, error) {
	*o = append(*o, p...)
	return len(p), nil
}

// A source is what the framer reads. It remembers its own error, since the framer
// uses the same one for a frame that is too short for its type.
type source struct {
	*bufio.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil {
		s.err = err
	}
	return n, err
}

// NewServer is a connection with a browser. It sends nothing before Offer.
func NewServer(nc net.Conn, cfg Config) *Conn {
	c := newConn(nc, cfg)
	c.server = true
	return c
}

// NewClient is a connection with a server.
func NewClient(nc net.Conn, cfg Config) *Conn {
	c := newConn(nc, cfg)
	c.out = append(c.out, http2.ClientPreface...)
	c.framer.WriteSettings(
		http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(c.cfg.StreamWindow)},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: uint32(c.cfg.MaxHeaderList)},
	)
	c.unheard++
	c.widen()
	c.writing = true
	return c
}

func newConn(nc net.Conn, cfg Config) *Conn {
	cfg.StreamWindow = max(cfg.StreamWindow, initialWindow)
	cfg.Window = max(cfg.Window, initialWindow)
	cfg.MaxHeaderList = cmp.Or(cfg.MaxHeaderList, 64<<10)
	if cfg.Buffers == nil {
		cfg.Buffers = new(Buffers)
	}
	c := &Conn{
		cfg: cfg, nc: nc, gathered: gatheredUnder(nc),
		in:      source{Reader: bufio.NewReaderSize(nc, readSize)},
		calm:    idleFrames(),
		resets:  resets(),
		peer:    defaultSettings(),
		streams: map[uint32]*Stream{},
		window:  initialWindow,
		credit:  initialWindow,
	}
	c.writer.L = &c.mu
	c.framer = http2.NewFramer(&c.out, &c.in)
	c.framer.SetMaxReadFrameSize(frameSize)
	c.framer.SetReuseFrames()
	c.decoder = hpack.NewDecoder(tableSize, c.field)
	c.decoder.SetMaxStringLength(cfg.MaxHeaderList)
	c.encoder = hpack.NewEncoder(&c.block)
	return c
}

// readSize is that of the buffer for frames' heads; larger payloads pass it by.
const readSize = 4 << 10

// widen makes the connection's window what it is to be.
func (c *Conn) widen() {
	if more := c.cfg.Window - c.window; more > 0 {
		c.framer.WriteWindowUpdate(0, uint32(more))
		c.window += more
	}
}

// unlock frees the lock and calls what waits for that.
func (c *Conn) unlock() {
	hooks := c.hooks
	c.hooks = nil
	c.mu.Unlock()
	for _, hook := range hooks {
		hook()
	}
}

// Serve reads the connection until it ends, which it does with the error that is
// returned: net.ErrClosed when both sides had come to an end, io.EOF when the peer
// closed it, an *Error, or the network's. The connection is closed then, and every
// stream has ended.
func (c *Conn) Serve() error {
	written := make(chan struct{})
	go func() {
		defer close(written)
		defer c.recovered()
		c.write()
	}()
	c.mu.Lock()
	c.rest()
	c.mu.Unlock()
	err := c.read()
	c.end(err)
	if c.speaksLast() {
		<-written
		c.linger()
	}
	c.nc.Close()
	<-written
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, timer := range []*time.Timer{c.idle, c.hearing, c.waits.timer} {
		if timer != nil {
			timer.Stop()
		}
	}
	return c.err
}

// recovered keeps a fault of our own to the connection.
func (c *Conn) recovered() {
	if c.cfg.Fault == nil {
		return
	}
	if fault := recover(); fault != nil {
		c.cfg.Fault(fault)
		c.Close(net.ErrClosed)
	}
}

// end ends the connection with err, unless it has ended already.
func (c *Conn) end(err error) {
	c.mu.Lock()
	defer c.unlock()
	c.endLocked(err)
}

func (c *Conn) endLocked(err error) {
	if c.err != nil {
		return
	}
	var own *Error
	switch {
	case errors.As(err, &own) && !own.Remote:
		if !c.writing {
			c.begin(Offer{}) // the first frame is SETTINGS, whatever follows
		}
		c.framer.WriteGoAway(c.lastPeerID(), own.Code, []byte(own.Reason))
	case c.goneAway != nil && c.goneAway.Code != http2.ErrCodeNo && !errors.Is(err, net.ErrClosed):
		err = c.goneAway
	}
	c.err = err
	c.closing = true
	c.nc.SetWriteDeadline(time.Now().Add(lingerTime))
	c.writer.Signal()
	for _, s := range c.streams {
		s.fail(err)
	}
	for s := c.opening.pop(); s != nil; s = c.opening.pop() {
		s.fail(err)
	}
	for s := c.turns.pop(); s != nil; s = c.turns.pop() {
		s.fail(err) // also those without a number yet
	}
}

// lastPeerID is the last of the peer's streams that we act on.
func (c *Conn) lastPeerID() uint32 {
	if c.server {
		return c.lastID
	}
	return 0
}

// speaksLast tells an end that the peer is to be told of.
func (c *Conn) speaksLast() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	var own *Error
	return errors.Is(c.err, net.ErrClosed) || errors.As(c.err, &own) && !own.Remote
}

// linger lets the peer read what it was told before the connection is closed:
// closing with bytes unread would reset it.
func (c *Conn) linger() {
	c.nc.SetReadDeadline(time.Now().Add(lingerTime))
	io.CopyN(io.Discard, c.in.Reader, lingerBytes)
}

// Shutdown ends the connection once its streams have ended: no new ones are taken.
func (c *Conn) Shutdown() {
	c.mu.Lock()
	defer c.unlock()
	c.drain()
}

func (c *Conn) drain() {
	if c.draining || c.err != nil {
		return
	}
	c.draining = true
	if !c.writing { // a browser that has not been told anything yet
		c.begin(Offer{})
	}
	c.framer.WriteGoAway(c.lastPeerID(), http2.ErrCodeNo, nil)
	c.writer.Signal()
	c.finish()
}

// finish ends a connection that takes no new streams and has none left.
func (c *Conn) finish() {
	if (c.draining || c.goneAway != nil) && len(c.streams) == 0 && c.opening.empty() && c.turns.empty() {
		c.endLocked(net.ErrClosed)
	}
}

// Close ends the connection at once: its streams end with err.
func (c *Conn) Close(err error) {
	c.end(err)
	c.nc.Close()
}

// rest starts, when there is no stream, the time that a browser's connection may
// stay without one.
func (c *Conn) rest() {
	if !c.server || c.cfg.Idle == 0 || len(c.streams) > 0 {
		return
	}
	if c.idle == nil {
		c.idle = time.AfterFunc(c.cfg.Idle, c.rested)
	} else {
		c.idle.Reset(c.cfg.Idle)
	}
}

func (c *Conn) rested() {
	c.mu.Lock()
	defer c.unlock()
	if len(c.streams) == 0 {
		c.drain()
	}
}
