package site

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"
)

// A nameserver answers over UDP and TCP at one port what answer makes of a
// question's bytes; nil is no answer.
func nameserver(t *testing.T, answer func(question []byte, network string) []byte) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenPacket("udp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		buf := make([]byte, maxMessage)
		for {
			n, from, err := udp.ReadFrom(buf)
			if err != nil {
				return
			}
			if a := answer(buf[:n], "udp"); a != nil {
				udp.WriteTo(a, from)
			}
		}
	})
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				var length uint16
				for binary.Read(conn, binary.BigEndian, &length) == nil {
					question := make([]byte, length)
					if _, err := io.ReadFull(conn, question); err != nil {
						return
					}
					a := answer(question, "tcp")
					if a == nil {
						return
					}
					conn.Write(binary.BigEndian.AppendUint16(nil, uint16(len(a))))
					conn.Write(a)
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		udp.Close()
		running.Wait()
	})
	return netip.MustParseAddrPort(l.Addr().String())
}

// resolving starts a resolver for notes.test and *.wild.test, and gives its address.
func resolving(t *testing.T, nameservers ...netip.AddrPort) string {
	t.Helper()
	made := table(t, Config{Sites: []Site{notes(), {Name: "wild", Upstream: "http://gw/w", Domains: []string{"*.wild.test"}}}})
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenPacket("udp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	r := &resolver{answers: made.Answers, address: netip.MustParseAddr("127.0.0.1"), nameservers: nameservers, logger: slog.New(slog.DiscardHandler)}
	if len(nameservers) > 1 { // the last is to be reached soon
		r.wait = 2 * time.Second
	}
	var running sync.WaitGroup
	for _, s := range []*dns.Server{{PacketConn: udp, Handler: r, UDPSize: maxMessage}, {Listener: l, Handler: r, MaxTCPQueries: -1}} {
		running.Go(func() { s.ActivateAndServe() })
	}
	t.Cleanup(func() {
		udp.Close()
		l.Close()
		running.Wait()
	})
	return l.Addr().String()
}

func pack(t *testing.T, m *dns.Msg) []byte {
	t.Helper()
	raw, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// asked sends a question and reads the answer.
func asked(t *testing.T, network, addr string, question []byte) ([]byte, *dns.Msg) {
	t.Helper()
	conn, err := net.Dial(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(2 * time.Minute))
	c := &dns.Conn{Conn: conn, UDPSize: maxMessage}
	if _, err := c.Write(question); err != nil {
		t.Fatal(err)
	}
	raw, err := c.ReadMsgHeader(nil)
	if err != nil {
		t.Fatal(err)
	}
	var m dns.Msg
	if err := m.Unpack(raw); err != nil {
		t.Fatalf("%x: %v", raw, err)
	}
	return raw, &m
}

func TestResolverAnswers(t *testing.T) {
	addr := resolving(t)
	for _, network := range []string{"udp", "tcp"} {
		for _, c := range []struct {
			name  string
			qtype uint16
			want  string // the answer's records
			rcode int
		}{
			{"notes.test.", dns.TypeA, "notes.test.\t60\tIN\tA\t127.0.0.1", dns.RcodeSuccess},
			{"NOTES.Test.", dns.TypeA, "NOTES.Test.\t60\tIN\tA\t127.0.0.1", dns.RcodeSuccess},
			{"a.wild.test.", dns.TypeA, "a.wild.test.\t60\tIN\tA\t127.0.0.1", dns.RcodeSuccess},
			{"notes.test.", dns.TypeAAAA, "", dns.RcodeSuccess},
			{"notes.test.", dns.TypeHTTPS, "", dns.RcodeSuccess},
			{"notes.test.", dns.TypeANY, "", dns.RcodeSuccess},
			{"wild.test.", dns.TypeA, "", dns.RcodeServerFailure}, // nobody to ask
			{"a.b.wild.test.", dns.TypeA, "", dns.RcodeServerFailure},
			{`a\.wild.test.`, dns.TypeA, "", dns.RcodeServerFailure},
			{".", dns.TypeNS, "", dns.RcodeServerFailure},
		} {
			q := new(dns.Msg).SetQuestion(c.name, c.qtype)
			q.SetEdns0(1232, true)
			_, a := asked(t, network, addr, pack(t, q))
			var records []string
			for _, rr := range a.Answer {
				records = append(records, rr.String())
			}
			ours := c.rcode == dns.RcodeSuccess
			if got := strings.Join(records, " "); got != c.want || a.Rcode != c.rcode || a.Id != q.Id || a.Authoritative != ours || !a.RecursionAvailable ||
				ours && a.IsEdns0() == nil || len(a.Question) != 1 || a.Question[0].Name != c.name {
				t.Errorf("%s %s %s: %v", network, c.name, dns.TypeToString[c.qtype], a)
			}
		}
	}
}

// Another name's answer comes back as the nameserver made it, byte for byte, and
// over the transport on which it was asked for.
func TestResolverPasses(t *testing.T) {
	for _, network := range []string{"udp", "tcp"} {
		for _, size := range []int{40, 6000, 65000} {
			answered := make(chan []byte, 1)
			server := nameserver(t, func(question []byte, over string) []byte {
				if over != network {
					t.Errorf("asked over %s, not %s", over, network)
				}
				a := append([]byte(nil), question...)
				a[2] |= 0x80
				a = append(a, bytes.Repeat([]byte{0xc0, 0x0c}, (size-len(a))/2)...) // which is no record
				answered <- a
				return a
			})
			q := new(dns.Msg).SetQuestion("other.example.", dns.TypeTXT)
			raw := pack(t, q)
			conn, err := net.Dial(network, resolving(t, server))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(2 * time.Minute))
			c := &dns.Conn{Conn: conn, UDPSize: maxMessage}
			c.Write(raw)
			got, err := c.ReadMsgHeader(nil)
			if err != nil {
				t.Fatal(err)
			}
			sent := <-answered
			if !bytes.Equal(got[:2], raw[:2]) || bytes.Equal(sent[:2], raw[:2]) || !bytes.Equal(got[2:], sent[2:]) {
				t.Errorf("%s: %d bytes of %d, or not the same", network, len(got), len(sent))
			}
		}
	}
}

// A nameserver that refuses or that is silent is passed by, and so are answers
// that are to another question.
func TestResolverFailsOver(t *testing.T) {
	dead, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead.Close()
	confused := nameserver(t, func(question []byte, network string) []byte { return nil })
	good := nameserver(t, func(question []byte, network string) []byte {
		var q dns.Msg
		if q.Unpack(question) != nil {
			return nil
		}
		raw, _ := new(dns.Msg).SetRcode(&q, dns.RcodeNameError).Pack()
		return raw
	})
	addr := resolving(t, netip.MustParseAddrPort(dead.Addr().String()), confused, good)
	for _, network := range []string{"tcp", "udp"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			_, a := asked(t, network, addr, pack(t, new(dns.Msg).SetQuestion("other.example.", dns.TypeA)))
			if a.Rcode != dns.RcodeNameError {
				t.Errorf("%v", a)
			}
		})
	}
}

