package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// writeCapture writes packets from 10.0.0.2 to 10.0.0.1:80, a millisecond apart
// from at on, with what they say.
func writeCapture(t *testing.T, path string, at time.Time, seq uint32, said ...string) {
	t.Helper()
	var b bytes.Buffer
	w := pcapgo.NewWriter(&b)
	if err := w.WriteFileHeader(262144, layers.LinkTypeRaw); err != nil {
		t.Fatal(err)
	}
	for i, text := range said {
		ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: net.IP{10, 0, 0, 2}, DstIP: net.IP{10, 0, 0, 1}}
		tcp := &layers.TCP{SrcPort: 50000, DstPort: 80, Seq: seq, ACK: true}
		tcp.SetNetworkLayerForChecksum(ip)
		packet := gopacket.NewSerializeBuffer()
		if err := gopacket.SerializeLayers(packet, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, ip, tcp, gopacket.Payload(text)); err != nil {
			t.Fatal(err)
		}
		n := len(packet.Bytes())
		if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: at.Add(time.Duration(i) * time.Millisecond), CaptureLength: n, Length: n}, packet.Bytes()); err != nil {
			t.Fatal(err)
		}
		seq += uint32(len(text))
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// runIn runs a command line in a folder.
func runIn(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	t.Chdir(dir)
	var out, errs bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &out, &errs)
	return out.String(), errs.String(), code
}

func TestShowTellsWhatARingHolds(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	first := "GET /\x1b[31m HTTP/1.1\r\nHost: shop.example\r\n\r\nGET /2 "
	writeCapture(t, filepath.Join(dir, "site.pcap1"), at, 1, first)
	writeCapture(t, filepath.Join(dir, "site.pcap0"), at.Add(time.Second), 1+uint32(len(first)), "HTTP/1.1\r\n\r\n", "GET /3 HTTP/1.1\r\n\r\n")
	stdout, stderr, code := runIn(t, dir, "show", "site.pcap0", "site.pcap1")
	const want = `file        packets  first                     last                      of
site.pcap1  1        2026-03-04T05:06:07.000Z  2026-03-04T05:06:07.000Z  Raw
site.pcap0  2        2026-03-04T05:06:08.000Z  2026-03-04T05:06:08.001Z  Raw

host      packets  sent   received  names
10.0.0.1  3        0 B    201 B     shop.example
10.0.0.2  3        201 B  0 B

began         took    protocol  client          server       packets  sent   received  what
05:06:07.000  1.001s  tcp       10.0.0.2:50000  10.0.0.1:80  3        201 B  0 B       GET /\x1b[31m HTTP/1.1
                                                                                       GET /2 HTTP/1.1
                                                                                       GET /3 HTTP/1.1

packets: 3, 201 B in 1.001s; flows: 1
`
	if stdout != want || stderr != "" || code != 0 {
		t.Errorf("it ends with %d: %s\n%s\nwant\n%s", code, stderr, stdout, want)
	}

	const lines = `{"kind":"capture","packets":1,"bytes":90,"first":"2026-03-04T05:06:07Z","last":"2026-03-04T05:06:07Z","flows":1}
{"kind":"file","path":"site.pcap1","packets":1,"first":"2026-03-04T05:06:07Z","last":"2026-03-04T05:06:07Z","link":"Raw"}
{"kind":"host","address":"10.0.0.1","names":["shop.example"],"packets":1,"sent":0,"received":90}
{"kind":"host","address":"10.0.0.2","packets":1,"sent":90,"received":0}
{"kind":"flow","protocol":"tcp","client":"10.0.0.2:50000","server":"10.0.0.1:80","first":"2026-03-04T05:06:07Z","last":"2026-03-04T05:06:07Z","packets":1,"sent":90,"received":0,"requests":["GET /\u001b[31m HTTP/1.1"]}
`
	if stdout, stderr, code := runIn(t, dir, "show", "--json", "site.pcap1"); stdout != lines || stderr != "" || code != 0 {
		t.Errorf("it ends with %d: %s\n%s\nwant\n%s", code, stderr, stdout, lines)
	}
}

func TestShowTellsWhatIsWrongWithCaptures(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	file := filepath.Join(dir, "site.pcap")
	writeCapture(t, file, at, 1, "one", "two")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(whole)
	copy(damaged[24+16+43+8:], "\xff\xff\xff\x0f")
	for name, b := range map[string][]byte{"torn.pcap": whole[:len(whole)-1], "damaged.pcap": damaged, "notes.txt": []byte("these are notes, and no packets"), "empty.pcap": whole[:24]} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"torn.pcap", 0, `warning: the last packet of "torn.pcap" is not whole`},
		{"damaged.pcap", 1, `error: read "damaged.pcap": after 1 packets: `},
		{"site.pcap notes.txt", 2, `error: read "notes.txt": not a capture`},
		{"site.pcap absent.pcap", 1, "no such file"},
		{"empty.pcap", 0, ""},
		{"site.pcap --follow", 2, "only --json and --color"},
		{"site.pcap --id 3", 2, "only --json and --color"},
		{"site.pcap --host a.example", 2, "only --json and --color"},
		{"site.pcap --max-body 1MiB", 2, "only --json and --color"},
		{"site.pcap --color sometimes", 2, "--color"},
	} {
		stdout, stderr, code := runIn(t, dir, append([]string{"show"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(stderr, c.says) || c.says == "" && stderr != "" {
			t.Errorf("show %s ends with %d: %s\n%s", c.args, code, stderr, stdout)
		}
	}
}
