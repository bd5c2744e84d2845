package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentenv/netlog/cmd/internal/api"
	"github.com/agentenv/netlog/cmd/internal/api/gateway"
	"github.com/agentenv/netlog/har"
)

// serveFlags are the flags of serve, as given.
type serveFlags struct {
	listen   string
	captures string
	log      string
	name     string
	harFor   string
	names    []string
	drain    time.Duration
	websites []string
	required []string
	wait     time.Duration
	roleKey  string // no flag: command lines are for all to see
}

func newServe(token string) *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve captures and a network log to those who collect them, and websites to browsers",
		Long: `Serve captures and a network log over HTTP to those who collect them, such as
"agentenv-netlog fetch". Neither has to be there yet: they are read when they are
asked for, while they are written. Websites can be served through it too.

  /.well-known/agent-env.json     the card: what there is and where
  /traffic/captures               the captures, a list (traffic/v1)
  /traffic/capture?name=NAME      one of them, whole
  /agentenv/ext/browser/network   POST {"after": N}: the log's lines after number N
  /network/live?after=N           a WebSocket of them
  /network.har                    the log as a HAR, for a reader with ?for=READER
  /agentenv                       the data plane (JSON-RPC 2.0): the same HAR
  /metrics                        for Prometheus
  /website/NAME/                  a website, for browsers
  /svc/NAME/                      the same with all that it keeps from browsers

` + tokenHelp + `

A website is passed what is asked of it as it was asked, with X-Forwarded-Host,
-Proto and -Prefix, and WebSockets with messages of up to 16 MiB. What its own card
advertises, and /agentenv, is nothing for browsers: 404 on /website/. This server's
card has the websites' cards in it. AgentEnv-Role is believed or, when ` + roleKeyVariable + `
is set, only beside that AgentEnv-Role-Key. Header fields that
` + providerVariable + ` names (NAME,NAME…) reach no website.

When it is ready it writes the line "listening on ADDRESS:PORT" to standard
error. SIGINT (Ctrl-C), SIGTERM and SIGHUP stop it: downloads have --drain to end,
and a second signal ends the wait.`,
		Example: `  agentenv-netlog serve --log network.jsonl
  agentenv-netlog serve --captures /captures --listen 0.0.0.0:8080
  agentenv-netlog serve --website notes=http://notes:8000 --captures /captures --require-capture notes`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			signals := untilStopped()
			if !c.Flags().Changed("captures") {
				f.captures = os.Getenv("TRAFFIC_CAPTURE_DIR")
			}
			if !c.Flags().Changed("log") {
				f.log = os.Getenv("AGENTENV_NETWORK_LOG")
			}
			f.roleKey = os.Getenv(roleKeyVariable)
			return runServe(f, token, signals, c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8080", "`ADDRESS` to listen on; port 0 is any free one")
	flags.StringVar(&f.captures, "captures", "", "`FOLDER` of the captures (default: that of the environment variable TRAFFIC_CAPTURE_DIR)")
	flags.StringVar(&f.log, "log", "", "`FILE` of the network log, or its folder (default: that of AGENTENV_NETWORK_LOG)")
	flags.StringArrayVar(&f.websites, "website", nil, "be a gateway for the website at `NAME=URL` (repeatable)")
	flags.StringArrayVar(&f.required, "require-capture", nil, "begin once the capture `NAME` is running, and fail if it does not (repeatable)")
	flags.DurationVar(&f.wait, "capture-wait", 30*time.Second, "how long --require-capture waits for it")
	flags.StringVar(&f.harFor, "har-for", "", "make the HAR for this `READER`, if /network.har?for=READER asks for no other: "+strings.Join(profileNames(), ", "))
	flags.StringVar(&f.name, "name", "", "`NAME` on the card (default: that of ENVIRONMENT_NAME, else netlog)")
	flags.StringSliceVar(&f.names, "own-name", nil, "`NAME` by which others reach a server on a loopback address that has no token, besides addresses, localhost and this machine's (repeatable)")
	flags.DurationVar(&f.drain, "drain", 10*time.Second, "how long answers may go on once the server is stopped")
	return c
}

