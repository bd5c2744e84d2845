package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/http/httpproxy"

	"github.com/agentenv/netlog/capture/traffic"
	"github.com/agentenv/netlog/proxy"
)

// fetchWorkName is the command by which fetch starts itself as its worker.
const fetchWorkName = "fetch-work"

func newFetchWork() *cobra.Command {
	var f fetchFlags
	c := &cobra.Command{
		Use:    fetchWorkName + " URL...",
		Short:  "Fetch, for fetch itself",
		Hidden: true,
		RunE: func(c *cobra.Command, urls []string) error {
			// Signals are for who started this, and closes its standard input.
			signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			in := bufio.NewReader(c.InOrStdin())
			for _, to := range []*string{&f.token, &f.proxy} {
				line, err := in.ReadString('\n')
				if err != nil {
					return failed(fmt.Errorf("read the token and the proxy: %w", err), "")
				}
				*to = strings.TrimSuffix(line, "\n")
			}
			ctx, stop := context.WithCancelCause(c.Context())
			defer stop(nil)
			go func() {
				io.Copy(io.Discard, in)
				stop(errors.New("interrupted"))
			}()
			return fetchAll(ctx, f, urls, os.NewFile(3, "progress"), c.ErrOrStderr())
		},
	}
	c.Flags().StringVar(&f.out, "out", "", "")
	c.Flags().DurationVar(&f.timeout, "timeout", 0, "")
	return c
}

// fetchAll collects from all envs at once, and tells how far it is.
func fetchAll(ctx context.Context, f fetchFlags, urls []string, tells io.Writer, stderr io.Writer) error {
	collectors, err := f.collectors(urls)
	if err != nil {
		return err
	}
	defer closeAll(collectors)
	if f.timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("it took more than %v", f.timeout))
		defer cancel()
		ctx = limited
	}
	tell := teller(tells)
	results := make([]fetched, len(collectors))
	var running sync.WaitGroup
	for i, c := range collectors {
		c.Progress = func(p traffic.Progress) { tell(fetchEvent{Env: i, Progress: &p}) }
		c.Saved = func() { tell(fetchEvent{Env: i, Saved: true}) }
		running.Go(func() { results[i].manifest, results[i].err = c.Collect(ctx) })
	}
	running.Wait()
	for i, c := range collectors {
		results[i].collector = c
		results[i].tell(stderr, len(collectors) > 1)
	}
	return outcome(results)
}

// teller writes events, and of progress what is enough for eyes.
func teller(w io.Writer) func(fetchEvent) {
	var mu sync.Mutex
	out, next := json.NewEncoder(w), time.Time{}
	return func(e fetchEvent) {
		mu.Lock()
		defer mu.Unlock()
		if e.Progress != nil {
			now := time.Now()
			if now.Before(next) {
				return
			}
			next = now.Add(progressEvery / 2)
		}
		out.Encode(e)
	}
}

// collectors are one for each URL.
func (f fetchFlags) collectors(urls []string) (collectors []*traffic.Collector, err error) {
	defer func() {
		if err != nil {
			closeAll(collectors)
		}
	}()
	through, err := f.through()
	if err != nil {
		return nil, err
	}
	taken := make(map[string]string)
	for _, u := range urls {
		client, err := traffic.NewClient(traffic.ClientConfig{Address: u, Token: f.token, Proxy: through})
		if err != nil {
			return collectors, misused(err, "give the address of an env, such as http://127.0.0.1:8080")
		}
		c := &traffic.Collector{Client: client, Dir: f.out}
		collectors = append(collectors, c)
		if len(urls) == 1 {
			break
		}
		below := folderOf(client.Address())
		if other, ok := taken[below]; ok {
			return collectors, misused(fmt.Errorf("%s and %s would have the same folder %q", other, u, below), "fetch them one by one, each with an --out of its own")
		}
		taken[below] = u
		c.Dir = filepath.Join(f.out, below)
	}
	return collectors, nil
}

