package battery

import (
	"time"

	"golang.org/x/net/http2"
)

// framesThatEnd are streams and connections that end before their time, from each
// side and in each phase.
func framesThatEnd() []Case {
	up := asked(1, "POST", "/", "content-length", "10")
	begun := head(1, ":status", "200", "content-length", "50")
	sending := func(t *talk) {
		t.asks(up, data(1, "half"))
		t.getsFrames(up, data(1, "half"))
	}
	waiting := func(t *talk) {
		t.asks(getOn(1))
		t.getsFrames(getOn(1))
	}
	informed := func(t *talk) {
		waiting(t)
		t.answers(head(1, ":status", "103"))
		t.seesFrames(head(1, ":status", "103"))
	}
	receiving := func(t *talk) {
		waiting(t)
		t.answers(begun, data(1, "hello"))
		t.seesFrames(begun, data(1, "hello"))
	}
	phases := []struct {
		name  string
		until func(*talk)
		log   entry // but for how it failed
		phase string
	}{
		{"in an upload", sending, entry{method: "POST", url: "{o}/", sent: "half"}, "send"},
		{"waiting for the answer", waiting, entry{method: "GET", url: "{o}/"}, "wait"},
		{"behind a 103", informed, entry{method: "GET", url: "{o}/"}, "wait"},
		{"in the answer", receiving, entry{method: "GET", url: "{o}/", status: 200, received: "hello", broken: true}, "receive"},
	}
	var cases []Case
	for _, p := range phases {
		for how, leave := range map[string]func(*talk){"closes": (*talk).hangsUp, "resets": (*talk).hangsUpHard, "half-closes": (*talk).finishesSending} {
			e := p.log
			e.failed = p.phase + " client_gone"
			cases = append(cases, Case{Group: "HTTP/2, browser " + how, Name: p.name, talk: func(t *talk) {
				p.until(t)
				leave(t)
				t.abandoned()
				t.browserLeft()
			}, log: []entry{e}})
		}
		for _, code := range []http2.ErrCode{http2.ErrCodeCancel, http2.ErrCodeInternal, http2.ErrCodeNo, 0xbeef} {
			e := p.log
			e.failed, e.reason = p.phase+" client_gone", code.String()+": the browser reset the stream"
			cases = append(cases, Case{Group: "HTTP/2, browser gives up by " + code.String(), Name: p.name, talk: func(t *talk) {
				p.until(t)
				t.asks(rst(1, code))
				t.getsFrames(rst(1, code))
				t.exchanges(3, 3)
			}, log: []entry{e, got()}})
			e = p.log
			e.failed, e.reason = p.phase+" reset", code.String()+": the server reset the stream"
			cases = append(cases, Case{Group: "HTTP/2, server gives up by " + code.String(), Name: p.name, talk: func(t *talk) {
				p.until(t)
				t.answers(rst(1, code))
				t.seesFrames(rst(1, code))
				t.exchanges(3, 3)
			}, log: []entry{e, got()}})
		}
		for how, leave := range map[string]func(*talk){"closes": (*talk).finishes, "resets": (*talk).resets} {
			e := p.log
			e.failed = p.phase + " reset"
			if p.phase == "send" {
				e.sent = "halfothers"
			}
			cases = append(cases, Case{Group: "HTTP/2, server " + how, Name: p.name, talk: func(t *talk) {
				p.until(t)
				leave(t)
				if p.phase == "receive" {
					t.seesFrames(rst(1, http2.ErrCodeInternal))
				} else {
					t.pageFrames(502, "failed")
				}
				if p.phase == "send" { // what still comes is for the log
					t.asks(last(data(1, "others")))
				}
				t.s = nil
				t.exchanges(3, 1)
			}, log: []entry{e, got()}})
		}
	}
	return inFrames(append(cases, frameGoAways()...))
}

