package har

import (
	"encoding/base64"
	"io"
	"math"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The formats of har-validator's schema, as ajv has them (mode "fast"), where
// they are patterns.
var (
	dateTimeForm = regexp.MustCompile(`(?i)^\d{4}-[01]\d-[0-3]\d[t\s]([0-2]\d:[0-5]\d:[0-5]\d|23:59:60)(\.\d+)?(z|[+-]\d\d(:?\d\d)?)$`)
	startForm    = regexp.MustCompile(`^\d{4}-?\d\d-?\d\dT?\d\d:?\d\d:?\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)`)
	cacheForm    = regexp.MustCompile(`^\d{4}-?\d\d-?\d\dT?\d\d:?\d\d:?\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?`)
	uriForm      = regexp.MustCompile(`(?i)^[a-z][a-z0-9+.-]*:`)
	ipv4Form     = regexp.MustCompile(`^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$`)
)

// isIP says whether ajv's ipv4 or ipv6 takes an address.
func isIP(s string) bool {
	if m := ipv4Form.FindStringSubmatch(s); m != nil {
		for _, part := range m[1:] {
			if n, _ := strconv.Atoi(part); n > 255 {
				return false
			}
		}
		return true
	}
	s = strings.TrimFunc(s, isJSSpace)
	s, zone, zoned := strings.Cut(s, "%")
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6() && !(zoned && zone == "")
}

// parseStart reads a startedDateTime.
func parseStart(s string) (time.Time, bool) {
	for _, layout := range [...]string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02 15:04:05.999999999Z07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// fractionDigits is how many digits a time's seconds have behind the point.
func fractionDigits(s string) int {
	_, fraction, ok := strings.Cut(s, ".")
	if !ok {
		return 0
	}
	n := 0
	for n < len(fraction) && fraction[n] >= '0' && fraction[n] <= '9' {
		n++
	}
	return n
}

// isoShaped is what begins as ECMAScript's date time string does.
var isoShaped = regexp.MustCompile(`^\d{4}-\d\d-\d\d(T|$)`)

// notDate says whether a value is surely none that JavaScript's Date takes. Its
// parser for other forms takes a great deal, but nothing without a digit.
func notDate(v value) bool {
	switch v.kind {
	case kindString:
	case 0, kindObject:
		return true
	default:
		return false // null is 1970
	}
	if !strings.ContainsAny(v.text, "0123456789") {
		return true
	}
	if !isoShaped.MatchString(v.text) {
		return false
	}
	_, ok := parseStart(v.text)
	return !ok && !lenientDate.MatchString(v.text)
}

// lenientDate is what Date takes besides: no time, no seconds, no zone, 24:00, the
// 31st of any month.
var lenientDate = regexp.MustCompile(`^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(T([01]\d|2[0-4]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$`)

// notNumber says whether JavaScript's Number makes NaN of a value.
func notNumber(v value) bool {
	switch v.kind {
	case kindString:
		return !jsNumber.MatchString(strings.TrimFunc(v.text, isJSSpace))
	case kindNumber:
		return v.text == "NaN"
	case 0, kindObject, kindArray:
		return true
	}
	return false
}

var jsNumber = regexp.MustCompile(`^([+-]?(Infinity|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)|0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+)?$`)

// float is a number's value.
func (v value) float() (float64, bool) {
	if v.kind != kindNumber {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.text, 64)
	return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// isInteger says whether ajv takes a number for an integer: 1.0 is one.
func (v value) isInteger() bool {
	f, err := strconv.ParseFloat(v.text, 64)
	return v.kind == kindNumber && (err != nil || f == math.Trunc(f) && !math.IsNaN(f))
}

// integer is an integer's value.
func (v value) integer() (int64, bool) {
	f, ok := v.float()
	if !ok || f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// notURL says why WHATWG's URL parser, without a base, refuses an address; "" when
// it does not, as far as is looked.
func notURL(s string) string {
	if !uriForm.MatchString(s) {
		return "has no scheme"
	}
	scheme, rest, _ := strings.Cut(s, ":")
	switch strings.ToLower(scheme) {
	case "http", "https", "ws", "wss", "ftp":
	default:
		return ""
	}
	rest = strings.TrimLeft(rest, `/\`)
	if i := strings.IndexAny(rest, `/\?#`); i >= 0 {
		rest = rest[:i]
	}
	host := rest[strings.LastIndexByte(rest, '@')+1:]
	if strings.HasPrefix(host, "[") {
		inside, port, ok := strings.Cut(host[1:], "]")
		a, err := netip.ParseAddr(inside)
		if !ok || err != nil || !a.Is6() || a.Zone() != "" {
			return "has no IPv6 address between its brackets"
		}
		return notPort(strings.TrimPrefix(port, ":"))
	}
	host, port, _ := strings.Cut(host, ":")
	if !validHost(unescape(host, false)) {
		return "has no host, or one that is none"
	}
	return notPort(port)
}

// validHost says whether a name has no character that a domain can't have and,
// when it ends in a number, is an IPv4 address.
func validHost(host string) bool {
	if host == "" || strings.IndexFunc(host, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`#/:<>?@[\]^|%`, r) }) >= 0 {
		return false
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	if !ipv4Number.MatchString(labels[len(labels)-1]) {
		return true
	}
	for i, label := range labels {
		if n, err := strconv.ParseUint(label, 0, 64); err != nil || i < len(labels)-1 && n > 255 || n > 1<<32-1 || len(labels) == 4 && n > 255 {
			return false
		}
	}
	return len(labels) <= 4
}

var ipv4Number = regexp.MustCompile(`^(\d+|0[xX][0-9a-fA-F]*)$`)

func notPort(s string) string {
	if n, err := strconv.ParseUint(s, 10, 32); s != "" && (err != nil || n > 65535) {
		return "has a port that is none"
	}
	return ""
}

// percent looks whether decodeURIComponent takes what is written to it: each %
// is to begin the escape of a byte, and the bytes are to be UTF-8.
type percent struct {
	state int // 1: behind %, 2: behind % and a digit
	high  int
	bytes []byte // that are no whole character yet
	wrong bool
}

func (p *percent) Write(b []byte) (int, error) {
	for _, c := range b {
		switch {
		case p.wrong:
			return len(b), nil
		case p.state == 0 && c == '%':
			p.state = 1
		case p.state == 0:
			p.wrong = len(p.bytes) > 0
		default:
			n := unhex(c)
			if p.wrong = n < 0; p.state == 1 {
				p.state, p.high = 2, n
			} else {
				p.state = 0
				p.byte(byte(p.high<<4 | n&15))
			}
		}
	}
	return len(b), nil
}

func (p *percent) byte(c byte) {
	p.bytes = append(p.bytes, c)
	if !utf8.FullRune(p.bytes) {
		return
	}
	r, n := utf8.DecodeRune(p.bytes)
	p.wrong = p.wrong || r == utf8.RuneError && n == 1
	p.bytes = p.bytes[:0]
}

func (p *percent) invalid() bool { return p.wrong || p.state != 0 || len(p.bytes) > 0 }

// A digest is a hash.Hash.
type digest interface {
	io.Writer
	Sum([]byte) []byte
}

// decodeLen is how much base64 is decoded at once.
const decodeLen = 3 << 12

// A bodySink takes a body's text, of which it is not known yet whether it is
// base64.
type bodySink struct {
	text    digest // of the text's bytes; nil: not wanted
	decoded digest
	size    int64 // of the text
	bytes   int64 // that the base64 stands for
	group   [4]byte
	n       int // characters of a group
	padded  bool
	bad     bool   // it is not base64
	odd     bool   // it has U+FFFD, which may stand for what is not UTF-8
	buf     []byte // for what is decoded, of decodeLen bytes
}

func (s *bodySink) Write(p []byte) (int, error) {
	s.size += int64(len(p))
	if s.text != nil {
		s.text.Write(p)
	}
	s.odd = s.odd || string(p) == "\ufffd" // what is not ASCII comes in pieces of its own
	s.base64(p)
	return len(p), nil
}

// base64 decodes as much as is whole. Line ends come in pieces of their own, too.
func (s *bodySink) base64(p []byte) {
	if string(p) == "\r" || string(p) == "\n" {
		return
	}
	for len(p) > 0 && !s.bad {
		if s.bad = s.padded; s.bad {
			return
		}
		if s.n > 0 || len(p) < 4 {
			s.group[s.n] = p[0]
			p = p[1:]
			if s.n++; s.n == 4 {
				s.n = 0
				s.decode(s.group[:])
			}
			continue
		}
		n := min(len(p)/4*4, decodeLen/3*4)
		s.decode(p[:n])
		p = p[n:]
	}
}

// decode takes whole groups, of which the last may be padded.
func (s *bodySink) decode(p []byte) {
	m, err := base64.StdEncoding.Decode(s.buf, p)
	s.bad = err != nil
	s.padded = m < len(p)/4*3
	s.take(s.buf[:m])
}

func (s *bodySink) take(b []byte) {
	s.bytes += int64(len(b))
	if s.decoded != nil {
		s.decoded.Write(b)
	}
}

// isBase64 says whether all of it was.
func (s *bodySink) isBase64() bool { return !s.bad && s.n == 0 }
