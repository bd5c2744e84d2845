package proxy

import (
	"time"

	"github.com/agentenv/netlog/proxy/wire"
)

// An asker is the browser's side of an exchange, for whoever has its answer: a
// connection that speaks HTTP/1.
type asker interface {
	// SetReadDeadline bounds the wait for more of the request's body.
	SetReadDeadline(time.Time) error
	// drain reads, for the log, the body of a request that goes nowhere.
	drain(*exchange)
	// inform passes on an informational answer.
	inform(*exchange, *wire.Answer) error
	// begin takes the head of the answer proper. It goes on with what comes next.
	begin(*exchange, *wire.Answer)
	// pass passes on a piece of the answer, as the server framed it.
	pass(ex *exchange, piece []byte) error
	// flush sends what begin and pass hold back: before the server is waited for, and
	// at the end.
	flush(*exchange) error
	// page sends an answer of our own for f.
	page(*exchange, *failure)
	// release ends the exchange on the browser's side: it is left to its next request,
	// or sees that the answer broke off, which reset says that the server's did by one.
	release(ex *exchange, f *failure, reset bool)
	// abort breaks it off.
	abort()
}
