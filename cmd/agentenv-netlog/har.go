package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentenv/netlog/har"
	"github.com/agentenv/netlog/netlog"
)

type harFlags struct {
	output  string
	reader  string
	gzip    bool
	maxBody string
	filter  filterFlags
}

func newHAR() *cobra.Command {
	var f harFlags
	c := &cobra.Command{
		Use:   "har LOG",
		Short: "Turn a log into a HAR",
		Long: `Turn a log, or the folder of one, into a HAR (1.2). A proxy may be writing the log
meanwhile: what it has not ended yet is in the HAR as far as it is known.

The HAR appears whole or not at all, and takes the place of an older one. It holds
cookies and passwords as the log does. A name that ends with .gz makes it compressed,
as --gzip does, and one with .zip makes it a Playwright trace: for its trace viewer,
and for graders that read trace.network.

Most readers take it as it is. --for makes it for one that wants something else:
` + profilesHelp() + `
` + maxBodyHelp + `

` + filterHelp + `
The HAR's _stats say how many entries were left out.`,
		Example: `  agentenv-netlog har network.jsonl
  agentenv-netlog har network.jsonl -o login.har
  agentenv-netlog har network.jsonl --for webarena
  agentenv-netlog har network.jsonl -o trace.zip
  agentenv-netlog har network.jsonl --max-body 64MiB
  agentenv-netlog har network.jsonl -o - | jq '.log.entries[].request.url'
  agentenv-netlog har network.jsonl --host shop.example --host '*.shop.example' --since 10m`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("har wants one log, not %d", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return runHAR(c.Context(), args[0], f, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "`FILE` to write, - for standard output (default: beside the log, network.har for network.jsonl)")
	flags.StringVar(&f.reader, "for", "", "make it for this `READER`: "+strings.Join(profileNames(), ", "))
	flags.BoolVar(&f.gzip, "gzip", false, "compress the HAR (default name: network.har.gz)")
	addMaxBody(flags, &f.maxBody)
	f.filter.add(flags)
	return c
}

func runHAR(ctx context.Context, path string, f harFlags, stdout, stderr io.Writer) error {
	if path == "-" {
		return misused(errors.New("a log can't be read from standard input: it is gone through twice"), "save it to a file first")
	}
	filter, err := f.filter.filter(time.Now())
	if err != nil {
		return err
	}
	most, err := parseMaxBody(f.maxBody)
	if err != nil {
		return err
	}
	format, err := f.format()
	if err != nil {
		return err
	}
	profile, err := f.profile(format)
	if err != nil {
		return err
	}
	if f.output != "-" { // what is half written is to be removed
		var stop context.CancelFunc
		ctx, stop = untilInterrupted(ctx)
		defer stop()
	}
	log, err := netlog.OpenLog(path)
	if err != nil {
		return unreadableLog(err)
	}
	defer log.Close()
	live := liveFile(path)
	if f.output == "" {
		f.output = strings.TrimSuffix(live, filepath.Ext(live)) + ".har"
		if format == har.Gzip {
			f.output += ".gz"
		}
	}
	p := newProgress(ctx, stderr)
	options := har.Options{
		Version: programVersion(), Title: filepath.Base(live), MaxBody: most, Filter: filter,
		Rewrite: profile.Rewrite, Format: format, Progress: p.tell,
	}
	if f.output == "-" {
		stats, err := har.Convert(log, stdout, options)
		p.clear()
		if err != nil {
			return unwritableHAR(err)
		}
		summarize(stderr, stats, "standard output")
		return nil
	}
	target, err := newTarget(f.output, live)
	if err != nil {
		return err
	}
	stats, err := target.write(ctx, log, options)
	p.clear()
	if errors.Is(err, context.Canceled) {
		return interrupted("run it again for the HAR")
	} else if err != nil {
		return err
	}
	summarize(stderr, stats, f.output)
	return nil
}

// profileNames are the readers of --for.
func profileNames() []string {
	var names []string
	for _, p := range har.Profiles() {
		names = append(names, p.Name)
	}
	return names
}

// profilesHelp says in a paragraph each what --for does.
func profilesHelp() string {
	var b strings.Builder
	for _, p := range har.Profiles() {
		fmt.Fprintf(&b, "  %-10s  %s\n", p.Name, strings.ReplaceAll(p.About, "\n", "\n"+strings.Repeat(" ", 14)))
	}
	return b.String()
}

// profile is that of --for; its zero value changes nothing.
func (f *harFlags) profile(format har.Format) (har.Profile, error) {
	p, err := profileNamed("--for", f.reader)
	if err == nil && p.Name != "" && format == har.Gzip && !p.Gzip {
		err = misused(fmt.Errorf("%s does not read a compressed HAR", p.Name), "leave --gzip, or the .gz of the name, out")
	}
	return p, err
}

// profileNamed is the one that a flag names; none for "".
func profileNamed(flag, name string) (har.Profile, error) {
	if name == "" {
		return har.Profile{}, nil
	}
	for _, p := range har.Profiles() {
		if p.Name == name {
			return p, nil
		}
	}
	return har.Profile{}, misused(fmt.Errorf("%s %q is no reader that there is a profile for", flag, name),
		"give one of "+strings.Join(profileNames(), ", ")+"; others take the HAR without "+flag)
}

// format is what the flags ask for.
func (f *harFlags) format() (har.Format, error) {
	format := formatOf(f.output)
	if f.gzip {
		if format == har.Trace {
			return format, misused(fmt.Errorf("--gzip does not go with %q, which is a trace and compressed as it is", f.output), "leave --gzip out, or name a .har")
		}
		format = har.Gzip
	}
	return format, nil
}

// formatOf is what a file's name says that it holds.
func formatOf(path string) har.Format {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".gz":
		return har.Gzip
	case ".zip":
		return har.Trace
	}
	return har.JSON
}

// liveFile is the log's own file, when path is the folder of it.
func liveFile(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return filepath.Join(path, netlog.LiveName)
	}
	return path
}

