package hello

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// tap records what is written on a connection.
type tap struct {
	net.Conn
	mu  sync.Mutex
	out []byte
}

func (t *tap) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.out = append(t.out, p...)
	t.mu.Unlock()
	return t.Conn.Write(p)
}

// handshake returns all that both sides of a handshake wrote.
func handshake(t testing.TB, client, server *tls.Config) (fromClient, fromServer []byte) {
	t.Helper()
	a, b := connection(t)
	ct, st := &tap{Conn: a}, &tap{Conn: b}
	deadline := time.Now().Add(2 * time.Minute)
	a.SetDeadline(deadline)
	b.SetDeadline(deadline)
	if server == nil {
		server = &tls.Config{}
	}
	server = server.Clone()
	server.Certificates = []tls.Certificate{certificate(t)}
	server.SessionTicketsDisabled = true
	done := make(chan error, 1)
	go func() {
		done <- tls.Server(st, server).Handshake()
		b.Close()
	}()
	client = client.Clone()
	client.InsecureSkipVerify = true
	err := tls.Client(ct, client).Handshake()
	a.Close()
	if serr := <-done; err != nil || serr != nil {
		t.Fatalf("handshake: client %v, server %v", err, serr)
	}
	return ct.out, st.out
}

func connection(t testing.TB) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return client, server
}

var certificate = func() func(testing.TB) tls.Certificate {
	key, kerr := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return func(t testing.TB) tls.Certificate {
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
		der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
		if err = errors.Join(kerr, err); err != nil {
			t.Fatal(err)
		}
		return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	}
}()

func TestRealHellos(t *testing.T) {
	tests := []struct {
		name           string
		client, server *tls.Config
		want           ClientHello
		version        string
	}{
		{
			name:    "1.3",
			client:  &tls.Config{ServerName: "notes.test", NextProtos: []string{"h2", "http/1.1"}},
			want:    ClientHello{ServerName: "notes.test", ALPN: []string{"h2", "http/1.1"}, Versions: []string{"TLS 1.3", "TLS 1.2"}},
			version: "TLS 1.3",
		},
		{
			name:    "1.2 only, no ALPN",
			client:  &tls.Config{ServerName: "a.example", MaxVersion: tls.VersionTLS12},
			want:    ClientHello{ServerName: "a.example", Versions: []string{"TLS 1.2"}},
			version: "TLS 1.2",
		},
		{
			name:    "the server is older",
			client:  &tls.Config{ServerName: "a.example", MinVersion: tls.VersionTLS10},
			server:  &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11},
			want:    ClientHello{ServerName: "a.example", Versions: []string{"TLS 1.3", "TLS 1.2", "TLS 1.1", "TLS 1.0"}},
			version: "TLS 1.1",
		},
		{
			name:    "an address has no name",
			client:  &tls.Config{ServerName: "192.0.2.1"},
			want:    ClientHello{Versions: []string{"TLS 1.3", "TLS 1.2"}},
			version: "TLS 1.3",
		},
		{
			name:    "hello retry request",
			client:  &tls.Config{ServerName: "a.example", CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP384}},
			server:  &tls.Config{CurvePreferences: []tls.CurveID{tls.CurveP384}},
			want:    ClientHello{ServerName: "a.example", Versions: []string{"TLS 1.3", "TLS 1.2"}},
			version: "TLS 1.3",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := &tls.Config{}
			if test.server != nil {
				server = test.server
			}
			server.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
				test.want.CipherSuites = h.CipherSuites
				return nil, nil
			}
			sent, received := handshake(t, test.client, server)
			checkClient(t, sent, test.want)
			checkServer(t, received, test.version)
			first := sent[:5+int(sent[3])<<8+int(sent[4])]
			for cut := 1; cut < len(first)-5; cut++ {
				split := resplit(first, cut)
				if got, err := Client(split); err != nil || !reflect.DeepEqual(got, test.want) {
					t.Fatalf("in records of %d bytes: %+v, %v", cut, got, err)
				}
			}
			checkClient(t, resplit(first, 7), test.want)
			checkServer(t, resplit(received[:5+int(received[3])<<8+int(received[4])], 3), test.version)
		})
	}
}

// checkClient reads every prefix of p: each is short up to the first that holds
// the whole hello, and from then on all give the same.
func checkClient(t *testing.T, p []byte, want ClientHello) {
	t.Helper()
	whole := false
	for i := range len(p) + 1 {
		got, err := Client(p[:i:i])
		if err == ErrShort && !whole {
			continue
		}
		whole = true
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("Client of %d of %d bytes: %+v, %v; want %+v", i, len(p), got, err, want)
		}
	}
	if !whole {
		t.Fatal("Client found no hello")
	}
}

