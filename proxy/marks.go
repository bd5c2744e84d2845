package proxy

import (
	"time"

	"github.com/agentenv/netlog/netlog"
)

// marks are the moments at which an exchange's phases were over; a zero one did
// not come.
type marks struct {
	dialling  time.Time // it began to wait for a connection to be made
	lookup    bool      // which began with resolving a name
	resolved  time.Time
	connected time.Time // TCP
	securing  bool      // behind which came a TLS handshake
	ready     time.Time // a connection could be used
	sending   time.Time // the last of the request began to go up
	sent      time.Time // the whole request had gone up
	first     time.Time // the answer's first byte had come
}

// timings are the phases from open to end. What was going on at the end has the
// time up to it; what did not begin is absent.
func (m *marks) timings(open, end time.Time) netlog.Timings {
	t := netlog.NoTimings(micros(open, end))
	at := open
	// phase ends one at until, and says whether the exchange went on behind it.
	phase := func(d *int64, until time.Time) bool {
		on := !until.IsZero()
		if !on || until.After(end) {
			until = end
		}
		if until.Before(at) {
			until = at
		}
		*d = micros(at, until)
		at = until
		return on
	}
	if m.dialling.IsZero() {
		if !phase(&t.Blocked, m.ready) {
			return t
		}
	} else if !m.making(&t, phase, &at) {
		return t
	}
	// An answer that begins before the upload ends: sending stops at its first byte.
	// One that only overtakes the news that the last piece is written is not early.
	sent := m.sent
	if !m.first.IsZero() && (sent.IsZero() || m.first.Before(sent)) {
		sent = m.first
		if !m.sending.IsZero() && m.sending.Before(sent) {
			sent = m.sending
		}
	}
	if phase(&t.Send, sent) && phase(&t.Wait, m.first) {
		phase(&t.Receive, end)
	}
	return t
}

// making is the phases of waiting for a connection. Steps that were over before
// the exchange began to wait are none of its own.
func (m *marks) making(t *netlog.Timings, phase func(*int64, time.Time) bool, at *time.Time) bool {
	phase(&t.Blocked, m.dialling)
	if m.lookup && (m.resolved.IsZero() || m.resolved.After(*at)) && !phase(&t.DNS, m.resolved) {
		return false
	}
	began := *at
	on := phase(&t.Connect, m.ready)
	if m.securing && m.connected.Before(*at) {
		tcp := m.connected
		if tcp.Before(began) {
			tcp = began
		}
		t.TLS = micros(tcp, *at)
	}
	return on
}
