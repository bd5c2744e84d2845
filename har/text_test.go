package har

import (
	"encoding/base64"
	"strings"
	"testing"
)

func TestContentText(t *testing.T) {
	in64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	tests := []struct {
		name, in, contentType string
		cut                   bool
		text, encoding, chars string
	}{
		{name: "UTF-8", in: "žluť 🦊", contentType: "text/html", text: "žluť 🦊"},
		{name: "UTF-8 of no type", in: "žluť", text: "žluť"},
		{name: "UTF-8 under a wrong label", in: "žluť", contentType: "text/html; charset=iso-8859-1", text: "žluť"},
		{name: "UTF-8 with a mark", in: "\ufeff{}", contentType: "application/json", text: "\ufeff{}"},
		{name: "JSON with a control character", in: "{\"a\":\"\x01\"}", contentType: "application/json", text: "{\"a\":\"\x01\"}"},
		{name: "bytes that happen to be UTF-8", in: "a\x01b", contentType: "application/octet-stream", text: in64("a\x01b"), encoding: "base64"},
		{name: "an image of text", in: "<svg/>", contentType: "image/svg+xml", text: "<svg/>"},
		{name: "Latin-1", in: "caf\xe9", contentType: `text/plain; Charset="ISO-8859-1"`, text: "café", chars: "windows-1252"},
		{name: "Shift_JIS", in: "\x93\xfa\x96\x7b", contentType: "text/html;charset=Shift_JIS", text: "日本", chars: "shift_jis"},
		{name: "ISO-2022-JP", in: "\x1b$BF|K\\\x1b(B", contentType: "text/html;charset=iso-2022-jp", text: "日本", chars: "iso-2022-jp"},
		{name: "UTF-16 with a mark", in: "\xff\xfea\x00", contentType: "text/plain", text: "\ufeffa", chars: "utf-16le"},
		{name: "UTF-16BE by label", in: "\x00a\x00b", contentType: "text/plain;charset=utf-16be", text: "ab", chars: "utf-16be"},
		{name: "UTF-16 by label, without ASCII", in: "\xe5\x65\x2c\x67", contentType: "text/plain;charset=utf-16", text: "日本", chars: "utf-16le"},
		{name: "UTF-8 labelled UTF-16", in: "plain text", contentType: "text/html; charset=utf-16", text: "plain text"},
		{name: "a script in UTF-16", in: "\xff\xfea\x00", contentType: "application/javascript", text: "\ufeffa", chars: "utf-16le"},
		{name: "JSON labelled UTF-16", in: `{"price":1000}`, contentType: "application/json; charset=utf-16", text: `{"price":1000}`},
		{name: "JSON labelled ISO-2022-JP", in: `{"a":"\u001b"}`, contentType: "application/json; charset=iso-2022-jp", text: `{"a":"\u001b"}`},
		{name: "JSON in UTF-16", in: "\xff\xfe{\x00}\x00", contentType: "application/json", text: "\ufeff{}", chars: "utf-16le"},
		{name: "JSON in UTF-16 by label", in: "{\x00}\x00", contentType: "application/json; charset=utf-16", text: "{}", chars: "utf-16le"},
		{name: "JSON in Latin-1", in: "\"caf\xe9\"", contentType: "application/problem+json; charset=iso-8859-1", text: "\"café\"", chars: "windows-1252"},
		{name: "JSON in Latin-1 without a word", in: "\"caf\xe9\"", contentType: "application/json", text: in64("\"caf\xe9\""), encoding: "base64"},
		{name: "bytes that begin with a mark", in: "\xff\xfea\x00", contentType: "application/octet-stream", text: in64("\xff\xfea\x00"), encoding: "base64"},
		{name: "a mark of no type", in: "\xfe\xff\x00a", text: in64("\xfe\xff\x00a"), encoding: "base64"},
		{name: "a film labelled UTF-16", in: "\x00\x00\x00\x18ftyp", contentType: "video/mp4; charset=utf-16", text: in64("\x00\x00\x00\x18ftyp"), encoding: "base64"},
		{name: "a film labelled Latin-1", in: "caf\xe9", contentType: "video/mp4; charset=iso-8859-1", text: in64("caf\xe9"), encoding: "base64"},
		{name: "UTF-16 of half a character", in: "\xff\xfea", contentType: "text/plain", text: in64("\xff\xfea"), encoding: "base64"},
		{name: "a label that does not fit", in: "\x81\xff", contentType: "text/plain;charset=shift_jis", text: in64("\x81\xff"), encoding: "base64"},
		{name: "a label that is none", in: "caf\xe9", contentType: "text/plain;charset=nonsense", text: in64("caf\xe9"), encoding: "base64"},
		{name: "no label", in: "caf\xe9", contentType: "text/plain", text: in64("caf\xe9"), encoding: "base64"},
		{name: "a page's own word", in: `<meta charset="iso-8859-2">` + "\xbb", contentType: "text/html", text: `<meta charset="iso-8859-2">ť`, chars: "iso-8859-2"},
		{name: "a page's equivalent", in: `<META http-equiv=content-type content="text/html; charset=windows-1251">` + "\xff", contentType: "text/html",
			text: `<META http-equiv=content-type content="text/html; charset=windows-1251">я`, chars: "windows-1251"},
		{name: "a style sheet's own word", in: `@charset "windows-1251"; a{content:"` + "\xff\"}", contentType: "text/css",
			text: `@charset "windows-1251"; a{content:"я"}`, chars: "windows-1251"},
		{name: "a style sheet's word in its middle", in: ` @charset "windows-1251";` + "\xff", contentType: "text/css",
			text: in64(` @charset "windows-1251";` + "\xff"), encoding: "base64"},
		{name: "an XML document's own word", in: "<?xml version='1.0' encoding='iso-8859-2'?><a>\xbb", contentType: "application/xml",
			text: "<?xml version='1.0' encoding='iso-8859-2'?><a>ť", chars: "iso-8859-2"},
		{name: "a feed's own word", in: "<?xml version=\"1.0\" encoding=\"ISO-8859-2\" ?><rss>\xbb", contentType: "application/rss+xml",
			text: "<?xml version=\"1.0\" encoding=\"ISO-8859-2\" ?><rss>ť", chars: "iso-8859-2"},
		{name: "a label before a document's own word", in: "<?xml version='1.0' encoding='koi8-r'?>\xbb", contentType: "text/xml; charset=iso-8859-2",
			text: "<?xml version='1.0' encoding='koi8-r'?>ť", chars: "iso-8859-2"},
		{name: "a label in single quotes", in: "\x9d", contentType: "text/html; charset='windows-1250'", text: "ť", chars: "windows-1250"},
		{name: "cut inside a character", in: "abc\xf0\x9f\xa6", contentType: "text/plain", cut: true, text: "abc"},
		{name: "broken off inside a character", in: "abc\xf0\x9f\xa6", contentType: "text/plain", text: in64("abc\xf0\x9f\xa6"), encoding: "base64"},
		{name: "cut inside a character of Shift_JIS", in: "\x93\xfa\x96", contentType: "text/html;charset=Shift_JIS", cut: true, text: "日", chars: "shift_jis"},
		{name: "cut inside a character of UTF-16", in: "\xff\xfea\x00b", contentType: "text/plain", cut: true, text: "\ufeffa", chars: "utf-16le"},
		{name: "cut, and not in its charset", in: "\x81\xff\xff\xff\xff", contentType: "text/plain;charset=shift_jis", cut: true, text: in64("\x81\xff\xff\xff\xff"), encoding: "base64"},
		{name: "cut, and not UTF-8", in: "\xffabc", contentType: "text/plain", cut: true, text: in64("\xffabc"), encoding: "base64"},
	}
	for _, test := range tests {
		text, encoding, charset := contentText([]byte(test.in), test.contentType, test.cut)
		if text != test.text || encoding != test.encoding || charset != test.chars {
			t.Errorf("%s: got %q, %q, %q", test.name, text, encoding, charset)
		}
	}
}

