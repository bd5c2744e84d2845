package har

// HAR is a whole archive: the object at the top of a file.
type HAR struct {
	Log Log `json:"log"`
}

// Log is the archive's content.
type Log struct {
	Version    string  `json:"version"` // "1.2"
	Creator    Creator `json:"creator"`
	Pages      []Page  `json:"pages"`
	Entries    []Entry `json:"entries"`
	Unreadable int64   `json:"_unreadable"` // the log's lines that could not be used
	Stats      *Stats  `json:"_stats,omitempty"`
}

// Creator names the program that wrote an archive.
type Creator struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Page groups entries; an archive of ours has one, or none when it has no entry.
type Page struct {
	StartedDateTime string      `json:"startedDateTime"`
	ID              string      `json:"id"`
	Title           string      `json:"title"`
	PageTimings     PageTimings `json:"pageTimings"`
}

// PageTimings are a page's load events; -1 is unknown.
type PageTimings struct {
	OnContentLoad Millis `json:"onContentLoad"`
	OnLoad        Millis `json:"onLoad"`
}

// Stats counts what a conversion saw.
type Stats struct {
	Lines      int64 `json:"lines"`              // the log's whole lines
	Entries    int64 `json:"entries"`            // what was written
	Open       int64 `json:"open"`               // entries still going
	Failed     int64 `json:"failed"`             // entries that broke
	Refused    int64 `json:"refused"`            // entries that the proxy turned down
	Truncated  int64 `json:"truncated"`          // entries with a body of which a part is missing
	Undecoded  int64 `json:"undecoded"`          // entries with a body whose coding could not be undone
	Orphans    int64 `json:"orphans"`            // end lines whose open line is not in the log
	Lost       int64 `json:"lost"`               // exchanges that the log itself says it has no lines of
	Unreadable int64 `json:"unreadable"`         // lines that could not be used
	Filtered   int64 `json:"filtered,omitempty"` // entries that a filter left out, which the other counts of entries don't have
}

// Entry is one exchange or tunnel.
type Entry struct {
	Pageref         string   `json:"pageref,omitempty"`
	StartedDateTime string   `json:"startedDateTime"` // RFC 3339, UTC, three fraction digits
	Time            Millis   `json:"time"`            // the sum of the timings that are not -1, without ssl
	Request         Request  `json:"request"`
	Response        Response `json:"response"`
	Cache           Cache    `json:"cache"`
	Timings         Timings  `json:"timings"`
	ServerIPAddress string   `json:"serverIPAddress,omitempty"`
	Connection      string   `json:"connection,omitempty"` // the server's port, as browsers write it

	ID              int64            `json:"_id,omitempty"`            // the number of the log's open line
	MonotonicTime   Millis           `json:"_monotonicTime,omitempty"` // in a Playwright trace alone: when it began, by its clock
	Via             string           `json:"_via,omitempty"`
	Site            string           `json:"_site,omitempty"`
	ResourceType    string           `json:"_resourceType,omitempty"`
	Initiator       *Initiator       `json:"_initiator,omitempty"`
	ConnectionID    string           `json:"_connectionId,omitempty"`
	StreamID        int64            `json:"_streamId,omitempty"` // on that connection, in HTTP/2
	ServerPort      int64            `json:"_serverPort,omitempty"`
	SecurityDetails *SecurityDetails `json:"_securityDetails,omitempty"`
	ClientTLS       *ClientTLS       `json:"_clientTLS,omitempty"`
	Open            bool             `json:"_open,omitempty"` // still going when the archive was made
	Failed          *Failed          `json:"_failed,omitempty"`
	Refused         *Refused         `json:"_refused,omitempty"`
	Unparsed        bool             `json:"_unparsed,omitempty"` // the answer could not be read as HTTP
	Changed         []string         `json:"_changed,omitempty"`
	Tunnel          *Tunnel          `json:"_tunnel,omitempty"`
	WebSocket       *WebSocket       `json:"_websocket,omitempty"`

	WebSocketMessages   []WebSocketMessage   `json:"_webSocketMessages,omitempty"`
	WebSocketClose      *WebSocketClose      `json:"_webSocketClose,omitempty"`
	EventSourceMessages []EventSourceMessage `json:"_eventSourceMessages,omitempty"`
	GRPCMessages        []GRPCMessage        `json:"_grpcMessages,omitempty"`
}

// Cache is always empty: a proxy does not see the browser's.
type Cache struct{}

