package pcap

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A line in a body is no request, however it looks.
const fake = "GET /fake HTTP/1.1\r\nHost: fake\r\n\r\n"

func talks(t testing.TB) map[string]struct {
	said string
	want []string
	name string // of a ClientHello
} {
	one := "GET /1 HTTP/1.1\r\nHost: a.example\r\n\r\n"
	hello := clientHello(t, "inside.example")
	type talk = struct {
		said string
		want []string
		name string
	}
	return map[string]talk{
		"a request":              {one, []string{"GET /1 HTTP/1.1"}, ""},
		"HTTP/1.0":               {"GET / HTTP/1.0\r\n\r\n", []string{"GET / HTTP/1.0"}, ""},
		"bare line feeds":        {"GET / HTTP/1.1\nHost: a\n\n" + one, []string{"GET / HTTP/1.1", "GET /1 HTTP/1.1"}, ""},
		"empty lines before":     {"\r\n\r\n" + one + "\r\n" + one, []string{"GET /1 HTTP/1.1", "GET /1 HTTP/1.1"}, ""},
		"a body":                 {fmt.Sprintf("POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s%s", len(fake), fake, one), []string{"POST / HTTP/1.1", "GET /1 HTTP/1.1"}, ""},
		"chunks":                 {fmt.Sprintf("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n%x;a=b\r\n%s\r\n1\r\nx\r\n0\r\nTrailer: GET\r\n\r\n%s", len(fake), fake, one), []string{"POST / HTTP/1.1", "GET /1 HTTP/1.1"}, ""},
		"a proxy's":              {"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", []string{"GET http://a.example/ HTTP/1.1"}, ""},
		"a tunnel with TLS":      {"CONNECT inside.example:443 HTTP/1.1\r\nHost: inside.example:443\r\n\r\n" + hello + fake, []string{"CONNECT inside.example:443 HTTP/1.1"}, "inside.example"},
		"a tunnel with HTTP":     {"CONNECT a.example:80 HTTP/1.1\r\n\r\n" + one, []string{"CONNECT a.example:80 HTTP/1.1", "GET /1 HTTP/1.1"}, ""},
		"a WebSocket":            {"GET /chat HTTP/1.1\r\nUpgrade: websocket\r\n\r\n\x81\x85" + fake, []string{"GET /chat HTTP/1.1"}, ""},
		"a hello":                {hello + fake, nil, "inside.example"},
		"a long target":          {"GET /" + strings.Repeat("x", 9000) + " HTTP/1.1\r\n\r\n", []string{"GET /" + strings.Repeat("x", 9000) + " HTTP/1.1"}, ""},
		"spaces in the target":   {"GET /a b HTTP/1.1\r\n\r\n", []string{"GET /a b HTTP/1.1"}, ""},
		"HTTP/2":                 {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", nil, ""},
		"an answer":              {"HTTP/1.1 200 OK\r\n\r\n", nil, ""},
		"SMTP":                   {"EHLO a.example\r\nMAIL FROM:<a@b>\r\n", nil, ""},
		"SSH":                    {"SSH-2.0-OpenSSH_9\r\n", nil, ""},
		"nothing known":          {"\x00\x01\x02" + one, nil, ""},
		"a request without line": {"GET / HTTP/1.1", nil, ""},
		"a bad length":           {"POST / HTTP/1.1\r\nContent-Length: many\r\n\r\nx" + fake, []string{"POST / HTTP/1.1"}, ""},
		"a bad chunk":            {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nx" + fake, []string{"POST / HTTP/1.1"}, ""},
		"a negative chunk":       {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nx" + fake, []string{"POST / HTTP/1.1"}, ""},
		"a chunk beyond counts":  {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\nx" + fake, []string{"POST / HTTP/1.1"}, ""},
	}
}

func TestWhatAClientSaysIsUnderstood(t *testing.T) {
	for name, c := range talks(t) {
		t.Run(name, func(t *testing.T) {
			var whole talk
			whole.hear([]byte(c.said))
			wantTalk(t, "whole", &whole, c.want, c.name)
			for at := range len(c.said) + 1 {
				var cut talk
				for _, part := range []string{c.said[:at], c.said[at:]} {
					if part != "" {
						cut.hear([]byte(part))
					}
				}
				if cut.state == stateLost || whole.state == stateLost {
					continue // what is said next depends on where segments begin
				}
				wantTalk(t, fmt.Sprint("cut at ", at), &cut, c.want, c.name)
			}
		})
	}
}

func wantTalk(t *testing.T, how string, got *talk, requests []string, name string) {
	t.Helper()
	if !slices.Equal(got.requests, requests) || got.serverName != name || got.tls != (name != "") {
		t.Fatalf("%s: the requests are %q, and TLS is %v for %q", how, got.requests, got.tls, got.serverName)
	}
}

// Without its end a head or a hello is kept to a bound.
func TestATalkKeepsLittle(t *testing.T) {
	endless := "GET / HTTP/1.1\r\n" + strings.Repeat("a: b\r\n", maxHead)
	chunk := "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("x", 2*maxHead)
	hello := "\x16\x03\x01\x40\x00\x01\x00\xff\xff" + strings.Repeat("\x00", 1<<20)
	for _, said := range []string{endless, chunk, hello} {
		var one talk
		for part := range slices.Chunk([]byte(said), 1000) {
			one.hear(part)
			if len(one.buffer) > maxHead+1000 {
				t.Fatalf("it keeps %d bytes of %.20q", len(one.buffer), said)
			}
		}
	}
}

// segments are a text in parts of these sizes, from a sequence number on.
func segments(seq uint32, text string, sizes ...int) (all []segment) {
	for _, n := range sizes {
		all = append(all, segment{seq: seq, data: []byte(text[:n])})
		seq, text = seq+uint32(n), text[n:]
	}
	return append(all, segment{seq: seq, data: []byte(text)})
}

func TestSegmentsArePutInOrder(t *testing.T) {
	body := strings.Repeat("x", 100)
	said := "POST /1 HTTP/1.1\r\nContent-Length: 100\r\n\r\n" + body + "GET /2 HTTP/1.1\r\n\r\nGET /3 HTTP/1.1\r\n\r\n"
	want := []string{"POST /1 HTTP/1.1", "GET /2 HTTP/1.1", "GET /3 HTTP/1.1"}
	const isn = 0xffffffe0 // the numbers wrap
	parts := segments(isn, said, 10, 7, 30, 50, 50, 20)
	for range 500 {
		mixed := slices.Clone(parts)
		rand.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		// Some come again, and some in larger parts.
		mixed = append(mixed, parts[rand.IntN(len(parts))])
		mixed = slices.Insert(mixed, rand.IntN(len(mixed)), segment{seq: isn + 5, data: []byte(said[5 : 5+rand.IntN(60)])})
		var s stream
		s.begin(isn)
		for _, one := range mixed {
			s.add(one)
		}
		s.flush()
		if !slices.Equal(s.talk.requests, want) {
			t.Fatalf("the requests are %q, want %q", s.talk.requests, want)
		}
	}
}

func TestWhatWasNotCapturedIsPassedOver(t *testing.T) {
	body := strings.Repeat("x", 1000)
	said := "POST /1 HTTP/1.1\r\nContent-Length: 1000\r\n\r\n" + body
	next := "GET /2 HTTP/1.1\r\n\r\n"
	head := len(said) - len(body)
	for name, c := range map[string]struct {
		segments []segment
		want     []string
	}{
		"a part of a body": {
			[]segment{{seq: 1, data: []byte(said[:head+10])}, {seq: 1 + uint32(head) + 900, data: []byte(said[head+900:])}, {seq: 1 + uint32(len(said)), data: []byte(next)}},
			[]string{"POST /1 HTTP/1.1", "GET /2 HTTP/1.1"},
		},
		"the end of a body and a head": {
			[]segment{{seq: 1, data: []byte(said[:head+10])}, {seq: 5000, data: []byte("\r\n\r\n" + fake)}, {seq: 6000, data: []byte(next)}},
			[]string{"POST /1 HTTP/1.1", "GET /2 HTTP/1.1"},
		},
		"the end of each packet": {
			[]segment{{seq: 1, data: []byte(said[:head]), missing: 1000}, {seq: 1 + uint32(len(said)), data: []byte(next)}},
			[]string{"POST /1 HTTP/1.1", "GET /2 HTTP/1.1"},
		},
		"the end of a head": {
			[]segment{{seq: 1, data: []byte(said[:10]), missing: len(said) - 10}, {seq: 1 + uint32(len(said)), data: []byte(next)}},
			[]string{"GET /2 HTTP/1.1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var s stream
			s.begin(1)
			for _, one := range c.segments {
				s.add(one)
			}
			s.flush()
			if !slices.Equal(s.talk.requests, c.want) {
				t.Errorf("the requests are %q, want %q", s.talk.requests, c.want)
			}
		})
	}
}

func TestAStreamHoldsLittle(t *testing.T) {
	var s stream
	s.begin(1)
	s.add(segment{seq: 1, data: []byte("POST / HTTP/1.1\r\nContent-Length: 100000000\r\n\r\n")})
	for i := range 10_000 {
		s.add(segment{seq: uint32(1000 + 2000*i), data: make([]byte, 1000)})
		if len(s.held) > maxHeld || s.bytes > maxHeldBytes {
			t.Fatalf("it holds %d segments, %d bytes", len(s.held), s.bytes)
		}
	}
	s.flush()
	if s.talk.state != stateBody {
		t.Errorf("the body ended: state %d", s.talk.state)
	}
}

// What all connections together wait for, and what they said, is kept to a bound.
func TestConnectionsTogetherKeepLittle(t *testing.T) {
	b := &budget{requests: 3, bytes: 1000, waiting: 5000}
	var all []*stream
	for range 100 {
		s := &stream{talk: talk{budget: b}}
		s.begin(1)
		s.add(segment{seq: 1, data: []byte("GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\nHost: ")})
		s.add(segment{seq: 1000, data: make([]byte, 1000)})
		all = append(all, s)
	}
	held, requests := 0, 0
	for _, s := range all {
		held += s.bytes + len(s.talk.buffer)
		requests += len(s.talk.requests)
	}
	if held > 5000 || requests != 3 || b.refused != 97 {
		t.Errorf("they hold %d bytes and %d requests, without %d", held, requests, b.refused)
	}
	for _, s := range all {
		s.flush()
		s.talk.to(stateOff)
	}
	if b.waiting != 5000 {
		t.Errorf("in the end there is room for %d bytes", b.waiting)
	}
}

// However bytes are cut into segments, they say the same, as long as nothing is
// lost.
func FuzzTalk(f *testing.F) {
	for _, c := range talks(f) {
		f.Add([]byte(c.said), uint64(1))
	}
	f.Fuzz(func(t *testing.T, said []byte, seed uint64) {
		var whole talk
		whole.hear(said)
		var cut stream
		cut.begin(uint32(seed))
		random := rand.New(rand.NewPCG(seed, seed))
		seq := uint32(seed)
		var all []segment
		for rest := said; len(rest) > 0; {
			n := 1 + random.IntN(min(len(rest), 1+len(said)/20))
			all = append(all, segment{seq: seq, data: rest[:n]})
			seq, rest = seq+uint32(n), rest[n:]
		}
		for part := range slices.Chunk(all, 8) {
			random.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
			for _, one := range part {
				cut.add(one)
			}
		}
		cut.flush()
		if whole.state == stateLost || cut.talk.state == stateLost {
			return
		}
		if !slices.Equal(whole.requests, cut.talk.requests) || whole.tls != cut.talk.tls || whole.serverName != cut.talk.serverName || whole.host != cut.talk.host {
			t.Errorf("whole %q %q, in parts %q %q", whole.requests, whole.serverName, cut.talk.requests, cut.talk.serverName)
		}
	})
}
