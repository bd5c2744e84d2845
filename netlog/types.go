package netlog

import (
	"io"
	"time"
)

// Format is the version of the log's format that this package writes and reads.
const Format = 1

// An Event says what a line is. A reader skips an event that it does not know.
type Event string

// The events of format 1.
const (
	EventStart   Event = "start"
	EventOpen    Event = "open"
	EventAnswer  Event = "answer"
	EventMessage Event = "message"
	EventEnd     Event = "end"

	EventUnrotated Event = "unrotated" // in the place of a start line: the file goes on
)

// A Kind tells an exchange (a request and its answer) from a tunnel.
type Kind string

// The kinds of an open line.
const (
	KindExchange Kind = "exchange"
	KindTunnel   Kind = "tunnel"
)

// A Via says which way through the proxy an exchange or a tunnel took.
type Via string

// The ways of an open line.
const (
	ViaMITM    Via = "mitm"     // decrypted by the proxy
	ViaSite    Via = "site"     // a site's name, served from its route
	ViaPlain   Via = "plain"    // an http:// request
	ViaTunnel  Via = "tunnel"   // relayed undecrypted
	ViaStandIn Via = "stand-in" // recorded at connection level
)

// Start is the first line of each process and of each file.
type Start struct {
	Time    time.Time
	Format  int    // Format
	Program string // "agentenv-netlog"
	Version string // the program's
	PID     int
	Mode    string // "proxy", "record", "demo", "stand-in", "sites"
	Limits  Limits
	Open    []int64 // after a rotation: the ids still open
}

// Limits are what a process keeps of bodies.
type Limits struct {
	RequestBody  int64  // bytes kept of a request's body
	ResponseBody int64  // bytes kept of an answer's body
	Types        string // which answers' bodies are kept: "text", "all" or "none"
}

// Open is the line of an exchange or a tunnel that begins.
type Open struct {
	Time       time.Time // when the request's head, or the CONNECT, had been read
	Kind       Kind
	Via        Via
	Site       string
	Client     string   // the browser's address, ip:port
	Connection int64    // the browser connection's number, from 1 in each process
	Stream     int64    // the request's stream on it, in HTTP/2
	Target     string   // a tunnel's host:port as the CONNECT named it
	Request    *Request // nil for a tunnel
}

// Request is a request as the browser sent it. In an end line only Trailers and
// Body are set: what the open line could not know.
type Request struct {
	Method      string
	URL         string // absolute, no fragment, no default port
	Target      string // the exact request-target in a header value's form, when it is not the URL's path and query
	Version     string
	Headers     []Header
	HeaderBytes int64    // the head's, from the request line to the blank line; of HTTP/2's frames
	Pseudo      []Header // HTTP/2's pseudo header fields
	Trailers    []Header
	Body        *Body // nil: not known yet
}

// Answer is the line of an answer whose body is still coming.
type Answer struct {
	Time     time.Time
	Response *Response // without Body, Trailers and Complete
}

// Response is an answer as the browser got it.
type Response struct {
	Status        int // 0 of an answer that is unparsed: Body has all of it
	Reason        string
	Version       string
	Headers       []Header
	HeaderBytes   int64
	Pseudo        []Header
	Informational []Informational // 1xx other than 101, in order
	Trailers      []Header
	Body          *Body
	Complete      bool // false when the body broke off; end lines only
}

// Informational is a 1xx answer that came before the final one (RFC 9110 §15.2).
type Informational struct {
	Status  int
	Headers []Header
}

// Header is one field line. Value holds the wire's exact bytes, which need not
// be UTF-8: the log then has U+FFFD in their place and the bytes in base64.
type Header struct {
	Name, Value string
}

// Body is what is known of a body. One of no bytes has Size 0 and nothing else.
type Body struct {
	Size      int64   // bytes on the wire, de-chunked, still encoded
	SHA256    string  // of all of them, in lower-case hex; "" when it was not taken
	Kept      Kept    // the bytes that were kept, as they came; nil for none
	Truncated bool    // fewer were kept than came, though some were to be
	Chunks    []Chunk // when the parts of a text/event-stream answer came
}

// Kept is the part of a body that was kept, in memory (Bytes) or on disk.
// WriteTo writes all of it, each time that it is called.
type Kept interface {
	io.WriterTo
	Len() int64
}

// Bytes is a kept body in memory; what a Reader returns is always one.
type Bytes []byte

// Len returns how many bytes were kept.
func (b Bytes) Len() int64 { return int64(len(b)) }

// WriteTo writes the bytes to w.
func (b Bytes) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(b)
	return int64(n), err
}

// Chunk says that the body's bytes from Offset on came Micros microseconds
// after the exchange's open line's time.
type Chunk struct {
	Offset, Micros int64
}

// Message is one WebSocket message, or the close frame.
type Message struct {
	Time     time.Time // when its last frame passed
	Dir      string    // "send" (from the browser) or "receive"
	Opcode   int
	Size     *int64 // bytes, inflated; nil when not known
	WireSize int64  // payload bytes as on the wire
	Frames   int
	Text     *string // the payload kept, when it is valid UTF-8 of a text message
	Base64   []byte  // the payload kept otherwise
	More     bool    // the last that is recorded: later ones are only counted
}

// End is the line of an exchange or a tunnel that is over.
type End struct {
	Time      time.Time
	Request   *Request  // what the open line could not know
	Response  *Response // nil: no answer came
	Server    *Server
	ClientTLS *TLS // the browser's leg
	Timings   Timings
	Tunnel    *Tunnel
	WebSocket *WebSocket
	Failed    *Failed
	Refused   *Refused
	Changed   []string // what an option changed on the way
	Unparsed  bool     // the answer could not be read as HTTP
}

