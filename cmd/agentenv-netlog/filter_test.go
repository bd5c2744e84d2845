package main

import (
	"fmt"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/agentenv/netlog/har"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func TestFilterFlags(t *testing.T) {
	f, err := (&filterFlags{
		id: []string{"7", "9-12", "20-"}, status: []string{"200", "4XX", "500-503", "-1"},
		since: "10m", until: "2026-03-04T14:00:00+02:00",
	}).filter(noon)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(f.IDs), fmt.Sprint([]har.Range{{First: 7, Last: 7}, {First: 9, Last: 12}, {First: 20, Last: math.MaxInt64}}); got != want {
		t.Errorf("numbers %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(f.Statuses), fmt.Sprint([]har.Range{{First: 200, Last: 200}, {First: 400, Last: 499}, {First: 500, Last: 503}, {First: -1, Last: -1}}); got != want {
		t.Errorf("statuses %s, want %s", got, want)
	}
	if !f.Since.Equal(noon.Add(-10*time.Minute)) || !f.Until.Equal(noon) || f.Host != nil {
		t.Errorf("since %v until %v", f.Since, f.Until)
	}
	if (&filterFlags{}).given() || !(&filterFlags{until: "1s"}).given() || !(&filterFlags{noTunnels: true}).given() {
		t.Error("given is wrong")
	}
}

func TestFilterHosts(t *testing.T) {
	for _, c := range []struct {
		host, notHost []string
		name          string
		port          uint16
		want          bool
	}{
		{[]string{"a.example"}, nil, "a.example", 443, true},
		{[]string{"a.example"}, nil, "b.example", 443, false},
		{[]string{"b.example", "*.a.example"}, nil, "x.y.a.example", 443, true},
		{[]string{"*.a.example"}, nil, "a.example", 443, false},
		{[]string{"a.example:8443"}, nil, "a.example", 443, false},
		{nil, []string{"a.example"}, "a.example", 443, false},
		{nil, []string{"a.example"}, "b.example", 443, true},
		{[]string{"*.example"}, []string{"b.example"}, "b.example", 443, false},
		{[]string{"[::1]:80"}, nil, "::1", 80, true},
		{[]string{"bücher.example"}, nil, "bücher.example", 80, true},
		{[]string{"bücher.example"}, nil, "xn--bcher-kva.example", 80, true},
	} {
		f, err := (&filterFlags{host: c.host, notHost: c.notHost}).filter(noon)
		if err != nil {
			t.Fatal(err)
		}
		e := &har.Entry{Request: har.Request{URL: "https://" + net.JoinHostPort(c.name, fmt.Sprint(c.port)) + "/"}}
		if got := f.Keeps(e); got != c.want {
			t.Errorf("--host %q --not-host %q: %s:%d is kept: %v, want %v", c.host, c.notHost, c.name, c.port, got, c.want)
		}
	}
}

func TestFilterFlagsRefuse(t *testing.T) {
	for flag, values := range map[string][]string{
		"id":       {"", "0", "-1", "-", "a", "1-0", "3-2", "1-2-3", "+1", "1.5", " 1", "99999999999999999999", "0x10"},
		"status":   {"", "0", "99", "1000", "-2", "xx", "0xx", "10xx", "4x", "200-", "299-200", "-100", "2xx-3xx", "200 ", "+200"},
		"since":    {"yesterday", "10", "-10m", "2026-03-04", "12:00", "2026-03-04 12:00:00Z", "10m ago"},
		"until":    {"1d"},
		"host":     {"", "*", "https://a.example", "a.example:0"},
		"not-host": {"a b"},
	} {
		for _, v := range values {
			var f filterFlags
			switch flag {
			case "id":
				f.id = []string{v}
			case "status":
				f.status = []string{v}
			case "since":
				f.since = v
			case "until":
				f.until = v
			case "host":
				f.host = []string{v}
			case "not-host":
				f.notHost = []string{v}
			}
			_, err := f.filter(noon)
			if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("--%s %q: ", flag, v)) {
				t.Errorf("--%s %q: %v", flag, v, err)
			}
		}
	}
	for _, f := range []filterFlags{{since: "1m", until: "2m"}, {since: "1m", until: "1m"}} {
		if _, err := f.filter(noon); err == nil {
			t.Errorf("%+v was taken", f)
		}
	}
}

// What is taken means a range that can hold something, in its own spelling.
func FuzzFilterNumbers(f *testing.F) {
	for _, s := range []string{"7", "7-9", "7-", "200", "4xx", "200-299", "-1", "0", "-", "9223372036854775807"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if r, err := parseIDs(s); err == nil {
			again := fmt.Sprintf("%d-%d", r.First, r.Last)
			if r2, err := parseIDs(again); err != nil || r2 != r || r.First < 1 || r.Last < r.First {
				t.Errorf("%q is %+v, %q is %+v, %v", s, r, again, r2, err)
			}
		}
		if r, err := parseStatus(s); err == nil && r.First != -1 {
			again := fmt.Sprintf("%d-%d", r.First, r.Last)
			if r2, err := parseStatus(again); err != nil || r2 != r || r.First < 100 || r.Last < r.First || r.Last > 999 {
				t.Errorf("%q is %+v, %q is %+v, %v", s, r, again, r2, err)
			}
		}
	})
}

// A time is not after now, unless it was written as one.
func FuzzFilterTime(f *testing.F) {
	for _, s := range []string{"10m", "1h30m", "2026-03-04T14:00:00+02:00", "-1s", "0", "1e9h", "2262-04-11T23:47:16Z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at, err := parseTime(s, noon)
		if _, absolute := time.Parse(time.RFC3339, s); err == nil && absolute != nil && at.After(noon) {
			t.Errorf("%q is %v", s, at)
		}
	})
}
