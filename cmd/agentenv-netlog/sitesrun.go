package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy"
	"github.com/agentenv/netlog/proxy/site"
	"github.com/agentenv/netlog/proxy/site/install"
)

// sitesDrain is how long open connections may go on once the proxy is stopped.
const sitesDrain = 10 * time.Second

// sitesRunFlags are those of sites run.
type sitesRunFlags struct {
	sitesFlags
	supervise bool
	ready     int    // a descriptor that is told; 0: none
	token     string // the control token, which no log has; no flag
}

func newSitesRun(token string) *cobra.Command {
	f := sitesRunFlags{token: token}
	c := &cobra.Command{
		Use:   "run CONFIG",
		Short: "Serve the sites until told to stop",
		Long: `Serve the sites. The computer itself is not changed: "sites install" does that, and
starts this. When it is ready it writes "listening on" and its ports to standard error.

Root takes the ports, opens the log and reads the keys, and then becomes serve_user.
The certificates are those of the configuration or, when that is an installation's,
those beside it; none are made. --supervise starts it again a second after it ends,
whatever ended it; SIGTERM ends both.`,
		Example: `  sudo agentenv-netlog sites run --supervise /etc/agentenv/sites/config.json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			signals := untilStopped()
			if f.supervise {
				return superviseSites(f, args[0], signals, c.ErrOrStderr())
			}
			config, err := f.read(c.Context(), args[0], c.InOrStdin())
			if err != nil {
				return err
			}
			return runSites(f, config, signals, c.ErrOrStderr())
		},
	}
	f.add(c.Flags())
	c.Flags().BoolVar(&f.supervise, "supervise", false, "start it again when it ends")
	c.Flags().IntVar(&f.ready, "ready-fd", 0, "tell this `DESCRIPTOR` when it is ready")
	c.Flags().MarkHidden("ready-fd")
	return c
}

// runSites serves until the first signal, and then for the drain or until the
// second.
func runSites(f sitesRunFlags, c site.Config, signals <-chan os.Signal, stderr io.Writer) error {
	if err := checkToken(f.token); err != nil {
		return err
	}
	table, certificates, err := examine(c)
	if err == nil && certificates == nil {
		err = errors.New("the sites have no certificates")
	}
	user, e := install.Server(f.root, c)
	servers, e2 := install.Nameservers(f.root, c)
	if err := errors.Join(err, e, e2); err != nil {
		return failed(err, "agentenv-netlog sites check has all of it; sites install makes certificates where there are none")
	}
	// The ports come first: a proxy that can't run leaves no line in the log.
	ports, err := site.Listen(c, table)
	if err != nil {
		return failed(err, "end what has the port, or set another in the configuration; ports below 1024 are root's")
	}
	defer ports.Close()
	logger := newLogger(stderr)
	var log *netlog.Writer
	continued := ""
	if path := c.LogPath(); path != "" {
		path = install.At(f.root, path)
		if log, err = openSitesLog(path, netlog.WriterConfig{Logger: logger}); err != nil {
			return err
		}
		if begun := log.Stats(); begun.Last > begun.Lines {
			continued = fmt.Sprintf(" (continued after line %d)", begun.Last-begun.Lines)
		}
	}
	if f.ready > 0 && install.Installed(f.root) { // it is supervised
		release, err := install.Inherit(f.root)
		if err != nil {
			return errors.Join(err, log.Close())
		}
		defer release()
	}
	if err := install.Become(user); err != nil {
		return errors.Join(err, log.Close())
	}
	server, err := site.NewServer(site.ServerConfig{
		Table: table, Certificates: certificates, Nameservers: servers, Address: c.Loopback(), Log: log, Logger: logger, Withhold: withheld(f.token),
	}, ports)
	if err != nil {
		return errors.Join(err, log.Close())
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	fmt.Fprintf(stderr, "listening on %s\n", ports)
	if log != nil {
		fmt.Fprintf(stderr, "  log       %s%s\n", quote(install.At(f.root, c.LogPath())), continued)
	}
	f.tellReady()

	left, cancel, broken := awaitStop(signals, served, sitesDrain, "open connections", stderr)
	defer cancel()
	server.Shutdown(left) // what it had to stop stands in the log
	if broken == nil {
		broken = <-served
	}
	if err := errors.Join(broken, log.Close()); err != nil {
		return failed(err, "the log holds what was written until then")
	}
	return nil
}

// openSitesLog opens the log while this is still root: who browses reads it and
// can't change it.
func openSitesLog(path string, w netlog.WriterConfig) (*netlog.Writer, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, failed(fmt.Errorf("make the log's folder: %w", err), "name a log that you can write with network_log")
	}
	w.Path, w.Mode, w.FileMode = path, "sites", 0o644
	w.Program, w.Version, w.Limits = program, programVersion(), proxy.DefaultKeep()
	log, err := netlog.OpenWriter(w)
	switch {
	case errors.Is(err, netlog.ErrLocked):
		return nil, failed(err, "another proxy writes it; stop that one, or name another file with network_log")
	case err != nil:
		return nil, failed(err, "name a log that you can write with network_log, which is no link")
	}
	return log, nil
}

func (f *sitesRunFlags) tellReady() {
	if f.ready > 0 {
		out := os.NewFile(uintptr(f.ready), "ready")
		fmt.Fprintln(out, "ready")
		out.Close()
	}
}

// sitesRestart is how long the proxy is down, once it has ended, before it is
// started again.
const sitesRestart = time.Second

// superviseSites runs the proxy as a process of its own, again and again, until a
// signal. One that never was ready is not tried twice.
func superviseSites(f sitesRunFlags, path string, signals <-chan os.Signal, stderr io.Writer) error {
	if path == "-" {
		return misused(errors.New("a configuration on standard input can be read only once"), "put it into a file to have it supervised")
	}
	var err error
	if f.root, err = systemRoot(f.root); err != nil {
		return err
	}
	if install.Installed(f.root) {
		release, err := install.Lock(f.root)
		if err != nil {
			return failed(err, "stop that one first: agentenv-netlog sites uninstall")
		}
		defer release()
	}
	for everReady := false; ; {
		child, ready, err := startSites(f, path, stderr)
		if err != nil {
			return err
		}
		stopped := attend(child, ready, signals, func() {
			if !everReady {
				everReady = true
				f.tellReady()
			}
		})
		if stopped {
			return nil
		}
		if !everReady {
			return exitCode(cmp.Or(child.ProcessState.ExitCode(), exitFailed))
		}
		warn(stderr, "the proxy ended (%s): starting it again", child.ProcessState)
		select {
		case <-time.After(sitesRestart):
		case <-signals:
			return nil
		}
	}
}

// attend waits for the child's end, and calls begun when it says that it is ready.
// Signals are passed on to it: with the first, stopped is true.
func attend(child *exec.Cmd, ready *os.File, signals <-chan os.Signal, begun func()) (stopped bool) {
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	said := make(chan bool, 1)
	go func() {
		n, _ := ready.Read(make([]byte, 1))
		ready.Close()
		said <- n > 0
	}()
	for {
		select {
		case <-signals:
			stopped = true
			child.Process.Signal(syscall.SIGTERM)
		case ok := <-said:
			if ok && !stopped {
				begun()
			}
			said = nil
		case <-ended:
			return stopped
		}
	}
}
