package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A client is a program, or a library by way of a script of testdata/clients,
// that people send through a proxy.
type client struct {
	name string
	// run has it ask; it fails the test when the program does not say that all
	// went well.
	run func(s *session)
	// asks are the requests that it must make at least once each, as
	// "METHOD URL STATUS", where {tls} and {plain} stand for the origin's hosts,
	// and {tls.test} and {plain.test} for the same by a name that only the proxy
	// can resolve.
	asks []string
}

func clients() []client {
	return slices.Concat(fetchers(), gits(), pythons(), nodes(), javas(), installers(), chromiums(), seleniums(), firefoxes())
}

// Each client succeeds through interception and through the stand-in, and the
// log has exactly its requests: what the origin says of them, the log says.
func TestClients(t *testing.T) {
	for _, way := range []struct {
		name  string
		args  []string
		check func(t *testing.T, w *world, log *record)
	}{
		{"interception", nil, intercepted},
		{"stand-in", []string{"--stand-in"}, stoodIn},
	} {
		for _, c := range clients() {
			t.Run(way.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				s := newSession(t, way.args...)
				c.run(s)
				s.proxy.stop()
				way.check(t, s.world, readLog(t, s.proxy.log))
				asked := byOrigin(s.origin.accesses(t), s.ours()...)
				for _, want := range c.asks {
					want = s.names.Replace(want)
					if !slices.ContainsFunc(asked, func(w witness) bool { return w.String() == want }) {
						t.Errorf("the origin was not asked %s, but %v", want, asked)
					}
				}
			})
		}
	}
}

// A session is one client that has been told of the proxy, with a home of its
// own.
type session struct {
	*world
	proxy *proxy
	home  string
	names *strings.Replacer // {tls} and so on, {proxy}, {trust}, {home}
}

// newSession starts a world and a proxy that lets nobody out of it.
func newSession(t *testing.T, args ...string) *session {
	t.Helper()
	dir := t.TempDir()
	w := newWorldOf(t, hosting(t, dir))
	args = append([]string{"--allow-host", "localhost", "--allow-host", "127.0.0.1", "--allow-host", "site.test"}, args...)
	for _, site := range w.named() {
		args = append(args, "--resolve", site+":127.0.0.1")
	}
	p := w.proxy(args...)
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	return &session{
		world: w, proxy: p, home: home,
		names: strings.NewReplacer(
			"{tls}", w.origin.host, "{plain}", w.origin.plain, "{tls.test}", w.named()[0], "{plain.test}", w.named()[1],
			"{proxy}", "http://"+p.address, "{trust}", p.trust, "{home}", home,
		),
	}
}

// environment is all of the client's: the proxy as every program reads it, and
// the trust as the README says.
func (s *session) environment() []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "LANG=C.UTF-8"}
	for _, name := range []string{"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"} {
		env = append(env, name+"=http://"+s.proxy.address)
	}
	for _, name := range []string{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS"} {
		env = append(env, name+"="+s.proxy.trust)
	}
	return env
}

// do runs a program in the client's home until it succeeds or the test has
// failed, and returns what it printed. {names} in its arguments are replaced.
func (s *session) do(program string, args ...string) string {
	s.t.Helper()
	return s.doWith(nil, program, args...)
}

// doWith is do with more environment.
func (s *session) doWith(env []string, program string, args ...string) string {
	s.t.Helper()
	for i := range args {
		args[i] = s.names.Replace(args[i])
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = s.home
	cmd.Env = append(s.environment(), env...)
	cmd.WaitDelay = 10 * time.Second // for children that hold its output
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("%s %q: %v\n%s%s", filepath.Base(program), args, err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// said checks what a client printed.
func (s *session) said(got, want string) {
	s.t.Helper()
	is(s.t, "what the client printed", got, s.names.Replace(want))
}

// script is the path of a file of testdata/clients.
func script(t *testing.T, name string) string {
	t.Helper()
	return inTestdata(t, "clients", name)
}

func inTestdata(t *testing.T, elem ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", filepath.Join(elem...)))
	if err != nil {
		t.Fatal(err)
	}
	return path
}
