package site

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
)

const (
	answerTTL  = 60              // seconds
	passWait   = 4 * time.Second // unless resolver.wait says otherwise
	maxMessage = 65535
)

// A resolver answers questions for the sites' names with their address, and passes
// every other question on.
type resolver struct {
	answers     func(name string) bool // tells the sites' names, in lower case and without a final dot
	address     netip.Addr             // where they are
	nameservers []netip.AddrPort       // who is asked about other names, in this order; none: nobody is
	wait        time.Duration          // for each of them; 0: 4 s
	logger      *slog.Logger           // hears of those that don't answer, of each once a minute

	mu       sync.Mutex
	silences map[netip.AddrPort]silence
}

// A silence is what was said of a nameserver that does not answer.
type silence struct {
	told time.Time // when last
	more int       // questions since then
}

// tellEvery is how often people are told of a nameserver: whoever is told too much
// may stop reading.
const tellEvery = time.Minute

// ServeDNS answers a question over the transport that it came on.
func (r *resolver) ServeDNS(w dns.ResponseWriter, question *dns.Msg) {
	if q := question.Question; question.Opcode == dns.OpcodeQuery && len(q) == 1 && q[0].Qclass == dns.ClassINET &&
		r.owns(q[0].Name) {
		w.WriteMsg(r.own(question))
		return
	}
	answer, err := r.pass(question, w.LocalAddr().Network())
	if err != nil {
		failure := new(dns.Msg).SetRcode(question, dns.RcodeServerFailure)
		failure.RecursionAvailable = true
		w.WriteMsg(failure)
		return
	}
	w.Write(answer)
}

// owns tells a site's name in a question, as the library writes it: a backslash
// is part of none, and stands before a dot within a label.
func (r *resolver) owns(name string) bool {
	return !strings.Contains(name, `\`) && r.answers(strings.ToLower(strings.TrimSuffix(name, ".")))
}

// own answers for a site's name: it has an IPv4 address, and nothing of any other
// type (an AAAA that did not exist would be a name that does not).
func (r *resolver) own(question *dns.Msg) *dns.Msg {
	answer := new(dns.Msg).SetReply(question)
	answer.Authoritative, answer.RecursionAvailable = true, true
	if q := question.Question[0]; q.Qtype == dns.TypeA {
		answer.Answer = []dns.RR{&dns.A{
			Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: answerTTL},
			A:   r.address.AsSlice(),
		}}
	}
	if opt := question.IsEdns0(); opt != nil { // RFC 6891 §6.1.1
		answer.SetEdns0(dns.DefaultMsgSize, opt.Do())
	}
	return answer
}

// pass asks the nameservers, one after the other, and gives the first answer as it
// came.
func (r *resolver) pass(question *dns.Msg, network string) ([]byte, error) {
	err := errors.New("there is no nameserver")
	for _, server := range r.nameservers {
		var answer []byte
		if answer, err = r.ask(question, network, server); err == nil {
			return answer, nil
		}
		r.tell(server, err)
	}
	return nil, err
}

// tell says that a nameserver does not answer.
func (r *resolver) tell(server netip.AddrPort, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, known := r.silences[server]
	if known && time.Since(s.told) < tellEvery {
		s.more++
		r.silences[server] = s
		return
	}
	if r.silences == nil {
		r.silences = map[netip.AddrPort]silence{}
	}
	r.silences[server] = silence{told: time.Now()}
	r.logger.Warn("a nameserver does not answer", "nameserver", server, "error", err, "unsaid", s.more)
}

// ask puts the question to one nameserver from a port of its own and under an
// identifier of its own (RFC 5452 §9.2), so that nobody else can answer it.
func (r *resolver) ask(question *dns.Msg, network string, server netip.AddrPort) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(r.wait, passWait))
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, server.String())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	conn.SetDeadline(deadline)
	passed := question.Copy()
	passed.Id = dns.Id()
	c := &dns.Conn{Conn: conn, UDPSize: maxMessage}
	if err := c.WriteMsg(passed); err != nil {
		return nil, err
	}
	for {
		raw, err := c.ReadMsgHeader(nil)
		if errors.Is(err, dns.ErrShortRead) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if answers(raw, passed) {
			raw[0], raw[1] = byte(question.Id>>8), byte(question.Id)
			return raw, nil
		}
	}
}

// answers tells whether raw is an answer to the question. Only its head and its
// question are read: what comes behind is for who asked.
func answers(raw []byte, question *dns.Msg) bool {
	if len(raw) < 12 || raw[0] != byte(question.Id>>8) || raw[1] != byte(question.Id) || raw[2]&0x80 == 0 {
		return false
	}
	if raw[4] == 0 && raw[5] == 0 { // some servers leave the question out of a failure
		return true
	}
	name, _, err := dns.UnpackDomainName(raw, 12)
	return err == nil && len(question.Question) > 0 && strings.EqualFold(name, question.Question[0].Name)
}
