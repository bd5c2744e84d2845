package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentenv/netlog/har"
	"github.com/agentenv/netlog/netlog"
)

type checkFlags struct {
	readers []string
	limit   int
	json    bool
}

func newCheck() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check LOG|HAR...",
		Short: "Say whether logs and HARs are valid",
		Long: `Say whether logs (files or their folders) and HARs, ours or another program's, are
valid: one line a fault, with its place, the rule and what is wrong. The status is 1
where there is a fault. A file of any size takes little memory; a HAR may be packed
with gzip, and a log may be growing.

Of a log: each line against the schema, in its fixed form; the numbers without a gap;
one end for each open line; timings that fill the time; sizes and digests of bodies.

Of a HAR, by the names in the lines:
  json             what JSON.parse and other strict parsers refuse
  har-validator    the schema of HAR 1.2, as har-validator 5.1.5 has it
  har              sums of times and sizes, order, base64
  agentenv-netlog  what our own HARs have besides: pure ASCII, no null, digests
and what each of these readers refuses, or loses an entry for:
  ` + wrap(har.Readers(), 84, "  ") + `

A warning is no fault: what a reader shows wrong, or a log has when its process was
killed or is going on.

--json prints one object a line, of which only the first three fields are always there:
  file, rule, text     where, by which rule, and what is wrong
  warning              true: it is no fault
  entry, id            of a HAR: the entry's place, from 1, and its _id
  line, id             of a log: the line's number, and its entry's
  offset               of a HAR: the byte; of a log: the byte at which the line begins
  field                the path of the field, in the entry or the line`,
		Example: `  agentenv-netlog check network.jsonl network.har
  agentenv-netlog check runs/*/network.har --for webarena
  agentenv-netlog check trace.har --for devtools --for playwright
  agentenv-netlog check network.har --json | jq -r 'select(.warning | not) | .rule' | sort | uniq -c`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("check wants a log or a HAR")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("limit") && f.json {
				f.limit = 0
			}
			return runCheck(c.Context(), args, f, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.StringSliceVar(&f.readers, "for", nil, "only what this `READER` wants, besides what holds for all (repeatable)")
	flags.IntVar(&f.limit, "limit", 3, "print `N` lines of each kind, and how many more there are; 0 prints all, as --json does")
	flags.BoolVar(&f.json, "json", false, "print one JSON object a line")
	return c
}

