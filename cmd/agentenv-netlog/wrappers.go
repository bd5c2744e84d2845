package main

import (
	"path/filepath"
	"slices"
	"strings"
)

// A wrapper is a program that runs the command behind its own arguments.
type wrapper struct {
	short    string   // the letters of options that take a value
	long     []string // the names of those that do, without their hyphens
	settings bool     // NAME=VALUE may stand before the command
	operands int      // that do
}

var wrappers = map[string]wrapper{
	"env":              {short: "uC", long: []string{"unset", "chdir"}, settings: true},
	"nice":             {short: "n", long: []string{"adjustment"}},
	"ionice":           {short: "cn", long: []string{"class", "classdata"}},
	"nohup":            {},
	"setsid":           {},
	"stdbuf":           {short: "ioe", long: []string{"input", "output", "error"}},
	"time":             {short: "fo", long: []string{"format", "output"}},
	"timeout":          {short: "ks", long: []string{"kill-after", "signal"}, operands: 1},
	"dbus-run-session": {long: []string{"dbus-daemon", "config-file"}},
	"xvfb-run":         {short: "efnpsw", long: []string{"error-file", "auth-file", "server-num", "xauth-protocol", "server-args", "wait"}},
}

// commandAt is where in argv the command is that is meant: behind wrappers, if
// there are any. It is len(argv) when that can't be told.
func commandAt(argv []string) int {
	at := 0
	for at < len(argv) {
		w, ok := wrappers[filepath.Base(argv[at])]
		if !ok {
			return at
		}
		at += 1 + w.own(argv[at+1:])
	}
	return len(argv)
}

// own is how many of the arguments are the wrapper's.
func (w wrapper) own(args []string) int {
	i := 0
	for ; i < len(args); i++ {
		option, isOption := strings.CutPrefix(args[i], "-")
		switch {
		case args[i] == "--":
			i++
		case isOption:
			if w.takesNext(option) {
				i++
			}
			continue
		}
		break
	}
	for w.settings && i < len(args) && strings.Contains(args[i], "=") {
		i++
	}
	return min(i+w.operands, len(args))
}

// takesNext says whether an option, without its first hyphen, has its value in the
// next argument.
func (w wrapper) takesNext(option string) bool {
	if name, long := strings.CutPrefix(option, "-"); long {
		return slices.Contains(w.long, name)
	}
	at := strings.IndexAny(option, w.short)
	return w.short != "" && at >= 0 && at == len(option)-1
}