func unreadableLog(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failed(err, "name a log, or the folder of one, that proxy or record has written")
	case errors.Is(err, fs.ErrPermission):
		return failed(err, "a log is readable by the user whose proxy wrote it; run this as that user")
	}
	return failed(err, "name a log that proxy or record has written (network.jsonl)")
}

func unwritableHAR(err error) error {
	if errors.Is(err, netlog.ErrNotLog) {
		return unreadableLog(err)
	}
	return failed(err, "name a file that you can write with -o")
}

// A target is where a HAR goes.
type target struct {
	path   string
	stream bool // a device or a pipe, which is written to and not replaced
}

// newTarget makes sure, before any work, that a HAR can be written at path and
// would not take the place of a file of the log. log is "" when that is nobody's.
func newTarget(path, log string) (target, error) {
	t := target{path: path}
	beside := filepath.Dir(path)
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return t, unwritableHAR(fmt.Errorf("write the HAR: %q is a folder", path))
	case err == nil && sameFile(path, log):
		return t, unwritableHAR(fmt.Errorf("write the HAR: %q is the log itself", path))
	case log != "" && isOfLog(path, log):
		return t, unwritableHAR(fmt.Errorf("write the HAR: %q is a file of the log itself", path))
	case err == nil && !info.Mode().IsRegular():
		t.stream = true
		return t, nil
	case err == nil: // what a link leads to is replaced, and not the link
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return t, unwritableHAR(fmt.Errorf("write the HAR: %w", err))
		}
		beside = filepath.Dir(real)
	default:
		if _, err := os.Lstat(path); err == nil {
			return t, unwritableHAR(fmt.Errorf("write the HAR: %q is a link to what does not exist", path))
		}
	}
	probe, err := os.CreateTemp(beside, ".har-*.tmp")
	if err != nil {
		var named *fs.PathError // of a name that says nothing to people
		if errors.As(err, &named) {
			err = named.Err
		}
		return t, unwritableHAR(fmt.Errorf("write the HAR %q: %w", path, err))
	}
	return t, errors.Join(probe.Close(), os.Remove(probe.Name()))
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// write writes the HAR, in the format of the target's name unless another is
// asked for.
//
// A pipe may have nobody at its other end: the end of ctx ends the waiting.
func (t target) write(ctx context.Context, log *netlog.Log, options har.Options) (har.Stats, error) {
	if options.Format == har.JSON {
		options.Format = formatOf(t.path)
	}
	if !t.stream {
		stats, err := har.WriteFile(log, t.path, options)
		if err != nil {
			return stats, unwritableHAR(err)
		}
		return stats, nil
	}
	f, err := openStream(ctx, t.path)
	if err != nil {
		return har.Stats{}, unwritableHAR(err)
	}
	release := context.AfterFunc(ctx, func() { f.SetWriteDeadline(time.Now()) })
	stats, err := har.Convert(log, f, options)
	release()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return stats, unwritableHAR(err)
	}
	return stats, nil
}

// openStream opens a device or a pipe. A named pipe is there once somebody reads it.
func openStream(ctx context.Context, path string) (*os.File, error) {
	type opened struct {
		*os.File
		error
	}
	done := make(chan opened, 1)
	go func() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		done <- opened{f, err}
	}()
	select {
	case o := <-done:
		return o.File, o.error
	case <-ctx.Done():
		return nil, ctx.Err() // the process is about to end, and the call with it
	}
}

// summarize says in a line what a HAR holds, and in others what it lacks.
func summarize(stderr io.Writer, s har.Stats, path string) {
	var some []string
	for _, part := range []struct {
		n    int64
		what string
	}{
		{s.Failed, "failed"},
		{s.Refused, "refused"},
		{s.Open, "still open"},
		{s.Truncated, "with a body cut at the limit"},
		{s.Undecoded, "with a body that could not be decoded"},
		{s.Filtered, "left out"},
	} {
		if part.n > 0 {
			some = append(some, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	detail := ""
	if len(some) > 0 {
		detail = " (" + strings.Join(some, ", ") + ")"
	}
	fmt.Fprintf(stderr, "%s: %s in %s%s\n", program, entries(s.Entries), path, detail)
	if s.Entries == 0 && s.Filtered > 0 {
		warn(stderr, "no entry passes the filters")
	} else if s.Entries == 0 {
		warn(stderr, "the log has no entry")
	}
	if s.Unreadable > 0 {
		warn(stderr, "%s of the log could not be used", count(s.Unreadable, "line"))
	}
	if s.Orphans > 0 {
		warn(stderr, "%s without an open line in the log", count(s.Orphans, "end line"))
	}
	if s.Lost > 0 {
		warn(stderr, "%s without lines, as the log could not be written in time", count(s.Lost, "exchange"))
	}
}
