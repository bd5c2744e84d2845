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
	if !ex.strips(fields.Count) {
		return fields
	}
	kept := make(wire.FieldList, 0, len(fields))
	for _, f := range fields {
		if !isConditional(string(f.Name)) {
			kept = append(kept, f)
		}
	}
	return kept
}

// strips tells whether something is to be taken off a request that has count
// fields of a name, and notes it.
func (ex *exchange) strips(count func(name string) int) bool {
	if !ex.p.StripConditionals || ex.p.StandIn || ex.method != http.MethodGet && ex.method != http.MethodHead {
		return false
	}
	if count("range") > 0 || count("if-none-match")+count("if-modified-since") == 0 {
		return false
	}
	ex.changed = append(ex.changed, "strip_conditionals")
	return true
}

func isConditional(name string) bool {
	return strings.EqualFold(name, "If-None-Match") || strings.EqualFold(name, "If-Modified-Since")
}
