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
// transcoded when a charset that it declares gives its exact bytes back, else
// in base64. cut says that the body's end is missing.
func contentText(b []byte, contentType string, cut bool) (text, encoding, charset string) {
	media := parseMedia(contentType)
	label := strings.ToLower(media.param("charset"))
	switch {
	case bytes.HasPrefix(b, []byte("\xff\xfe")):
		label = "utf-16le" // a byte order mark comes before what a header says
	case bytes.HasPrefix(b, []byte("\xfe\xff")):
		label = "utf-16be"
	case label == "" && media.typ == "text/html":
		label = metaCharset(b)
	}
	name := charsetName(label)
	// In these ASCII bytes are not ASCII, so that being valid UTF-8 says nothing.
	if name == "utf-16le" || name == "utf-16be" || name == "iso-2022-jp" {
		if text, ok := transcode(b, name); ok {
			return text, "", name
		}
	}
	whole := b
	if cut {
		b = trimRune(b)
	}
	if utf8.Valid(b) && (isText(media.typ) || printable(b)) {
		return string(b), "", ""
	}
	if name != "" && name != "utf-8" {
		if text, ok := transcode(whole, name); ok {
			return text, "", name
		}
	}
	return base64.StdEncoding.EncodeToString(whole), "base64", ""
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
	if strings.HasPrefix(typ, "text/") || strings.HasSuffix(typ, "+json") || strings.HasSuffix(typ, "+xml") {
		return true
	}
	switch typ {
	case "application/json", "application/xml", "application/javascript", "application/x-javascript",
		"application/ecmascript", "application/x-www-form-urlencoded", "application/graphql",
		"application/x-ndjson", "application/ld+json", "application/manifest+json":
		return true
	}
	return false
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

// metaCharset finds the charset that an HTML page declares in its first 1024
// bytes (HTML §4.2.5.4).
func metaCharset(b []byte) string {
	m := metaPattern.FindSubmatch(b[:min(len(b), 1024)])
	if m == nil {
		return ""
	}
	label := strings.ToLower(string(m[1]))
	if strings.HasPrefix(label, "utf-16") {
		return "utf-8" // HTML §13.2.3.2: a page that can be read so far is not UTF-16
	}
	return label
}

var metaPattern = regexp.MustCompile(`(?i)<meta\s[^>]*?charset\s*=\s*["']?\s*([^\s"'/>;]+)`)
