package netlog

func (p *parser) request() *Request {
	r := new(Request)
	p.object(func(name []byte) {
		switch string(name) {
		case "method":
			r.Method = p.string()
		case "url":
			r.URL = p.string()
		case "target":
			r.Target = p.target()
		case "version":
			r.Version = p.string()
		case "headers":
			r.Headers = p.headers()
		case "header_bytes":
			r.HeaderBytes = p.int()
		case "pseudo":
			r.Pseudo = p.headers()
		case "trailers":
			r.Trailers = p.headers()
		case "body":
			r.Body = p.body()
		default:
			p.skip()
		}
	})
	return r
}

// target reads a request-target: a string or, when it is not UTF-8, [string,
// exact bytes].
func (p *parser) target() (s string) {
	if p.peek() != '[' {
		return p.string()
	}
	i := 0
	p.array(func() {
		switch i++; i {
		case 1:
			p.string()
		case 2:
			s = string(p.base64())
		default:
			p.fail("a target of more than two elements")
		}
	})
	if i < 2 {
		p.fail("a target without its bytes")
	}
	return s
}

func (p *parser) response() *Response {
	r := new(Response)
	p.object(func(name []byte) {
		switch string(name) {
		case "status":
			r.Status = int(p.int())
		case "reason":
			r.Reason = p.string()
		case "version":
			r.Version = p.string()
		case "headers":
			r.Headers = p.headers()
		case "header_bytes":
			r.HeaderBytes = p.int()
		case "pseudo":
			r.Pseudo = p.headers()
		case "informational":
			p.array(func() { r.Informational = append(r.Informational, p.informational()) })
		case "trailers":
			r.Trailers = p.headers()
		case "body":
			r.Body = p.body()
		case "complete":
			r.Complete = p.bool()
		default:
			p.skip()
		}
	})
	return r
}

func (p *parser) informational() (i Informational) {
	p.object(func(name []byte) {
		switch string(name) {
		case "status":
			i.Status = int(p.int())
		case "headers":
			i.Headers = p.headers()
		default:
			p.skip()
		}
	})
	return i
}

// headers reads field lines, each [name, value] or, when the value is not UTF-8,
// [name, value, exact bytes].
func (p *parser) headers() (list []Header) {
	p.array(func() {
		var h Header
		i := 0
		p.array(func() {
			switch i++; i {
			case 1:
				h.Name = p.string()
			case 2:
				h.Value = p.string()
			case 3:
				h.Value = string(p.base64())
			default:
				p.fail("a field line of more than three elements")
			}
		})
		if i < 2 {
			p.fail("a field line without a value")
		}
		if list == nil {
			list = p.reused.list()
		}
		list = append(list, h)
	})
	return p.reused.keep(list)
}

func (p *parser) body() *Body {
	b := new(Body)
	p.object(func(name []byte) {
		switch string(name) {
		case "size":
			b.Size = p.int()
		case "sha256":
			b.SHA256 = p.string()
		case "base64":
			b.Kept = p.kept()
		case "truncated":
			b.Truncated = p.bool()
		case "chunks":
			p.array(func() { b.Chunks = append(b.Chunks, p.chunk()) })
		default:
			p.skip()
		}
	})
	return b
}

func (p *parser) chunk() (c Chunk) {
	i := 0
	p.array(func() {
		switch i++; i {
		case 1:
			c.Offset = p.int()
		case 2:
			c.Micros = p.int()
		default:
			p.fail("a chunk of more than two numbers")
		}
	})
	if i < 2 {
		p.fail("a chunk without a time")
	}
	return c
}

func (p *parser) server() *Server {
	s := new(Server)
	p.object(func(name []byte) {
		switch string(name) {
		case "address":
			s.Address = p.string()
		case "connection":
			s.Connection = p.int()
		case "stream":
			s.Stream = p.int()
		case "reused":
			s.Reused = p.bool()
		case "dialled":
			s.Dialled = p.dialled()
		case "tls":
			s.TLS = p.tls()
		default:
			p.skip()
		}
	})
	return s
}

func (p *parser) dialled() *Dialled {
	d := &Dialled{DNS: Absent, Connect: Absent, TLS: Absent}
	p.object(func(name []byte) {
		switch string(name) {
		case "t":
			d.Time = p.time()
		case "dns":
			d.DNS = p.int()
		case "connect":
			d.Connect = p.int()
		case "tls":
			d.TLS = p.int()
		default:
			p.skip()
		}
	})
	return d
}

func (p *parser) tls() *TLS {
	t := new(TLS)
	p.object(func(name []byte) {
		switch string(name) {
		case "version":
			t.Version = p.string()
		case "cipher":
			t.Cipher = p.string()
		case "alpn":
			t.ALPN = p.string()
		case "sni":
			t.SNI = p.string()
		case "resumed":
			t.Resumed = p.bool()
		case "subject":
			t.Subject = p.string()
		case "issuer":
			t.Issuer = p.string()
		case "sans":
			t.SANs = p.stringList()
		case "not_before":
			t.NotBefore = p.date()
		case "not_after":
			t.NotAfter = p.date()
		case "serial":
			t.Serial = p.string()
		case "sha256":
			t.SHA256 = p.string()
		case "verified":
			t.Verified = new(p.bool())
		case "unverified":
			t.Unverified = p.string()
		default:
			p.skip()
		}
	})
	return t
}

func (p *parser) tunnel() *Tunnel {
	t := new(Tunnel)
	p.object(func(name []byte) {
		switch string(name) {
		case "sent":
			t.Sent = p.int()
		case "received":
			t.Received = p.int()
		case "sni":
			t.SNI = p.string()
		case "alpn":
			t.ALPN = p.stringList()
		case "tls_versions":
			t.TLSVersions = p.stringList()
		case "tls_version":
			t.TLSVersion = p.string()
		case "reason":
			t.Reason = p.string()
		default:
			p.skip()
		}
	})
	return t
}

func (p *parser) websocket() *WebSocket {
	s := new(WebSocket)
	p.object(func(name []byte) {
		switch string(name) {
		case "sent":
			s.Sent = p.frames()
		case "received":
			s.Received = p.frames()
		case "close":
			s.Close = p.closed()
		case "subprotocol":
			s.Subprotocol = p.string()
		case "extensions":
			s.Extensions = p.string()
		case "recorded":
			s.Recorded = new(p.int())
		default:
			p.skip()
		}
	})
	return s
}

func (p *parser) frames() (f Frames) {
	p.object(func(name []byte) {
		switch string(name) {
		case "messages":
			f.Messages = p.int()
		case "bytes":
			f.Bytes = p.int()
		case "frames":
			f.Frames = p.int()
		case "control":
			f.Control = p.int()
		default:
			p.skip()
		}
	})
	return f
}

func (p *parser) closed() *Close {
	c := new(Close)
	p.object(func(name []byte) {
		switch string(name) {
		case "code":
			c.Code = int(p.int())
		case "reason":
			c.Reason = p.string()
		case "by":
			c.By = p.string()
		default:
			p.skip()
		}
	})
	return c
}
