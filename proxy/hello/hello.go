// Package hello reads the TLS hellos that go over a connection in the clear.
//
// [Client] and [Server] are given all bytes that one side has sent so far and are
// asked again with more for as long as they return [ErrShort]; a hello may be
// split over records and cuts of any kind. They read no further than the hello
// (64 KiB at most), change nothing, and take part in no handshake.
//
// What a ClientHello says is what an observer of the network sees: with
// Encrypted Client Hello that is the outer one.
package hello

import (
	"crypto/tls"
	"errors"
)

// ErrShort says that what has come so far is the beginning of a hello.
var ErrShort = errors.New("more of the hello is to come")

var (
	errNotTLS    = errors.New("no TLS handshake")
	errTooLong   = errors.New("the TLS hello is longer than 64 KiB")
	errMalformed = errors.New("a malformed TLS hello")
)

// ClientHello is what a ClientHello offers, in its order and without the GREASE
// values of RFC 8701.
type ClientHello struct {
	ServerName   string   // as sent; "" when there is none
	ALPN         []string // nil when the extension is absent
	Versions     []string // as tls.VersionName has them: "TLS 1.3"; of a client without the extension, its one highest version
	CipherSuites []uint16 // as crypto/tls numbers them
}

const (
	typeClientHello = 1
	typeServerHello = 2

	extensionServerName        = 0
	extensionALPN              = 16
	extensionSupportedVersions = 43

	maxHello = 64 << 10
)

// Client reads the ClientHello at the beginning of p. The error is ErrShort, or
// says why p begins with no ClientHello, however much comes.
func Client(p []byte) (ClientHello, error) {
	b, err := message(p, typeClientHello)
	if err != nil {
		return ClientHello{}, err
	}
	var h ClientHello
	legacy := b.uint16()
	b.bytes(32)        // random
	b.bytes(b.uint8()) // session id
	h.CipherSuites = suites(&b)
	b.bytes(b.uint8()) // compression methods
	h.Versions = []string{tls.VersionName(uint16(legacy))}
	extensions := b.extensions()
	seen := [extensionSupportedVersions + 1]bool{}
	for len(extensions.b) > 0 && !extensions.bad {
		kind, body := extensions.extension()
		if kind >= len(seen) {
			continue
		}
		if seen[kind] {
			return ClientHello{}, errMalformed
		}
		seen[kind] = true
		switch kind {
		case extensionServerName:
			h.ServerName = serverName(&body)
		case extensionALPN:
			h.ALPN = protocols(&body)
		case extensionSupportedVersions:
			h.Versions = versions(&body)
		}
		b.bad = b.bad || body.bad
	}
	if b.bad || extensions.bad {
		return ClientHello{}, errMalformed
	}
	return h, nil
}

// Server reads the ServerHello (or the HelloRetryRequest, which has its form) at
// the beginning of p and returns the version chosen, as tls.VersionName has it.
// The error is ErrShort, or says why p begins with no ServerHello, an alert for example.
func Server(p []byte) (version string, err error) {
	b, err := message(p, typeServerHello)
	if err != nil {
		return "", err
	}
	chosen := b.uint16()
	b.bytes(32)        // random
	b.bytes(b.uint8()) // session id
	b.bytes(3)         // cipher suite, compression method
	extensions := b.extensions()
	for len(extensions.b) > 0 && !extensions.bad {
		kind, body := extensions.extension()
		if kind == extensionSupportedVersions {
			chosen = body.uint16()
			b.bad = b.bad || body.bad
		}
	}
	if b.bad || extensions.bad {
		return "", errMalformed
	}
	return tls.VersionName(uint16(chosen)), nil
}

// serverName reads RFC 6066 §3's list, which has one name of type host_name.
func serverName(b *reader) string {
	list := reader{b: b.bytes(b.uint16())}
	name := ""
	for len(list.b) > 0 && !list.bad {
		kind := list.uint8()
		value := list.bytes(list.uint16())
		if kind == 0 && name == "" {
			name = string(value)
		}
	}
	b.bad = b.bad || list.bad
	return name
}

// protocols reads RFC 7301 §3.1's list.
func protocols(b *reader) []string {
	list := reader{b: b.bytes(b.uint16())}
	names := []string{}
	for len(list.b) > 0 && !list.bad {
		name := list.bytes(list.uint8())
		if len(name) == 2 && grease(name[0], name[1]) {
			continue
		}
		names = append(names, string(name))
	}
	b.bad = b.bad || list.bad
	return names
}

// suites reads RFC 8446 §4.1.2's list.
func suites(b *reader) []uint16 {
	list := reader{b: b.bytes(b.uint16())}
	var numbers []uint16
	for len(list.b) > 0 && !list.bad {
		n := list.uint16()
		if !list.bad && !grease(byte(n>>8), byte(n)) {
			numbers = append(numbers, uint16(n))
		}
	}
	b.bad = b.bad || list.bad
	return numbers
}

// versions reads RFC 8446 §4.2.1's list of a ClientHello.
func versions(b *reader) []string {
	list := reader{b: b.bytes(b.uint8())}
	var names []string
	for len(list.b) > 0 && !list.bad {
		v := list.uint16()
		if !list.bad && !grease(byte(v>>8), byte(v)) {
			names = append(names, tls.VersionName(uint16(v)))
		}
	}
	b.bad = b.bad || list.bad
	return names
}

// grease knows the two-byte values that RFC 8701 §2 reserves: 0x0A0A, 0x1A1A to 0xFAFA.
func grease(a, b byte) bool { return a == b && a&0x0f == 0x0a }
