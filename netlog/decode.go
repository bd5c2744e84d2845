package netlog

import (
	"errors"
	"fmt"
	"time"
)

// ParseLine reads one line, with or without its newline. What it returns shares
// nothing with b; kept bodies are Bytes. A field or an event that it does not
// know is passed over; an error means that the line is not one of a log.
func ParseLine(b []byte) (*Line, error) { return parseLine(&parser{b: b}) }

func parseLine(p *parser) (*Line, error) {
	b := p.b
	l := new(Line)
	head, rest, ok := parseHead(b)
	if !ok {
		return nil, errors.New("parse log line: no head")
	}
	l.Head = head
	p.i = len(b) - len(rest)
	if b[p.i] == ',' {
		p.i++
		if p.peek() != '"' {
			p.fail("expected a field")
		}
	}
	switch head.Event {
	case EventStart:
		l.Start = &Start{Time: head.Time}
		p.fields(p.start(l.Start))
	case EventOpen:
		l.Open = &Open{Time: head.Time}
		p.fields(p.open(l.Open))
	case EventAnswer:
		l.Answer = &Answer{Time: head.Time}
		p.fields(p.answer(l.Answer))
	case EventMessage:
		l.Message = &Message{Time: head.Time}
		p.fields(p.message(l.Message))
	case EventEnd:
		l.End = &End{Time: head.Time, Timings: NoTimings(0)}
		p.fields(p.ended(l.End))
	default:
		p.fields(func([]byte) { p.skip() })
	}
	if err := p.end(); err != nil {
		return nil, fmt.Errorf("parse log line %d: %w", head.N, err)
	}
	return l, nil
}

// validLine says whether b is a line of the log, as far as JSON goes.
func validLine(b []byte) bool {
	p := parser{b: b}
	p.skip()
	return p.end() == nil
}

func (p *parser) start(s *Start) func([]byte) {
	return func(name []byte) {
		switch string(name) {
		case "format":
			s.Format = int(p.int())
		case "program":
			s.Program = p.string()
		case "version":
			s.Version = p.string()
		case "pid":
			s.PID = int(p.int())
		case "mode":
			s.Mode = p.string()
		case "limits":
			p.object(func(name []byte) {
				switch string(name) {
				case "request_body":
					s.Limits.RequestBody = p.int()
				case "response_body":
					s.Limits.ResponseBody = p.int()
				case "types":
					s.Limits.Types = p.string()
				default:
					p.skip()
				}
			})
		case "open":
			p.array(func() { s.Open = append(s.Open, p.int()) })
		default:
			p.skip()
		}
	}
}

func (p *parser) open(o *Open) func([]byte) {
	return func(name []byte) {
		switch string(name) {
		case "kind":
			o.Kind = Kind(p.string())
		case "via":
			o.Via = Via(p.string())
		case "site":
			o.Site = p.string()
		case "client":
			o.Client = p.string()
		case "connection":
			o.Connection = p.int()
		case "stream":
			o.Stream = p.int()
		case "target":
			o.Target = p.string()
		case "request":
			o.Request = p.request()
		default:
			p.skip()
		}
	}
}

func (p *parser) answer(a *Answer) func([]byte) {
	return func(name []byte) {
		switch string(name) {
		case "response":
			a.Response = p.response()
		default:
			p.skip()
		}
	}
}

func (p *parser) message(m *Message) func([]byte) {
	return func(name []byte) {
		switch string(name) {
		case "dir":
			m.Dir = p.string()
		case "opcode":
			m.Opcode = int(p.int())
		case "size":
			m.Size = new(p.int())
		case "wire_size":
			m.WireSize = p.int()
		case "frames":
			m.Frames = int(p.int())
		case "text":
			m.Text = new(p.string())
		case "base64":
			m.Base64 = p.base64()
		case "more":
			m.More = p.bool()
		default:
			p.skip()
		}
	}
}

func (p *parser) ended(e *End) func([]byte) {
	return func(name []byte) {
		switch string(name) {
		case "request":
			e.Request = p.request()
		case "response":
			e.Response = p.response()
		case "server":
			e.Server = p.server()
		case "client_tls":
			e.ClientTLS = p.tls()
		case "timings":
			e.Timings = p.timings()
		case "tunnel":
			e.Tunnel = p.tunnel()
		case "websocket":
			e.WebSocket = p.websocket()
		case "failed":
			e.Failed = p.failed()
		case "refused":
			e.Refused = p.refused()
		case "changed":
			e.Changed = p.stringList()
		case "unparsed":
			e.Unparsed = p.bool()
		default:
			p.skip()
		}
	}
}

func (p *parser) failed() *Failed {
	f := new(Failed)
	p.object(func(name []byte) {
		switch string(name) {
		case "phase":
			f.Phase = Phase(p.string())
		case "code":
			f.Code = Code(p.string())
		case "reason":
			f.Reason = p.string()
		default:
			p.skip()
		}
	})
	return f
}

func (p *parser) refused() *Refused {
	r := new(Refused)
	p.object(func(name []byte) {
		switch string(name) {
		case "code":
			r.Code = RefusedCode(p.string())
		case "reason":
			r.Reason = p.string()
		case "status":
			r.Status = int(p.int())
		default:
			p.skip()
		}
	})
	return r
}

func (p *parser) timings() Timings {
	t := NoTimings(0)
	p.object(func(name []byte) {
		switch string(name) {
		case "blocked":
			t.Blocked = p.int()
		case "dns":
			t.DNS = p.int()
		case "connect":
			t.Connect = p.int()
		case "tls":
			t.TLS = p.int()
		case "send":
			t.Send = p.int()
		case "wait":
			t.Wait = p.int()
		case "receive":
			t.Receive = p.int()
		case "total":
			t.Total = p.int()
		default:
			p.skip()
		}
	})
	return t
}

// time reads a time of timeLayout.
func (p *parser) time() time.Time {
	s, _ := p.raw()
	if p.err != nil {
		return time.Time{}
	}
	if len(s) == len(timeLayout) {
		if t, ok := parseTime(s); ok {
			return t
		}
	}
	p.fail("not a time")
	return time.Time{}
}

// date reads a certificate's time, which has no fraction.
func (p *parser) date() time.Time {
	s, _ := p.raw()
	t, err := time.Parse(dateLayout, string(s))
	if err != nil {
		p.fail("not a time")
	}
	return t
}
