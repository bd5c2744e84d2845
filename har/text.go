package har

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
)

// contentText gives a body as a content's text: as it is when it is UTF-8,
// transcoded when its type is text and a charset that it declares gives its
// exact bytes back, else in base64. cut says that the body's end is missing.
func contentText(b []byte, contentType string, cut bool) (text, encoding, charset string) {
	media := parseMedia(contentType)
	whole := b
	if cut {
		b = trimRune(b)
	}
	valid := utf8.Valid(b) && (isText(media.typ) || printable(b))
	name := declaredCharset(whole, media)
	if valid && !belied(b, name, media.typ) {
		name = ""
	}
	for tail := 0; name != "" && name != "utf-8" && tail < utf8.UTFMax && tail <= len(whole); tail++ {
		if text, ok := transcode(whole[:len(whole)-tail], name); ok {
			return text, "", name
		}
		if !cut { // else the end may be a part of a character
			break
		}
	}
	if valid {
		return string(b), "", ""
	}
	return base64.StdEncoding.EncodeToString(whole), "base64", ""
}

// belied says whether b, though it is valid UTF-8, may be in charset name all
// the same.
func belied(b []byte, name, typ string) bool {
	switch name {
	case "utf-16le", "utf-16be":
		// Many a server says UTF-16 and sends UTF-8, which has no NUL; UTF-16 has
		// one in each ASCII character.
		return bytes.IndexByte(b, 0) >= 0
	case "iso-2022-jp":
		// Its bytes are ASCII's, so that being UTF-8 says nothing. JSON is UTF-8
		// whatever its label says (RFC 8259 §8.1).
		return !isJSON(typ)
	}
	return false
}

// declaredCharset is the charset of a body by its byte order mark, its type's
// parameter or its own word, in this order; "" where none has a say.
func declaredCharset(b []byte, m media) string {
	if !isText(m.typ) { // then the bytes count
		return ""
	}
	label := strings.ToLower(strings.Trim(m.param("charset"), "'")) // browsers take these quotes too
	switch {
	case bytes.HasPrefix(b, []byte("\xff\xfe")):
		return "utf-16le"
	case bytes.HasPrefix(b, []byte("\xfe\xff")):
		return "utf-16be"
	case label == "":
		label = ownCharset(b, m.typ)
	}
	return charsetName(label)
}

// trimRune takes off a character that the end cut short.
func trimRune(b []byte) []byte {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

// printable says that b has none of the control characters that mark a file
// that is not text (WHATWG MIME Sniffing's binary data bytes).
func printable(b []byte) bool {
	for _, c := range b {
		if c < 0x20 && c != '\t' && c != '\n' && c != '\f' && c != '\r' && c != 0x1b {
			return false
		}
	}
	return true
}

// isText says whether a media type's bodies are text.
func isText(typ string) bool {
	if strings.HasPrefix(typ, "text/") || strings.HasSuffix(typ, "+xml") || isJSON(typ) {
		return true
	}
	switch typ {
	case "application/xml", "application/javascript", "application/x-javascript",
		"application/ecmascript", "application/x-www-form-urlencoded", "application/graphql":
		return true
	}
	return false
}

// isJSON says whether a media type's bodies are JSON (RFC 6839 §3.1), or a line
// of it each.
func isJSON(typ string) bool {
	switch typ {
	case "application/json", "text/json", "application/x-ndjson":
		return true
	}
	return strings.HasSuffix(typ, "+json")
}

// charsetName gives a label's name in the WHATWG Encoding standard, or "".
func charsetName(label string) string {
	if label == "" {
		return ""
	}
	e, err := htmlindex.Get(label)
	if err != nil {
		return ""
	}
	name, err := htmlindex.Name(e)
	if err != nil {
		return ""
	}
	return name
}

// transcode gives b, which is in charset name, as UTF-8, if b can be had back
// from it byte for byte. A byte order mark stays.
func transcode(b []byte, name string) (string, bool) {
	e, err := htmlindex.Get(name)
	if err != nil {
		return "", false
	}
	text, err := e.NewDecoder().Bytes(b)
	if err != nil {
		return "", false
	}
	back, err := e.NewEncoder().Bytes(text)
	if err != nil || !bytes.Equal(back, b) {
		return "", false
	}
	return string(text), true
}

// ownCharset finds the charset that a page, a style sheet or an XML document
// declares in its first 1024 bytes (HTML §4.2.5.4, CSS Syntax §3.2, XML §4.3.3).
func ownCharset(b []byte, typ string) string {
	pattern := charsetPatterns[typ]
	if strings.HasSuffix(typ, "+xml") {
		pattern = charsetPatterns["application/xml"]
	}
	if pattern == nil {
		return ""
	}
	m := pattern.FindSubmatch(b[:min(len(b), 1024)])
	if m == nil {
		return ""
	}
	label := strings.ToLower(string(m[1]))
	if strings.HasPrefix(label, "utf-16") {
		return "utf-8" // HTML §13.2.3.2: what can be read so far is not UTF-16
	}
	return label
}

var charsetPatterns = map[string]*regexp.Regexp{
	"text/html":       regexp.MustCompile(`(?i)<meta\s[^>]*?charset\s*=\s*["']?\s*([^\s"'/>;]+)`),
	"text/css":        regexp.MustCompile(`^@charset "([^"]*)";`),
	"text/xml":        xmlPattern,
	"application/xml": xmlPattern,
}

var xmlPattern = regexp.MustCompile(`^<\?xml\s[^>]*?\sencoding\s*=\s*["']([^"']*)["']`)
