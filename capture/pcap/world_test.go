package pcap

import (
	"bytes"
	"crypto/tls"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// began is when the captures of the tests begin.
var began = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// A frame is a packet of a test: TCP unless it says otherwise.
type frame struct {
	from, to string // address and port
	seq      uint32
	flags    string // of S A F R
	data     string
	udp      bool
}

const (
	alice  = "10.0.0.2:50000"
	server = "10.0.0.1:443"
	six    = "[2001:db8::2]:50000"
	six443 = "[2001:db8::1]:443"
)

func endpoint(t testing.TB, s string) netip.AddrPort {
	t.Helper()
	a, err := netip.ParseAddrPort(s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// ip makes the packet from the IP header on.
func (f frame) ip(t testing.TB) []byte {
	t.Helper()
	from, to := endpoint(t, f.from), endpoint(t, f.to)
	protocol := layers.IPProtocolTCP
	if f.udp {
		protocol = layers.IPProtocolUDP
	}
	var network gopacket.NetworkLayer
	var first gopacket.SerializableLayer
	if from.Addr().Is4() {
		ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: protocol, SrcIP: from.Addr().AsSlice(), DstIP: to.Addr().AsSlice()}
		network, first = ip, ip
	} else {
		ip := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: protocol, SrcIP: from.Addr().AsSlice(), DstIP: to.Addr().AsSlice()}
		network, first = ip, ip
	}
	var second gopacket.SerializableLayer
	if f.udp {
		udp := &layers.UDP{SrcPort: layers.UDPPort(from.Port()), DstPort: layers.UDPPort(to.Port())}
		udp.SetNetworkLayerForChecksum(network)
		second = udp
	} else {
		has := func(flag string) bool { return bytes.Contains([]byte(f.flags), []byte(flag)) }
		tcp := &layers.TCP{
			SrcPort: layers.TCPPort(from.Port()), DstPort: layers.TCPPort(to.Port()), Seq: f.seq, Window: 1000,
			SYN: has("S"), ACK: has("A"), FIN: has("F"), RST: has("R"),
		}
		tcp.SetNetworkLayerForChecksum(network)
		second = tcp
	}
	return serialize(t, first, second, gopacket.Payload(f.data))
}

func serialize(t testing.TB, all ...gopacket.SerializableLayer) []byte {
	t.Helper()
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, all...); err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(b.Bytes())
}

// on puts a link layer before a packet.
func on(t testing.TB, link layers.LinkType, ip []byte) []byte {
	t.Helper()
	six := ip[0]>>4 == 6
	ethertype := []byte{0x08, 0x00}
	if six {
		ethertype = []byte{0x86, 0xdd}
	}
	switch link {
	case layers.LinkTypeEthernet:
		kind := layers.EthernetTypeIPv4
		if six {
			kind = layers.EthernetTypeIPv6
		}
		mac := net.HardwareAddr{2, 0, 0, 0, 0, 1}
		return serialize(t, &layers.Ethernet{SrcMAC: mac, DstMAC: mac, EthernetType: kind}, gopacket.Payload(ip))
	case layers.LinkTypeLinuxSLL:
		head := append([]byte{0, 0, 3, 4, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0}, ethertype...)
		return append(head, ip...)
	case layers.LinkTypeLinuxSLL2:
		head := append(bytes.Clone(ethertype), 0, 0, 0, 0, 0, 1, 3, 4, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0)
		return append(head, ip...)
	case layers.LinkTypeNull:
		family := byte(2)
		if six {
			family = 24
		}
		return append([]byte{family, 0, 0, 0}, ip...)
	case layers.LinkTypeRaw:
		return ip
	}
	t.Fatalf("no packets of %v here", link)
	return nil
}

// packetAt is when the packet of this number was captured.
func packetAt(i int) time.Time { return began.Add(time.Duration(i) * time.Millisecond) }

// capture is a file of packets on SLL2, the first of which has this number.
func capture(t testing.TB, number int, frames ...frame) []byte {
	t.Helper()
	var b bytes.Buffer
	w := pcapgo.NewWriter(&b)
	if err := w.WriteFileHeader(262144, layers.LinkTypeLinuxSLL2); err != nil {
		t.Fatal(err)
	}
	for i, f := range frames {
		data := on(t, layers.LinkTypeLinuxSLL2, f.ip(t))
		ci := gopacket.CaptureInfo{Timestamp: packetAt(number + i), CaptureLength: len(data), Length: len(data)}
		if err := w.WritePacket(ci, data); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func file(t testing.TB, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// summarize wants no error.
func summarize(t testing.TB, paths ...string) *Summary {
	t.Helper()
	s, err := Summarize(paths...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// of is the summary of one capture of these packets.
func of(t testing.TB, frames ...frame) *Summary {
	t.Helper()
	return summarize(t, file(t, "site.pcap", capture(t, 0, frames...)))
}

// clientHello is what Go's TLS sends first.
func clientHello(t testing.TB, name string) string {
	t.Helper()
	ours, theirs := net.Pipe()
	defer ours.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		tls.Client(theirs, &tls.Config{ServerName: name}).Handshake()
		theirs.Close()
	}()
	b := make([]byte, 16<<10)
	n, err := ours.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	ours.Close()
	<-done
	return string(b[:n])
}
