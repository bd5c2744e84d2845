package h2

import "strings"

// checkRequest says why a request's header list is malformed (RFC 9113 §8.2 and
// §8.3); "" when it is not. Where two readers could read it differently, it is.
func checkRequest(h *Head, connect bool) string {
	if h.TooLong {
		return "" // nobody can tell
	}
	var method, scheme, authority, path, protocol *string
	for i := range h.Pseudo() {
		f := &h.Fields[i]
		var into **string
		switch f.Name {
		case ":method":
			into = &method
		case ":scheme":
			into = &scheme
		case ":authority":
			into = &authority
		case ":path":
			into = &path
		case ":protocol":
			into = &protocol
		default:
			return "a pseudo-header field that no request has"
		}
		if *into != nil {
			return "the pseudo-header field " + f.Name + " twice"
		}
		if why := checkValue(f); why != "" {
			return why
		}
		*into = &f.Value
	}
	switch {
	case method == nil:
		return "no :method"
	case !isToken(*method):
		return "a :method that is no token"
	case protocol != nil && (!connect || *method != "CONNECT"):
		return "a :protocol that was not offered"
	case *method == "CONNECT" && protocol == nil:
		if scheme != nil || path != nil || authority == nil {
			return "a CONNECT that has a :scheme or a :path, or no :authority"
		}
	case scheme == nil:
		return "no :scheme"
	case path == nil:
		return "no :path"
	case !isPath(*path) && !(*path == "*" && *method == "OPTIONS"):
		return "a :path that is none"
	}
	if authority != nil && strings.Contains(*authority, "@") {
		return "an :authority with a user name"
	}
	return checkRegular(h.Regular())
}

// checkTrailers is checkRequest for trailers.
func checkTrailers(h *Head) string { return checkRegular(h.Fields) }

func checkRegular(fields []Field) string {
	length, host := "", false
	for i := range fields {
		f := &fields[i]
		switch {
		case strings.HasPrefix(f.Name, ":"):
			return "a pseudo-header field behind others, or among trailers"
		case !IsName(f.Name):
			return "a field's name that is none, or not in lower case"
		}
		if why := checkValue(f); why != "" {
			return why
		}
		switch f.Name {
		case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade": // RFC 9113 §8.2.2
			return "the connection-specific field " + f.Name
		case "te":
			if f.Value != "trailers" {
				return "a te of more than trailers"
			}
		case "content-length":
			if _, ok := parseLength(f.Value); !ok {
				return "a content-length that is none"
			}
			if length != "" && length != f.Value {
				return "two content-lengths that differ"
			}
			length = f.Value
		case "host":
			if host {
				return "the field host twice"
			}
			host = true
		}
	}
	return ""
}

// checkValue is RFC 9113 §8.2.1's rule about values and, since no reader is to be
// led astray, RFC 9110 §5.5's about control bytes. Space around a value (curl sends
// what it is given) means the same to all.
func checkValue(f *Field) string {
	v := f.Value
	for i := range len(v) {
		if v[i] < ' ' && v[i] != '\t' || v[i] == 0x7f {
			return "a control byte in the value of a field"
		}
	}
	return ""
}

// isPath tells a path and query as a request line could hold it.
func isPath(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			return false
		}
	}
	return strings.HasPrefix(s, "/")
}

// isToken tells RFC 9110 §5.6.2's.
func isToken(s string) bool {
	for i := range len(s) {
		if !isTokenByte(s[i]) {
			return false
		}
	}
	return s != ""
}

// IsName tells a field's name in HTTP/2's form: a token in lower case.
func IsName(s string) bool {
	for i := range len(s) {
		if !isTokenByte(s[i]) || 'A' <= s[i] && s[i] <= 'Z' {
			return false
		}
	}
	return s != ""
}

func isTokenByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c > ' ' && c < 0x7f && strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// length is the head's content-length; -1 when it has none that can be read.
func (h *Head) length() int64 {
	value, ok := h.Get("content-length")
	if !ok {
		return -1
	}
	n, ok := parseLength(value)
	if !ok {
		return -1
	}
	return n
}

// parseLength reads 1*DIGIT, up to 18 of them.
func parseLength(s string) (n int64, ok bool) {
	if s == "" || len(s) > 18 {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(s[i]-'0')
	}
	return n, true
}