// frameGoAways are connections that are said to end.
func frameGoAways() []Case {
	return []Case{
		{Group: "HTTP/2, GOAWAY", Name: "of a browser that lets its request end", talk: func(t *talk) {
			t.asks(getOn(1), goAway(0, http2.ErrCodeNo))
			t.getsFrames(getOn(1))
			t.answers(fine(1)...)
			t.seesFrames(fine(1)...)
			t.browserGoes()
			t.hangsUp()
			t.abandoned()
		}, log: []entry{got()}},
		{Group: "HTTP/2, GOAWAY", Name: "of a server that answers what it has", talk: func(t *talk) {
			t.asks(getOn(1))
			t.getsFrames(getOn(1))
			t.answers(goAway(1, http2.ErrCodeNo))
			t.answers(fine(1)...)
			t.seesFrames(fine(1)...)
			t.serverGoes()
			t.s = nil
			t.exchanges(3, 1)
		}, log: []entry{got(), got()}},
		{Group: "HTTP/2, GOAWAY", Name: "of a server that has not looked at a GET", talk: func(t *talk) {
			t.asks(getOn(1))
			t.getsFrames(getOn(1))
			t.answers(goAway(0, http2.ErrCodeNo))
			t.s = nil
			t.getsFrames(getOn(1))
			t.answers(fine(1)...)
			t.seesFrames(fine(1)...)
		}, log: []entry{got()}},
		{Group: "HTTP/2, GOAWAY", Name: "of a server that has not looked at an upload", talk: func(t *talk) {
			t.asks(asked(1, "POST", "/"), last(data(1, "body")))
			t.getsFrames(asked(1, "POST", "/"), last(data(1, "body")))
			t.answers(goAway(0, http2.ErrCodeEnhanceYourCalm))
			t.seesFrames(rst(1, http2.ErrCodeRefusedStream)) // it may send it again
			t.s = nil
			t.exchanges(3, 1)
		}, log: []entry{{method: "POST", url: "{o}/", sent: "body", failed: "wait reset", reason: "ENHANCE_YOUR_CALM: "}, got()}},
		{Group: "HTTP/2, GOAWAY", Name: "of a server that breaks off", talk: func(t *talk) {
			t.asks(getOn(1))
			t.getsFrames(getOn(1))
			t.answers(goAway(1, http2.ErrCodeInternal))
			t.finishes()
			t.pageFrames(502, "failed")
			t.s = nil
			t.exchanges(3, 1)
		}, log: []entry{{method: "GET", url: "{o}/", failed: "wait reset", reason: "INTERNAL_ERROR: "}, got()}},
		{Group: "HTTP/2, GOAWAY", Name: "of a server that refuses a GET's stream", talk: func(t *talk) {
			t.asks(getOn(1))
			t.getsFrames(getOn(1))
			t.answers(rst(1, http2.ErrCodeRefusedStream))
			t.getsFrames(getOn(3)) // the connection takes others (RFC 9113 §8.7)
			t.answers(fine(3)...)
			t.seesFrames(fine(1)...)
		}, log: []entry{got()}},
	}
}

// silentFrames is a browser that has said nothing yet and acknowledges nothing, and
// its server.
func (t *talk) silentFrames() {
	if t.sessionFrames(); t.err == nil {
		t.b.h2().deaf = true
	}
	t.servesFrames()
}

