package pcap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// dialogue is a connection of TCP, whole: its client asks once.
func dialogue(client, server string, isn uint32, said, answer string) []frame {
	return []frame{
		{from: client, to: server, seq: isn, flags: "S"},
		{from: server, to: client, seq: 9000, flags: "SA"},
		{from: client, to: server, seq: isn + 1, flags: "A", data: said},
		{from: server, to: client, seq: 9001, flags: "A", data: answer},
		{from: client, to: server, seq: isn + 1 + uint32(len(said)), flags: "FA"},
	}
}

func TestFlowsAreToldOfEveryKindOfCapture(t *testing.T) {
	said := "GET /a HTTP/1.1\r\nHost: shop.example:8080\r\n\r\n"
	var frames []frame
	frames = append(frames, dialogue(alice, "10.0.0.1:80", 100, said, "HTTP/1.1 200 OK\r\n\r\n")...)
	frames = append(frames, dialogue(six, six443, 200, clientHello(t, "www.example.org"), "\x16\x03\x03")...)
	frames = append(frames, frame{from: "10.0.0.1:53", to: "10.0.0.2:5353", udp: true, data: "an answer"})
	for _, link := range []layers.LinkType{layers.LinkTypeEthernet, layers.LinkTypeLinuxSLL, layers.LinkTypeLinuxSLL2, layers.LinkTypeNull, layers.LinkTypeRaw} {
		for name, write := range writers {
			t.Run(link.String()+" "+name, func(t *testing.T) {
				var packets [][]byte
				for _, f := range frames {
					packets = append(packets, on(t, link, f.ip(t)))
				}
				s := summarize(t, file(t, "site.pcap", write(t, link, packets)))
				if s.Packets != int64(len(frames)) || s.NoFlow != 0 || !s.First.Equal(packetAt(0)) || !s.Last.Equal(packetAt(len(frames)-1)) {
					t.Errorf("%d packets, %d of no flow, from %v to %v", s.Packets, s.NoFlow, s.First, s.Last)
				}
				if len(s.Flows) != 3 {
					t.Fatalf("%d flows", len(s.Flows))
				}
				http, secure, dns := s.Flows[0], s.Flows[1], s.Flows[2]
				if http.Client.String() != alice || http.Server.Port() != 80 || !slices.Equal(http.Requests, []string{"GET /a HTTP/1.1"}) || http.TLS {
					t.Errorf("of HTTP %+v", http)
				}
				if secure.Client.String() != six || !secure.TLS || secure.ServerName != "www.example.org" || secure.Requests != nil {
					t.Errorf("of TLS %+v", secure)
				}
				if dns.Protocol != "udp" || dns.Server.Port() != 53 || dns.Packets != 1 || dns.Received == 0 || dns.Sent != 0 {
					t.Errorf("of UDP %+v", dns)
				}
				var total int64
				for _, p := range packets {
					total += int64(len(p))
				}
				if s.Bytes != total || http.Sent+http.Received+secure.Sent+secure.Received+dns.Received != total {
					t.Errorf("%d bytes, want %d", s.Bytes, total)
				}
				hosts := map[string]Host{}
				for _, h := range s.Hosts {
					hosts[h.Address.String()] = h
				}
				if h := hosts["10.0.0.1"]; len(hosts) != 4 || h.Packets != 6 || !slices.Equal(h.Names, []string{"shop.example"}) || h.Received != http.Sent || h.Sent != http.Received+dns.Received {
					t.Errorf("%d hosts, and one is %+v", len(hosts), h)
				}
				if h := hosts["2001:db8::1"]; !slices.Equal(h.Names, []string{"www.example.org"}) {
					t.Errorf("another is %+v", h)
				}
			})
		}
	}
}

