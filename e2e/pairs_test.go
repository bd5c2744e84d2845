package e2e

import (
	"fmt"

	"github.com/agentenv/netlog/netlog"
)

// A pair is an entry of a validated log: both its lines.
type pair struct {
	open *netlog.Open
	end  *netlog.End
}

// pairs are a log's entries: the exchanges by their URLs, and the tunnels by
// their clients' addresses.
func pairs(lines []*netlog.Line) map[string][]pair {
	opens := map[int64]*netlog.Open{}
	found := map[string][]pair{}
	for _, l := range lines {
		switch {
		case l.Open != nil:
			opens[l.ID] = l.Open
		case l.End != nil:
			open := opens[l.ID]
			delete(opens, l.ID)
			key := open.Client
			if open.Request != nil {
				key = open.Request.URL
			}
			found[key] = append(found[key], pair{open, l.End})
		}
	}
	return found
}

// outcome is how it ended: the status, or why there was none.
func (p pair) outcome() string {
	switch {
	case p.end.Failed != nil:
		return string(p.end.Failed.Code)
	case p.end.Refused != nil:
		return "refused " + string(p.end.Refused.Code)
	case p.open.Kind == netlog.KindTunnel:
		return "tunnel"
	case p.end.Response == nil:
		return "no answer"
	case !p.end.Response.Complete:
		return "incomplete"
	}
	return fmt.Sprint(p.end.Response.Status)
}

// body is the request's, from the line that has it.
func (p pair) body() *netlog.Body {
	for _, r := range []*netlog.Request{p.open.Request, p.end.Request} {
		if r != nil && r.Body != nil {
			return r.Body
		}
	}
	return nil
}
