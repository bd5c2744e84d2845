package har

import (
	"strconv"
	"strings"
	"time"

	"github.com/agentenv/netlog/netlog"
)

// requestCookies splits the Cookie headers (RFC 6265 §4.2.1) without decoding
// anything. A piece without a name stays in the header alone.
func requestCookies(headers []netlog.Header) []Cookie {
	var list []Cookie
	for _, h := range headers {
		if !strings.EqualFold(h.Name, "Cookie") {
			continue
		}
		for piece := range strings.SplitSeq(h.Value, ";") {
			name, value, ok := strings.Cut(strings.Trim(piece, " \t"), "=")
			if name = strings.TrimRight(name, " \t"); ok && name != "" {
				list = append(list, Cookie{Name: name, Value: strings.TrimLeft(value, " \t")})
			}
		}
	}
	return list
}

// responseCookies reads every Set-Cookie as browsers do (RFC 6265 §5.2), the
// value as it came. answered is what Max-Age counts from.
func responseCookies(headers []netlog.Header, answered time.Time) []Cookie {
	var list []Cookie
	for _, h := range headers {
		if strings.EqualFold(h.Name, "Set-Cookie") {
			if c, ok := setCookie(h.Value, answered); ok {
				list = append(list, c)
			}
		}
	}
	return list
}

func setCookie(header string, answered time.Time) (Cookie, bool) {
	var c Cookie
	pair, attributes, _ := strings.Cut(header, ";")
	name, value, ok := strings.Cut(pair, "=")
	if !ok {
		name, value = "", pair
	}
	c.Name, c.Value = strings.Trim(name, " \t"), strings.Trim(value, " \t")
	if c.Name == "" && c.Value == "" {
		return c, false
	}
	httpOnly, secure := false, false
	var expires, maxAge time.Time
	for attribute := range strings.SplitSeq(attributes, ";") {
		name, value, _ := strings.Cut(attribute, "=")
		value = strings.Trim(value, " \t")
		switch strings.ToLower(strings.Trim(name, " \t")) {
		case "path":
			c.Path = value
		case "domain":
			c.Domain = value
		case "httponly":
			httpOnly = true
		case "secure":
			secure = true
		case "samesite":
			for _, word := range [...]string{"Strict", "Lax", "None"} {
				if strings.EqualFold(value, word) {
					c.SameSite = word
				}
			}
		case "expires":
			if t, ok := cookieDate(value); ok {
				expires = t
			}
		case "max-age":
			if t, ok := afterMaxAge(value, answered); ok {
				maxAge = t
			}
		}
	}
	c.HTTPOnly, c.Secure = &httpOnly, &secure
	if !maxAge.IsZero() {
		expires = maxAge
	}
	if !expires.IsZero() {
		c.Expires = formatTime(expires)
	}
	return c, true
}

// lastInstant is the latest time that RFC 3339 can write.
var lastInstant = time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)

// afterMaxAge gives the time that a Max-Age ends at; one that is not positive
// has ended long ago.
func afterMaxAge(value string, answered time.Time) (time.Time, bool) {
	digits := strings.TrimPrefix(value, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return time.Time{}, false
	}
	seconds, err := strconv.ParseInt(value, 10, 64)
	switch {
	case strings.HasPrefix(value, "-") || (err == nil && seconds == 0):
		return time.Unix(0, 0), true
	case err != nil || seconds > lastInstant.Unix()-answered.Unix():
		return lastInstant, true
	}
	return time.Unix(answered.Unix()+seconds, int64(answered.Nanosecond())), true
}

const months = "janfebmaraprmayjunjulaugsepoctnovdec"

// cookieDate reads a date as browsers do (RFC 6265 §5.1.1).
func cookieDate(s string) (time.Time, bool) {
	hour, minute, second, day, month, year := -1, 0, 0, -1, -1, -1
	tokens := strings.FieldsFunc(s, func(r rune) bool {
		return r == '\t' || r >= ' ' && r <= '/' || r >= ';' && r <= '@' || r >= '[' && r <= '`' || r >= '{' && r <= '~'
	})
	for _, token := range tokens {
		if h, m, sec, ok := clock(token); ok && hour < 0 {
			hour, minute, second = h, m, sec
		} else if n, ok := leadingNumber(token, 1, 2); ok && day < 0 {
			day = n
		} else if i := monthIndex(token); i >= 0 && month < 0 {
			month = i + 1
		} else if n, ok := leadingNumber(token, 2, 4); ok && year < 0 {
			year = n
		}
	}
	switch {
	case year >= 70 && year <= 99:
		year += 1900
	case year >= 0 && year <= 69:
		year += 2000
	}
	if hour < 0 || day < 1 || month < 0 || year < 1601 || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	return t, t.Day() == day // there is no 30 February
}

func monthIndex(token string) int {
	if len(token) < 3 {
		return -1
	}
	i := strings.Index(months, strings.ToLower(token[:3]))
	if i < 0 || i%3 != 0 {
		return -1
	}
	return i / 3
}

// leadingNumber reads a token's leading digits when there are least to most.
func leadingNumber(token string, least, most int) (int, bool) {
	i := 0
	for i < len(token) && token[i] >= '0' && token[i] <= '9' {
		i++
	}
	if i < least || i > most {
		return 0, false
	}
	n, err := strconv.Atoi(token[:i])
	return n, err == nil
}

func clock(token string) (hour, minute, second int, ok bool) {
	parts := strings.SplitN(token, ":", 3)
	if len(parts) != 3 {
		return 0, 0, 0, false
	}
	var n [3]int
	for i, part := range parts {
		// Only after the seconds may something else follow.
		if i < 2 && strings.Trim(part, "0123456789") != "" {
			return 0, 0, 0, false
		}
		if n[i], ok = leadingNumber(part, 1, 2); !ok {
			return 0, 0, 0, false
		}
	}
	return n[0], n[1], n[2], true
}

// formatTime writes RFC 3339 in UTC with exactly three fraction digits: readers
// on older Pythons take no other number of them.
func formatTime(t time.Time) string {
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