func checkServer(t *testing.T, p []byte, want string) {
	t.Helper()
	whole := false
	for i := range len(p) + 1 {
		got, err := Server(p[:i:i])
		if err == ErrShort && !whole {
			continue
		}
		whole = true
		if err != nil || got != want {
			t.Fatalf("Server of %d of %d bytes: %q, %v; want %q", i, len(p), got, err, want)
		}
	}
	if !whole {
		t.Fatal("Server found no hello")
	}
}

// resplit puts one record's payload into records of at most size bytes.
func resplit(record []byte, size int) []byte {
	var out []byte
	for part := range slices.Chunk(record[5:], size) {
		out = append(out, 22, 3, 1, byte(len(part)>>8), byte(len(part)))
		out = append(out, part...)
	}
	return out
}

// hello makes a record with a hello of that type; extensions nil leaves the list out.
func hello(kind byte, version uint16, middle string, extensions []byte) []byte {
	body := []byte{byte(version >> 8), byte(version)}
	body = append(body, make([]byte, 32)...)
	body = append(body, middle...)
	if extensions != nil {
		body = append(body, byte(len(extensions)>>8), byte(len(extensions)))
		body = append(body, extensions...)
	}
	message := append([]byte{kind, 0, byte(len(body) >> 8), byte(len(body))}, body...)
	return append([]byte{22, 3, 1, byte(len(message) >> 8), byte(len(message))}, message...)
}

func extension(kind int, body string) string {
	return string([]byte{byte(kind >> 8), byte(kind), byte(len(body) >> 8), byte(len(body))}) + body
}

const clientMiddle = "\x00" + "\x00\x04\x13\x01\x1a\x1a" + "\x01\x00"

func TestHandmadeHellos(t *testing.T) {
	sni := extension(0, "\x00\x06\x00\x00\x03a.b")
	tests := []struct {
		name string
		p    []byte
		want ClientHello
		err  error
	}{
		{"no extensions", hello(1, 0x0301, clientMiddle, nil), ClientHello{Versions: []string{"TLS 1.0"}, CipherSuites: []uint16{0x1301}}, nil},
		{"SSL 3", hello(1, 0x0300, clientMiddle, nil), ClientHello{Versions: []string{"SSLv3"}, CipherSuites: []uint16{0x1301}}, nil},
		{"GREASE left out", hello(1, 0x0303, clientMiddle, []byte(
			extension(0x1a1a, "")+sni+
				extension(16, "\x00\x06\x02\xaa\xaa\x02h2")+
				extension(43, "\x06\xfa\xfa\x03\x04\x7f\x1c")+extension(0xdada, "\x00"))),
			ClientHello{ServerName: "a.b", ALPN: []string{"h2"}, Versions: []string{"TLS 1.3", "0x7F1C"}, CipherSuites: []uint16{0x1301}}, nil},
		{"two names", hello(1, 0x0303, clientMiddle, []byte(sni+sni)), ClientHello{}, errMalformed},
		{"name past its list", hello(1, 0x0303, clientMiddle, []byte(extension(0, "\x00\x06\x00\x00\x04a.b"))), ClientHello{}, errMalformed},
		{"ALPN past its list", hello(1, 0x0303, clientMiddle, []byte(extension(16, "\x00\x03\x03h2"))), ClientHello{}, errMalformed},
		{"an odd list of versions", hello(1, 0x0303, clientMiddle, []byte(extension(43, "\x03\x03\x04\x03"))), ClientHello{}, errMalformed},
		{"extension past the list", hello(1, 0x0303, clientMiddle, []byte("\x00\x00\x00\x09a")), ClientHello{}, errMalformed},
		{"bytes behind the extensions", hello(1, 0x0303, clientMiddle+"\x00\x00", []byte{}), ClientHello{}, errMalformed},
		{"an odd list of suites", hello(1, 0x0303, "\x00\x00\x03\x13\x01\x13\x01\x00", nil), ClientHello{}, errMalformed},
		{"no compression methods", hello(1, 0x0303, "\x00\x00\x02\x13\x01", nil), ClientHello{}, errMalformed},
		{"a ServerHello", hello(2, 0x0303, clientMiddle, nil), ClientHello{}, errNotTLS},
		{"an empty record", []byte{22, 3, 1, 0, 0}, ClientHello{}, errNotTLS},
		{"a record too long", []byte{22, 3, 1, 0x40, 1}, ClientHello{}, errNotTLS},
		{"a version that is none", []byte{22, 3, 5}, ClientHello{}, errNotTLS},
		{"SSL 2", []byte{0x80, 0x2e, 1, 3, 1}, ClientHello{}, errNotTLS},
		{"HTTP", []byte("GET / HTTP/1.1\r\n"), ClientHello{}, errNotTLS},
		{"an alert in the middle", append(resplit(hello(1, 0x0303, clientMiddle, nil), 10)[:15], 21, 3, 1, 0, 2, 2, 40), ClientHello{}, errNotTLS},
		{"a message too long", []byte{22, 3, 1, 0, 9, 1, 1, 0, 1}, ClientHello{}, errTooLong},
		{"nothing", nil, ClientHello{}, ErrShort},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Client(test.p)
			if err != test.err || !reflect.DeepEqual(got, test.want) {
				t.Errorf("Client(%x) = %+v, %v; want %+v, %v", test.p, got, err, test.want, test.err)
			}
		})
	}
}

