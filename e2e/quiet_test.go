package e2e

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
)

// newQuietWorld starts an origin that keeps no record of what it was asked:
// for more traffic than a test can hold.
func newQuietWorld(t *testing.T, h http.Handler) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), origin: &origin{}}
	w.ca = newAuthority(t, w.dir)
	w.origin.host = "localhost:" + serveQuietly(t, h, &tls.Config{Certificates: []tls.Certificate{w.ca.leaf.tls}})
	w.origin.plain = "127.0.0.1:" + serveQuietly(t, h, nil)
	return w
}

// serveQuietly answers on a port of 127.0.0.1 until the test is over.
func serveQuietly(t *testing.T, h http.Handler, config *tls.Config) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Handler: h, TLSConfig: config, ErrorLog: log.New(io.Discard, "", 0),
		// Else one body that nobody reads leaves no room for others on its connection.
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerConnection: 16 << 20, MaxReceiveBufferPerStream: 1 << 20},
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		if config == nil {
			server.Serve(l)
		} else {
			server.ServeTLS(l, "", "")
		}
	}()
	t.Cleanup(func() {
		server.Close()
		<-served
	})
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// A patient serves the site, and what has to wait for the test:
//
//	/sink      answers with the SHA-256 of the body
//	/waiting   answers when release is closed
//	/begun     sends a little of its answer and no more
//	/arrived   sends nothing, but tells that the request is there
//	/taken     likewise, once it has had some of the body
type patient struct {
	release chan struct{} // nil: never
	site    http.Handler

	mu   sync.Mutex
	here map[string]chan struct{} // by request-target; closed when it is there
}

func newPatient() *patient {
	return &patient{release: make(chan struct{}), site: site(), here: map[string]chan struct{}{}}
}

// there is closed when a request with this target has come to the origin.
func (p *patient) there(target string) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.here[target] == nil {
		p.here[target] = make(chan struct{})
	}
	return p.here[target]
}

// forget drops what was kept of a request that is over.
func (p *patient) forget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.here, target)
}

func (p *patient) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/sink":
		hash := sha256.New()
		if _, err := io.Copy(hash, r.Body); err != nil {
			return
		}
		io.WriteString(w, hex.EncodeToString(hash.Sum(nil)))
	case "/waiting":
		select {
		case <-p.release:
			io.WriteString(w, "released")
		case <-r.Context().Done():
		}
	case "/begun":
		io.WriteString(w, "begun")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case "/arrived":
		close(p.there(r.RequestURI))
		<-r.Context().Done()
	case "/taken":
		if _, err := io.ReadFull(r.Body, make([]byte, 1000)); err != nil {
			return
		}
		close(p.there(r.RequestURI))
		io.Copy(io.Discard, r.Body)
	default:
		p.site.ServeHTTP(w, r)
	}
}
