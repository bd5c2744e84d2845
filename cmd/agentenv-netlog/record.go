package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentenv/netlog/ca"
	"github.com/agentenv/netlog/har"
	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy"
)

// keepAll is what record and demo keep of bodies: every type, up to 64 MiB.
var keepAll = netlog.Limits{RequestBody: 64 << 20, ResponseBody: 64 << 20, Types: "all"}

// recordDrain is how long what a command leaves behind may go on after it.
const recordDrain = 2 * time.Second

type recordFlags struct {
	output string
	log    string
	interception
}

func newRecord(token string) *cobra.Command {
	var f recordFlags
	f.keep.token = token
	c := &cobra.Command{
		Use:   "record [flags] -- COMMAND [ARGUMENT…]",
		Short: "Record what one command does, as a HAR",
		Long: `Run a command with a recording proxy of its own and leave a HAR of what it did.

The command finds the proxy in HTTP_PROXY, HTTPS_PROXY and ALL_PROXY (in both
cases, NO_PROXY is emptied; NODE_USE_ENV_PROXY is set, which Node 22.21, 24 and
later look at), and certificates to trust in SSL_CERT_FILE, CURL_CA_BUNDLE,
REQUESTS_CA_BUNDLE, GIT_SSL_CAINFO and NODE_EXTRA_CA_CERTS. Chromium and Chrome,
told by the command's name, also behind env, nice, timeout, xvfb-run and the like,
get flags instead, among them a fresh profile; one that you give yourself wins. A
script that starts a browser has to hand the proxy on and have certificate errors
ignored. Firefox wants a profile with the certificate, and for localhost
network.proxy.allow_hijacking_localhost in it. wget wants
--ca-certificate="$(agentenv-netlog ca path)".

The terminal is the command's, Ctrl-C too. Bodies of every type are kept, up to
64 MiB unless told otherwise. A HAR that is there is replaced, also by one
without entries; a command that can't be run leaves it alone. The exit status is
the command's: 128 and the signal's number when one ended it, 127 when there is
no such command; 1 when only the HAR went wrong.`,
		Example: `  agentenv-netlog record -- curl https://example.com/
  agentenv-netlog record -o shop.har -- chromium https://shop.example/
  agentenv-netlog record --log network.jsonl -- npx playwright test`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return misused(errors.New("no command to record"), "put it behind two hyphens: agentenv-netlog record -- curl https://example.com/")
			}
			return runRecord(f, args, c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.SetInterspersed(false) // the command's flags are its own, also without the two hyphens
	flags.StringVarP(&f.output, "output", "o", "network.har", "`FILE` of the HAR; one that ends with .gz is compressed, with .zip a Playwright trace")
	flags.StringVar(&f.log, "log", "", "keep the log in `FILE`, which must be new (default: none is kept)")
	f.interception.add(flags, keepAll)
	return c
}

func runRecord(f recordFlags, argv []string, stdin io.Reader, stdout, stderr io.Writer) error {
	plan, err := planRecord(f, argv[0])
	if err != nil {
		return err
	}
	plan.proxy.Logger = newLogger(stderr)
	folder, err := os.MkdirTemp("", program+"-record-")
	if err != nil {
		return failed(err, "name a folder that you can write in TMPDIR")
	}
	keep := ""
	defer func() { clean(folder, keep) }()
	logPath := f.log
	if logPath == "" {
		logPath = filepath.Join(folder, netlog.LiveName)
	}

	// From here to the end of the HAR no signal ends us. Caught, not ignored: the
	// command would inherit that.
	outliveReaders()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)

	command := exec.Command(argv[0])
	command.Stdin, command.Stdout, command.Stderr = stdin, stdout, stderr
	s, err := plan.start(folder, logPath, command, argv, stderr)
	if err != nil {
		return err
	}
	status, runErr := runCommand(command, signals)
	drain, cancel := context.WithTimeout(context.Background(), recordDrain)
	defer cancel()
	if err := s.close(drain); err != nil {
		warn(stderr, "the log lacks its end: %v", err)
	}
	if runErr != nil {
		return runErr
	}

	if err := writeRecord(plan.target, logPath, f.output, stderr); err != nil {
		keep = logPath
		if status == 0 {
			return err
		}
		report(stderr, program, err)
	}
	if status != 0 {
		return exitCode(status)
	}
	return nil
}

// A recordPlan is what can be known before anything is made.
type recordPlan struct {
	target target
	proxy  proxy.Config
	keep   keepFlags
	output string
	caDir  string
	roots  []byte // in PEM: the system's and --upstream-ca's
}

