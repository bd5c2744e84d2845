package proxy

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// keyUpdate is a record of TLS 1.3 by which a side that has sent nothing behind its
// handshake asks for new keys (RFC 8446 §4.6.3), from the key log of its session.
func keyUpdate(t *testing.T, log string, label string) []byte {
	t.Helper()
	var secret []byte
	for line := range strings.Lines(log) {
		if words := strings.Fields(line); words[0] == label {
			secret, _ = hex.DecodeString(words[2])
		}
	}
	expand := func(label string, size int) []byte { // RFC 8446 §7.1
		info := append([]byte{0, byte(size), byte(len("tls13 " + label))}, "tls13 "+label+"\x00"...)
		out, err := hkdf.Expand(sha256.New, secret, string(info), size)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	block, err := aes.NewCipher(expand("key", 16))
	if err != nil {
		t.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	message := []byte{24, 0, 0, 1, 1, 22} // key_update, update_requested; a handshake's
	head := []byte{23, 3, 3, 0, byte(len(message) + aead.Overhead())}
	return aead.Seal(head, expand("iv", 12), message, head) // the nonce of the first record
}

// A session whose time limit of writing has run out in a long silence answers a side
// that wants new keys, and writes on.
func TestNewKeysBehindATimeLimit(t *testing.T) {
	l := listen(t)
	defer l.Close()
	far, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	near, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	ca := newTestCA(t)
	cert, err := ca.leaf("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	var keys bytes.Buffer
	server := tls.Server(&peeked{Conn: near}, &tls.Config{Certificates: []tls.Certificate{*cert}, SessionTicketsDisabled: true})
	client := tls.Client(far, &tls.Config{ServerName: "127.0.0.1", RootCAs: ca.pool, KeyLogWriter: &keys})
	server.SetDeadline(time.Now().Add(patience))
	client.SetDeadline(time.Now().Add(patience))
	greeted := make(chan error, 1)
	go func() { greeted <- server.Handshake() }()
	if err := client.Handshake(); err != nil {
		t.Fatal(err)
	}
	if err := <-greeted; err != nil {
		t.Fatal(err)
	}
	if client.ConnectionState().CipherSuite != tls.TLS_AES_128_GCM_SHA256 {
		t.Skip("the session has another cipher suite than the test's record")
	}
	server.SetWriteDeadline(past)
	far.Write(keyUpdate(t, keys.String(), "CLIENT_TRAFFIC_SECRET_0"))
	far.(*net.TCPConn).CloseWrite()
	if n, err := server.Read(make([]byte, 1)); n != 0 || err != io.EOF && err != io.ErrUnexpectedEOF {
		t.Fatal(n, err)
	}
	server.SetWriteDeadline(time.Now().Add(patience))
	if _, err := server.Write([]byte("more")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 4)
	if _, err := io.ReadFull(client, got); string(got) != "more" || err != nil {
		t.Errorf("%q %v", got, err)
	}
}
