package har

import (
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// A Filter says which entries are kept: those that pass every field that is set.
// Its zero value keeps all.
type Filter struct {
	// IDs are the numbers of the entries' open lines. None: any.
	IDs []Range

	// Since and Until bound when an entry began: at Since or later, and before
	// Until. Zero: no bound. An entry without a time is in no bounds.
	Since, Until time.Time

	// Host and NotHost are asked for the host and the port of an entry's URL, and of
	// a tunnel for the name that its TLS asked for too: a name in lower case without
	// a final dot, or an address without brackets; 0 for a port that the URL neither
	// has nor implies. Host keeps an entry for any of its names, NotHost leaves it
	// out for any. Nil: every entry is kept.
	Host, NotHost func(host string, port uint16) bool

	// Statuses are the answers' status codes, -1 (and 0, as some write) for none.
	// None: any.
	Statuses []Range

	// NoTunnels keeps no CONNECT, but for a WebSocket's (RFC 8441).
	NoTunnels bool
}

// A Range is the numbers from First to Last, both included.
type Range struct{ First, Last int64 }

// Keeps says whether e passes.
func (f *Filter) Keeps(e *Entry) bool {
	began, err := time.Parse(time.RFC3339, e.StartedDateTime)
	if err != nil {
		began = time.Time{}
	}
	return f.keepsID(e.ID) && f.keepsTime(began) && f.keepsHost(e.Request.URL, e.sni()) && f.keepsKind(e) && f.keepsStatus(e.Response.Status)
}

func (f *Filter) all() bool {
	return len(f.IDs) == 0 && f.Since.IsZero() && f.Until.IsZero() && !f.hosts() && len(f.Statuses) == 0 && !f.NoTunnels
}

// hosts says whether hosts matter.
func (f *Filter) hosts() bool { return f.Host != nil || f.NotHost != nil }

func (f *Filter) keepsID(id int64) bool { return len(f.IDs) == 0 || within(f.IDs, id) }

func (f *Filter) keepsTime(t time.Time) bool {
	if f.Since.IsZero() && f.Until.IsZero() {
		return true
	}
	return !t.IsZero() && (f.Since.IsZero() || !t.Before(f.Since)) && (f.Until.IsZero() || t.Before(f.Until))
}

// keepsHost is asked with the name that a tunnel's TLS asked for; "" for none.
func (f *Filter) keepsHost(url, sni string) bool {
	if !f.hosts() {
		return true
	}
	host, port := urlHost(url)
	in := func(list func(string, uint16) bool) bool {
		return list(host, port) || sni != "" && list(lowerName(sni), port)
	}
	return (f.Host == nil || in(f.Host)) && (f.NotHost == nil || !in(f.NotHost))
}

// sni is the name that a tunnel's TLS asked for.
func (e *Entry) sni() string {
	if e.Tunnel == nil || !e.isTunnel() {
		return ""
	}
	return e.Tunnel.SNI
}

func (f *Filter) keepsKind(e *Entry) bool { return !f.NoTunnels || !e.isTunnel() }

// isTunnel says whether e is a CONNECT, but for a WebSocket's.
func (e *Entry) isTunnel() bool {
	return e.Request.Method == "CONNECT" && !strings.HasPrefix(e.Request.URL, "ws")
}

func (f *Filter) keepsStatus(status int) bool {
	if status == 0 {
		status = -1
	}
	return len(f.Statuses) == 0 || within(f.Statuses, int64(status))
}

func within(list []Range, n int64) bool {
	for _, r := range list {
		if r.First <= n && n <= r.Last {
			return true
		}
	}
	return false
}

// urlHost is the host and the port of an absolute URL.
func urlHost(url string) (host string, port uint16) {
	scheme, rest, _ := strings.Cut(url, "://")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	host = rest[strings.LastIndexByte(rest, '@')+1:]
	switch strings.ToLower(scheme) {
	case "http", "ws":
		port = 80
	case "https", "wss":
		port = 443
	}
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		if n, err := strconv.ParseUint(host[i+1:], 10, 16); err == nil {
			port = uint16(n)
		}
		host = host[:i]
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if address, err := netip.ParseAddr(host); err == nil {
		return address.Unmap().String(), port
	}
	return lowerName(unescape(host, false)), port
}

func lowerName(name string) string { return strings.TrimSuffix(strings.ToLower(name), ".") }

// filter takes from the index what f does not keep. It looks into a line only
// for what its position does not tell, and decodes no body. What can't be read
// stays, to be counted when the entry is made.
func (c *converter) filter(f *Filter) error {
	if f.all() {
		return nil
	}
	items := &c.index.items
	reader := &recordReader{log: c.log, index: c.index}
	kept := 0
	for i := range c.index.processes {
		p := &c.index.processes[i]
		begin, end := p.begin, p.end
		p.begin = kept
		for ; begin < end; begin++ {
			if err := c.options.Progress(int64(begin), int64(items.n)); err != nil {
				return err
			}
			it := items.at(begin)
			keep, err := f.keepsItem(it, reader)
			if err != nil {
				return err
			}
			if keep {
				*items.at(kept) = *it
				kept++
				continue
			}
			c.found.Filtered++
			delete(c.index.answers, it.open)
			delete(c.index.messages, it.open)
		}
		p.end = kept
	}
	items.cut(kept)
	return nil
}

func (f *Filter) keepsItem(it *item, reader *recordReader) (bool, error) {
	if !f.keepsID(it.id) || !f.keepsTime(time.UnixMicro(it.micros)) {
		return false, nil
	}
	if !f.hosts() && len(f.Statuses) == 0 && !f.NoTunnels {
		return true, nil
	}
	line, err := reader.line(it.open)
	if line == nil || line.Open == nil {
		return err == nil, err
	}
	webSocket := wantsWebSocket(line.Open.Request)
	tunnel := isTunnel(line.Open, webSocket)
	if f.NoTunnels && tunnel {
		return false, nil
	}
	r, sni := &record{id: it.id, open: line.Open}, ""
	if len(f.Statuses) > 0 || f.hosts() && tunnel {
		if err := reader.outcome(r, it, reader.line); err != nil {
			return false, err
		}
	}
	if tunnel && r.end != nil && r.end.Tunnel != nil {
		sni = r.end.Tunnel.SNI
	}
	return f.keepsHost(entryURL(line.Open, webSocket), sni) && f.keepsStatus(r.status()), nil
}
