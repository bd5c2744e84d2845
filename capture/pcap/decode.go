package pcap

import (
	"net/netip"
	"strings"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// A packet is what flows are made of.
type packet struct {
	protocol string // of IP: "tcp", "udp", "icmpv6"
	from, to netip.AddrPort
	tcp      *layers.TCP // nil for others
	payload  []byte      // of TCP
	missing  int         // bytes of the payload that were not captured
}

// A decoder takes packets apart. What it returns is good until the next.
type decoder struct {
	ethernet layers.Ethernet
	vlan     layers.Dot1Q
	cooked   layers.LinuxSLL
	cooked2  layers.LinuxSLL2
	loopback layers.Loopback
	ip4      layers.IPv4
	ip6      layers.IPv6
	tcp      layers.TCP
	udp      layers.UDP

	parsers map[gopacket.LayerType]*gopacket.DecodingLayerParser // by the first layer
	decoded []gopacket.LayerType
}

func newDecoder() *decoder {
	d := &decoder{parsers: make(map[gopacket.LayerType]*gopacket.DecodingLayerParser)}
	for _, first := range []gopacket.LayerType{
		layers.LayerTypeEthernet, layers.LayerTypeLinuxSLL, layers.LayerTypeLinuxSLL2,
		layers.LayerTypeLoopback, layers.LayerTypeIPv4, layers.LayerTypeIPv6,
	} {
		p := gopacket.NewDecodingLayerParser(first, &d.ethernet, &d.vlan, &d.cooked, &d.cooked2, &d.loopback, &d.ip4, &d.ip6, &d.tcp, &d.udp)
		p.IgnoreUnsupported = true
		d.parsers[first] = p
	}
	return d
}

// first is what packets of a link type begin with; false when that is not known.
func first(link layers.LinkType, data []byte) (gopacket.LayerType, bool) {
	switch link {
	case layers.LinkTypeEthernet:
		return layers.LayerTypeEthernet, true
	case layers.LinkTypeLinuxSLL:
		return layers.LayerTypeLinuxSLL, true
	case layers.LinkTypeLinuxSLL2:
		return layers.LayerTypeLinuxSLL2, true
	case layers.LinkTypeNull, layers.LinkTypeLoop:
		return layers.LayerTypeLoopback, true
	case layers.LinkTypeIPv4:
		return layers.LayerTypeIPv4, true
	case layers.LinkTypeIPv6:
		return layers.LayerTypeIPv6, true
	case layers.LinkTypeRaw, 12, 14: // what BSDs and OpenBSD number RAW
		if len(data) > 0 && data[0]>>4 == 6 {
			return layers.LayerTypeIPv6, true
		}
		return layers.LayerTypeIPv4, true
	}
	return 0, false
}

// decode returns false for a packet that is not of IP, or too damaged to say.
func (d *decoder) decode(link layers.LinkType, data []byte) (p packet, ok bool) {
	begins, known := first(link, data)
	if !known {
		return p, false
	}
	d.decoded = d.decoded[:0]
	d.parsers[begins].DecodeLayers(data, &d.decoded) // as far as it goes
	for _, layer := range d.decoded {
		switch layer {
		case layers.LayerTypeIPv4:
			p = packet{protocol: name(d.ip4.Protocol), from: address(d.ip4.SrcIP), to: address(d.ip4.DstIP)}
			if d.ip4.Length > 0 {
				p.missing = max(int(d.ip4.Length)-len(d.ip4.Contents)-len(d.ip4.Payload), 0)
			}
			ok = true
		case layers.LayerTypeIPv6:
			p = packet{protocol: name(d.ip6.NextHeader), from: address(d.ip6.SrcIP), to: address(d.ip6.DstIP)}
			if d.ip6.HopByHop == nil {
				p.missing = max(int(d.ip6.Length)-len(d.ip6.Payload), 0)
			}
			ok = true
		case layers.LayerTypeTCP:
			p.ports(uint16(d.tcp.SrcPort), uint16(d.tcp.DstPort))
			p.tcp, p.payload = &d.tcp, d.tcp.Payload
		case layers.LayerTypeUDP:
			p.ports(uint16(d.udp.SrcPort), uint16(d.udp.DstPort))
		}
	}
	return p, ok
}

func (p *packet) ports(from, to uint16) {
	p.from, p.to = netip.AddrPortFrom(p.from.Addr(), from), netip.AddrPortFrom(p.to.Addr(), to)
}

func address(ip []byte) netip.AddrPort {
	a, _ := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(a, 0)
}

// name is an IP protocol's, in small letters as in a filter.
func name(p layers.IPProtocol) string {
	switch p {
	case layers.IPProtocolTCP:
		return "tcp"
	case layers.IPProtocolUDP:
		return "udp"
	case layers.IPProtocolICMPv4:
		return "icmp"
	}
	return strings.ToLower(p.String())
}