// A nameserver that is down is said once a minute, however many ask.
func TestASilentNameserverIsSaidNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		r := &resolver{logger: slog.New(slog.NewTextHandler(&said, nil))}
		one, two := netip.MustParseAddrPort("192.0.2.1:53"), netip.MustParseAddrPort("192.0.2.2:53")
		for range 3 {
			for range 100 {
				r.tell(one, errors.New("timeout"))
			}
			r.tell(two, errors.New("refused"))
			time.Sleep(tellEvery)
		}
		for text, want := range map[string]int{
			"nameserver=192.0.2.1:53 error=timeout unsaid=0\n": 1, "nameserver=192.0.2.1:53 error=timeout unsaid=99\n": 2,
			"nameserver=192.0.2.2:53 error=refused unsaid=0\n": 3, "\n": 6,
		} {
			if n := strings.Count(said.String(), text); n != want {
				t.Errorf("%q is said %d times, want %d:\n%s", text, n, want, said.String())
			}
		}
	})
}

func TestAnswersIsForTheQuestion(t *testing.T) {
	q := new(dns.Msg).SetQuestion("other.example.", dns.TypeA)
	right := pack(t, new(dns.Msg).SetReply(q))
	bare := new(dns.Msg).SetRcode(q, dns.RcodeRefused)
	bare.Question = nil
	another := new(dns.Msg).SetReply(new(dns.Msg).SetQuestion("evil.example.", dns.TypeA))
	another.Id = q.Id
	stranger := new(dns.Msg).SetReply(q)
	stranger.Id++
	if !answers(right, q) || !answers(pack(t, bare), q) {
		t.Error("an answer is not taken")
	}
	for name, raw := range map[string][]byte{
		"another's": pack(t, another), "another id's": pack(t, stranger), "a question": pack(t, q), "short": right[:11], "empty": nil, "cut": right[:14],
	} {
		if answers(raw, q) {
			t.Errorf("%s is taken", name)
		}
	}
}

// What is no question, or an odd one, neither ends the resolver nor gets a site's
// address.
func TestResolverAndMalformedQuestions(t *testing.T) {
	addr := resolving(t)
	whole := pack(t, new(dns.Msg).SetQuestion("notes.test.", dns.TypeA))
	two := new(dns.Msg).SetQuestion("notes.test.", dns.TypeA)
	two.Question = append(two.Question, two.Question[0])
	chaos := new(dns.Msg).SetQuestion("notes.test.", dns.TypeA)
	chaos.Question[0].Qclass = dns.ClassCHAOS
	odd := [][]byte{
		append(append([]byte(nil), whole[:12]...), 0xc0, 0x0c, 0, 1, 0, 1), // a name that points at itself
		pack(t, two), pack(t, chaos), bytes.Repeat([]byte{0xff}, 600),
	}
	for i := range whole {
		odd = append(odd, whole[:i])
	}
	for _, network := range []string{"udp", "tcp"} {
		for _, question := range odd {
			conn, err := net.Dial(network, addr)
			if err != nil {
				t.Fatal(err)
			}
			(&dns.Conn{Conn: conn}).Write(question)
			conn.Close()
		}
		_, a := asked(t, network, addr, pack(t, chaos))
		if len(a.Answer) > 0 {
			t.Errorf("%s: a question of another class got %v", network, a)
		}
		if _, a := asked(t, network, addr, whole); len(a.Answer) != 1 {
			t.Errorf("%s: afterwards: %v", network, a)
		}
	}
}
