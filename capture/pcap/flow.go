package pcap

import (
	"net/netip"
	"time"
)

// A Flow is what two addresses said to each other: a TCP connection, or the
// packets of another protocol between the same two ports.
type Flow struct {
	Protocol       string // "tcp", "udp", "icmp" …
	Client, Server netip.AddrPort
	First, Last    time.Time
	Packets        int64
	Sent, Received int64 // bytes of the client's packets and of the server's, headers included

	TLS        bool     // it began with a ClientHello, or a tunnel in it did
	ServerName string   // of that ClientHello; "" when it names none
	Requests   []string // the request lines of HTTP/1, of those inside a tunnel too
}

// A key has the lower address first.
type key struct {
	protocol  string
	low, high netip.AddrPort
}

// keyOf also says which of the two sent the packet: 0 for the lower.
func keyOf(p packet) (k key, sender int) {
	if p.from.Compare(p.to) <= 0 {
		return key{p.protocol, p.from, p.to}, 0
	}
	return key{p.protocol, p.to, p.from}, 1
}

const unknown = -1

// A connection is a flow that is being read. Of its two sides the lower address
// is number 0.
type connection struct {
	key         key
	first, last time.Time
	packets     int64
	bytes       [2]int64
	starter     int // who sent the first packet
	client      int // by its SYN or by what it said, else unknown
	isn         uint32
	synced      bool // isn is the client's
	streams     [2]*stream
	name        string // of the server, for its address
	budget      *budget
}

// begins says whether a packet is the first of another connection between the
// same two.
func (c *connection) begins(p packet) bool {
	if p.tcp == nil || !p.tcp.SYN || p.tcp.ACK || c.packets == 0 {
		return false
	}
	return !c.synced || c.isn != p.tcp.Seq
}

func (c *connection) add(p packet, sender, length int, at time.Time) {
	if c.packets == 0 {
		c.first, c.starter, c.client = at, sender, unknown
	}
	c.last = at
	c.packets++
	c.bytes[sender] += int64(length)
	if p.tcp == nil {
		return
	}
	seq := p.tcp.Seq
	if p.tcp.SYN {
		seq++ // data in a SYN is behind it
		switch {
		case p.tcp.ACK:
			c.client = 1 - sender
		case !c.synced:
			c.client, c.isn, c.synced = sender, p.tcp.Seq, true
			c.streams[sender] = c.newStream()
			c.streams[sender].begin(seq)
		}
	}
	if len(p.payload) > 0 && (c.client == unknown || c.client == sender) {
		c.hear(sender, segment{seq, p.payload, p.missing})
	}
}

func (c *connection) newStream() *stream { return &stream{talk: talk{budget: c.budget}} }

func (c *connection) hear(sender int, seg segment) {
	if c.streams[sender] == nil {
		c.streams[sender] = c.newStream()
	}
	s := c.streams[sender]
	s.add(seg)
	if c.client == unknown && s.talk.saysSomething() {
		c.client = sender
	}
	if c.client == sender {
		c.streams[1-sender] = nil
	}
}

// end returns the flow.
func (c *connection) end() *Flow {
	for side, s := range c.streams {
		if s == nil {
			continue
		}
		s.flush()
		if c.client == unknown && s.talk.saysSomething() {
			c.client = side
		}
	}
	client := c.client
	if client == unknown {
		client = c.likelyClient()
	}
	f := &Flow{
		Protocol: c.key.protocol, First: c.first, Last: c.last, Packets: c.packets,
		Sent: c.bytes[client], Received: c.bytes[1-client],
	}
	f.Client, f.Server = c.key.low, c.key.high
	if client == 1 {
		f.Client, f.Server = f.Server, f.Client
	}
	if s := c.streams[client]; s != nil {
		t := &s.talk
		f.TLS, f.ServerName, f.Requests = t.tls, t.serverName, t.requests
		if c.name = t.host; t.tls && !t.inside {
			c.name = t.serverName
		}
	}
	c.streams = [2]*stream{}
	return f
}

// likelyClient is whoever sent the first packet, unless only that one's port is a
// server's.
func (c *connection) likelyClient() int {
	ports := [2]uint16{c.key.low.Port(), c.key.high.Port()}
	const wellKnown = 1024
	if first := ports[c.starter]; first != 0 && first < wellKnown && ports[1-c.starter] >= wellKnown {
		return 1 - c.starter
	}
	return c.starter
}
