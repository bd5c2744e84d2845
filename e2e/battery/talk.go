package battery

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A talk is a conversation being held. Its methods are what the parties do and
// what must come of it, in order; behind the first thing that was wrong they do
// nothing. In what they are given {u} stands for what a request-target begins
// with on the leg, {o} for the leg's origin, {proxy} for the proxy's address
// and {port} for its port.
type talk struct {
	c         Case
	leg       Leg
	o         Options
	network   *network
	authority *authority
	proxy     string

	b       *party   // the browser, once it is there
	s       *party   // the server, of the connection that was used last
	servers []*party // all of them
	parties []*party // the browsers
	gone    []*party // of which nothing more matters

	sessions []*party // the browsers' TLS sessions
	err      error
	altered  bool // somebody got other bytes of the same meaning

	busy sync.WaitGroup // what goes on beside
}

func (t *talk) fail(format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf(format, args...)
	}
}

func (t *talk) check(err error) {
	if t.err == nil {
		t.err = err
	}
}

func (t *talk) expand(s string) string {
	if !strings.Contains(s, "{") {
		return s
	}
	u, o, blame, port := "", "http://origin.test", "http://origin.test", "80"
	switch t.leg {
	case Plain:
		u, blame = o, "http://"+t.proxy
	case TLS, HTTP2:
		o, blame, port = "https://origin.test", "https://origin.test", "443"
	}
	_, own, _ := net.SplitHostPort(t.proxy)
	for _, r := range [][2]string{{"{u}", u}, {"{o}", o}, {"{blame}", blame}, {"{default}", port}, {"{proxy}", t.proxy}, {"{port}", own}} {
		s = strings.ReplaceAll(s, r[0], r[1])
	}
	return s
}

// dial makes a browser's connection to the proxy.
func (t *talk) dial() *party {
	conn, err := net.Dial("tcp", t.proxy)
	if err != nil {
		t.check(err)
		return nil
	}
	p := newParty("the browser", conn, nil, t.o.Patience)
	t.parties = append(t.parties, p)
	return p
}

// bare is a browser that has connected and sent nothing.
func (t *talk) bare() {
	if t.err == nil {
		t.b = t.dial()
	}
}

// connect is a browser whose CONNECT to target was granted.
func (t *talk) connect(target string) {
	t.bare()
	target = t.expand(target)
	t.send("CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n")
	t.granted()
}

func (t *talk) granted() {
	if t.err != nil {
		return
	}
	head, err := t.b.head()
	if t.check(err); err == nil && status(head) != "200" {
		t.fail("the CONNECT was answered %s", clip(head))
	}
}

// secure is a browser with a TLS session for sni through a CONNECT to target.
func (t *talk) secure(target, sni string) {
	t.connect(target)
	t.handshake(sni)
}

// handshake speaks TLS on the browser's connection.
func (t *talk) handshake(sni string) {
	if t.err != nil {
		return
	}
	p, err := t.b.handshake(t.authority, sni, t.leg.alpn())
	if t.check(err); err == nil {
		t.b, t.sessions = p, append(t.sessions, p)
	}
}

// fresh is a browser on a new connection that is ready for requests on the leg.
func (t *talk) fresh() {
	switch t.leg {
	case TLS:
		t.secure("origin.test:443", "origin.test")
	case HTTP2:
		t.freshFrames()
	case Inside:
		t.connect("origin.test:80")
	default:
		t.bare()
	}
}

func (t *talk) ready() bool {
	if t.b == nil && t.err == nil {
		t.fresh()
	}
	return t.err == nil
}

// send is the browser's.
func (t *talk) send(s string) {
	if t.ready() {
		t.b.send(t.expand(s))
	}
}

// sendBeside sends what is too long for the buffers in between; settle waits for it.
func (t *talk) sendBeside(s string) {
	if t.ready() {
		b, s := t.b, t.expand(s)
		t.busy.Go(func() { b.send(s) })
	}
}

// answerBeside is the server's sendBeside.
func (t *talk) answerBeside(s string) {
	if t.serves() {
		p, s := t.s, t.expand(s)
		t.busy.Go(func() { p.send(s) })
	}
}

// sendSlowly is send in writes of one byte.
func (t *talk) sendSlowly(s string) {
	if t.ready() {
		t.b.sendBytewise(t.expand(s))
	}
}

// sees says what the browser gets next.
func (t *talk) sees(s string) {
	if t.ready() {
		t.expect(t.b, t.expand(s))
	}
}

// serves waits for the server's connection.
func (t *talk) serves() bool {
	if t.s == nil && t.err == nil {
		t.next()
	}
	return t.err == nil
}

// next waits for another connection to the server.
func (t *talk) next() {
	if t.err != nil {
		return
	}
	limit := time.NewTimer(t.o.Patience)
	defer limit.Stop()
	select {
	case t.s = <-t.network.conns:
		t.servers = append(t.servers, t.s)
	case <-limit.C:
		t.fail("no connection came to the server")
	}
}

// gets says what the server gets next.
func (t *talk) gets(s string) {
	if t.serves() {
		t.expect(t.s, t.expand(s))
	}
}

