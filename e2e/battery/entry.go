package battery

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	"github.com/agentenv/netlog/netlog"
)

// An entry is what the log has of an exchange or a tunnel, as far as a case
// cares.
type entry struct {
	method string // of an exchange
	url    string // {o} stands for the leg's origin, as everywhere
	status int    // 0: no answer
	tunnel string // the target, of a tunnel; an exchange has none

	via            netlog.Via // "": the leg's own
	sent, received string     // the bodies, whose sizes and hashes are logged; a tunnel's bytes
	anyBytes       bool       // the bodies are not compared
	failed         string     // "phase code"; anyFailure: whichever
	refused        string     // "code status"
	reason         string     // what that of failed or refused begins with
	broken         bool       // the answer is not complete
	unparsed       bool       // an answer without a status, of which all is received

	// check looks at the rest.
	check func(*netlog.Open, *netlog.End) error
}

// anyFailure stands for whatever phase and code a failure has.
const anyFailure = "somehow"

// String is how entries are compared.
func (e entry) String() string {
	var b strings.Builder
	sent, received := sum(e.sent), sum(e.received)
	if e.tunnel != "" {
		fmt.Fprintf(&b, "tunnel %s %s", e.via, e.tunnel)
		sent, received = fmt.Sprint(len(e.sent)), fmt.Sprint(len(e.received))
	} else {
		fmt.Fprintf(&b, "exchange %s %s %s", e.via, e.method, e.url)
	}
	if e.status != 0 || e.unparsed {
		fmt.Fprintf(&b, " %d", e.status)
	}
	if !e.anyBytes {
		b.WriteString(" sent " + sent)
		if e.tunnel != "" || e.status != 0 || e.unparsed {
			b.WriteString(" received " + received)
		}
	}
	if e.broken {
		b.WriteString(" incomplete")
	}
	if e.failed != "" {
		b.WriteString(" failed " + e.failed)
	}
	if e.refused != "" {
		b.WriteString(" refused " + e.refused)
	}
	if e.unparsed {
		b.WriteString(" unparsed")
	}
	return b.String()
}

func sum(s string) string {
	if s == "" {
		return "0"
	}
	h := sha256.Sum256([]byte(s))
	return fmt.Sprintf("%d:%s", len(s), hex.EncodeToString(h[:6]))
}

// A pair is an open line with its end.
type pair struct {
	open netlog.Open
	end  *netlog.End
}

// as is the pair as an entry that is compared with want.
func (p pair) as(want entry) string {
	var b strings.Builder
	var sent, received string
	if p.open.Kind == netlog.KindTunnel {
		fmt.Fprintf(&b, "tunnel %s %s", p.open.Via, p.open.Target)
		if p.end != nil && p.end.Tunnel != nil {
			sent, received = fmt.Sprint(p.end.Tunnel.Sent), fmt.Sprint(p.end.Tunnel.Received)
		}
	} else {
		r := p.open.Request
		fmt.Fprintf(&b, "exchange %s %s %s", p.open.Via, r.Method, r.URL)
		body := r.Body
		if p.end != nil && p.end.Request != nil {
			body = p.end.Request.Body
		}
		sent = bodySum(body)
	}
	if p.end == nil {
		b.WriteString(" without an end")
		return b.String()
	}
	if r := p.end.Response; r != nil {
		fmt.Fprintf(&b, " %d", r.Status)
		received = bodySum(r.Body)
	}
	if !want.anyBytes {
		b.WriteString(" sent " + sent)
		if received != "" {
			b.WriteString(" received " + received)
		}
	}
	if r := p.end.Response; r != nil && !r.Complete {
		b.WriteString(" incomplete")
	}
	if f := p.end.Failed; f != nil && want.failed == anyFailure {
		b.WriteString(" failed " + anyFailure)
	} else if f != nil {
		fmt.Fprintf(&b, " failed %s %s", f.Phase, f.Code)
	}
	if r := p.end.Refused; r != nil {
		fmt.Fprintf(&b, " refused %s %d", r.Code, r.Status)
	}
	if p.end.Unparsed {
		b.WriteString(" unparsed")
	}
	return b.String()
}

// reason is why the pair failed or was refused.
func (p pair) reason() string {
	switch {
	case p.end == nil:
	case p.end.Failed != nil:
		return p.end.Failed.Reason
	case p.end.Refused != nil:
		return p.end.Refused.Reason
	}
	return ""
}

func bodySum(b *netlog.Body) string {
	switch {
	case b == nil:
		return "unknown"
	case b.Size == 0:
		return "0"
	}
	return fmt.Sprintf("%d:%.12s", b.Size, b.SHA256)
}

// readLog gives the log's pairs in the order of their open lines.
func readLog(path string) ([]pair, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var pairs []pair
	at := map[int64]int{}
	for line := range bytes.Lines(raw) {
		l, err := netlog.ParseLine(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			return nil, fmt.Errorf("the log's line %s: %w", clip(string(line)), err)
		}
		switch l.Event {
		case netlog.EventOpen:
			at[l.ID] = len(pairs)
			pairs = append(pairs, pair{open: *l.Open})
		case netlog.EventEnd:
			i, ok := at[l.ID]
			if !ok || pairs[i].end != nil {
				return nil, fmt.Errorf("the log has an end line without an open entry: %s", clip(string(line)))
			}
			pairs[i].end = l.End
		}
	}
	return pairs, nil
}

func countEnds(path string) int {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	return bytes.Count(raw, []byte(`,"event":"end",`))
}

// compare holds the log against what is wanted.
func compare(path string, expand func(string) string, leg Leg, want []entry) error {
	pairs, err := readLog(path)
	if err != nil {
		return err
	}
	var got, wanted strings.Builder
	for i, p := range pairs {
		like := entry{}
		if i < len(want) {
			like = want[i]
		}
		fmt.Fprintln(&got, p.as(like))
	}
	for _, e := range want {
		if e.via == "" {
			e.via = netlog.ViaPlain
			if leg == TLS || leg == HTTP2 {
				e.via = netlog.ViaMITM
			}
		}
		e.url, e.tunnel = expand(e.url), expand(e.tunnel)
		fmt.Fprintln(&wanted, e)
	}
	if got.String() != wanted.String() {
		return fmt.Errorf("the log has\n%sand was to have\n%s", &got, &wanted)
	}
	for i, e := range want {
		if got := pairs[i].reason(); !strings.HasPrefix(got, e.reason) {
			return fmt.Errorf("the log's entry %d says %q, and was to say %q", i+1, got, e.reason)
		}
		if e.check == nil {
			continue
		}
		if err := e.check(&pairs[i].open, pairs[i].end); err != nil {
			return fmt.Errorf("the log's entry %d: %w", i+1, err)
		}
	}
	return nil
}