// through is the proxy of --proxy; nil: none.
func (f fetchFlags) through() (*url.URL, error) {
	if f.proxy == "" {
		return nil, nil
	}
	const hint = "write it as http://HOST:PORT, or with https, socks5 or socks5h, and USER:PASSWORD@ before the host (%XX for odd characters)"
	address := f.proxy
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	if _, err := proxy.ParseParent(address); err != nil {
		return nil, misused(fmt.Errorf("--proxy is no proxy's URL: %w", err), hint)
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, misused(errors.New("--proxy is no proxy's URL"), hint)
	}
	return u, nil
}

// unused is the variable of the environment whose proxy others would reach an
// address through; "" when there is none.
func unused(address string) string {
	env := httpproxy.FromEnvironment()
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	if through, err := env.ProxyFunc()(u); through == nil && err == nil {
		return ""
	}
	return strings.ToUpper(u.Scheme) + "_PROXY"
}

func closeAll(collectors []*traffic.Collector) {
	for _, c := range collectors {
		c.Client.Close()
	}
}

// folderOf is the name of an env's folder among several: its address without the
// scheme.
func folderOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "env"
	}
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, u.Host+u.Path), "-.")
}

// fetched is what came of one env.
type fetched struct {
	collector *traffic.Collector
	manifest  *traffic.Manifest
	err       error
}

// tell says in a line what is there and, of one env among several, what is not.
func (r fetched) tell(stderr io.Writer, several bool) {
	m := r.manifest
	if m.State == traffic.Failed && !several {
		return // the error says it
	}
	var captures, hars int
	for _, f := range m.Files {
		if f.Container == "" {
			hars++
		} else {
			captures++
		}
	}
	of := ""
	if len(m.Containers) > 0 {
		of = " of " + strings.Join(m.Containers, ", ")
	}
	har := ""
	if hars > 0 {
		har = " and the network log's HAR"
	}
	fmt.Fprintf(stderr, "%s: %s%s%s in %s, %s\n", program, count(captures, "capture"), of, har, r.collector.Dir, sizeText(m.Bytes))
	for _, note := range m.Notes {
		fmt.Fprintf(stderr, "%s: note: %s\n", program, oneLine(note))
	}
	if several && r.err != nil {
		warn(stderr, "%s: %s", r.collector.Client.Address(), m.Error)
	}
}

func count[N int | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// fetchHint is what to do about an env that gave not all; "" for the usual.
func fetchHint(r fetched) string {
	address := r.collector.Client.Address()
	var status *traffic.StatusError
	switch {
	case traffic.Unauthorized(r.err):
		return "give the env's control token in " + tokenVariable
	case r.manifest.State != traffic.Failed:
		return ""
	case errors.Is(r.err, traffic.ErrNotAdvertised):
		return fmt.Sprintf("have it serve a --log or --captures; an env behind a gateway is at %s/svc/NAME", address)
	case !errors.As(r.err, &status) && r.collector.Client.Proxy() == nil && unused(address) != "":
		return fmt.Sprintf("give the address of an env that is up; the proxy that %s names is not used: if the env is behind it, name it with --proxy", unused(address))
	}
	return "give the address of an env that is up; see: agentenv-netlog fetch --help"
}

// outcome is what the command ends with.
func outcome(results []fetched) error {
	missing, some := 0, false
	hint := "run it again: it fetches what is missing"
	var err error
	for _, r := range results {
		some = some || r.manifest.State != traffic.Failed
		if r.err == nil {
			continue
		}
		missing++
		err = errors.New(r.manifest.Error)
		if h := fetchHint(r); h != "" && (len(results) == 1 || traffic.Unauthorized(r.err)) {
			hint = h
		}
	}
	if missing == 0 {
		return nil
	}
	if len(results) > 1 {
		err = fmt.Errorf("something is missing of %d of %d envs", missing, len(results))
	}
	code := exitFailed
	if some {
		code = exitPartial
	}
	return &failure{err, hint, code}
}
