package netlog

// A Parser parses lines as ParseLine does, but has the bytes of bodies and the
// header lists of many lines in memory that it uses again. Its zero value is
// ready.
type Parser struct {
	bytes   []byte
	headers []Header
}

const (
	parserBytes   = 64 << 10
	parserHeaders = 128
)

// ParseLine is like the function, but what it returns of headers, trailers and
// kept bytes is valid until Release.
func (p *Parser) ParseLine(b []byte) (*Line, error) {
	if p.bytes == nil {
		p.bytes = make([]byte, 0, parserBytes)
		p.headers = make([]Header, 0, parserHeaders)
	}
	return parseLine(&parser{b: b, reused: p})
}

// Release is for when nothing that was parsed so far is in use.
func (p *Parser) Release() {
	p.bytes = p.bytes[:0]
	clear(p.headers)
	p.headers = p.headers[:0]
}

// room gives n bytes, of its own as long as it has so many.
func (p *Parser) room(n int) []byte {
	if p == nil || n > cap(p.bytes)-len(p.bytes) {
		return make([]byte, n)
	}
	at := len(p.bytes)
	p.bytes = p.bytes[:at+n]
	return p.bytes[at : at+n : at+n]
}

// list gives an empty list for headers, and how long it may grow in place.
func (p *Parser) list() []Header {
	if p == nil || len(p.headers) == cap(p.headers) {
		return make([]Header, 0, 16) // as many as most have
	}
	return p.headers[len(p.headers):]
}

// keep takes note of how long a list became that it gave.
func (p *Parser) keep(list []Header) []Header {
	if p == nil || len(list) == 0 {
		return list
	}
	at := len(p.headers)
	if free := p.headers[at:cap(p.headers)]; len(list) <= len(free) && &free[0] == &list[0] {
		p.headers = p.headers[:at+len(list)]
	}
	return list[:len(list):len(list)]
}