// Server is the connection that an exchange or a tunnel went upstream on.
type Server struct {
	Address    string // ip:port dialled
	Connection int64  // its number, from 1 in each process
	Stream     int64  // the exchange's stream on it, in HTTP/2
	Reused     bool
	Dialled    *Dialled // in the connection's first exchange only
	TLS        *TLS
}

// Dialled is what making a connection took, in microseconds; Absent for a
// step that did not happen.
type Dialled struct {
	Time    time.Time // when dialling began
	DNS     int64
	Connect int64
	TLS     int64
}

// TLS is one leg's session. The certificate's fields are the server's.
type TLS struct {
	Version   string // "TLS 1.3"
	Cipher    string // IANA's name
	ALPN      string
	SNI       string
	Resumed   bool
	Subject   string // RFC 4514
	Issuer    string
	SANs      []string
	NotBefore time.Time
	NotAfter  time.Time
	Serial    string // lower-case hex
	SHA256    string // the certificate's, lower-case hex
	Verified  *bool  // the server's leg only

	Unverified string // why the certificate was not verified, for people; it was taken all the same
}

// Absent marks a phase that did not happen, and is left out of the line.
const Absent int64 = -1

// Timings are the phases from the open line's time to the end's, in
// microseconds, without overlap. TLS lies inside Connect; the sum of the others
// that are not Absent is Total.
type Timings struct {
	Blocked, DNS, Connect, TLS, Send, Wait, Receive int64
	Total                                           int64
}

// NoTimings is the Timings of an exchange of which no phase happened.
func NoTimings(total int64) Timings {
	return Timings{Absent, Absent, Absent, Absent, Absent, Absent, Absent, total}
}

// Tunnel is what is known of a tunnel: the bytes relayed and what the TLS
// hellos said in the clear.
type Tunnel struct {
	Sent        int64
	Received    int64
	SNI         string   // the outer name
	ALPN        []string // the list offered
	TLSVersions []string // the list offered
	TLSVersion  string   // of the ServerHello
	Reason      string   // why what could be decrypted was not, a sentence for people
}

// WebSocket counts a socket's frames.
type WebSocket struct {
	Sent        Frames
	Received    Frames
	Close       *Close
	Subprotocol string
	Extensions  string
	Recorded    *int64 // the message lines, when fewer than the messages
}

// Frames counts one direction.
type Frames struct {
	Messages int64
	Bytes    int64 // payload of data frames as on the wire
	Frames   int64
	Control  int64
}

// Close is the first close frame (RFC 6455 §5.5.1).
type Close struct {
	Code   int
	Reason string
	By     string // "client" or "server"
}

// Failed says how an exchange or a tunnel broke.
type Failed struct {
	Phase  Phase
	Code   Code
	Reason string // a sentence for people
}

// A Phase says where an exchange or a tunnel broke.
type Phase string

// The phases of a failure: the closed list of schema.json.
const (
	PhaseDNS       Phase = "dns"
	PhaseConnect   Phase = "connect"
	PhaseClientTLS Phase = "client_tls"
	PhaseServerTLS Phase = "server_tls"
	PhaseSend      Phase = "send"
	PhaseWait      Phase = "wait"
	PhaseReceive   Phase = "receive"
	PhaseWebSocket Phase = "websocket"
	PhaseProxy     Phase = "proxy"
)

// A Code says why an exchange or a tunnel broke.
type Code string

// The codes of a failure: the closed list of schema.json.
const (
	CodeRefused        Code = "refused"     // the server's host refused the connection
	CodeTimeout        Code = "timeout"     // a time limit ran out
	CodeReset          Code = "reset"       // the server closed or reset the connection
	CodeUnreachable    Code = "unreachable" // no route, or the network is down
	CodeNotFound       Code = "not_found"   // the name does not resolve
	CodeBadCertificate Code = "bad_certificate"
	CodeBadAnswer      Code = "bad_answer"  // the server broke the protocol
	CodeBadRequest     Code = "bad_request" // the browser broke the protocol after its head had gone up
	CodeClientGone     Code = "client_gone" // the browser went away
	CodeClientRefused  Code = "client_refused_certificate"
	CodeLost           Code = "lost"      // its end could not be written in time
	CodeRestarted      Code = "restarted" // the process that held it died
	CodeStopped        Code = "stopped"   // the proxy was stopped
	CodeInternal       Code = "internal"  // a fault of the proxy's own
)

// Refused says why the proxy turned a request down before anything went up.
type Refused struct {
	Code   RefusedCode
	Reason string
	Status int // what the browser got; 0 when its connection was only closed
}

// A RefusedCode says why a request was turned down.
type RefusedCode string

// The codes of a refusal: the closed list of schema.json.
const (
	RefusedBadRequest  RefusedCode = "bad_request"             // 400: not HTTP, or ambiguous
	RefusedHeadTooLong RefusedCode = "head_too_long"           // 431
	RefusedCoding      RefusedCode = "unknown_transfer_coding" // 501
	RefusedMisdirected RefusedCode = "misdirected"             // 421: another name than its connection's
	RefusedPolicy      RefusedCode = "policy"                  // 403: a rule forbids the host
	RefusedOwnAddress  RefusedCode = "own_address"             // 403: the proxy's own address; 508: come back by way of its parent
	RefusedTimeout     RefusedCode = "timeout"                 // 408: its head did not come in time
)
