package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// The exit statuses besides 0. record's are its command's.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitNoExec      = 126 // as in a shell: found, but can't be run
	exitNotFound    = 127 // as in a shell
	exitInterrupted = 130 // as in a shell: 128 + SIGINT
)

// A failure is an error together with what its reader can do about it.
type failure struct {
	err  error
	hint string
	code int
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func failed(err error, hint string) error { return &failure{err, hint, exitFailed} }

// misused is a failure of the command line's.
func misused(err error, hint string) error { return &failure{err, hint, exitUsage} }

// exitCode is the status to end with when there is nothing more to say.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit status %d", int(c)) }

// report writes an error's two lines and returns the exit status. The hint of
// last resort is the help of the command at path.
func report(stderr io.Writer, path string, err error) int {
	var code exitCode
	if errors.As(err, &code) {
		return int(code)
	}
	var f *failure
	if !errors.As(err, &f) { // cobra's own: an unknown flag, a missing argument
		f = &failure{err: err, code: exitUsage}
	}
	if f.hint == "" {
		f.hint = fmt.Sprintf("see: %s --help", path)
	}
	fmt.Fprintf(stderr, "%s: error: %s\n", program, oneLine(err.Error()))
	fmt.Fprintf(stderr, "%s: hint: %s\n", program, oneLine(f.hint))
	return f.code
}

func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// warn says what does not keep the command from going on.
func warn(stderr io.Writer, format string, args ...any) {
	fmt.Fprintf(stderr, "%s: warning: %s\n", program, oneLine(fmt.Sprintf(format, args...)))
}
