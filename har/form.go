package har

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// query decodes a query string or an urlencoded form, keeping order and
// repeats. An escape that is none stays as it is.
func query(raw string) []Param {
	var list []Param
	for pair := range strings.SplitSeq(raw, "&") {
		if len(list) == maxParts {
			break
		}
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		list = append(list, Param{Name: unescape(name, true), Value: unescape(value, true)})
	}
	return list
}

// unescape decodes %xx, and + as a space where a form is.
func unescape(s string, form bool) string {
	if !strings.ContainsAny(s, "%+") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '+' && form {
			c = ' '
		} else if c == '%' && i+2 < len(s) {
			hi, lo := unhex(s[i+1]), unhex(s[i+2])
			if hi >= 0 && lo >= 0 {
				c = byte(hi<<4 | lo)
				i += 2
			}
		}
		b = append(b, c)
	}
	return string(b)
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// formParams gives the parameters of a body that is a form, in order.
func formParams(body []byte, contentType string) []Param {
	media := parseMedia(contentType)
	switch media.typ {
	case "application/x-www-form-urlencoded":
		return query(string(body))
	case "multipart/form-data":
		if boundary := media.param("boundary"); boundary != "" {
			return multipartParams(body, boundary)
		}
	}
	return nil
}

// multipartParams reads a multipart/form-data body (RFC 7578). A body that is
// cut or malformed gives the parts that can be told apart.
func multipartParams(body []byte, boundary string) []Param {
	var list []Param
	delimiter := []byte("--" + boundary)
	_, rest, found := cutDelimiter(body, delimiter)
	for found && !bytes.HasPrefix(rest, []byte("--")) && len(list) < maxParts {
		var part []byte
		if _, after, ok := bytes.Cut(rest, []byte("\n")); ok {
			rest = after // past what stands on the delimiter's line
		} else {
			break
		}
		part, rest, found = cutDelimiter(rest, delimiter)
		if p, ok := partParam(part); ok {
			list = append(list, p)
		}
	}
	return list
}

// cutDelimiter splits b around the first delimiter at a line's start. The line
// end before it belongs to the delimiter (RFC 2046 §5.1.1).
func cutDelimiter(b, delimiter []byte) (before, after []byte, found bool) {
	for from := 0; ; {
		i := bytes.Index(b[from:], delimiter)
		if i < 0 {
			return b, nil, false
		}
		i += from
		if i == 0 || b[i-1] == '\n' {
			before = bytes.TrimSuffix(b[:i], []byte("\n"))
			before = bytes.TrimSuffix(before, []byte("\r"))
			return before, b[i+len(delimiter):], true
		}
		from = i + 1
	}
}

func partParam(part []byte) (Param, bool) {
	var p Param
	named := false
	for {
		line, rest, ok := bytes.Cut(part, []byte("\n"))
		if !ok {
			return p, false // no blank line: no value
		}
		part = rest
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) == 0 {
			p.Value = string(part)
			return p, named
		}
		name, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimSpace(value)
		switch strings.ToLower(name) {
		case "content-type":
			p.ContentType = value
		case "content-disposition":
			media := parseMedia(value)
			p.Name, p.FileName = media.param("name"), media.param("filename")
			if name := extendedValue(media.param("filename*")); name != "" {
				p.FileName = name
			}
			named = true
		}
	}
}

// extendedValue decodes RFC 8187's charset'language'value; "" when it is none.
func extendedValue(v string) string {
	charset, rest, _ := strings.Cut(v, "'")
	_, value, ok := strings.Cut(rest, "'")
	if !ok {
		return ""
	}
	value = unescape(value, false)
	switch name := charsetName(strings.ToLower(charset)); {
	case name == "":
		return ""
	case name == "utf-8" && utf8.ValidString(value):
		return value
	default:
		text, _ := transcode([]byte(value), name)
		return text
	}
}
