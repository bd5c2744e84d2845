package hello

const (
	recordHandshake = 22
	maxRecord       = 16 << 10 // RFC 8446 §5.1: of a record in the clear
)

// message returns the body of the handshake message of that type which p's
// records begin with.
func message(p []byte, kind byte) (reader, error) {
	var joined []byte
	for rest := p; ; {
		if len(rest) > 0 && rest[0] != recordHandshake || len(rest) > 1 && rest[1] != 3 || len(rest) > 2 && rest[2] > 4 {
			return reader{}, errNotTLS
		}
		if len(p)-len(rest) > maxHello {
			return reader{}, errTooLong
		}
		if len(rest) < 5 {
			return reader{}, ErrShort
		}
		size := int(rest[3])<<8 | int(rest[4])
		if size == 0 || size > maxRecord {
			return reader{}, errNotTLS
		}
		rest = rest[5:]
		whole := len(rest) >= size
		if !whole {
			size = len(rest)
		}
		if joined == nil {
			joined = rest[:size:size]
		} else {
			joined = append(joined, rest[:size]...)
		}
		rest = rest[size:]
		if len(joined) > 0 && joined[0] != kind {
			return reader{}, errNotTLS
		}
		if len(joined) >= 4 {
			n := int(joined[1])<<16 | int(joined[2])<<8 | int(joined[3])
			if n > maxHello {
				return reader{}, errTooLong
			}
			if len(joined) >= 4+n {
				return reader{b: joined[4 : 4+n]}, nil
			}
		}
		if !whole {
			return reader{}, ErrShort
		}
	}
}

// reader takes values from the front of b. Where b is too short they are empty, and bad stays set.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) bytes(n int) []byte {
	if n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) uint8() int {
	v := r.bytes(1)
	if r.bad {
		return 0
	}
	return int(v[0])
}

func (r *reader) uint16() int {
	v := r.bytes(2)
	if r.bad {
		return 0
	}
	return int(v[0])<<8 | int(v[1])
}

// extensions takes the list of extensions, which may be absent altogether.
func (r *reader) extensions() reader {
	if len(r.b) == 0 {
		return reader{}
	}
	list := reader{b: r.bytes(r.uint16())}
	r.bad = r.bad || len(r.b) > 0
	return list
}

func (r *reader) extension() (kind int, body reader) {
	kind = r.uint16()
	return kind, reader{b: r.bytes(r.uint16())}
}
