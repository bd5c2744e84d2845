// Command versus runs the wire battery against our proxy, goproxy and martian
// side by side, and prints who passes what.
//
//	go run ./e2e/battery/versus          # a line for each group, and for each case that somebody fails
//	go run ./e2e/battery/versus -why     # and what was wrong
//	go run ./e2e/battery/versus -only 'smuggling'
//
// The others are taken bare: interception, no modifier of any kind. They write
// each message anew, so bytes of the same meaning will do for them (marked ~), and any
// error or closed connection for a refusal. What is right only by our design is
// not asked. Everything stays on loopback; it takes some minutes, as who fails
// mostly does so by silence.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/agentenv/netlog/e2e/battery"
)

func main() {
	why := flag.Bool("why", false, "say what was wrong")
	all := flag.Bool("all", false, "print every case")
	only := flag.String("only", "", "a regular expression of the cases, as group/name")
	patience := flag.Duration("patience", 2*time.Second, "how long anything may take; twice as long when it is tried again")
	flag.Parse()
	match, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintf(os.Stderr, "versus: error: the expression %q: %v\n", *only, err)
		os.Exit(2)
	}
	proxies := []battery.Proxy{battery.Ours(), goproxies{}, martians{}} // ours first: run is strict with it
	t := run(proxies, chosen(match), *patience)
	t.print(os.Stdout, proxies, *all, *why)
}

// chosen are the cases that are asked of everybody.
func chosen(match *regexp.Regexp) []battery.Case {
	var cases []battery.Case
	for _, c := range battery.Cases() {
		if !c.Ours && !c.System && match.MatchString(c.Group+"/"+c.Name) {
			cases = append(cases, c)
		}
	}
	return cases
}

// An outcome is how one proxy did in one case, on one leg.
type outcome struct {
	same bool
	err  error
}

// A row is a case on one leg.
type row struct {
	battery.Case
	leg      battery.Leg
	outcomes []outcome // in the order of the proxies
}

type table []row

// run holds every case through every proxy. What fails is held once more, with
// more patience: only what fails again has failed, and not a machine that is busy.
func run(proxies []battery.Proxy, cases []battery.Case, patience time.Duration) table {
	var t table
	for _, c := range cases {
		for _, leg := range c.Legs.Each() {
			t = append(t, row{Case: c, leg: leg, outcomes: make([]outcome, len(proxies))})
		}
	}
	t.pass(proxies, patience, func(outcome) bool { return true })
	t.pass(proxies, 2*patience, func(o outcome) bool { return o.err != nil })
	return t
}

// pass fills in the outcomes that are due.
func (t table) pass(proxies []battery.Proxy, patience time.Duration, due func(outcome) bool) {
	free := make(chan bool, atOnce)
	var running sync.WaitGroup
	for i := range t {
		for j, p := range proxies {
			o := &t[i].outcomes[j]
			if !due(*o) {
				continue
			}
			free <- true
			running.Go(func() {
				defer func() { <-free }()
				o.same, o.err = t[i].Run(p, t[i].leg, battery.Options{Patience: patience, Lenient: j > 0})
			})
		}
	}
	running.Wait()
}

// atOnce is how many conversations are held at once: most wait most of the time.
const atOnce = 24

// print writes the groups' sums and then the cases.
func (t table) print(w io.Writer, proxies []battery.Proxy, all, why bool) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	heading := ""
	for _, p := range proxies {
		heading += "\t" + p.Name()
	}
	fmt.Fprintln(out, "group (passed of all; of these with the same bytes)"+heading)
	groups, sums := t.sums(len(proxies))
	for _, g := range groups {
		fmt.Fprint(out, g)
		for _, s := range sums[g] {
			fmt.Fprintf(out, "\t%d of %d; %d", s.passed, s.all, s.same)
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out)
	fmt.Fprintln(out, "case"+heading)
	for _, r := range t {
		if !all && r.passed() {
			continue
		}
		fmt.Fprintf(out, "%s: %.60q, %v", r.Group, r.Name, r.leg)
		for _, o := range r.outcomes {
			fmt.Fprintf(out, "\t%s", o.mark())
		}
		fmt.Fprintln(out)
		if !why {
			continue
		}
		for j, o := range r.outcomes {
			if o.err != nil {
				fmt.Fprintf(out, "    %s: %v\n", proxies[j].Name(), o.err)
			}
		}
	}
	out.Flush()
}

func (o outcome) mark() string {
	switch {
	case o.err != nil:
		return "FAIL"
	case o.same:
		return "pass"
	}
	return "pass ~"
}

func (r row) passed() bool {
	for _, o := range r.outcomes {
		if o.err != nil {
			return false
		}
	}
	return true
}

// A sum is how one proxy did in a group.
type sum struct{ all, passed, same int }

// sums adds up the groups, in their order, and all of them.
func (t table) sums(proxies int) (groups []string, sums map[string][]sum) {
	sums = map[string][]sum{}
	for _, r := range t {
		if sums[r.Group] == nil {
			groups = append(groups, r.Group)
		}
		for _, g := range []string{r.Group, everything} {
			if sums[g] == nil {
				sums[g] = make([]sum, proxies)
			}
			for j, o := range r.outcomes {
				s := &sums[g][j]
				s.all++
				if o.err == nil {
					s.passed++
					if o.same {
						s.same++
					}
				}
			}
		}
	}
	return append(groups, everything), sums
}

const everything = "all"