// runServe serves until the first signal, and then as --drain says, or until the
// second.
func runServe(f serveFlags, token string, signals <-chan os.Signal, stderr io.Writer) error {
	if err := checkToken(token); err != nil {
		return err
	}
	if f.drain < 0 {
		return misused(fmt.Errorf("--drain %v is below 0", f.drain), "give a duration such as 10s, or 0 to wait for nothing")
	}
	if f.captures == "" && f.log == "" && len(f.websites) == 0 {
		return misused(errors.New("there is nothing to serve"), "give --log, --captures, or --website, or several of them")
	}
	sites, err := f.gateway()
	if err != nil {
		return err
	}
	profile, err := profileNamed("--har-for", f.harFor)
	if err != nil {
		return err
	}
	names, err := ownNames(f.names)
	if err != nil {
		return err
	}
	if err := f.awaitCaptures(signals, stderr); err != nil {
		return err
	}
	l, err := listen(f.listen, true)
	if err != nil {
		return err
	}
	var own func(host string) bool
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		own = func(host string) bool { return isOwnName(host, names) }
	}
	logger := newLogger(stderr)
	s := newServer(l, api.New(api.Config{
		Name:  cmp.Or(f.name, os.Getenv("ENVIRONMENT_NAME"), "netlog"),
		Token: token, Own: own, Captures: f.captures, Log: f.log,
		HAR:     har.Options{Version: programVersion(), Title: filepath.Base(liveFile(f.log)), Rewrite: profile.Rewrite},
		Gateway: sites,
		Logger:  logger,
	}), logger)
	f.greet(stderr, l.Addr(), sites.Sites, token)

	left, cancel, broken := awaitStop(signals, s.served, f.drain, "answers", stderr)
	defer cancel()
	s.close(left)
	if broken != nil {
		return failed(broken, "")
	}
	return nil
}

// isOwnName says whether a name may be this machine's: one of these, localhost and
// what is below it, or an address, which nobody can point elsewhere.
func isOwnName(host string, names []string) bool {
	host = strings.ToLower(host)
	_, err := netip.ParseAddr(host)
	return err == nil || host == "localhost" || strings.HasSuffix(host, ".localhost") || slices.Contains(names, host)
}

// greet says where it is and what is served, and who may have it.
func (f serveFlags) greet(stderr io.Writer, address net.Addr, sites []gateway.Site, token string) {
	fmt.Fprintf(stderr, "listening on %s\n", address)
	fmt.Fprintf(stderr, "  card      http://%s/.well-known/agent-env.json\n", reachable(address))
	if f.log != "" {
		fmt.Fprintf(stderr, "  log       %s\n", quote(f.log))
	}
	if f.captures != "" {
		fmt.Fprintf(stderr, "  captures  %s\n", quote(f.captures))
	}
	for _, s := range sites {
		fmt.Fprintf(stderr, "  website   http://%s%s%s/ from %s\n", reachable(address), gateway.WebsitePath, s.Name, s.URL)
	}
	open := "the card"
	if len(sites) > 0 {
		open = "the cards and " + gateway.WebsitePath
	}
	if token == "" {
		fmt.Fprintf(stderr, "  open      to whoever reaches it, as %s is not set\n", tokenVariable)
	} else {
		fmt.Fprintf(stderr, "  guarded   by %s, but for %s\n", tokenVariable, open)
	}
}

// A server serves an API until it is closed.
type server struct {
	api    *api.API
	http   http.Server
	served chan error // gets Serve's result
}

func newServer(l net.Listener, a *api.API, logger *slog.Logger) *server {
	s := &server{api: a, served: make(chan error, 1), http: http.Server{
		Handler:           a,
		ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout:       5 * time.Minute,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelError),
	}}
	go func() { s.served <- s.http.Serve(l) }()
	return s
}

// close takes no new requests, answers those that wait for lines as they are, and
// gives downloads until ctx ends.
func (s *server) close(ctx context.Context) {
	s.api.Stop()
	if s.http.Shutdown(ctx) != nil {
		s.http.Close()
		return // what is left is not waited for
	}
	s.api.Wait()
}
