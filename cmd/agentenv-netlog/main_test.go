package main

import (
	"archive/zip"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/agentenv/netlog/ca"
)

// TestMain also makes the test binary each of these programs, by its name.
func TestMain(m *testing.M) {
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each of them ends with a second's sleep under the race detector
	testscript.Main(leakFree{m}, map[string]func(){
		program:    main,
		"probe":    probe,
		"chromium": func() { fmt.Println(strings.Join(os.Args[1:], "\n")) },
	})
}

type leakFree struct{ *testing.M }

func (m leakFree) Run() int {
	code := m.M.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// probe is a command to record: "env NAME…", "exit N", "kill", "interrupts",
// "cat", "get URL…", "ask URL…" and "unpack FILE [NAME]" of a gzip or a ZIP.
func probe() {
	switch os.Args[1] {
	case "env":
		for _, name := range os.Args[2:] {
			value, set := os.LookupEnv(name)
			fmt.Printf("%s=%s set=%v\n", name, value, set)
		}
	case "exit":
		code, _ := strconv.Atoi(os.Args[2])
		os.Exit(code)
	case "kill":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "interrupts": // counts those that it gets until it is terminated
		signals := make(chan os.Signal, 8)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		fmt.Println("ready")
		for s := range signals {
			fmt.Println(s)
			if s == syscall.SIGTERM {
				os.Exit(3)
			}
		}
	case "cat":
		b, err := os.ReadFile(os.Args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Stdout.Write(b)
	case "ask": // without a proxy
		for _, of := range os.Args[2:] {
			answer, err := http.Get(of)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			fmt.Println(answer.Status)
			io.Copy(os.Stdout, answer.Body)
			fmt.Println()
			answer.Body.Close()
		}
	case "unpack":
		if err := unpack(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "get":
		// What any program with net/http does, but for loopback addresses, which it
		// would reach without a proxy.
		client := &http.Client{Transport: &http.Transport{Proxy: environmentProxy}}
		for _, to := range os.Args[2:] {
			answer, err := client.Get(to)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			fmt.Println(answer.Status)
			answer.Write(os.Stdout)
			answer.Body.Close()
		}
	default:
		os.Exit(99)
	}
}

// unpack prints what is in a gzip, or in a ZIP under a name.
func unpack(args []string) error {
	if len(args) > 1 {
		z, err := zip.OpenReader(args[0])
		if err != nil {
			return err
		}
		defer z.Close()
		r, err := z.Open(args[1])
		if err != nil {
			return err
		}
		_, err = io.Copy(os.Stdout, r)
		return err
	}
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, z)
	return err
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, "config"))
			e.Setenv("GORACE", os.Getenv("GORACE"))
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"await":  await,
			"fails":  fails,
			"fifo":   fifo,
			"occupy": occupy,
			"origin": origin,
			"parent": parentProxy,
			"serve":  serveInBackground,
		},
	})
}

// await FILE TEXT: until the file has the text.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await FILE TEXT")
	}
	err := poll(func() bool {
		b, err := os.ReadFile(ts.MkAbs(args[0]))
		return err == nil && strings.Contains(string(b), args[1])
	})
	if err != nil {
		ts.Fatalf("%s has no %q: %v", args[0], args[1], err)
	}
}

// poll waits for a condition, as long as a busy machine may take.
func poll(condition func() bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// fails STATUS COMMAND…: the command ends with the status and, on standard
// error, with one line of an error and one of a hint, unless STATUS ends in "-",
// which means that it says nothing of its own.
func fails(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: fails STATUS COMMAND…")
	}
	number, silent := strings.CutSuffix(args[0], "-")
	want, err := strconv.Atoi(number)
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	exit, ok := err.(*exec.ExitError)
	if !ok || exit.ExitCode() != want {
		ts.Fatalf("it ended with %v, not with status %d\n%s", err, want, ts.ReadFile("stderr"))
	}
	errors, hints := 0, 0
	for line := range strings.Lines(ts.ReadFile("stderr")) {
		if strings.HasPrefix(line, program+": error: ") {
			errors++
		}
		if strings.HasPrefix(line, program+": hint: ") {
			hints++
		}
	}
	if told := errors + hints; silent && told != 0 || !silent && (errors != 1 || hints != 1) {
		ts.Fatalf("%d error lines and %d hint lines\n%s", errors, hints, ts.ReadFile("stderr"))
	}
}