// frameLimits are silences in HTTP/2 that must end.
func frameLimits() []Case {
	// Long enough for what comes before the silence, on a machine that is busy.
	const soon = time.Second
	up := asked(1, "POST", "/", "content-length", "10")
	begun := head(1, ":status", "200", "content-length", "50")
	cases := []Case{
		{Name: "no preface", Limits: Limits{ClientHead: soon}, talk: func(t *talk) {
			t.silentFrames()
			t.browserGoes()
			t.hangsUp()
			t.abandoned()
		}},
		{Name: "in the preface", Limits: Limits{ClientHead: soon}, talk: func(t *talk) {
			t.silentFrames()
			t.send(http2.ClientPreface[:10])
			t.browserGoes()
			t.hangsUp()
			t.abandoned()
		}},
		{Name: "no SETTINGS", Limits: Limits{ClientHead: soon}, talk: func(t *talk) {
			t.silentFrames()
			t.send(http2.ClientPreface)
			t.browserGoes()
			t.hangsUp()
			t.abandoned()
		}},
		{Name: "SETTINGS that are not acknowledged", Limits: Limits{ClientHead: soon}, talk: func(t *talk) {
			if t.silentFrames(); t.err != nil {
				return
			}
			t.b.greet()
			t.asks(getOn(1))
			t.getsFrames(getOn(1))
			t.goneWith(http2.ErrCodeSettingsTimeout)
			t.hangsUp()
			t.abandoned()
		}, log: []entry{{method: "GET", url: "{o}/", failed: "wait timeout", reason: "SETTINGS_TIMEOUT: "}}},
		{Name: "in a header block", Limits: Limits{ClientHead: soon}, talk: func(t *talk) {
			t.exchanges(1, 1) // by which the SETTINGS are acknowledged
			t.asks(getOn(3))
			t.getsFrames(getOn(3))
			t.loggedTimes(`"event":"open"`, 2)
			t.asks(part(asked(5, "GET", "/r")))
			t.goneWith(http2.ErrCodeEnhanceYourCalm)
			t.hangsUp()
			t.abandoned()
		}, log: []entry{
			got(),
			{method: "GET", url: "{o}/", failed: "wait timeout", reason: "ENHANCE_YOUR_CALM: "},
			{method: "GET", url: "{o}/r", refused: "timeout 0", reason: "ENHANCE_YOUR_CALM: "},
		}},
		{Name: "between requests", Limits: Limits{Idle: soon}, talk: func(t *talk) {
			t.exchanges(1, 1)
			t.browserGoes()
			t.hangsUp()
			t.abandoned()
		}, log: []entry{got()}},
		{Name: "before any request", Limits: Limits{Idle: soon}, talk: func(t *talk) {
			t.freshFrames()
			t.browserGoes()
			t.hangsUp()
			t.abandoned()
		}},
		{Name: "in an upload", Limits: Limits{Idle: soon}, talk: func(t *talk) {
			t.asks(up, data(1, "half"))
			t.getsFrames(up, data(1, "half"))
			t.pageFrames(504, "failed")
			t.seesFrames(rst(1, http2.ErrCodeNo))
			t.getsFrames(rst(1, http2.ErrCodeCancel))
		}, log: []entry{{method: "POST", url: "{o}/", sent: "half", failed: "send timeout"}}},
		{Name: "no SETTINGS of the server's", Limits: Limits{TLS: soon}, talk: func(t *talk) {
			t.sessionFrames()
			if t.serves(); t.err != nil {
				return
			}
			t.s.h2().deaf = true
			t.check(t.s.prefaced())
			t.b.greet()
			t.asks(getOn(1))
			t.getsFrames(getOn(1))
			t.pageFrames(504, "failed")
			t.getsFrames(goAway(0, http2.ErrCodeProtocol))
			t.finishes()
			t.serverGoes()
			t.s = nil
			t.exchanges(3, 1)
		}, log: []entry{{method: "GET", url: "{o}/", failed: "wait timeout", reason: "PROTOCOL_ERROR: no SETTINGS have come"}, got()}},
		{Name: "no answer", Limits: Limits{Answer: soon}, talk: func(t *talk) {
			t.asks(getOn(1))
			t.getsFrames(getOn(1))
			t.pageFrames(504, "failed")
			t.getsFrames(rst(1, http2.ErrCodeCancel))
			t.exchanges(3, 3)
		}, log: []entry{{method: "GET", url: "{o}/", failed: "wait timeout"}, got()}},
		{Name: "no answer behind a 103", Limits: Limits{Answer: soon}, talk: func(t *talk) {
			t.asks(getOn(1))
			t.getsFrames(getOn(1))
			t.answers(head(1, ":status", "103"))
			t.seesFrames(head(1, ":status", "103"))
			t.pageFrames(504, "failed")
			t.getsFrames(rst(1, http2.ErrCodeCancel))
			t.exchanges(3, 3)
		}, log: []entry{{method: "GET", url: "{o}/", failed: "wait timeout"}, got()}},
		{Name: "in the answer's header block", Limits: Limits{TLS: soon}, talk: func(t *talk) {
			t.asks(getOn(1))
			t.getsFrames(getOn(1))
			t.answers(part(begun))
			t.pageFrames(504, "failed")
			t.getsFrames(goAway(0, http2.ErrCodeEnhanceYourCalm))
			t.finishes()
			t.serverGoes()
		}, log: []entry{{method: "GET", url: "{o}/", failed: "wait timeout", reason: "ENHANCE_YOUR_CALM: "}}},
		{Name: "in the answer", Limits: Limits{TunnelIdle: soon}, talk: func(t *talk) {
			t.asks(getOn(1))
			t.getsFrames(getOn(1))
			t.answers(begun, data(1, "hello"))
			t.seesFrames(begun, data(1, "hello"), rst(1, http2.ErrCodeInternal))
			t.getsFrames(rst(1, http2.ErrCodeCancel))
			t.exchanges(3, 3)
		}, log: []entry{{method: "GET", url: "{o}/", status: 200, received: "hello", broken: true, failed: "receive timeout"}, got()}},
		{Name: "of a browser that takes no more of its answer", Limits: Limits{TunnelIdle: soon}, talk: func(t *talk) {
			t.sessionFrames()
			t.servesFrames()
			if t.err != nil {
				return
			}
			t.b.greet(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 2})
			t.asks(getOn(1))
			t.getsFrames(getOn(1))
			t.answers(begun, data(1, "hello"))
			t.seesFrames(begun, data(1, "he"))
			t.seesFrames(rst(1, http2.ErrCodeInternal))
			t.getsFrames(rst(1, http2.ErrCodeCancel))
		}, log: []entry{{method: "GET", url: "{o}/", status: 200, received: "hello", broken: true, failed: "receive client_gone"}}},
	}
	for i := range cases {
		cases[i].Group = "HTTP/2, time limits"
	}
	return inFrames(cases)
}