// Every byte value, in each charset: what is given as text gives the bytes back.
func TestContentTextOfAllBytes(t *testing.T) {
	for _, charset := range []string{"utf-8", "iso-8859-1", "iso-8859-15", "windows-1252", "shift_jis", "euc-jp", "gbk", "gb18030", "big5",
		"euc-kr", "koi8-r", "utf-16le", "utf-16be", "iso-2022-jp", "x-user-defined", "replacement", "hz-gb-2312"} {
		for c := range 256 {
			in := "text " + string([]byte{byte(c), byte(c), byte(c)})
			text, encoding, name := contentText([]byte(in), "text/plain; charset="+charset, false)
			back := text
			if encoding == "base64" {
				b, err := base64.StdEncoding.DecodeString(text)
				if err != nil {
					t.Fatal(err)
				}
				back = string(b)
			} else if name != "" {
				continue // transcode has compared it
			}
			if back != in {
				t.Errorf("%s, byte %#x: got %q back", charset, c, back)
			}
		}
	}
}

func TestPlainMedia(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"Application/JSON", "application/json"},
		{"application/json; Charset=UTF-8", "application/json; charset=UTF-8"},
		{`Multipart/Form-Data; Boundary="----AaB03x"`, "multipart/form-data; boundary=----AaB03x"},
		{`multipart/form-data;boundary="a;b";x="Q"`, `multipart/form-data;boundary=a;b;x="Q"`},
		{"text/plain; flowed", "text/plain; flowed"},
	}
	for _, test := range tests {
		if got := plainMedia(test.in); got != test.want {
			t.Errorf("%q: got %q, want %q", test.in, got, test.want)
		}
	}
}

func TestAppendEscaped(t *testing.T) {
	tests := []struct{ in, want string }{
		{"plain </script> & 'x'", "plain </script> & 'x'"},
		{"\"\\/\b\f\n\r\t\x00\x1f\x7f", `\"\\/\u0008\u000c\n\r\t\u0000\u001f\u007f`},
		{"é日🦊\u2028", `\u00e9\u65e5\ud83e\udd8a\u2028`},
		{"\xff\xed\xa0\x80", `\ufffd\ufffd\ufffd\ufffd`},
		{"\ufffd\uffff", `\ufffd\uffff`},
	}
	for _, test := range tests {
		if got := string(appendEscaped(nil, test.in)); got != test.want {
			t.Errorf("%q: got %s, want %s", test.in, got, test.want)
		}
	}
}

// A string goes out in pieces, none of which may end inside a character.
func TestEncoderLongString(t *testing.T) {
	for shift := range 4 {
		long := strings.Repeat("x", shift) + strings.Repeat("🦊é", 50_000)
		var out strings.Builder
		e := newEncoder(&out)
		e.string("", long)
		if err := e.flush(); err != nil {
			t.Fatal(err)
		}
		if want := `"` + string(appendEscaped(nil, long)) + `"`; out.String() != want {
			t.Errorf("shifted by %d: not what it is in one piece", shift)
		}
	}
}
