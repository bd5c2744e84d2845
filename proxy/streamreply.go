package proxy

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2"

	"github.com/agentenv/netlog/proxy/h2"
	"github.com/agentenv/netlog/proxy/wire"
)

// How an answer goes to a browser that speaks HTTP/2. A stream is the asker of its
// exchange.

// write sends a head, or trailers.
func (st *stream) write(fields []h2.Field, end bool) error {
	st.writing.renew(time.Now())
	st.ended = st.ended || end
	return st.met(st.WriteHead(fields, end))
}

// met has an end of the stream by the browser be known as such to whoever meets it
// as an error, which may be before the stream is told of it.
func (st *stream) met(err error) error {
	if err != nil && !isTimeout(err) {
		st.gone(err)
	}
	return err
}

// put sends a piece of the answer; end: the last, behind which come the trailers.
func (st *stream) put(piece []byte, end bool, trailers []h2.Field) error {
	st.writing.renew(time.Now())
	last := end && trailers == nil
	st.ended = st.ended || last
	err := st.met(st.Write(piece, last))
	if err == nil && end && !last {
		err = st.write(trailers, true)
	}
	if st.moved.Load() {
		return nil
	}
	return err
}

// move has the browser's leaving for elsewhere be no end of the answer: it has no
// use for a redirect's body, and says so by a reset where one of HTTP/1 reads it. The
// log has it all the same, if it comes soon.
func (st *stream) move(status int, located bool) {
	if status/100 == 3 && located {
		st.moving.Store(true)
	}
}

func (st *stream) inform(_ *exchange, a *wire.Answer) error { return st.write(fieldsOf(a), false) }

func (st *stream) begin(_ *exchange, a *wire.Answer) {
	st.head = fieldsOf(a)
	st.move(a.Status, a.Fields.Count("location") > 0)
}

func (st *stream) pass(ex *exchange, piece []byte) error {
	if ex.receiving.unframed {
		piece = ex.receiving.content
	}
	if st.head != nil {
		fields := st.head
		st.head = nil
		if err := st.write(fields, false); err != nil {
			return err
		}
	}
	return st.put(piece, ex.receiving.whole, lowered(ex.receiving.trailers()))
}

func (st *stream) flush(ex *exchange) error {
	switch {
	case st.head != nil && ex.receiving.whole:
		fields := st.head
		st.head = nil
		return st.write(fields, true)
	case st.head != nil:
		return st.pass(ex, nil)
	case ex.receiving.whole && !st.ended: // a body that lasts until its connection ends
		return st.put(nil, true, nil)
	}
	return nil
}

// page sends an answer of our own for f.
func (st *stream) page(ex *exchange, f *failure) {
	name, mark, body := f.page(ex.isSites())
	fields := []h2.Field{
		{Name: ":status", Value: strconv.Itoa(f.status())},
		{Name: strings.ToLower(name), Value: mark},
		{Name: "content-type", Value: pageType},
		{Name: "content-length", Value: strconv.Itoa(len(body))},
		{Name: "cache-control", Value: "no-store"},
	}
	st.SetWriteDeadline(time.Now().Add(ex.p.Timeouts.ClientHead))
	if ex.method == http.MethodHead {
		st.write(fields, true)
	} else if st.write(fields, false) == nil {
		st.put([]byte(body), true, nil)
	}
}

// release ends the stream: it may be told that the rest of its request is not
// wanted (RFC 9113 §8.1), or that its answer broke off.
func (st *stream) release(_ *exchange, f *failure, _ bool) {
	switch {
	case !st.ended:
		st.Reset(f.resetCode())
	case !st.Head().End:
		st.Reset(http2.ErrCodeNo)
	}
}

func (st *stream) abort() { st.Reset(http2.ErrCodeInternal) }