// Request is what the browser sent.
type Request struct {
	Method        string    `json:"method"`
	URL           string    `json:"url"`
	HTTPVersion   string    `json:"httpVersion"`
	Cookies       []Cookie  `json:"cookies"`
	Headers       []Header  `json:"headers"`
	QueryString   []Param   `json:"queryString"`
	PostData      *PostData `json:"postData,omitempty"`
	HeadersSize   int64     `json:"headersSize"` // -1: not known
	BodySize      int64     `json:"bodySize"`    // bytes on the wire, still encoded; -1: not known
	PseudoHeaders []Header  `json:"_pseudoHeaders,omitempty"`
	Trailers      []Header  `json:"_trailers,omitempty"`
}

// Response is what came back; Status is -1 when nothing did.
type Response struct {
	Status        int             `json:"status"`
	StatusText    string          `json:"statusText"`
	HTTPVersion   string          `json:"httpVersion"`
	Cookies       []Cookie        `json:"cookies"`
	Headers       []Header        `json:"headers"`
	Content       Content         `json:"content"`
	RedirectURL   string          `json:"redirectURL"`
	HeadersSize   int64           `json:"headersSize"`
	BodySize      int64           `json:"bodySize"`
	TransferSize  int64           `json:"_transferSize"` // bytes of head and body
	Error         string          `json:"_error,omitempty"`
	PseudoHeaders []Header        `json:"_pseudoHeaders,omitempty"`
	Informational []Informational `json:"_informational,omitempty"`
	Trailers      []Header        `json:"_trailers,omitempty"`
}

// Header is one field line, in the wire's order and case.
type Header struct {
	Name        string `json:"name"`
	Value       string `json:"value"`
	ValueBase64 string `json:"_valueBase64,omitempty"` // the exact bytes, when they are not UTF-8
}

// Cookie is a cookie sent, or one that an answer sets (then HTTPOnly and
// Secure are given). Values are as on the wire.
type Cookie struct {
	Name     string `json:"name"`
	Value    string `json:"value"`
	Path     string `json:"path,omitempty"`
	Domain   string `json:"domain,omitempty"`
	Expires  string `json:"expires,omitempty"` // RFC 3339, UTC, three fraction digits
	HTTPOnly *bool  `json:"httpOnly,omitempty"`
	Secure   *bool  `json:"secure,omitempty"`
	SameSite string `json:"sameSite,omitempty"`
}

// Param is one decoded parameter of a query or a form.
type Param struct {
	Name        string `json:"name"`
	Value       string `json:"value"`
	FileName    string `json:"fileName,omitempty"`
	ContentType string `json:"contentType,omitempty"`
}

// PostData is a request's body. Text is always there; its bytes that are not
// UTF-8 are U+FFFD, and Base64 then has all of them.
type PostData struct {
	MimeType string  `json:"mimeType"`
	Params   []Param `json:"params,omitempty"`
	Text     string  `json:"text"`
	Encoding string  `json:"encoding,omitempty"` // "base64": Text is in it, as Playwright reads it
	Base64   string  `json:"_base64,omitempty"`
	BodyNote
}

// Content is an answer's body, decoded. Text is nil when it was not kept.
type Content struct {
	Size        int64   `json:"size"`
	Compression *int64  `json:"compression,omitempty"` // Size - bodySize, when Size is the whole decoded body's
	MimeType    string  `json:"mimeType"`
	Text        *string `json:"text,omitempty"`
	Encoding    string  `json:"encoding,omitempty"` // "base64"
	Charset     string  `json:"_charset,omitempty"` // what Text was transcoded from
	SHA1        string  `json:"_sha1,omitempty"`    // in a Playwright trace alone: names the resource that has the bytes
	BodyNote
}

// BodyNote says what of a body is missing or could not be undone.
type BodyNote struct {
	SHA256    string `json:"_sha256,omitempty"`    // of all bytes on the wire
	Truncated bool   `json:"_truncated,omitempty"` // the text holds only the body's first part
	KeptSize  *int64 `json:"_keptSize,omitempty"`  // when Truncated: how many bytes of the wire's the log has
	Undecoded string `json:"_undecoded,omitempty"` // the coding and why it could not be undone

	// Misencoded says what is wrong with the coding of a body that is decoded as
	// far as it goes, as browsers do: its end is missing, a checksum is wrong, or
	// it is text under the name of a coding that there is not.
	Misencoded string `json:"_misencoded,omitempty"`
}

// Informational is a 1xx answer that came before the final one.
type Informational struct {
	Status  int      `json:"status"`
	Headers []Header `json:"headers"`
}

// Timings are an exchange's phases. Blocked, DNS, Connect and SSL are -1 when
// they did not happen; SSL lies inside Connect.
type Timings struct {
	Blocked Millis `json:"blocked"`
	DNS     Millis `json:"dns"`
	Connect Millis `json:"connect"`
	SSL     Millis `json:"ssl"`
	Send    Millis `json:"send"`
	Wait    Millis `json:"wait"`
	Receive Millis `json:"receive"`
}

