package main

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentenv/netlog/e2e/battery"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Each proxy can be started and passes what is easy, on the legs that it has.
func TestEveryProxyPassesAPlainRequest(t *testing.T) {
	proxies := []battery.Proxy{battery.Ours(), goproxies{}, martians{}}
	rows := run(proxies, chosen(regexp.MustCompile("^requests/length$")), 20*time.Second)
	if len(rows) != 3 {
		t.Fatalf("%d rows, want one for each leg", len(rows))
	}
	for _, r := range rows {
		for j, o := range r.outcomes {
			if o.err != nil {
				t.Errorf("%s, %v: %v", proxies[j].Name(), r.leg, o.err)
			}
		}
	}
}

func TestTable(t *testing.T) {
	c := battery.Case{Group: "g", Name: "c"}
	rows := table{
		{Case: c, leg: battery.Plain, outcomes: []outcome{{same: true}, {}}},
		{Case: c, leg: battery.TLS, outcomes: []outcome{{same: true}, {err: errors.New("it was silent")}}},
	}
	var b strings.Builder
	rows.print(&b, []battery.Proxy{battery.Ours(), goproxies{}}, false, true)
	want := `group (passed of all; of these with the same bytes)  agentenv-netlog  goproxy
g                                                    2 of 2; 2        1 of 2; 0
all                                                  2 of 2; 2        1 of 2; 0

case         agentenv-netlog  goproxy
g: "c", tls  pass             FAIL
    goproxy: it was silent
`
	if b.String() != want {
		t.Errorf("got\n%s", &b)
	}
}
