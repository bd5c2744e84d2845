// Package party is what the proxies of the benchmarks have in common: the
// command line, the authority that browsers trust, and the way to the origin.
//
//	func main() { party.Main(serve) }
//
// A party listens on a free port of loopback, says so in one line on standard
// error as agentenv-netlog does, and ends at SIGTERM.
package party

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"sync"
	"syscall"
	"time"
)

// A Setup is what a proxy is told.
type Setup struct {
	Authority    tls.Certificate // signs what browsers see; Leaf is set
	AuthorityDir string          // its folder
	Roots        *x509.CertPool  // verify the origin
	Tunnel       bool            // relay every CONNECT undecrypted
	NoHash       bool            // ours alone: make no SHA-256 of bodies
	Dir          string          // for what the proxy writes; "": it writes nothing
}

// Main runs serve, which returns when its listener is closed, as the flags say.
func Main(serve func(net.Listener, Setup) error) {
	if err := run(os.Args[0], os.Args[1:], serve); err != nil {
		fmt.Fprintln(os.Stderr, filepath.Base(os.Args[0])+":", err)
		os.Exit(1)
	}
}

func run(program string, args []string, serve func(net.Listener, Setup) error) error {
	var s Setup
	flags := flag.NewFlagSet(program, flag.ContinueOnError)
	flags.StringVar(&s.AuthorityDir, "ca-dir", "", "`FOLDER` of the authority: ca.pem and ca-key.pem")
	roots := flags.String("upstream-ca", "", "`FILE` of the certificates that verify the origin")
	profile := flags.String("profile", "", "write profiles to this `PREFIX` and .cpu or .allocs")
	flags.BoolVar(&s.Tunnel, "tunnel", false, "relay every CONNECT undecrypted")
	flags.BoolVar(&s.NoHash, "no-hash", false, "make no SHA-256 of bodies")
	flags.StringVar(&s.Dir, "dir", "", "`FOLDER` for what the proxy writes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if s.Authority, err = LoadAuthority(s.AuthorityDir); err != nil {
		return err
	}
	pem, err := os.ReadFile(*roots)
	if err != nil {
		return err
	}
	s.Roots = x509.NewCertPool()
	s.Roots.AppendCertsFromPEM(pem)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	stopProfile, err := startProfile(*profile)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- serve(l, s) }()
	fmt.Fprintln(os.Stderr, "listening on", l.Addr())
	select {
	case <-signals:
		l.Close()
		select {
		case err = <-served:
		case <-time.After(time.Second): // it waits for connections that nobody needs any more
		}
	case err = <-served:
	}
	return errors.Join(err, stopProfile())
}

// LoadAuthority reads the authority in dir.
func LoadAuthority(dir string) (tls.Certificate, error) {
	a, err := tls.LoadX509KeyPair(filepath.Join(dir, "ca.pem"), filepath.Join(dir, "ca-key.pem"))
	if err != nil {
		return a, fmt.Errorf("load the authority in %q: %w", dir, err)
	}
	if a.Leaf == nil {
		a.Leaf, err = x509.ParseCertificate(a.Certificate[0])
	}
	return a, err
}

// startProfile writes a profile of the processor, and of the allocations when it
// is stopped; none for an empty prefix.
func startProfile(prefix string) (stop func() error, err error) {
	if prefix == "" {
		return func() error { return nil }, nil
	}
	cpu, err := os.Create(prefix + ".cpu")
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		cpu.Close()
		return nil, err
	}
	return func() error {
		pprof.StopCPUProfile()
		allocs, err := os.Create(prefix + ".allocs")
		if err != nil {
			return errors.Join(err, cpu.Close())
		}
		return errors.Join(pprof.Lookup("allocs").WriteTo(allocs, 0), allocs.Close(), cpu.Close())
	}, nil
}

// Dial connects to address's port on loopback, whatever its name: every origin
// of the benchmarks is there, and no party is to pay for looking it up.
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	return d.DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
}

// Transport is how the parties that use net/http reach the origin: as many idle
// connections as browsers hold, where http.Transport's own limit of two would
// have them connect anew most of the time.
func Transport(roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		DialContext:         Dial,
		TLSClientConfig:     &tls.Config{RootCAs: roots},
		TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1 alone
		MaxIdleConnsPerHost: 2048,
		DisableCompression:  true,
	}
}

// Accept calls handle, each call in a goroutine, for every connection of l until
// that is closed, and waits for them.
func Accept(l net.Listener, handle func(net.Conn)) error {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		running.Go(func() {
			defer conn.Close()
			handle(conn)
		})
	}
}