// writers are the forms of a file.
var writers = map[string]func(t testing.TB, link layers.LinkType, packets [][]byte) []byte{
	"microseconds": func(t testing.TB, link layers.LinkType, packets [][]byte) []byte {
		return classic(binary.LittleEndian, 0xa1b2c3d4, 1000, link, packets)
	},
	"nanoseconds": func(t testing.TB, link layers.LinkType, packets [][]byte) []byte {
		return classic(binary.LittleEndian, 0xa1b23c4d, 1, link, packets)
	},
	"big-endian": func(t testing.TB, link layers.LinkType, packets [][]byte) []byte {
		return classic(binary.BigEndian, 0xa1b2c3d4, 1000, link, packets)
	},
	"big-endian nanoseconds": func(t testing.TB, link layers.LinkType, packets [][]byte) []byte {
		return classic(binary.BigEndian, 0xa1b23c4d, 1, link, packets)
	},
	"pcapng": func(t testing.TB, link layers.LinkType, packets [][]byte) []byte {
		var b bytes.Buffer
		w, err := pcapgo.NewNgWriter(&b, link)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range packets {
			if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: packetAt(i), CaptureLength: len(p), Length: len(p)}, p); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	},
}

func classic(order binary.AppendByteOrder, magic uint32, tick int, link layers.LinkType, packets [][]byte) []byte {
	b := order.AppendUint32(nil, magic)
	b = order.AppendUint16(b, 2)
	b = order.AppendUint16(b, 4)
	b = append(b, make([]byte, 8)...)
	b = order.AppendUint32(b, 262144)
	b = order.AppendUint32(b, uint32(link))
	for i, p := range packets {
		b = order.AppendUint32(b, uint32(packetAt(i).Unix()))
		b = order.AppendUint32(b, uint32(packetAt(i).Nanosecond()/tick))
		b = order.AppendUint32(b, uint32(len(p)))
		b = order.AppendUint32(b, uint32(len(p)))
		b = append(b, p...)
	}
	return b
}

func TestACaptureMayBeCutAnywhere(t *testing.T) {
	whole := capture(t, 0, dialogue(alice, server, 1, clientHello(t, "a.example"), "")...)
	ends := map[int]int64{0: 0, 24: 0} // where whole packets end, and how many
	for at, n := 24, int64(1); at < len(whole); n++ {
		at += 16 + int(binary.LittleEndian.Uint32(whole[at+8:]))
		ends[at] = n
	}
	var packets int64
	path := file(t, "site.pcap", nil)
	for n := range len(whole) + 1 {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if n > 0 && n < 4 {
			if _, err := Summarize(path); !errors.Is(err, ErrNotCapture) {
				t.Errorf("of %d bytes: %v", n, err)
			}
			continue
		}
		s := summarize(t, path)
		at, clean := ends[n]
		if clean {
			packets = at
		}
		if f := s.Files[0]; s.Packets != packets || f.Packets != packets || f.Torn == (clean || n < 24) || f.Damage != nil {
			t.Errorf("of %d bytes there are %d packets, want %d: %+v", n, s.Packets, packets, f)
		}
	}
}

func TestADamagedCaptureIsToldUpToTheDamage(t *testing.T) {
	b := capture(t, 0, frame{from: alice, to: server}, frame{from: alice, to: server})
	second := 24 + 16 + int(binary.LittleEndian.Uint32(b[24+8:]))
	binary.LittleEndian.PutUint32(b[second+8:], 1<<30)
	s := summarize(t, file(t, "site.pcap", b))
	if f := s.Files[0]; s.Packets != 1 || f.Damage == nil || f.Torn {
		t.Errorf("%d packets, %+v", s.Packets, f)
	}
}

