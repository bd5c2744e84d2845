package main

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentenv/netlog/ca"
	"github.com/agentenv/netlog/har"
	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy"
)

// What a demo leaves in the current folder.
const (
	demoLog = netlog.LiveName
	demoHAR = "network.har"
)

func newDemo() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Record a small site of our own, to see what comes out",
		Long: `Drive a small shop of our own through a recording proxy: pages, a form with a
redirect, JSON in each coding, a chunked answer, server-sent events, a WebSocket,
an upload, an image, an error, and a host that is not there. It leaves
network.jsonl and network.har in the current folder and prints what the log
holds. Everything stays on this machine; nothing but this program is needed.

Files of an earlier demo are replaced, others are not.`,
		Example: `  agentenv-netlog demo`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return runDemo(ctx, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
}

func runDemo(ctx context.Context, stdout, stderr io.Writer) error {
	if err := removeEarlierDemo(); err != nil {
		return err
	}
	target, err := newTarget(demoHAR, demoLog)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", program+"-demo-")
	if err != nil {
		return failed(err, "name a folder that you can write in TMPDIR")
	}
	defer os.RemoveAll(folder)
	if err := recordDemo(ctx, folder, stderr); err != nil {
		if ctx.Err() != nil {
			return &failure{errors.New("interrupted"), demoLog + " holds what was recorded until then", exitInterrupted}
		}
		return err
	}

	log, err := netlog.OpenLog(demoLog)
	if err != nil {
		return unreadableLog(err)
	}
	defer log.Close()
	stats, err := target.write(ctx, log, har.Options{Version: programVersion(), Title: demoLog})
	if err != nil {
		return err
	}
	if err := printTable(stdout, log); err != nil {
		return err
	}
	summarize(stderr, stats, demoHAR)
	return nil
}

// recordDemo has the client drive the site through a proxy, each with an
// authority of its own that is forgotten afterwards.
func recordDemo(ctx context.Context, folder string, stderr io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	theirs, err := ca.Create(filepath.Join(folder, "site"))
	if err != nil {
		return err
	}
	site, err := startDemoSite(theirs)
	if err != nil {
		return err
	}
	defer site.close()
	ours, err := ca.Create(filepath.Join(folder, "proxy"))
	if err != nil {
		return err
	}
	leaves, err := ca.NewLeaves(ours)
	if err != nil {
		return err
	}
	l, err := listenLoopback()
	if err != nil {
		return err
	}
	s, err := newSession(l, netlog.WriterConfig{Path: demoLog, Mode: "demo"}, proxy.Config{
		Leaf:          leaves.Leaf,
		Dial:          site.dial,
		UpstreamRoots: pool(theirs),
		Keep:          keepAll,
		Logger:        newLogger(stderr),
	}, ours)
	if err != nil {
		return failed(err, "run the demo in an empty folder that you can write")
	}
	client, err := newDemoClient(s.url(), pool(ours))
	if err == nil {
		err = client.drive(ctx)
	}
	return errors.Join(err, s.close(ctx))
}

func pool(a *ca.Authority) *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.Certificate)
	return p
}

// removeEarlierDemo makes room for a new one, and refuses if a file is not a
// demo's.
func removeEarlierDemo() error {
	for _, f := range []struct {
		path   string
		isDemo func(path string) bool
	}{
		{demoLog, isDemoLog},
		{demoHAR, isDemoHAR},
	} {
		_, err := os.Lstat(f.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || !f.isDemo(f.path) {
			return failed(errors.Join(fmt.Errorf("%q is there and was not made by a demo", f.path), err), "run the demo in an empty folder")
		}
	}
	for _, path := range []string{demoLog, demoHAR} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return failed(fmt.Errorf("make room for the demo: %w", err), "run the demo in an empty folder")
		}
	}
	return nil
}

// isDemoLog tells whether only demos have written a log.
func isDemoLog(path string) bool {
	log, err := netlog.OpenLog(path)
	if err != nil {
		return false
	}
	defer log.Close()
	found := false
	for scanner := log.Scan(); scanner.Next(); {
		if scanner.Head().Event != netlog.EventStart {
			continue
		}
		b, err := log.ReadLine(scanner.Pos(), nil)
		if err != nil {
			return false
		}
		line, err := netlog.ParseLine(b)
		if err != nil || line.Start.Mode != "demo" {
			return false
		}
		found = true
	}
	return found
}

// isDemoHAR tells whether every entry of a HAR is of the demo's hosts.
func isDemoHAR(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var archive struct {
		Log struct {
			Entries []struct{ Request struct{ URL string } }
		}
	}
	if json.NewDecoder(bufio.NewReader(f)).Decode(&archive) != nil {
		return false
	}
	for _, e := range archive.Log.Entries {
		u, err := url.Parse(e.Request.URL)
		if err != nil || !strings.HasSuffix(u.Hostname(), "."+demoDomain) {
			return false
		}
	}
	return len(archive.Log.Entries) > 0
}
