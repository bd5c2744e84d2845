package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentenv/netlog/ca"
	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy"
)

// proxyFlags are the flags of proxy, as given.
type proxyFlags struct {
	listen   string
	open     bool
	users    userFlags
	names    []string
	standIn  bool
	log      logFlags
	timeouts proxy.Timeouts
	drain    time.Duration
	interception
}

// interception are the flags of every command that decrypts.
type interception struct {
	caDir    string
	rules    ruleFlags
	upstream upstreamFlags
	keep     keepFlags
}

// add adds the flags; limits are what is kept of bodies without them.
func (f *interception) add(flags *pflag.FlagSet, limits netlog.Limits) {
	addAuthorityFlag(flags, &f.caDir)
	f.rules.add(flags)
	f.upstream.add(flags)
	f.keep.add(flags, limits)
}

func newProxy(token string) *cobra.Command {
	var f proxyFlags
	f.keep.token = token
	c := &cobra.Command{
		Use:   "proxy",
		Short: "Run the recording proxy until it is told to stop",
		Long: `Run the recording proxy. It decrypts https:// with a certificate authority of
your own, which is made on first use, and writes every exchange, tunnel and
WebSocket to the log. A log that is there is continued. Beside the authority's
certificate stands bundle.pem, as "agentenv-netlog ca bundle" prints it.

When it is ready it writes the line "listening on ADDRESS:PORT" to standard
error, then how to point a browser at it. SIGINT (Ctrl-C), SIGTERM and SIGHUP (the
terminal is closed) stop it: no new connections, --drain for the open ones, then
the rest of the log. A second signal ends the wait.`,
		Example: `  agentenv-netlog proxy
  agentenv-netlog proxy --listen 127.0.0.1:0 --log /tmp/network.jsonl
  agentenv-netlog proxy --stand-in
  agentenv-netlog proxy --tunnel '*.bank.example' --upstream-ca staging-ca.pem`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return runProxy(f, untilStopped(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8080", "`ADDRESS` to listen on; port 0 is any free one")
	flags.BoolVar(&f.open, "open", false, "let --listen be an address that others can reach, and ask nobody who it is")
	f.users.add(flags)
	flags.StringSliceVar(&f.names, "own-name", nil, "`NAME` or address by which others reach the proxy's own page, besides the addresses and the name of this machine (repeatable)")
	f.log.add(flags)
	flags.BoolVar(&f.standIn, "stand-in", false, "decrypt nothing: record connections, and http:// requests without headers or bodies")
	f.interception.add(flags, proxy.DefaultKeep())
	flags.DurationVar(&f.drain, "drain", 10*time.Second, "how long open connections may go on once the proxy is stopped")
	flags.DurationVar(&f.timeouts.ClientHead, "client-head-timeout", 30*time.Second, "for a request's head")
	flags.DurationVar(&f.timeouts.Dial, "dial-timeout", 10*time.Second, "for connecting to a server")
	flags.DurationVar(&f.timeouts.TLS, "tls-timeout", 10*time.Second, "for a TLS handshake, on either side")
	flags.DurationVar(&f.timeouts.Answer, "answer-timeout", 5*time.Minute, "for a server to begin its answer")
	flags.DurationVar(&f.timeouts.Idle, "idle-timeout", 5*time.Minute, "for a connection between two requests, or in the middle of an upload without a byte")
	flags.DurationVar(&f.timeouts.TunnelIdle, "tunnel-idle-timeout", time.Hour, "for a tunnel or a WebSocket without a byte")
	return c
}

// runProxy serves until the first signal, and then as --drain says, or until the
// second.
func runProxy(f proxyFlags, signals <-chan os.Signal, stderr io.Writer) error {
	// What the command line alone can be wrong in comes first, then what is taken
	// and given back (the port), then what is made (the authority), then the log:
	// a proxy that can't run leaves no line in one.
	w, err := f.log.writer(f.standIn)
	if err != nil {
		return err
	}
	if err := positive(f); err != nil {
		return err
	}
	p, through, err := f.config(stderr)
	if err != nil {
		return err
	}
	l, err := listen(f.listen, f.open || p.Credentials != nil)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := through.leaveOut(l.Addr(), stderr); err != nil {
		return err
	}
	greet := greetStandIn
	var authority *ca.Authority // none to stand in
	if !f.standIn {
		if authority, greet, err = f.intercept(&p, stderr); err != nil {
			return err
		}
	}
	if err := f.keep.openKeyLog(&p, f.log.path, authorityFiles(authority)...); err != nil {
		return err
	}
	s, err := newSession(l, w, p, authority)
	if err != nil {
		return unusableLog(err)
	}
	ready(stderr, s, f.log.path)
	greet(stderr, "http://"+reachable(s.address))
	fmt.Fprintf(stderr, "  page      http://%s/, through the proxy also http://%s/\n", reachable(s.address), proxy.OwnName)
	through.tell(stderr)
	if p.Credentials != nil {
		fmt.Fprintf(stderr, "  a user name and a password are asked for: curl --proxy-user USER:PASSWORD; others http://USER:PASSWORD@%s\n", reachable(s.address))
	}

	left, cancel, broken := awaitStop(signals, s.served, f.drain, "open connections", stderr)
	defer cancel()
	if err := errors.Join(broken, s.close(left)); err != nil {
		return failed(err, "the log holds what was written until then")
	}
	return nil
}

// config is what the command line alone says of the proxy, and of the one behind it.
func (f proxyFlags) config(stderr io.Writer) (p proxy.Config, through *parents, err error) {
	p = proxy.Config{StandIn: f.standIn, Timeouts: f.timeouts, Logger: newLogger(stderr)}
	if err := f.rules.configure(&p); err != nil {
		return p, through, err
	}
	if through, _, err = f.upstream.configure(&p); err != nil {
		return p, through, err
	}
	if err := f.keep.configure(&p); err != nil {
		return p, through, err
	}
	if p.Names, err = ownNames(f.names); err != nil {
		return p, through, err
	}
	p.Credentials, err = f.users.credentials()
	return p, through, err
}

// intercept has the proxy decrypt with the authority, which it makes if there is none.
func (f proxyFlags) intercept(p *proxy.Config, stderr io.Writer) (authority *ca.Authority, greet func(stderr io.Writer, url string), err error) {
	authority, created, err := needAuthority(f.caDir, stderr)
	if err != nil {
		return nil, nil, err
	}
	leaves, err := ca.NewLeaves(authority)
	if err != nil {
		return nil, nil, err
	}
	p.Leaf = leaves.Leaf
	bundle, err := keepBundle(authority)
	if err != nil {
		warn(stderr, "the bundle of the system's certificates and ours can't be kept: %v", err)
	}
	return authority, func(stderr io.Writer, url string) {
		greetIntercepting(stderr, url, authority.CertificatePath(), bundle, leaves.SPKI(), created)
	}, nil
}

// positive refuses time limits of nothing, which would not be what the words of
// their help say.
func positive(f proxyFlags) error {
	for flag, d := range map[string]time.Duration{
		"log-stall":           f.log.stall,
		"client-head-timeout": f.timeouts.ClientHead,
		"dial-timeout":        f.timeouts.Dial,
		"tls-timeout":         f.timeouts.TLS,
		"answer-timeout":      f.timeouts.Answer,
		"idle-timeout":        f.timeouts.Idle,
		"tunnel-idle-timeout": f.timeouts.TunnelIdle,
	} {
		if d <= 0 {
			return misused(fmt.Errorf("--%s %v is no time limit", flag, d), "give a duration above 0, such as 30s or 5m")
		}
	}
	if f.drain < 0 {
		return misused(fmt.Errorf("--drain %v is below 0", f.drain), "give a duration such as 10s, or 0 to wait for nothing")
	}
	return nil
}

// ready says that the proxy is, on a line of its own for machines, and where the
// log is.
func ready(stderr io.Writer, s *session, log string) {
	fmt.Fprintf(stderr, "listening on %s\n", s.address)
	continued := ""
	if s.earlier > 0 {
		continued = fmt.Sprintf(" (continued after line %d)", s.earlier)
	}
	fmt.Fprintf(stderr, "  log       %s%s\n", quote(log), continued)
}

// greetIntercepting says how to use a proxy that decrypts; bundle is "" when
// there is none.
func greetIntercepting(stderr io.Writer, url, certificate, bundle, spki string, created bool) {
	made := ""
	if created {
		made = " (just made)"
	}
	environment := proxyEnvironment(url)
	if bundle != "" {
		environment = append(environment, trustEnvironment(bundle, certificate)...)
	}
	certificate = quote(certificate)
	fmt.Fprintf(stderr, "  authority %s%s\n", certificate, made)
	fmt.Fprintf(stderr, "  curl      curl --proxy %s --cacert %s https://example.com/\n", url, certificate)
	fmt.Fprintf(stderr, "  Chromium  chromium --user-data-dir=\"$(mktemp -d)\" %s\n", quoteAll(chromiumFlags(url, spki)))
	fmt.Fprintf(stderr, "  others    export %s\n", quoteAll(environment))
}

// greetStandIn says how to use a proxy that decrypts nothing.
func greetStandIn(stderr io.Writer, url string) {
	fmt.Fprintf(stderr, "  nothing is decrypted: no certificate has to be trusted\n")
	fmt.Fprintf(stderr, "  curl      curl --proxy %s https://example.com/\n", url)
	fmt.Fprintf(stderr, "  others    export %s\n", quoteAll(proxyEnvironment(url)))
}

// reachable is the address for programs on this machine.
func reachable(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return a.String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
}

// quote makes s one word of a POSIX shell.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=+,@%", r)
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func quoteAll(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}
