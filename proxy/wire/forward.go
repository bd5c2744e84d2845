package wire

import (
	"bytes"
	"iter"
)

// ForwardOptions says how a head is passed on. Zero: as it came, but for what
// belongs to one hop.
type ForwardOptions struct {
	Upgrade bool // keep the Upgrade fields and, of Connection, the upgrade option

	// For requests alone.
	Target []byte // in place of the request-target; nil: as it came
	Host   []byte // in place of the Host field's value, as the first field where there is none; nil: as it came

	// For answers alone.
	Dechunk bool // drop Transfer-Encoding and Trailer: for an HTTP/1.0 client, which gets the body without frames
	Close   bool // end the head with "Connection: close"
}

// AppendForward appends the head to dst as it goes to the next hop (RFC 9110
// §7.6.1). Dropped are Connection and the fields that it names, Keep-Alive,
// Proxy-Authenticate, Proxy-Authorization, Proxy-Connection, TE but for its
// trailers, and Upgrade; of repeated Content-Lengths all but the first (RFC 9110
// §8.6). What frames or addresses the message stays whatever Connection names:
// Content-Length, Host, Trailer and Transfer-Encoding. Every other Field's Line
// is appended as it is, in its place.
func (r *Request) AppendForward(dst []byte, o ForwardOptions) []byte {
	if o.Target == nil {
		dst = append(dst, r.Line...)
	} else {
		dst = append(dst, r.Method...)
		dst = append(dst, ' ')
		dst = append(dst, o.Target...)
		dst = append(dst, ' ')
		dst = append(dst, r.Version...)
		dst = append(dst, crlf...)
	}
	if o.Host != nil && r.Fields.Count("host") == 0 {
		dst = appendLineOf(dst, []byte("Host"), o.Host)
	}
	dst = appendForward(dst, r.Fields, o, false)
	return append(dst, crlf...)
}

// AppendForward appends the head to dst as it goes to the next hop, by the
// request's rules. A Content-Length beside a Transfer-Encoding is dropped (RFC 9112 §6.3),
// and a list of equal ones becomes one of them. A folded field stays folded, as
// the client would get it from the server itself. Empty lines before the status line stay.
func (a *Answer) AppendForward(dst []byte, o ForwardOptions) []byte {
	coded, _ := a.transferCoding()
	dst = append(dst, a.Raw[:a.top]...)
	dst = append(dst, a.Line...)
	o.Host = nil
	dst = appendForward(dst, a.Fields, o, coded)
	if o.Close {
		dst = append(dst, "Connection: close\r\n"...)
	}
	return append(dst, crlf...)
}

func appendForward(dst []byte, fields FieldList, o ForwardOptions, dropLength bool) []byte {
	var length []byte
	var room [8][]byte
	options := connectionOptions(fields, room[:0])
	for i := range fields {
		f := &fields[i]
		switch role(f.Name) {
		case connection:
			if token := element(f.Value, "upgrade"); o.Upgrade && token != nil {
				dst = appendReduced(dst, f, token)
			}
		case upgrade:
			if o.Upgrade {
				dst = append(dst, f.Line...)
			}
		case te:
			if token := element(f.Value, "trailers"); token != nil {
				dst = appendReduced(dst, f, token)
			}
		case contentLength:
			one := oneLength(f.Value)
			if dropLength || length != nil && bytes.Equal(one, length) {
				continue
			}
			length = one
			dst = appendReduced(dst, f, one)
		case framing:
			if !o.Dechunk {
				dst = append(dst, f.Line...)
			}
		case host:
			if o.Host != nil {
				dst = appendLineOf(dst, f.Name, o.Host)
			} else {
				dst = append(dst, f.Line...)
			}
		case endToEnd:
			if !names(options, f.Name) {
				dst = append(dst, f.Line...)
			}
		}
	}
	return dst
}

// EndToEnd yields the fields' names and values as they go to a next hop that does
// not speak HTTP/1: by AppendForward's rules, but without a Transfer-Encoding too.
func (a *Answer) EndToEnd() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		options := connectionOptions(a.Fields, nil)
		drop, _ := a.transferCoding()
		for i := range a.Fields {
			f := &a.Fields[i]
			value := f.Value
			switch role(f.Name) {
			case contentLength:
				if drop {
					continue
				}
				value, drop = oneLength(value), true // Framing knows that all are equal
			case framing:
				if !equalFold(f.Name, "trailer") {
					continue
				}
			case endToEnd, host:
				if names(options, f.Name) {
					continue
				}
			default:
				continue
			}
			if !yield(f.Name, value) {
				return
			}
		}
	}
}

// connectionOptions appends the elements of the Connection fields to options.
func connectionOptions(fields FieldList, options [][]byte) [][]byte {
	for option := range fields.Elements("connection") {
		if len(options) < maxConnection {
			options = append(options, option)
		}
	}
	return options
}

type fieldRole int

const (
	endToEnd fieldRole = iota
	oneHop
	connection
	upgrade
	te
	contentLength
	framing
	host
)

func role(name []byte) fieldRole {
	switch {
	case equalFold(name, "connection"):
		return connection
	case equalFold(name, "upgrade"):
		return upgrade
	case equalFold(name, "te"):
		return te
	case equalFold(name, "content-length"):
		return contentLength
	case equalFold(name, "transfer-encoding"), equalFold(name, "trailer"):
		return framing
	case equalFold(name, "host"):
		return host
	case equalFold(name, "keep-alive"), equalFold(name, "proxy-connection"),
		equalFold(name, "proxy-authorization"), equalFold(name, "proxy-authenticate"):
		return oneHop
	}
	return endToEnd
}

// names says whether one of the options is the field's name.
func names(options [][]byte, name []byte) bool {
	for _, option := range options {
		if equalFold(option, name) {
			return true
		}
	}
	return false
}

// element returns the list's element that is the token, as spelled, or nil.
func element(list []byte, token string) []byte {
	for rest, more := list, true; more; {
		var e []byte
		e, rest, more = bytes.Cut(rest, comma)
		if e = trimSpace(e); equalFold(e, token) {
			return e
		}
	}
	return nil
}

// oneLength returns one of a list of equal Content-Lengths, and anything else as it is.
func oneLength(value []byte) []byte {
	first, rest, more := bytes.Cut(value, comma)
	first = trimSpace(first)
	for more {
		var e []byte
		e, rest, more = bytes.Cut(rest, comma)
		if !bytes.Equal(trimSpace(e), first) {
			return value
		}
	}
	return first
}

// appendReduced appends the field with only that part of its value: the line as it
// came where that is all of it.
func appendReduced(dst []byte, f *Field, value []byte) []byte {
	if len(value) == len(f.Value) {
		return append(dst, f.Line...)
	}
	return appendLineOf(dst, f.Name, value)
}

func appendLineOf(dst, name, value []byte) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, crlf...)
}
