package har

import (
	"fmt"
	"strconv"
)

// The kinds of a JSON value, by how it begins; 0 for one that is not there.
const (
	kindObject = '{'
	kindArray  = '['
	kindString = '"'
	kindNumber = '0'
	kindTrue   = 't'
	kindFalse  = 'f'
	kindNull   = 'n'
)

// A value is what a check knows of a JSON value: of a string its beginning.
type value struct {
	kind   byte
	offset int64
	text   string // of a string what holdText allows, or the number as it is written
	size   int64  // of a string, in bytes of UTF-8
	space  bool   // a string has white space (as JavaScript's \s)
	hash   bool   // a string has a #
	wide   bool   // a string has what is not ASCII
	dollar bool   // a string has ${…} in a line, which is a variable to k6
}

// holdText is how much of a string is held; enough for all that is looked into.
const holdText = 1 << 10

func (v value) is(kind byte) bool { return v.kind == kind }

// whole says that all of a string is held.
func (v value) whole() bool { return v.size == int64(len(v.text)) }

// what names a value in a fault's text, cut and in ASCII.
func (v value) what() string {
	switch v.kind {
	case kindObject:
		return "an object"
	case kindArray:
		return "an array"
	case kindString:
		return v.quoted()
	case kindTrue:
		return "true"
	case kindFalse:
		return "false"
	case kindNull:
		return "null"
	case kindNumber:
		return fmt.Sprintf("%.40s", v.text)
	}
	return "missing"
}

func (v value) quoted() string {
	const most = 60
	if v.size <= most {
		return strconv.QuoteToASCII(v.text)
	}
	return strconv.QuoteToASCII(v.text[:min(most, len(v.text))]) + "..."
}
