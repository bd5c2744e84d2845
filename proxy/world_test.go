package proxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/netlog/netlogtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of a test; nothing takes it unless it fails.
const patience = 2 * time.Minute

// A world is a proxy with its log, and the authority that everybody trusts.
type world struct {
	t     *testing.T
	path  string
	log   *netlog.Writer
	proxy *Proxy
	addr  string // the proxy's
	ca    *testCA
	ended bool
}

// newWorld starts a proxy; change may adjust its configuration first.
func newWorld(t *testing.T, change func(*Config)) *world {
	t.Helper()
	w := &world{t: t, path: filepath.Join(t.TempDir(), "network.jsonl"), ca: newTestCA(t)}
	var err error
	w.log, err = netlog.OpenWriter(netlog.WriterConfig{Path: w.path, Program: "test", Version: "0", Mode: "proxy", Limits: DefaultKeep()})
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Log: w.log, Leaf: w.ca.leaf, UpstreamRoots: w.ca.pool}
	if change != nil {
		change(&c)
	}
	if w.proxy, err = New(c); err != nil {
		t.Fatal(err)
	}
	l := listen(t)
	w.addr = l.Addr().String()
	served := make(chan error, 1)
	go func() { served <- w.proxy.Serve(l) }()
	t.Cleanup(func() {
		w.end()
		if err := <-served; err != nil {
			t.Error("Serve:", err)
		}
	})
	return w
}

// end stops the proxy and closes and checks the log.
func (w *world) end() {
	if w.ended {
		return
	}
	w.ended = true
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	w.proxy.Shutdown(ctx)
	if err := w.log.Close(); err != nil {
		w.t.Error(err)
	}
	netlogtest.Validate(w.t, w.path)
}

// An entry pair as the log has it.
type pair struct {
	open   netlog.Open
	end    netlog.End
	answer *netlog.Answer
}

func (p pair) String() string {
	s := string(p.open.Kind) + " " + string(p.open.Via)
	if r := p.open.Request; r != nil {
		s += " " + r.Method + " " + r.URL
	} else {
		s += " " + p.open.Target
	}
	if r := p.end.Response; r != nil {
		s += fmt.Sprint(" ", r.Status)
	}
	if f := p.end.Failed; f != nil {
		s += fmt.Sprintf(" failed %s %s", f.Phase, f.Code)
	}
	if r := p.end.Refused; r != nil {
		s += fmt.Sprintf(" refused %s %d", r.Code, r.Status)
	}
	return s
}

// requestBody is the request's body, from whichever line has it.
func (p pair) requestBody() *netlog.Body {
	if p.end.Request != nil {
		return p.end.Request.Body
	}
	return p.open.Request.Body
}

// phases is the sum of an entry's phases, in microseconds, which is to be their total.
func (p pair) phases() (sum int64) {
	t := p.end.Timings
	for _, d := range []int64{t.Blocked, t.DNS, t.Connect, t.Send, t.Wait, t.Receive} {
		if d != netlog.Absent {
			sum += d
		}
	}
	return sum
}

// pairs ends the world and gives its entries, in the order of their open lines.
func (w *world) pairs() []pair {
	w.t.Helper()
	w.end()
	raw, err := os.ReadFile(w.path)
	if err != nil {
		w.t.Fatal(err)
	}
	var pairs []pair
	at := map[int64]int{}
	for line := range bytes.Lines(raw) {
		l, err := netlog.ParseLine(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			w.t.Fatalf("%s: %v", line, err)
		}
		switch l.Event {
		case netlog.EventOpen:
			at[l.ID] = len(pairs)
			pairs = append(pairs, pair{open: *l.Open})
		case netlog.EventAnswer:
			pairs[at[l.ID]].answer = l.Answer
		case netlog.EventEnd:
			pairs[at[l.ID]].end = *l.End
		}
	}
	return pairs
}

// want ends the world and compares its entries, as pair.String has them.
// ADDR in a wanted one stands for addr.
func (w *world) want(addr string, want ...string) []pair {
	w.t.Helper()
	pairs := w.pairs()
	var got []string
	for _, p := range pairs {
		s := p.String()
		if addr != "" {
			s = strings.ReplaceAll(s, addr, "ADDR")
		}
		got = append(got, s)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		w.t.Fatalf("entries:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return pairs
}

// A party is one end of a connection in a test's hands.
type party struct {
	t *testing.T
	net.Conn
	br   *bufio.Reader
	tape *taped // below Conn, when that is a session of secure's
}

func newParty(t *testing.T, conn net.Conn) *party {
	conn.SetDeadline(time.Now().Add(patience))
	return &party{t: t, Conn: conn, br: bufio.NewReader(conn)}
}

// send writes s; errors are the reader's to find.
func (p *party) send(s string) {
	p.Write([]byte(s))
}

// expect reads exactly s.
func (p *party) expect(s string) {
	p.t.Helper()
	got := make([]byte, len(s))
	n, err := io.ReadFull(p.br, got)
	if string(got[:n]) != s {
		p.t.Fatalf("got %q (%v), want %q", got[:n], err, s)
	}
}

// head reads up to and with a blank line.
func (p *party) head() string {
	p.t.Helper()
	var head []byte
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		line, err := p.br.ReadSlice('\n')
		head = append(head, line...)
		if err != nil {
			p.t.Fatalf("in a head: %q: %v", head, err)
		}
	}
	return string(head)
}

// rest reads up to the end, clean or not.
func (p *party) rest() (string, error) {
	b, err := io.ReadAll(p.br)
	return string(b), err
}

// expectEnd reads up to a clean end without a byte.
func (p *party) expectEnd() {
	p.t.Helper()
	if s, err := p.rest(); s != "" || err != nil {
		p.t.Fatalf("got %q and %v, want a clean end", s, err)
	}
}

// browser connects to the proxy.
func (w *world) browser() *party {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	return newParty(w.t, conn)
}

// connect asks for a CONNECT to target and reads its grant.
func (w *world) connect(target string) *party {
	w.t.Helper()
	b := w.browser()
	b.send("CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n")
	if got := b.head(); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
		w.t.Fatalf("CONNECT: %q", got)
	}
	return b
}