// serve NAME ARGUMENT…: serves until the script's end and sets the variable to the
// address, and NAME_PORT to its port. What it says is in NAME.stderr.
func serveInBackground(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: serve NAME ARGUMENT…")
	}
	path := ts.MkAbs(args[0] + ".stderr")
	said, err := os.Create(path)
	ts.Check(err)
	defer said.Close()
	c := exec.Command(program, append([]string{"serve", "--listen", "127.0.0.1:0"}, args[1:]...)...)
	c.Dir, c.Stderr = ts.MkAbs("."), said
	for _, name := range []string{"PATH", "HOME", "GORACE", "XDG_CONFIG_HOME", tokenVariable, "TRAFFIC_CAPTURE_DIR", "AGENTENV_NETWORK_LOG", "ENVIRONMENT_NAME"} {
		c.Env = append(c.Env, name+"="+ts.Getenv(name))
	}
	ts.Check(c.Start())
	ts.Defer(func() {
		c.Process.Signal(syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			ts.Fatalf("serve %s ended with %v", args[0], err)
		}
	})
	var address string
	err = poll(func() bool {
		b, err := os.ReadFile(path)
		line, _, whole := strings.Cut(string(b), "\n")
		var ok bool
		address, ok = strings.CutPrefix(line, "listening on ")
		return err == nil && whole && ok
	})
	if err != nil {
		ts.Fatalf("serve %s does not listen: %v\n%s", args[0], err, ts.ReadFile(args[0]+".stderr"))
	}
	ts.Setenv(args[0], address)
	ts.Setenv(args[0]+"_PORT", address[strings.LastIndexByte(address, ':')+1:])
}

func fifo(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(syscall.Mkfifo(ts.MkAbs(args[0]), 0o600))
}

// occupy NAME: takes a port and sets the variable to its address.
func occupy(ts *testscript.TestScript, neg bool, args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { l.Close() })
	ts.Setenv(args[0], l.Addr().String())
}

// origin NAME: serves HTTPS, of HTTP/2 too, on a loopback port with an authority of its own,
// whose certificate is origin.pem, and sets the variable to its URL and NAME_PORT
// to its port.
func origin(ts *testscript.TestScript, neg bool, args []string) {
	server, certificate := newOrigin(ts.Fatalf, ts.MkAbs("origin-ca"))
	ts.Defer(server.Close)
	ts.Check(os.WriteFile(ts.MkAbs("origin.pem"), certificate, 0o644))
	ts.Setenv(args[0], server.URL)
	ts.Setenv(args[0]+"_PORT", server.URL[strings.LastIndexByte(server.URL, ':')+1:])
}

func newOrigin(fatalf func(string, ...any), dir string) (server *httptest.Server, certificate []byte) {
	a, err := ca.Create(dir)
	if err != nil {
		fatalf("%v", err)
	}
	leaves, err := ca.NewLeaves(a)
	if err != nil {
		fatalf("%v", err)
	}
	leaf, err := leaves.Leaf("127.0.0.1")
	if err != nil {
		fatalf("%v", err)
	}
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, "this is %s\n", r.URL.Path)
		for _, c := range r.TLS.PeerCertificates {
			fmt.Fprintf(w, "for %s\n", c.Subject.CommonName)
		}
	}))
	server.TLS, server.EnableHTTP2 = tlsConfig(leaf), true
	server.StartTLS()
	return server, a.CertificatePEM()
}

// newPlainOrigin serves "hello" over http:// and gives its URL.
func newPlainOrigin(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// parent NAME: an HTTP proxy for user:secret that takes every name for this
// machine's and answers for http:// itself, and sets the variable to its address.
func parentProxy(ts *testscript.TestScript, neg bool, args []string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Proxy-Authorization") != "Basic dXNlcjpzZWNyZXQ=":
			w.WriteHeader(http.StatusProxyAuthRequired)
		case r.Method != http.MethodConnect:
			fmt.Fprintf(w, "the parent has %s\n", r.URL)
		default:
			conn, err := net.Dial("tcp", "127.0.0.1:"+r.URL.Port())
			if err != nil {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			defer conn.Close()
			client, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer client.Close()
			io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
			done := make(chan struct{})
			go func() {
				io.Copy(conn, client)
				conn.Close()
				close(done)
			}()
			io.Copy(client, conn)
			client.Close()
			<-done
		}
	}))
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.Listener.Addr().String())
}
