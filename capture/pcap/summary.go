package pcap

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/gopacket/gopacket/layers"
)

// So much is told of captures; the rest is counted. A whole ring of a server's
// has some thousand flows.
const (
	MaxFlows        = 1 << 17
	MaxRequests     = 1 << 18
	maxRequestBytes = 64 << 20
	maxWaiting      = 64 << 20 // bytes that are held until more of them has come
)

// A Summary is what captures hold.
type Summary struct {
	Files       []File // in the order in which they were captured
	Packets     int64
	Bytes       int64 // of the packets, as they were on the network
	First, Last time.Time

	Flows []*Flow // by their first packets
	Hosts []Host  // by their addresses

	NoFlow  int64 // packets of no flow: not of IP, damaged, or of an unknown link type
	Further int64 // packets of flows beyond MaxFlows

	FurtherRequests int64 // request lines beyond MaxRequests, or 64 MiB
}

// A Host is an address that sent or received something.
type Host struct {
	Address        netip.Addr
	Names          []string // as clients called it: in ClientHellos and Host fields
	Packets        int64
	Sent, Received int64 // bytes, headers included
}

// together is how far files of one capture may overlap: packets that two
// processors took need not stand in their order.
const together = time.Second

// Summarize reads captures, which are taken to be of one ring, in the order of
// their first packets. An error is that of a file which is no capture or can't be
// read at all; where the rest of one can't be, its File says so.
func Summarize(paths ...string) (*Summary, error) {
	files, err := inOrder(paths)
	if err != nil {
		return nil, err
	}
	a := &assembly{decoder: newDecoder(), open: make(map[key]*connection), budget: budget{requests: MaxRequests, bytes: maxRequestBytes, waiting: maxWaiting}}
	for i := range files {
		if err := a.read(&files[i]); err != nil {
			return nil, err
		}
		if f := &files[i]; i > 0 && !f.First.IsZero() && f.First.Before(files[i-1].Last.Add(-together)) {
			f.Overlap = true
		}
	}
	a.sum.Files = files
	a.end()
	return &a.sum, nil
}

// inOrder opens each file for its first packet. Those without one are the last.
func inOrder(paths []string) ([]File, error) {
	files := make([]File, len(paths))
	for i, path := range paths {
		r, err := openReader(path)
		if err != nil {
			return nil, err
		}
		files[i].Path = path
		if _, ci, _, err := r.read(); err == nil {
			files[i].First = ci.Timestamp
		}
		r.close()
	}
	slices.SortStableFunc(files, func(a, b File) int {
		if a.First.IsZero() != b.First.IsZero() {
			if a.First.IsZero() {
				return 1
			}
			return -1
		}
		return a.First.Compare(b.First)
	})
	return files, nil
}

// An assembly makes a summary.
type assembly struct {
	decoder *decoder
	sum     Summary
	open    map[key]*connection
	all     []*connection
	budget  budget
}

var errOverwritten = errors.New("it was overwritten while it was read")

func (a *assembly) read(f *File) error {
	r, err := openReader(f.Path)
	if err != nil {
		return err
	}
	defer r.close()
	f.First = time.Time{}
	for {
		data, ci, link, err := r.read()
		switch {
		case err == io.EOF:
		case errors.Is(err, io.ErrUnexpectedEOF):
			f.Torn = true
		case err != nil:
			f.Damage = err
		}
		if err != nil {
			break
		}
		if f.Packets == 0 {
			f.First, f.Link = ci.Timestamp, linkName(link)
		}
		f.Packets++
		if ci.Timestamp.After(f.Last) {
			f.Last = ci.Timestamp
		}
		a.add(link, data, ci.Length, ci.Timestamp)
	}
	if r.overwritten() {
		f.Damage = errOverwritten
	}
	return nil
}

func linkName(link layers.LinkType) string {
	if _, known := first(link, nil); known {
		return link.String()
	}
	return fmt.Sprintf("link type %d, which is not known here", uint16(link))
}

func (a *assembly) add(link layers.LinkType, data []byte, length int, at time.Time) {
	s := &a.sum
	s.Packets++
	s.Bytes += int64(length)
	if s.First.IsZero() || at.Before(s.First) {
		s.First = at
	}
	if at.After(s.Last) {
		s.Last = at
	}
	p, ok := a.decoder.decode(link, data)
	if !ok {
		s.NoFlow++
		return
	}
	k, sender := keyOf(p)
	c := a.open[k]
	if c == nil || c.begins(p) {
		if len(a.all) == MaxFlows {
			s.Further++
			return
		}
		c = &connection{key: k, budget: &a.budget}
		a.open[k] = c
		a.all = append(a.all, c)
	}
	c.add(p, sender, length, at)
}

func (a *assembly) end() {
	hosts := make(map[netip.Addr]*Host)
	host := func(address netip.Addr) *Host {
		if hosts[address] == nil {
			hosts[address] = &Host{Address: address}
		}
		return hosts[address]
	}
	for _, c := range a.all {
		f := c.end()
		a.sum.Flows = append(a.sum.Flows, f)
		client, server := host(f.Client.Addr()), host(f.Server.Addr())
		client.Packets += f.Packets
		client.Sent += f.Sent
		client.Received += f.Received
		if server != client {
			server.Packets += f.Packets
		}
		server.Sent += f.Received
		server.Received += f.Sent
		server.name(c.name)
	}
	a.sum.FurtherRequests = a.budget.refused
	slices.SortStableFunc(a.sum.Flows, func(a, b *Flow) int { return a.First.Compare(b.First) })
	for _, h := range hosts {
		slices.Sort(h.Names)
		a.sum.Hosts = append(a.sum.Hosts, *h)
	}
	slices.SortFunc(a.sum.Hosts, func(a, b Host) int { return a.Address.Compare(b.Address) })
}

// maxNames is how many names of one host are told.
const maxNames = 100

// name takes in a name with which a client meant the host.
func (h *Host) name(s string) {
	if at := strings.LastIndexByte(s, ':'); at > strings.LastIndexByte(s, ']') {
		s = s[:at] // the port
	}
	s = strings.ToLower(s)
	if s == "" || len(h.Names) >= maxNames || slices.Contains(h.Names, s) || s == h.Address.String() {
		return
	}
	h.Names = append(h.Names, s)
}