func (t *talk) expect(p *party, s string) {
	if !t.o.Lenient {
		t.check(p.expect(s))
		return
	}
	same, err := p.alike(s)
	t.altered = t.altered || !same
	t.check(err)
}

// answer is the server's send.
func (t *talk) answer(s string) {
	if t.serves() {
		t.s.send(t.expand(s))
	}
}

// answerSlowly is answer in writes of one byte.
func (t *talk) answerSlowly(s string) {
	if t.serves() {
		t.s.sendBytewise(t.expand(s))
	}
}

// browserEnds and serverEnds say that nothing more comes, and how the end does.
func (t *talk) browserEnds(how ...end) { t.ends(t.b, how) }
func (t *talk) serverEnds(how ...end) {
	if t.serves() {
		t.ends(t.s, how)
	}
}

var (
	anyEnd = []end{clean, cut, reset, other} // but that it comes
	broken = []end{cut, reset}               // in TLS: not to be taken for an answer's own end
)

func (t *talk) ends(p *party, how []end) {
	if t.err != nil {
		return
	}
	if len(how) == 0 {
		how = anyEnd
	}
	s, got := p.rest()
	if s != "" {
		t.fail("%s got %s and was to get its connection's end", p.name, clip(s))
	}
	for _, ok := range how {
		if got == ok {
			return
		}
	}
	t.fail("%s's connection ended with %v, and was to with %v", p.name, got, how)
}

// refused says that the browser gets the proxy's own answer, and the connection's end.
func (t *talk) refused(status int) { t.page(status, "refused") }

// failedWith is the same for a request that was passed on and has failed.
func (t *talk) failedWith(status int) { t.page(status, "failed") }

func (t *talk) page(want int, mark string) {
	if !t.ready() {
		return
	}
	if t.o.Lenient {
		t.error()
		return
	}
	text, end := t.b.rest()
	got := status(text)
	head, _, _ := strings.Cut(text, "\r\n\r\n")
	if got != strconv.Itoa(want) || !strings.Contains(head, "\r\nX-Agentenv-Proxy: "+mark) {
		t.fail("the browser got %s (%v), and was to get our %d", clip(text), end, want)
	}
	if !strings.HasSuffix(text, "</p>\n") || strings.Count(text, "<p>") != 1 || end != clean {
		t.fail("behind our %d the browser got %s and %v", want, clip(text), end)
	}
}

// error says that the browser gets an error of any kind, or its connection's end.
func (t *talk) error() {
	head, err := t.b.head()
	var late net.Error
	if n, _ := strconv.Atoi(status(head)); n < 400 && head != "" || errors.As(err, &late) && late.Timeout() {
		t.fail("the browser got %s (%v), and was to get an error", clip(head), err)
	}
	t.discard(t.b) // a page, whatever it says
}

// dropped says that the browser's connection ends in the middle of a request;
// others than ours may say why.
func (t *talk) dropped() {
	if t.o.Lenient {
		t.refused(400)
		return
	}
	t.browserEnds()
}

// nobody says that the server was not even connected to.
func (t *talk) nobody() {
	if n := t.network.taken(); n > 0 {
		t.fail("the server was connected to %d times", n)
	}
}

// dials says which addresses were asked of the network.
func (t *talk) dials(want ...string) {
	if got := t.network.asked(); strings.Join(got, " ") != strings.Join(want, " ") {
		t.fail("%q was dialled, and %q was to be", got, want)
	}
}

// logged waits until the log, if there is one, has a line with s in it.
func (t *talk) logged(s string) {
	if t.err != nil || t.o.Dir == "" {
		return
	}
	t.check(poll(t.o.Patience, "a line of the log with "+s, func() bool { return strings.Contains(t.o.Dump(), s) }))
}

// settle waits for what goes on beside.
func (t *talk) settle() {
	if t.err != nil {
		t.close()
	}
	t.busy.Wait()
}

// leftOvers finds what came to a party and was not looked at.
func (t *talk) leftOvers() {
	for {
		select {
		case p := <-t.network.conns:
			t.servers = append(t.servers, p)
			continue
		default:
		}
		break
	}
	for _, p := range slices.Concat(t.parties, t.sessions, t.servers) {
		if p == nil || t.err != nil || slices.Contains(t.gone, p) || t.below(p) {
			continue
		}
		left := p.leftOver
		if p.framing != nil || t.leg == HTTP2 && slices.Contains(t.servers, p) {
			left = p.leftFrames
		}
		if s := left(); s != "" {
			t.fail("%s got more: %s", p.name, clip(s))
		}
	}
}

// below tells whether p is only what a session is held over.
func (t *talk) below(p *party) bool {
	return slices.ContainsFunc(t.sessions, func(s *party) bool { return s.tape.Conn == p.Conn })
}

func (t *talk) close() {
	for _, p := range t.parties {
		p.Conn.Close()
	}
	for _, p := range t.servers {
		p.Conn.Close()
	}
}

// oneOf is an error unless got is among want.
func oneOf(what, got string, want ...string) error {
	for _, w := range want {
		if got == w {
			return nil
		}
	}
	return errors.New(what + " is " + strconv.Quote(got) + ", and was to be " + strings.Join(want, " or "))
}
