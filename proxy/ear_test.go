package proxy

import (
	"bytes"
	"os/exec"
	"testing"
)

func TestEarHearsAnAlertInAnyCut(t *testing.T) {
	stream := []byte{
		22, 3, 1, 0, 3, 1, 2, 3, // a handshake record
		20, 3, 3, 0, 1, 1, // change_cipher_spec
		21, 3, 3, 0, 2, 2, 48, // unknown_ca
	}
	for cut := 1; cut <= len(stream); cut++ {
		var e ear
		for p := stream; len(p) > 0; p = p[min(cut, len(p)):] {
			e.listen(p[:min(cut, len(p))])
		}
		if e.heard != 48 {
			t.Errorf("cut in %d: heard %d", cut, e.heard)
		}
	}
	var e ear
	e.listen(bytes.Join([][]byte{{23, 3, 3, 0, 2, 2, 48}, {21, 3, 3, 0, 3, 2, 48, 0}, {21, 3, 3, 0, 0}}, nil))
	if e.heard != 0 {
		t.Errorf("heard %d where no alert in the clear was", e.heard)
	}
}

// OpenSSL sends its alert before it changes keys.
func TestOpenSSLThatRefusesTheCertificate(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("no openssl on this machine")
	}
	w := newWorld(t, nil)
	addr := w.origin(func(p *party) { p.rest() }, "127.0.0.1")
	command := exec.Command(openssl, "s_client", "-proxy", w.addr, "-connect", addr, "-verify_return_error", "-tls1_3", "-no-CAfile", "-no-CApath", "-no-CAstore")
	out, err := command.CombinedOutput()
	if err == nil {
		t.Errorf("openssl took the certificate: %s", out)
	}
	w.waitFor(1)
	w.want(addr, "tunnel mitm ADDR failed client_tls client_refused_certificate")
}