// Initiator is what caused a request, as far as its Referer tells.
type Initiator struct {
	Type string `json:"type"` // "other"
	URL  string `json:"url,omitempty"`
}

// SecurityDetails is the session with the server. Times are seconds since 1970.
type SecurityDetails struct {
	Protocol    string   `json:"protocol,omitempty"`
	SubjectName string   `json:"subjectName,omitempty"`
	Issuer      string   `json:"issuer,omitempty"`
	ValidFrom   int64    `json:"validFrom,omitempty"`
	ValidTo     int64    `json:"validTo,omitempty"`
	Cipher      string   `json:"cipher,omitempty"`
	ALPN        string   `json:"alpn,omitempty"`
	SNI         string   `json:"sni,omitempty"`
	SANList     []string `json:"sanList,omitempty"`
	Serial      string   `json:"serial,omitempty"`
	SHA256      string   `json:"sha256,omitempty"`
	Resumed     bool     `json:"resumed,omitempty"`
	Verified    *bool    `json:"verified,omitempty"`
	Unverified  string   `json:"unverified,omitempty"` // why not
}

// ClientTLS is the session with the browser.
type ClientTLS struct {
	Protocol string `json:"protocol,omitempty"`
	Cipher   string `json:"cipher,omitempty"`
	ALPN     string `json:"alpn,omitempty"`
	SNI      string `json:"sni,omitempty"`
	Resumed  bool   `json:"resumed,omitempty"`
}

// Failed says where and why an entry broke.
type Failed struct {
	Phase  string `json:"phase"`
	Code   string `json:"code"`
	Reason string `json:"reason"`
}

// Refused says why the proxy turned a request down.
type Refused struct {
	Code   string `json:"code"`
	Reason string `json:"reason"`
	Status int    `json:"status"` // what the browser got; 0: its connection was closed
}

// Tunnel is what is known of a tunnel.
type Tunnel struct {
	Sent        int64    `json:"sent"`
	Received    int64    `json:"received"`
	SNI         string   `json:"sni,omitempty"`
	ALPN        []string `json:"alpn,omitempty"`
	TLSVersions []string `json:"tlsVersions,omitempty"`
	TLSVersion  string   `json:"tlsVersion,omitempty"`
	Reason      string   `json:"reason,omitempty"` // why it was not decrypted
}

// WebSocket counts a socket's frames.
type WebSocket struct {
	Sent        Frames          `json:"sent"`
	Received    Frames          `json:"received"`
	Close       *WebSocketClose `json:"close,omitempty"`
	Subprotocol string          `json:"subprotocol,omitempty"`
	Extensions  string          `json:"extensions,omitempty"`
	Recorded    *int64          `json:"recorded,omitempty"` // messages in the log, when fewer than there were
}

// Frames counts one direction.
type Frames struct {
	Messages int64 `json:"messages"`
	Bytes    int64 `json:"bytes"`
	Frames   int64 `json:"frames"`
	Control  int64 `json:"control"`
}

// WebSocketMessage is one message. Data is text for opcode 1, else base64;
// Encoding marks a text message that is not UTF-8.
type WebSocketMessage struct {
	Type      string  `json:"type"` // "send" or "receive"
	Time      Seconds `json:"time"`
	Opcode    int     `json:"opcode"`
	Data      string  `json:"data"`
	Encoding  string  `json:"encoding,omitempty"`
	Size      *int64  `json:"_size,omitempty"` // when Data is not the whole message
	Truncated bool    `json:"_truncated,omitempty"`
}

// WebSocketClose is the first close frame.
type WebSocketClose struct {
	Code   int    `json:"code,omitempty"`
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"` // "client" or "server"
}

// EventSourceMessage is one event of a text/event-stream answer.
type EventSourceMessage struct {
	Time      Seconds `json:"time"` // when its last byte came
	EventName string  `json:"eventName"`
	EventID   string  `json:"eventId"`
	Data      string  `json:"data"`
}

// GRPCMessage is one message of a gRPC or gRPC-Web body: those sent, then those
// received.
type GRPCMessage struct {
	Type       string `json:"type"`                 // "send" or "receive"
	Compressed bool   `json:"compressed,omitempty"` // by what the field grpc-encoding names
	Trailers   bool   `json:"trailers,omitempty"`   // gRPC-Web's trailers, as lines of text
	Size       int64  `json:"size"`                 // bytes that it says it has
	Data       string `json:"data"`                 // base64 of it, as it came
	Truncated  bool   `json:"truncated,omitempty"`  // Data is not the whole message
}