func TestARingIsReadInTheOrderInWhichItWasCaptured(t *testing.T) {
	said := "POST /form HTTP/1.1\r\nHost: a.example\r\nContent-Length: 30\r\n\r\n" + strings.Repeat("x", 30) + "GET /next HTTP/1.1\r\n\r\n"
	var frames []frame
	frames = append(frames, dialogue(alice, "10.0.0.1:80", 1, "", "")[:2]...)
	for i, c := range []byte(said) {
		frames = append(frames, frame{from: alice, to: "10.0.0.1:80", seq: 2 + uint32(i), flags: "A", data: string(c)})
	}
	dir := t.TempDir()
	var paths []string
	for i := range 4 {
		from, to := i*len(frames)/4, (i+1)*len(frames)/4
		path := filepath.Join(dir, []string{"site.pcap2", "site.pcap3", "site.pcap0", "site.pcap1"}[i])
		if err := os.WriteFile(path, capture(t, from, frames[from:to]...), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	empty := filepath.Join(dir, "site.pcap4")
	if err := os.WriteFile(empty, capture(t, 0), 0o600); err != nil {
		t.Fatal(err)
	}
	want := append(slices.Clone(paths), empty)
	slices.Sort(paths)
	s := summarize(t, append([]string{empty}, paths...)...)
	var got []string
	for _, f := range s.Files {
		got = append(got, f.Path)
		if f.Overlap || f.Torn || f.Damage != nil {
			t.Errorf("%+v", f)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the order is %q, want %q", got, want)
	}
	if len(s.Flows) != 1 || !slices.Equal(s.Flows[0].Requests, []string{"POST /form HTTP/1.1", "GET /next HTTP/1.1"}) {
		t.Errorf("the flows are %+v", s.Flows)
	}
}

func TestFilesOfTwoCapturesAreTold(t *testing.T) {
	one := file(t, "one.pcap", capture(t, 0, frame{from: alice, to: server}))
	long := make([]frame, 3000)
	for i := range long {
		long[i] = frame{from: alice, to: server}
	}
	other := file(t, "other.pcap", capture(t, 0, long...))
	third := file(t, "third.pcap", capture(t, 1500, frame{from: alice, to: server}))
	s := summarize(t, third, one, other)
	if s.Files[0].Overlap || s.Files[1].Overlap || !s.Files[2].Overlap || s.Files[2].Path != third {
		t.Errorf("%+v", s.Files)
	}
}

func TestWhatIsNoCaptureIsRefused(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	version := capture(t, 0)
	version[4] = 9
	for _, path := range []string{
		dir, pipe, filepath.Join(dir, "absent"),
		file(t, "text", []byte("a text that is longer than a header of pcap")),
		file(t, "short", []byte("abc")),
		file(t, "version", version),
		file(t, "ng", []byte("\x0a\x0d\x0d\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")),
	} {
		if _, err := Summarize(path); err == nil {
			t.Errorf("%q was read", path)
		}
		if strings.HasSuffix(path, "version") || strings.HasSuffix(path, "ng") {
			continue
		}
		if IsCapture(path) {
			t.Errorf("%q is taken for a capture", path)
		}
	}
	if !IsCapture(file(t, "site.pcap", capture(t, 0))) {
		t.Error("a capture is not taken for one")
	}
}

func TestPacketsThatAreOfNoFlowAreCounted(t *testing.T) {
	arp := append([]byte{0x08, 0x06}, make([]byte, 18+28)...)
	cut := on(t, layers.LinkTypeLinuxSLL2, frame{from: alice, to: server}.ip(t))[:25]
	b := classic(binary.LittleEndian, 0xa1b2c3d4, 1000, layers.LinkTypeLinuxSLL2, [][]byte{arp, cut, {}, {1}})
	if s := summarize(t, file(t, "site.pcap", b)); s.Packets != 4 || s.NoFlow != 4 || len(s.Flows) != 0 {
		t.Errorf("%+v", s)
	}
	other := classic(binary.LittleEndian, 0xa1b2c3d4, 1000, 105, [][]byte{arp})
	if s := summarize(t, file(t, "wifi.pcap", other)); s.NoFlow != 1 || !strings.Contains(s.Files[0].Link, "105") {
		t.Errorf("%+v", s)
	}
}

func TestFragmentsAreAFlowWithoutPorts(t *testing.T) {
	ip := frame{from: alice, to: server, data: "a fragment"}.ip(t)
	ip[6] |= 0x20 // more fragments
	b := classic(binary.LittleEndian, 0xa1b2c3d4, 1000, layers.LinkTypeRaw, [][]byte{ip})
	s := summarize(t, file(t, "site.pcap", b))
	if len(s.Flows) != 1 || s.Flows[0].Protocol != "tcp" || s.Flows[0].Server.Port() != 0 {
		t.Errorf("%+v", s.Flows)
	}
}

func TestTheSamePortsAgainAreAnotherConnection(t *testing.T) {
	frames := dialogue(alice, "10.0.0.1:80", 1, "GET /1 HTTP/1.1\r\n\r\n", "")
	frames = append(frames, frames[0]) // its SYN once more is of the same one
	frames = append(frames, dialogue(alice, "10.0.0.1:80", 77, "GET /2 HTTP/1.1\r\n\r\n", "")...)
	s := of(t, frames...)
	if len(s.Flows) != 2 || s.Flows[0].Packets != 6 || !slices.Equal(s.Flows[1].Requests, []string{"GET /2 HTTP/1.1"}) {
		t.Errorf("%d flows, the first of %d packets", len(s.Flows), s.Flows[0].Packets)
	}
}

// Who is the client is known by its SYN, by what it says, and else by the ports.
func TestTheClientIsFoundInTheMiddleOfAConnection(t *testing.T) {
	high := "10.0.0.1:8443"
	for name, frames := range map[string][]frame{
		"its SYN":           {{from: alice, to: high, flags: "S"}},
		"the answer to it":  {{from: high, to: alice, flags: "SA"}},
		"its hello":         {{from: high, to: alice, data: "x"}, {from: alice, to: high, data: clientHello(t, "a.example")}},
		"its request":       {{from: high, to: alice, data: "HTTP/1.1 200 OK\r\n"}, {from: alice, to: high, data: "GET / HTTP/1.1\r\n\r\n"}},
		"who began":         {{from: alice, to: high, data: "?"}},
		"a well-known port": {{from: "10.0.0.1:22", to: alice, data: "?"}},
	} {
		if f := of(t, frames...).Flows[0]; f.Client.String() != alice {
			t.Errorf("%s: the client is %v", name, f.Client)
		}
	}
}

func TestACaptureThatIsOverwrittenWhileItIsReadIsTold(t *testing.T) {
	path := file(t, "site.pcap0", capture(t, 0, frame{from: alice, to: server}))
	r, err := openReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	if r.overwritten() {
		t.Error("it was overwritten by nobody")
	}
	if err := os.WriteFile(path, capture(t, 5, frame{from: alice, to: server}), 0o600); err != nil {
		t.Fatal(err)
	}
	if !r.overwritten() {
		t.Error("it was not noticed")
	}
}

func FuzzSummarize(f *testing.F) {
	frames := dialogue(alice, server, 1, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n")
	for _, link := range []layers.LinkType{layers.LinkTypeEthernet, layers.LinkTypeLinuxSLL, layers.LinkTypeLinuxSLL2, layers.LinkTypeNull, layers.LinkTypeRaw} {
		var packets [][]byte
		for _, one := range frames {
			packets = append(packets, on(f, link, one.ip(f)))
		}
		for _, write := range writers {
			f.Add(write(f, link, packets))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "site.pcap")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Summarize(path)
		if err != nil {
			return
		}
		var inFlows, sent int64
		for _, flow := range s.Flows {
			inFlows += flow.Packets
			sent += flow.Sent + flow.Received
		}
		if inFlows+s.NoFlow != s.Packets || s.Files[0].Packets != s.Packets || sent > s.Bytes {
			t.Errorf("%d packets of %d in flows, %d of none", inFlows, s.Packets, s.NoFlow)
		}
		again := summarize(t, path)
		if !reflect.DeepEqual(s.Flows, again.Flows) || !reflect.DeepEqual(s.Hosts, again.Hosts) {
			t.Error("it is another summary the next time")
		}
	})
}
