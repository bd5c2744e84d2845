package proxy

import (
	"net/http"
	"strings"

	"github.com/agentenv/netlog/proxy/wire"
)

// stripConditionals takes off a request what asks a server to say only that a
// cache's copy is still good (304, RFC 9110 §13.1.2 and §13.1.3), and notes that
// it did. What guards a change (§13.1.1, §13.1.4, and If-None-Match of any other
// method) stays, and so does everything of a request for a range, whose pieces
// are to be of one version.
func (ex *exchange) stripConditionals(fields wire.FieldList) wire.FieldList {
	if !ex.p.StripConditionals || ex.p.StandIn || ex.method != http.MethodGet && ex.method != http.MethodHead {
		return fields
	}
	if fields.Count("range") > 0 || fields.Count("if-none-match")+fields.Count("if-modified-since") == 0 {
		return fields
	}
	kept := make(wire.FieldList, 0, len(fields))
	for _, f := range fields {
		if name := string(f.Name); !strings.EqualFold(name, "If-None-Match") && !strings.EqualFold(name, "If-Modified-Since") {
			kept = append(kept, f)
		}
	}
	ex.changed = append(ex.changed, "strip_conditionals")
	return kept
}