// wrap puts words into lines.
func wrap(words []string, width int, indent string) string {
	var b strings.Builder
	column := 0
	for i, word := range words {
		switch {
		case i == 0:
		case column+len(word)+2 > width:
			b.WriteString(",\n" + indent)
			column = 0
		default:
			b.WriteString(", ")
			column += 2
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

func runCheck(ctx context.Context, paths []string, f checkFlags, stdout, stderr io.Writer) error {
	for _, reader := range f.readers {
		if !slices.Contains(har.Readers(), reader) {
			return misused(fmt.Errorf("--for %q: there is no such reader", reader), "write one of "+strings.Join(har.Readers(), ", "))
		}
	}
	if f.limit < 0 {
		return misused(fmt.Errorf("--limit %d is no number of lines", f.limit), "write how many lines of each kind to print; 0 is all")
	}
	if slices.Contains(paths, "-") {
		return misused(errors.New("a log or a HAR can't be read from standard input"), "save it to a file first")
	}
	ctx, stop := untilInterrupted(ctx)
	defer stop()
	out := bufio.NewWriter(stdout)
	wrong := false
	for _, path := range paths {
		t := &findings{path: path, limit: f.limit, json: f.json, out: out, kinds: make(map[kind]int)}
		summary, err := checkPath(ctx, path, f.readers, t, stderr)
		t.rest()
		if e := out.Flush(); e != nil {
			return e
		}
		switch {
		case errors.Is(err, context.Canceled):
			return interrupted("run it again for the rest")
		case err != nil:
			report(stderr, program+" check", err)
		default:
			fmt.Fprintf(stderr, "%s: %s: %s\n", program, printable(path), summary)
		}
		wrong = wrong || err != nil || t.faults > 0
	}
	if wrong {
		return exitCode(exitFailed)
	}
	return nil
}

// checkPath tells a log from a HAR by what it holds, and checks it.
func checkPath(ctx context.Context, path string, readers []string, t *findings, stderr io.Writer) (summary string, err error) {
	p := newProgress(ctx, stderr)
	defer p.clear()
	log, err := netlog.OpenLog(path)
	if err == nil {
		defer log.Close()
		if hasLines(log) && !isEmptyHAR(path) {
			return checkLog(log, path, p, t)
		}
		err = netlog.ErrNotLog
	}
	if !errors.Is(err, netlog.ErrNotLog) {
		return "", unreadableArchive(err)
	}
	return checkHAR(path, readers, p, t)
}

// isEmptyHAR says that a file without a byte, which would be a log, is named as
// a HAR.
func isEmptyHAR(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() == 0 && strings.EqualFold(filepath.Ext(path), ".har")
}

func checkLog(log *netlog.Log, path string, p *progress, t *findings) (string, error) {
	dir := filepath.Dir(liveFile(path))
	stats, err := netlog.Check(log, netlog.CheckOptions{Progress: p.tellBytes, Fault: func(f netlog.Fault) error {
		return t.tell(finding{
			File: filepath.Join(dir, f.File), Rule: f.Rule, Text: f.Text, Warning: f.Warning,
			Line: f.N, ID: idText(f.ID), Offset: f.Offset, Field: f.Field,
		})
	}})
	if err != nil {
		return "", err
	}
	return t.summary(count(stats.Lines, "line") + ", " + entries(stats.Entries)), nil
}

func entries(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

func idText(id int64) string {
	if id == 0 {
		return ""
	}
	return fmt.Sprint(id)
}

func checkHAR(path string, readers []string, p *progress, t *findings) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", unreadableArchive(err)
	}
	defer f.Close()
	if err := looksLikeHAR(f); err != nil {
		return "", err
	}
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	stats, err := har.Check(f, har.CheckOptions{
		Readers:  readers,
		Progress: func(done int64) error { return p.tellBytes(done, info.Size()) },
		Fault: func(f har.Fault) error {
			return t.tell(finding{
				File: path, Rule: f.Rule, Text: f.Text, Warning: f.Warning,
				Entry: f.Entry, ID: f.ID, Offset: f.Offset, Field: f.Field,
			})
		},
	})
	p.clear()
	if err != nil {
		return "", err
	}
	summary := t.summary(entries(stats.Entries))
	if stats.Ours {
		summary += t.remedy()
	}
	return summary, nil
}

// looksLikeHAR refuses what is plainly something else: a HAR is JSON, with a
// byte order mark before it or in UTF-16 perhaps, or it is packed.
func looksLikeHAR(f *os.File) error {
	begin := make([]byte, 512)
	n, err := f.ReadAt(begin, 0)
	if err != nil && err != io.EOF {
		return unreadableArchive(err)
	}
	begin = bytes.TrimLeft(bytes.TrimPrefix(begin[:n], []byte("\ufeff")), " \t\r\n")
	switch {
	case len(begin) == 0, begin[0] == '{', begin[0] == '[', bytes.HasPrefix(begin, []byte("\x1f\x8b")), bytes.HasPrefix(begin, []byte("\xff\xfe")), bytes.HasPrefix(begin, []byte("\xfe\xff")):
		return nil
	case bytes.HasPrefix(begin, []byte("PK\x03\x04")):
		return failed(fmt.Errorf("check %q: it is a zip file", f.Name()), "unpack it, and check the HAR in it")
	}
	return unreadableArchive(fmt.Errorf("check %q: neither a network log nor a HAR", f.Name()))
}
