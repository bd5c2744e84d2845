package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/net/idna"

	"github.com/agentenv/netlog/har"
	"github.com/agentenv/netlog/proxy"
)

// filterFlags say which entries of a log or a HAR are meant.
type filterFlags struct {
	host, notHost, id, status []string
	since, until              string
	noTunnels                 bool
}

func (f *filterFlags) add(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.host, "host", nil, "only this `HOST`: NAME, *.NAME (any depth below it), an address or a range, each with :PORT if one is meant (repeatable)")
	flags.StringSliceVar(&f.notHost, "not-host", nil, "all but this `HOST`, which wins over --host (repeatable)")
	flags.StringVar(&f.since, "since", "", "only what began at this `TIME` or later: RFC 3339, or a duration before now (10m)")
	flags.StringVar(&f.until, "until", "", "only what began before this `TIME`, written likewise")
	flags.StringSliceVar(&f.id, "id", nil, "only these `NUMBERS` of entries: 7, 7-9 or 7- (repeatable)")
	flags.StringSliceVar(&f.status, "status", nil, "only these `STATUSES`: 200, 4xx, 200-299, or -1 for no answer (repeatable)")
	flags.BoolVar(&f.noTunnels, "no-tunnels", false, "leave out the tunnels (CONNECT), whose inside is not decrypted")
}

// filterHelp is the part of a command's help that the flags' own lines have no
// room for.
const filterHelp = `Entries are picked by host, time, number and status; each entry given passes all of
these. Hosts and ports are those of the URL; a tunnel is found by the name that its
TLS asked for too. Times are when the request reached the
proxy. An entry's number is that of its open line in the log, _id in a HAR.`

// filter is what the flags mean at a time.
func (f *filterFlags) filter(now time.Time) (har.Filter, error) {
	out := har.Filter{NoTunnels: f.noTunnels}
	host, err := parseHostFlag("--host", f.host)
	if err != nil {
		return out, err
	}
	notHost, err := parseHostFlag("--not-host", f.notHost)
	if err != nil {
		return out, err
	}
	out.Host, out.NotHost = anyOf(host), anyOf(notHost)
	if out.Since, err = parseTimeFlag("--since", f.since, now); err != nil {
		return out, err
	}
	if out.Until, err = parseTimeFlag("--until", f.until, now); err != nil {
		return out, err
	}
	if !out.Since.IsZero() && !out.Until.IsZero() && !out.Since.Before(out.Until) {
		return out, misused(fmt.Errorf("--since %s is not before --until %s", f.since, f.until), "swap them")
	}
	if err := errors.Join(notEmpty("--id", f.id), notEmpty("--status", f.status)); err != nil {
		return out, err
	}
	for _, s := range f.id {
		r, err := parseIDs(s)
		if err != nil {
			return out, misused(fmt.Errorf("--id %q: %w", s, err), "write numbers as show has them: 7, 7-9, 7- (that one and all after it), or a list of these: 7,9")
		}
		out.IDs = append(out.IDs, r)
	}
	for _, s := range f.status {
		r, err := parseStatus(s)
		if err != nil {
			return out, misused(fmt.Errorf("--status %q: %w", s, err), "write a code, a class or a range: 200, 4xx, 200-299; -1 stands for no answer")
		}
		out.Statuses = append(out.Statuses, r)
	}
	return out, nil
}

// given says whether any flag is.
func (f *filterFlags) given() bool {
	return len(f.host)+len(f.notHost)+len(f.id)+len(f.status)+len(f.since)+len(f.until) > 0 || f.noTunnels
}

// anyOf tells what one of the rules means; nil when there are none.
func anyOf(rules []proxy.HostRule) func(string, uint16) bool {
	if len(rules) == 0 {
		return nil
	}
	return func(name string, port uint16) bool {
		t := proxy.Target{Host: asciiName(name), Port: port}
		return slices.ContainsFunc(rules, func(r proxy.HostRule) bool { return r.Matches(t) })
	}
}

// asciiName is a name as host rules have it: another program's HAR may spell
// one in Unicode.
func asciiName(name string) string {
	for i := range len(name) {
		if name[i] >= 0x80 {
			if ascii, err := idna.Lookup.ToASCII(name); err == nil {
				return ascii
			}
			break
		}
	}
	return name
}

func parseTimeFlag(flag, s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := parseTime(s, now)
	if err != nil {
		return t, misused(fmt.Errorf("%s %q: %w", flag, s, err),
			"write a time (2026-01-31T09:30:00Z, 2026-01-31T09:30:00+02:00) or how long ago it was (90s, 10m, 1h30m)")
	}
	return t, nil
}

func parseTime(s string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return time.Time{}, errors.New("it is neither a time nor a duration")
	} else if d < 0 {
		return time.Time{}, errors.New("it lies in the future")
	}
	return now.Add(-d), nil
}

func parseIDs(s string) (har.Range, error) {
	from, to, ranged := strings.Cut(s, "-")
	first, err := parseNumber(from, math.MaxInt64)
	if err != nil || first == 0 {
		return har.Range{}, errors.New("it is no number of an entry")
	}
	last := first
	if ranged && to == "" {
		last = math.MaxInt64
	} else if ranged {
		if last, err = parseNumber(to, math.MaxInt64); err != nil || last < first {
			return har.Range{}, errors.New("it is no range of numbers")
		}
	}
	return har.Range{First: first, Last: last}, nil
}

func parseStatus(s string) (har.Range, error) {
	if s == "-1" {
		return har.Range{First: -1, Last: -1}, nil
	}
	if class, ok := strings.CutSuffix(strings.ToLower(s), "xx"); ok {
		n, err := parseNumber(class, 9)
		if err != nil || n == 0 {
			return har.Range{}, errors.New("it is no class of statuses")
		}
		return har.Range{First: n * 100, Last: n*100 + 99}, nil
	}
	from, to, ranged := strings.Cut(s, "-")
	first, err := parseNumber(from, 999)
	if err != nil || first < 100 {
		return har.Range{}, errors.New("it is no status")
	}
	last := first
	if ranged {
		if last, err = parseNumber(to, 999); err != nil || last < first {
			return har.Range{}, errors.New("it is no range of statuses")
		}
	}
	return har.Range{First: first, Last: last}, nil
}

// parseNumber reads digits and nothing else.
func parseNumber(s string, most int64) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil || int64(n) > most {
		return 0, fmt.Errorf("%q is no number up to %d", s, most)
	}
	return int64(n), nil
}
