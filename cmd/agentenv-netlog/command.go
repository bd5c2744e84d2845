package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// proxyEnvironment is what points programs at a proxy that take it from their
// environment.
func proxyEnvironment(proxyURL string) []string {
	return []string{
		"HTTP_PROXY=" + proxyURL, "http_proxy=" + proxyURL, // curl reads only the latter
		"HTTPS_PROXY=" + proxyURL, "https_proxy=" + proxyURL,
		"ALL_PROXY=" + proxyURL, "all_proxy=" + proxyURL,
		"NO_PROXY=", "no_proxy=",
		"NODE_USE_ENV_PROXY=1",
	}
}

// trustEnvironment is what has programs trust the authority: those that take
// one file in place of the system's roots, and Node, which takes one more.
func trustEnvironment(bundle, certificate string) []string {
	return []string{
		"SSL_CERT_FILE=" + bundle,
		"CURL_CA_BUNDLE=" + bundle,
		"REQUESTS_CA_BUNDLE=" + bundle,
		"GIT_SSL_CAINFO=" + bundle,
		"NODE_EXTRA_CA_CERTS=" + certificate,
	}
}

// withEnvironment is base with ours in the place of what has the same names, and
// without the role key and our flags, some of which hold passwords. Where the authority
// is stays: the command may ask "ca path".
func withEnvironment(base, ours []string) []string {
	set := make(map[string]bool)
	for _, v := range ours {
		name, _, _ := strings.Cut(v, "=")
		set[name] = true
	}
	var env []string
	for _, v := range base {
		name, _, _ := strings.Cut(v, "=")
		if !set[name] && !slices.Contains(secretVariables, name) && (name == variable("ca-dir") || !strings.HasPrefix(name, variable(""))) {
			env = append(env, v)
		}
	}
	return append(env, ours...)
}

// runCommand runs the command in the foreground. The terminal sends its signals
// (Ctrl-C, Ctrl-\) to the command as well as to us, who outlive it; what is sent
// to us alone is passed on.
func runCommand(command *exec.Cmd, signals <-chan os.Signal) (status int, err error) {
	if err := command.Start(); err != nil {
		return 0, notRunnable(command.Args[0], err)
	}
	waited := make(chan error, 1)
	go func() { waited <- command.Wait() }()
	for running := true; running; {
		select {
		case s := <-signals:
			if s == syscall.SIGTERM || s == syscall.SIGHUP {
				command.Process.Signal(s)
			}
		case err = <-waited:
			running = false
		}
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, failed(fmt.Errorf("run %q: %w", command.Args[0], err), "the command itself may have done its work")
	}
	if w, ok := command.ProcessState.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal()), nil
	}
	return command.ProcessState.ExitCode(), nil
}

func notRunnable(command string, err error) error {
	var named *exec.Error // its text has the name, quoted
	if !errors.As(err, &named) {
		err = fmt.Errorf("run %q: %w", command, err)
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return &failure{err, "install it, or give its path", exitNotFound}
	}
	return &failure{err, "it is there, but is no program that can be run", exitNoExec}
}
