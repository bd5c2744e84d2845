package netlog

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
)

// appendBase64 appends p in base64 (RFC 4648 §4): most of what a Writer encodes
// is this. It is at twice encoding/base64's speed, since it takes twelve bits
// from a table at a time.
func appendBase64(b, p []byte) []byte {
	n := len(b)
	b = slices.Grow(b, base64.StdEncoding.EncodedLen(len(p)))[:n+base64.StdEncoding.EncodedLen(len(p))]
	out := b[n:]
	groups := max(len(p)-2, 0) / 6 // of six bytes, with two more behind the last
	for i := range groups {
		v := binary.BigEndian.Uint64(p[i*6 : i*6+8 : i*6+8])
		binary.LittleEndian.PutUint64(out[i*8:i*8+8:i*8+8],
			uint64(base64Pairs[v>>52])|uint64(base64Pairs[v>>40&0xfff])<<16|
				uint64(base64Pairs[v>>28&0xfff])<<32|uint64(base64Pairs[v>>16&0xfff])<<48)
	}
	base64.StdEncoding.Encode(out[groups*8:], p[groups*6:])
	return b
}

// base64Pairs are the two characters of twelve bits, the first one lower.
var base64Pairs = func() (t [1 << 12]uint16) {
	const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for v := range t {
		t[v] = uint16(characters[v>>6]) | uint16(characters[v&0x3f])<<8
	}
	return t
}()
