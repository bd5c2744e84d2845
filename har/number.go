package har

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Millis is a span in microseconds, in JSON milliseconds with up to three
// decimals. Sums of it are exact.
type Millis int64

// None is a phase that did not happen: -1 in JSON.
const None Millis = -1000

// MarshalJSON writes m as a number.
func (m Millis) MarshalJSON() ([]byte, error) { return appendScaled(nil, int64(m), 1000), nil }

// UnmarshalJSON reads a number, rounding it to microseconds; null is None.
func (m *Millis) UnmarshalJSON(b []byte) error {
	n, err := parseScaled(b, 1000, int64(None))
	*m = Millis(n)
	return err
}

// Seconds is a time in microseconds since 1970, in JSON seconds with up to six
// decimals.
type Seconds int64

// MarshalJSON writes s as a number.
func (s Seconds) MarshalJSON() ([]byte, error) { return appendScaled(nil, int64(s), 1000000), nil }

// UnmarshalJSON reads a number, rounding it to microseconds; null is 0.
func (s *Seconds) UnmarshalJSON(b []byte) error {
	n, err := parseScaled(b, 1000000, 0)
	*s = Seconds(n)
	return err
}

// maxCount is the most that a number of bytes or of messages can be: readers hold
// numbers in 64 bits of floating point.
const maxCount = 1<<53 - 1

// counted is a number of bytes or of messages, whatever a log says that it is. A
// sum of a few does not overflow.
func counted(n int64) int64 { return min(max(n, 0), maxCount) }

// appendScaled appends n / unit as a decimal without trailing zeros. unit is a
// power of ten.
func appendScaled(b []byte, n, unit int64) []byte {
	u := uint64(n)
	if n < 0 {
		b = append(b, '-')
		u = -u
	}
	b = strconv.AppendUint(b, u/uint64(unit), 10)
	rest := u % uint64(unit)
	if rest == 0 {
		return b
	}
	b = append(b, '.')
	for rest > 0 {
		rest *= 10
		b = append(b, byte('0'+rest/uint64(unit)))
		rest %= uint64(unit)
	}
	return b
}

func parseScaled(b []byte, unit, null int64) (int64, error) {
	if string(b) == "null" {
		return null, nil
	}
	var f float64
	if err := json.Unmarshal(b, &f); err != nil {
		return 0, fmt.Errorf("read %.40q as a number: %w", b, err)
	}
	f = math.Round(f * float64(unit))
	if math.Abs(f) > 1<<62 {
		return 0, fmt.Errorf("read %.40q as a number: out of range", b)
	}
	return int64(f), nil
}