// secure is a TLS session with name through a CONNECT to target, for HTTP/1.
func (w *world) secure(target, name string) *party {
	w.t.Helper()
	return w.secureFor(target, name, "http/1.1")
}

// secureFor is a TLS session for the protocols.
func (w *world) secureFor(target, name string, protocols ...string) *party {
	w.t.Helper()
	b := w.connect(target)
	tape := &taped{Conn: b.Conn}
	session := tls.Client(tape, &tls.Config{ServerName: name, RootCAs: w.ca.pool, NextProtos: protocols})
	if err := session.Handshake(); err != nil {
		w.t.Fatal("handshake:", err)
	}
	p := newParty(w.t, session)
	p.tape = tape
	return p
}

// A taped keeps what was read.
type taped struct {
	net.Conn
	read []byte
}

func (c *taped) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read = append(c.read, p[:n]...)
	return n, err
}

// closeNotify is the length of an alert's record in TLS 1.3, which crypto/tls
// does not tell from its absence.
const closeNotify = 2 + 1 + 16

// records are the lengths of the TLS records that were read.
func (p *party) records() (lengths []int) {
	for b := p.tape.read; len(b) > 5; {
		n := int(b[3])<<8 | int(b[4])
		lengths = append(lengths, n)
		b = b[5+n:]
	}
	return lengths
}

// origin runs serve for each connection to a new address; with TLS when names
// are given.
func (w *world) origin(serve func(*party), names ...string) string {
	w.t.Helper()
	l := listen(w.t)
	var running sync.WaitGroup
	accept := make(chan struct{})
	go func() {
		defer close(accept)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				if len(names) > 0 {
					session := tls.Server(conn, &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return w.ca.leaf(names[0]) }})
					if session.Handshake() != nil {
						return
					}
					defer session.CloseWrite()
					conn = session
				}
				serve(newParty(w.t, conn))
			})
		}
	}()
	w.t.Cleanup(func() {
		l.Close()
		<-accept
		running.Wait()
	})
	return l.Addr().String()
}

// answers serves every request of a connection with what answer gives for its
// head; "" ends it.
func answers(answer func(head string) string) func(*party) {
	return func(p *party) {
		for {
			if _, err := p.br.Peek(1); err != nil {
				return
			}
			head := p.head()
			a := answer(head)
			if a == "" {
				return
			}
			p.send(a)
		}
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// deadAddress is an address on which nobody listens, nor will before the test is over:
// a socket that does not listen has it.
func deadAddress(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	syscall.CloseOnExec(fd)
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(at.(*syscall.SockaddrInet4).Port)).String()
}

// eventually polls until ok says so.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("never came: " + what)
		}
	}
}

// A testCA signs leaves for a test's servers and for the proxy.
type testCA struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
	mu   sync.Mutex
	made map[string]*tls.Certificate
}

func newTestCA(t *testing.T) *testCA {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a := &testCA{cert: cert, key: key, pool: x509.NewCertPool(), made: map[string]*tls.Certificate{}}
	a.pool.AddCert(cert)
	return a
}

func (a *testCA) leaf(name string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.made[name]; c != nil {
		return c, nil
	}
	if name == "" {
		return nil, errors.New("a leaf without a name")
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(len(a.made) + 2)),
		NotBefore:    time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, a.key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	c := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}
	a.made[name] = c
	return c, nil
}

// logHas waits until the log has a line with s in it.
func (w *world) logHas(s string) {
	w.t.Helper()
	eventually(w.t, "a log line with "+s, func() bool {
		raw, err := os.ReadFile(w.path)
		return err == nil && bytes.Contains(raw, []byte(s))
	})
}

// waitFor waits until n entries have ended, and gives them.
func (w *world) waitFor(n int) []pair {
	w.t.Helper()
	eventually(w.t, fmt.Sprint(n, " end lines"), func() bool {
		raw, err := os.ReadFile(w.path)
		return err == nil && bytes.Count(raw, []byte(`"event":"end"`)) >= n
	})
	return w.pairs()
}

// failingDial refuses every connection with err.
func failingDial(err error) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) { return nil, err }
}

// blockedDial fails once release is closed.
func blockedDial(release <-chan bool) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		select {
		case <-release:
			return nil, errors.New("no way to the server")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func clientConfig(w *world) *tls.Config { return &tls.Config{RootCAs: w.ca.pool} }

// A oneConn is a listener that gives one connection and ends with its work.
type oneConn struct {
	conn  net.Conn
	given bool
	done  chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	if !l.given {
		l.given = true
		return l.conn, nil
	}
	<-l.done
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return l.conn.LocalAddr() }