func TestServer(t *testing.T) {
	const middle = "\x00" + "\x13\x01" + "\x00"
	tests := []struct {
		name string
		p    []byte
		want string
		err  error
	}{
		{"no extensions", hello(2, 0x0302, middle, nil), "TLS 1.1", nil},
		{"supported versions", hello(2, 0x0303, middle, []byte(extension(51, "xx")+extension(43, "\x03\x04"))), "TLS 1.3", nil},
		{"half a version", hello(2, 0x0303, middle, []byte(extension(43, "\x03"))), "", errMalformed},
		{"cut within itself", hello(2, 0x0303, "\x00\x13", nil), "", errMalformed},
		{"an alert", []byte{21, 3, 3, 0, 2, 2, 40}, "", errNotTLS},
		{"a ClientHello", hello(1, 0x0303, middle, nil), "", errNotTLS},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got, err := Server(test.p); got != test.want || err != test.err {
				t.Errorf("Server(%x) = %q, %v; want %q, %v", test.p, got, err, test.want, test.err)
			}
		})
	}
}

// A hello in one-byte records, or one that is followed by much else.
func TestBound(t *testing.T) {
	p := []byte(strings.Repeat("\x16\x03\x01\x00\x01\x01", 20_000))
	p[11], p[17], p[23] = 0, 0xff, 0xff // the message's length: 65,535
	if _, err := Client(p[:maxHello]); err != ErrShort {
		t.Errorf("64 KiB: %v", err)
	}
	if _, err := Client(p); err != errTooLong {
		t.Errorf("120 KB: %v", err)
	}
	p = append(hello(1, 0x0303, clientMiddle, nil), p...)
	if _, err := Client(p); err != nil {
		t.Errorf("a hello and 120 KB: %v", err)
	}
}

func FuzzClientHello(f *testing.F) {
	sent, received := handshake(f, &tls.Config{ServerName: "notes.test", NextProtos: []string{"h2"}}, &tls.Config{})
	f.Add(sent)
	f.Add(received)
	f.Add(hello(1, 0x0303, clientMiddle, []byte(extension(43, "\x06\xfa\xfa\x03\x04\x7f\x1c"))))
	f.Add(resplit(hello(1, 0x0303, clientMiddle, nil), 9))
	f.Fuzz(func(t *testing.T, p []byte) {
		whole, werr := Client(p)
		version, verr := Server(p)
		for i := range min(len(p), 300) {
			if h, err := Client(p[:i:i]); err != ErrShort && (err != werr || !reflect.DeepEqual(h, whole)) {
				t.Fatalf("%d bytes give %+v, %v; all give %+v, %v", i, h, err, whole, werr)
			}
			if v, err := Server(p[:i:i]); err != ErrShort && (err != verr || v != version) {
				t.Fatalf("%d bytes give %q, %v; all give %q, %v", i, v, err, version, verr)
			}
		}
		if werr != nil {
			return
		}
		size := int(p[3])<<8 | int(p[4])
		if len(p) >= 5+size && size*6 <= maxHello && !bytes.Contains(p[5:], p[:3]) {
			if h, err := Client(resplit(p[:5+size], 1)); err == nil && !reflect.DeepEqual(h, whole) {
				t.Fatalf("split: %+v; whole: %+v", h, whole)
			}
		}
	})
}

func BenchmarkClient(b *testing.B) {
	sent, _ := handshake(b, &tls.Config{ServerName: "notes.test", NextProtos: []string{"h2", "http/1.1"}}, &tls.Config{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Client(sent); err != nil {
			b.Fatal(err)
		}
	}
}
