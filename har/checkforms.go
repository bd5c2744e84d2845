package har

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
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
	return !jsDate.MatchString(v.text)
}

// jsDate is what Date takes of that shape: also no time, no seconds, no zone, 24:00,
// the 31st of any month.
var jsDate = regexp.MustCompile(`^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(T([01]\d|2[0-4]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$`)

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