func planRecord(f recordFlags, command string) (p recordPlan, err error) {
	if _, err := exec.LookPath(command); err != nil {
		return p, notRunnable(command, err)
	}
	if info, err := os.Lstat(f.log); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
		return p, failed(fmt.Errorf("the log %q is there already, and all of a log becomes the HAR", f.log),
			"remove it, or name another with --log")
	}
	if older := olderFiles(f.log); f.log != "" && len(older) > 0 && hasOlderLines(f.log) {
		return p, failed(fmt.Errorf("%q is there already, which is read as a part of the log %q, and all of a log becomes the HAR", older[0], f.log),
			"move it elsewhere, or name another log with --log")
	}
	if sameName(f.output, f.log) {
		return p, misused(fmt.Errorf("%q can't be both the HAR and the log", f.log), "name two files with -o and --log")
	}
	if f.output == "-" {
		return p, misused(errors.New("the HAR can't go to standard output, which is the command's"), "name a file with -o")
	}
	if p.target, err = newTarget(f.output, f.log); err != nil {
		return p, err
	}
	p.keep, p.output = f.keep, f.output
	if err := f.keep.configure(&p.proxy); err != nil {
		return p, err
	}
	if err := f.rules.configure(&p.proxy); err != nil {
		return p, err
	}
	_, extra, err := f.upstream.configure(&p.proxy)
	if err != nil {
		return p, err
	}
	if p.roots, err = systemRoots(""); err != nil {
		return p, err
	}
	p.roots = slices.Concat(p.roots, []byte("\n"), extra)
	p.caDir = f.caDir
	return p, nil
}

// hasOlderLines says whether there are lines already of a log that is to be new:
// not every file with an older one's name is one.
func hasOlderLines(path string) bool {
	log, err := netlog.OpenLog(path)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer log.Close()
	return log.Scan().Next()
}

func sameName(a, b string) bool {
	x, errX := filepath.Abs(a)
	y, errY := filepath.Abs(b)
	return b != "" && errX == nil && errY == nil && x == y
}

// start serves a proxy for command, and gives it its arguments and environment.
func (p recordPlan) start(folder, log string, command *exec.Cmd, argv []string, stderr io.Writer) (*session, error) {
	l, err := listenLoopback()
	if err != nil {
		return nil, err
	}
	authority, _, err := needAuthority(p.caDir, stderr)
	if err != nil {
		l.Close()
		return nil, err
	}
	leaves, err := ca.NewLeaves(authority)
	if err != nil {
		l.Close()
		return nil, err
	}
	bundle := filepath.Join(folder, "roots.pem")
	if err := os.WriteFile(bundle, append(p.roots, authority.CertificatePEM()...), 0o644); err != nil {
		l.Close()
		return nil, failed(err, "make room in the folder for temporary files, or name another in TMPDIR")
	}
	p.proxy.Leaf = leaves.Leaf
	if err := p.keep.openKeyLog(&p.proxy, log, append(authorityFiles(authority), p.output)...); err != nil {
		l.Close()
		return nil, err
	}
	s, err := newSession(l, netlog.WriterConfig{Path: log, Mode: "record"}, p.proxy, authority)
	if err != nil {
		return nil, unusableLog(err)
	}
	if at := commandAt(argv); at < len(argv) && isChromium(argv[at]) {
		own := append(chromiumFlags(s.url(), leaves.SPKI()), "--user-data-dir="+filepath.Join(folder, "profile"))
		argv = slices.Concat(argv[:at], withChromiumFlags(argv[at:], own))
	}
	command.Args = argv
	command.Env = withEnvironment(os.Environ(), slices.Concat(proxyEnvironment(s.url()), trustEnvironment(bundle, authority.CertificatePath())))
	return s, nil
}

func writeRecord(t target, logPath, output string, stderr io.Writer) error {
	log, err := netlog.OpenLog(logPath)
	if err == nil {
		defer log.Close()
		stats, writeErr := t.write(context.Background(), log, har.Options{Version: programVersion(), Title: filepath.Base(logPath)})
		if writeErr == nil {
			summarize(stderr, stats, output)
			if stats.Entries == 0 {
				warn(stderr, "the command asked for nothing, or has to be told of the proxy or the certificate; see: agentenv-netlog record --help")
			}
			return nil
		}
		err = writeErr
	}
	if _, gone := os.Lstat(logPath); errors.Is(gone, fs.ErrNotExist) {
		return failed(err, "something removed the log before the HAR was made of it; what was recorded is lost")
	}
	return failed(err, fmt.Sprintf("the log is kept; once there is room: %s har %s -o FILE", program, quote(logPath)))
}

// clean removes the temporary folder, all but the log if that is in it and to be
// kept. A browser's last processes may still be writing to the profile.
func clean(folder, keep string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		if path == keep {
			continue
		}
		for range 20 {
			if os.RemoveAll(path) == nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	os.Remove(folder) // only if it is empty
}
