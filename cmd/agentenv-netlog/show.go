package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentenv/netlog/capture/pcap"
	"github.com/agentenv/netlog/har"
)

type showFlags struct {
	filter  filterFlags
	follow  bool
	json    bool
	maxBody string
	color   string
}

func newShow() *cobra.Command {
	var f showFlags
	c := &cobra.Command{
		Use:   "show LOG|HAR|CAPTURE…",
		Short: "Show what a log, a HAR or captures hold",
		Long: `Show the entries of a log (a file or its folder), or of a HAR of any program, as a
table: number, method, status, type, size of the answer's body on the wire, time, when
in the whole that was, and URL. One number alone (--id 7) shows that entry in full:
both heads in their order, timings, TLS, the decoded bodies.

` + maxBodyHelp + `

` + filterHelp + `

--json prints one object a line, of which only the first four fields are always there:
  id                   the entry's number
  startedDateTime      when the request reached the proxy, RFC 3339
  method, url
  status               of the answer; left out when there is none
  resourceType, mimeType
  requestSize, responseSize
                       bytes of the bodies on the wire; of tunnels and WebSockets, what
                       was sent and received in them
  time                 milliseconds
  via, site, serverIPAddress
  open                 true: still going
  failed               phase, code and reason: it broke
  refused              code, reason and status: the proxy turned it down
  error                why there is no answer, or no whole one, in a sentence

Of captures (pcap, pcapng; the files of one ring, in any order) it shows the files, the
hosts and the flows with what they say in the clear: the name that TLS asks for, the
request lines of HTTP/1. With --json each line has a "kind":
  capture              packets, bytes, first, last, flows; noFlow, further: packets that
                       are of no flow shown; furtherRequests
  file                 path, packets, first, last, link; torn: its last packet is not
                       whole; overlap, error
  host                 address, names, packets, sent, received
  flow                 protocol, client, server, first, last, packets, sent, received (bytes
                       with all headers), tls, serverName, requests

In a terminal, lines are cut to its width; elsewhere nothing is cut but, of a HAR, what
is longer than 1 MiB. What could steer a terminal (escapes, control characters) is spelt
out: \x1b.`,
		Example: `  agentenv-netlog show network.jsonl
  agentenv-netlog show network.jsonl --follow --not-host '*.gvt1.com'
  agentenv-netlog show network.har --status 4xx --status 5xx --status -1
  agentenv-netlog show network.jsonl --id 7
  agentenv-netlog show trace.har --json | jq -r 'select(.time > 500) | .url'
  agentenv-netlog show /captures/site.pcap*`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("show wants a log, a HAR, or captures")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 1 || pcap.IsCapture(args[0]) {
				return showCaptures(args, f, c.OutOrStdout(), c.ErrOrStderr())
			}
			return runShow(c.Context(), args[0], f, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.BoolVar(&f.follow, "follow", false, "go on with what a proxy adds to the log, until Ctrl-C")
	flags.BoolVar(&f.json, "json", false, "print one JSON object a line")
	addMaxBody(flags, &f.maxBody)
	f.filter.add(flags)
	flags.StringVar(&f.color, "color", "auto", "`WHEN` to use colours: auto (in a terminal, without NO_COLOR), always, never")
	return c
}

func runShow(ctx context.Context, path string, f showFlags, stdout, stderr io.Writer) error {
	if path == "-" {
		return misused(errors.New("a log or a HAR can't be read from standard input: it is gone through twice"), "save it to a file first")
	}
	filter, err := f.filter.filter(time.Now())
	if err != nil {
		return err
	}
	most, err := parseMaxBody(f.maxBody)
	if err != nil {
		return err
	}
	s, err := newScreen(stdout, f.color)
	if err != nil {
		return err
	}
	whole := len(filter.IDs) == 1 && filter.IDs[0].First == filter.IDs[0].Last && !f.json
	if f.follow && whole {
		return misused(errors.New("--follow does not go with one --id, which is shown in full"), "leave one of them out, or write a range: --id 7-")
	}
	a, err := openArchive(path, most)
	if err != nil {
		return err
	}
	defer a.Close()
	out := bufio.NewWriter(stdout)
	if f.follow {
		if _, ok := a.(*logArchive); !ok {
			return misused(fmt.Errorf("%q is a HAR, which does not grow", path), "name a log with --follow, or leave it out")
		}
		return followTable(ctx, path, &filter, s, f.json, out, stderr)
	}
	n, err := showArchive(a, &filter, s, whole, f.json, out)
	if e := out.Flush(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	switch {
	case n > 0:
	case whole:
		return failed(fmt.Errorf("%q has no entry %d%s", path, filter.IDs[0].First, passing(&f.filter)), fmt.Sprintf("%s show lists the numbers that there are", program))
	case f.filter.given():
		warn(stderr, "no entry passes the filters")
	default:
		warn(stderr, "there is no entry")
	}
	return nil
}

// passing says that more than the number was asked for.
func passing(f *filterFlags) string {
	others := *f
	others.id = nil
	if others.given() {
		return " that passes the other filters"
	}
	return ""
}

// showArchive prints what the filter keeps and returns how many entries that is.
func showArchive(a archive, filter *har.Filter, s screen, whole, asJSON bool, out io.Writer) (n int64, err error) {
	show := func(e *har.Entry) error { return printEntry(out, s, e) }
	switch {
	case asJSON:
		show = func(e *har.Entry) error { return printJSON(out, e) }
	case !whole:
		t := newTable(s)
		// An error is told when it is met again, behind the entries before it.
		a.each(filter, false, func(e *har.Entry) error { t.measure(e); return nil })
		if err := t.head(out); err != nil {
			return 0, err
		}
		show = func(e *har.Entry) error { return t.row(out, e) }
	}
	err = a.each(filter, whole, func(e *har.Entry) error {
		n++
		return show(e)
	})
	return n, err
}

// followTable is showArchive for a log that grows: without bars, which would be
// parts of a whole that is not known.
func followTable(ctx context.Context, path string, filter *har.Filter, s screen, asJSON bool, out *bufio.Writer, stderr io.Writer) error {
	f := &follower{filter: filter, show: func(e *har.Entry) error { return printJSON(out, e) }}
	if !asJSON {
		t := newTable(s)
		t.widths = [showColumns]int{columnID: 5, columnMethod: 6, columnStatus: 12, columnType: 11, columnSize: 8, columnTime: 7}
		if err := t.head(out); err != nil {
			return err
		}
		f.show = func(e *har.Entry) error { return t.row(out, e) }
	}
	return followLog(ctx, path, f, out, stderr)
}
