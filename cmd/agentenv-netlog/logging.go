package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/agentenv/netlog/netlog"
)

// logFlags say where and how a proxy that stays writes its log.
type logFlags struct {
	path     string
	mode     string
	stall    time.Duration
	sync     string
	maxBytes string
	maxFiles int
}

func (f *logFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.path, "log", netlog.LiveName, "`FILE` of the log")
	flags.StringVar(&f.mode, "log-mode", "", "`MODE` of a log that is made, in octal (default: 0600, as it holds cookies; 0644 with --stand-in)")
	flags.StringVar(&f.maxBytes, "max-log", "0", "begin a new file when the log has this `SIZE`, such as 256MiB: the older ones are network.N.jsonl beside it, by their first line's number; 0 for never")
	flags.IntVar(&f.maxFiles, "max-logs", 0, "delete the oldest file of the log when there are more than `N`; 0 for never")
	flags.DurationVar(&f.stall, "log-stall", 5*time.Second, "how long a log that can't be written holds up the traffic")
	flags.StringVar(&f.sync, "sync", "1s", "`WHEN` lines are forced to the disk: never, each (end line), or an interval")
}

// writer is how the log is written, as the flags say.
func (f *logFlags) writer(standIn bool) (w netlog.WriterConfig, err error) {
	w = netlog.WriterConfig{Path: f.path, Mode: "proxy", Stall: f.stall, MaxFiles: f.maxFiles}
	mode := "0600"
	if standIn {
		w.Mode, mode = "stand-in", "0644"
	}
	if w.FileMode, err = parseMode(cmp.Or(f.mode, mode)); err != nil {
		return w, err
	}
	if w.Sync, w.SyncEvery, err = parseSync(f.sync); err != nil {
		return w, err
	}
	if w.MaxBytes, err = parseSize("max-log", f.maxBytes); err != nil {
		return w, err
	}
	switch {
	case f.maxFiles < 0:
		return w, misused(fmt.Errorf("--max-logs %d is no number of files", f.maxFiles), "give how many there may be, the live one with them")
	case f.maxFiles > 0 && w.MaxBytes == 0:
		return w, misused(errors.New("--max-logs without --max-log: there is one file"), "say with --max-log how large a file may be, such as 256MiB")
	}
	return w, nil
}

func parseMode(s string) (os.FileMode, error) {
	mode, err := strconv.ParseUint(s, 8, 32)
	if err != nil || mode&^0o666 != 0 || mode&0o600 != 0o600 {
		return 0, misused(fmt.Errorf("--log-mode %q is no mode of a log", s), "give it in octal, its owner reading and writing: 0600, 0640 or 0644")
	}
	return os.FileMode(mode), nil
}

func parseSync(s string) (netlog.Sync, time.Duration, error) {
	switch s {
	case "never":
		return netlog.SyncNever, 0, nil
	case "each":
		return netlog.SyncEnd, 0, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, 0, misused(fmt.Errorf("--sync %q is neither never, each nor an interval", s), "give never, each, or a duration such as 1s")
	}
	return netlog.SyncInterval, d, nil
}
