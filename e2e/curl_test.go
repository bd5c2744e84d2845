package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An odd is one run of curl: what it asks, what it must see, and what the log
// must hold of it.
type odd struct {
	fact string
	args []string // {go}, {plain}, {six}, {dead}, {dir} stand for addresses and the folder
	exit int      // curl's exit code
	out  string   // what its standard output must be, "" for whatever
	// The request in the log.
	method, url string
	check       func(t *testing.T, e entry)
}

// curls are the requests that browsers seldom make.
func curls() []odd {
	return []odd{
		{
			fact: "an HTTP/1.0 client gets no chunks",
			args: []string{"-0", "https://{go}/chunked?by=1.0"}, out: "part 0\npart 1\npart 2\npart 3\n",
			method: "GET", url: "https://{go}/chunked?by=1.0",
			check: func(t *testing.T, e entry) {
				is(t, "the request's version", e.open.Request.Version, "HTTP/1.0")
				is(t, "the body", string(e.end.Response.Body.Base64), "part 0\npart 1\npart 2\npart 3\n")
			},
		},
		{
			fact: "trailers are relayed and recorded",
			args: []string{"--http1.1", "https://{go}/chunked?by=1.1"}, out: "part 0\npart 1\npart 2\npart 3\n",
			method: "GET", url: "https://{go}/chunked?by=1.1",
			check: func(t *testing.T, e entry) {
				want := [][]string{{"X-Checksum", "four"}}
				if got := e.end.Response.Trailers; len(got) != 1 || !slices.Equal(got[0], want[0]) {
					t.Errorf("trailers %q, want %q", got, want)
				}
			},
		},
		{
			fact: "HTTP/2 is relayed and recorded, trailers and all",
			args: []string{"--http2", "https://{go}/chunked?by=2"}, out: "part 0\npart 1\npart 2\npart 3\n",
			method: "GET", url: "https://{go}/chunked?by=2",
			check: func(t *testing.T, e entry) {
				is(t, "the request's version", e.open.Request.Version, "HTTP/2")
				is(t, "the answer's version", e.end.Response.Version, "HTTP/2")
				is(t, "the body", string(e.end.Response.Body.Base64), "part 0\npart 1\npart 2\npart 3\n")
				want := [][]string{{"x-checksum", "four"}}
				if got := e.end.Response.Trailers; len(got) != 1 || !slices.Equal(got[0], want[0]) {
					t.Errorf("trailers %q, want %q", got, want)
				}
				if got := e.open.Request.Pseudo; len(got) != 4 {
					t.Errorf("pseudo-header fields %q", got)
				}
			},
		},
		{
			fact:   "an upload that waits for 100 Continue gets the server's own",
			args:   []string{"-H", "Expect: 100-continue", "--data-binary", "@{dir}/upload", "https://{go}/echo?expect", "-o", "{dir}/expected"},
			method: "POST", url: "https://{go}/echo?expect",
			check: func(t *testing.T, e entry) {
				if got := e.end.Response.Informational; len(got) != 1 || got[0].Status != 100 {
					t.Errorf("informational answers %+v, want one 100", got)
				}
				is(t, "the upload's size", len(e.request()), 1_200_000)
			},
		},
		{
			fact:   "a chunked upload is recorded without its framing",
			args:   []string{"-H", "Transfer-Encoding: chunked", "--data-binary", "@{dir}/upload", "https://{go}/echo?chunked", "-o", "{dir}/chunked"},
			method: "POST", url: "https://{go}/echo?chunked",
			check: func(t *testing.T, e entry) { is(t, "the upload", string(e.request()), string(pattern(1_200_000))) },
		},
		{
			fact:   "a HEAD's answer has a length and no body",
			args:   []string{"-I", "https://{go}/echo?head"},
			method: "HEAD", url: "https://{go}/echo?head",
			check: func(t *testing.T, e entry) {
				is(t, "the body's size", e.end.Response.Body.Size, 0)
				is(t, "Content-Length", e.end.Response.header("Content-Length"), "5")
			},
		},
		{
			fact: "OPTIONS * keeps its target",
			args: []string{"-X", "OPTIONS", "--request-target", "*", "-w", "%{http_code}", "https://{go}/"}, out: "204",
			method: "OPTIONS",
			check:  func(t *testing.T, e entry) { is(t, "the target", e.open.Request.Target, "*") },
		},
		{
			fact: "103 Early Hints is relayed and recorded",
			args: []string{"https://{go}/early"}, out: "after the hints\n",
			method: "GET", url: "https://{go}/early",
			check: func(t *testing.T, e entry) {
				if got := e.end.Response.Informational; len(got) != 1 || got[0].Status != 103 {
					t.Errorf("informational answers %+v, want one 103", got)
				}
			},
		},
		{
			fact: "a plain http:// request is recorded as plain",
			args: []string{"http://{plain}/echo?plain"}, out: "GET ",
			method: "GET", url: "http://{plain}/echo?plain",
			check: func(t *testing.T, e entry) { is(t, "via", e.open.Via, "plain") },
		},
		{
			fact: "plain HTTP inside a CONNECT is read as HTTP",
			args: []string{"-p", "http://{plain}/echo?connect"}, out: "GET ",
			method: "GET", url: "http://{plain}/echo?connect",
			check: func(t *testing.T, e entry) { is(t, "the status", e.end.Response.Status, 200) },
		},
		{
			fact: "a range is answered with 206",
			args: []string{"--range", "9-17", "https://{go}/large?size=1000"}, out: "00000001 ",
			method: "GET", url: "https://{go}/large?size=1000",
			check: func(t *testing.T, e entry) {
				is(t, "the status", e.end.Response.Status, 206)
				is(t, "the body", string(e.end.Response.Body.Base64), "00000001 ")
			},
		},
		{
			fact: "a header of 64 KiB goes through",
			args: []string{"-H", "X-Long: " + strings.Repeat("long ", 13000), "https://{go}/echo?long"}, out: "GET ",
			method: "GET", url: "https://{go}/echo?long",
			check: func(t *testing.T, e entry) {
				is(t, "the header", e.open.Request.header("X-Long"), strings.Repeat("long ", 13000)) // in HTTP/2 with the space at its end
			},
		},
		{
			fact: "an IPv6 literal is dialled and recorded with its brackets",
			args: []string{"https://{six}/echo?six"}, out: "GET ",
			method: "GET", url: "https://{six}/echo?six",
			check: func(t *testing.T, e entry) {
				if !strings.HasPrefix(e.end.Server.Address, "[::1]:") {
					t.Errorf("dialled %q", e.end.Server.Address)
				}
			},
		},
		{
			fact: "a download that the client gives up is recorded so",
			args: []string{"--max-time", "1", "-o", "{dir}/endless", "https://{go}/endless"}, exit: 28,
			method: "GET", url: "https://{go}/endless",
			check: func(t *testing.T, e entry) {
				if e.end.Failed == nil || e.end.Failed.Code != "client_gone" || e.end.Response == nil || e.end.Response.Complete {
					t.Errorf("failed %+v, response %+v", e.end.Failed, e.end.Response)
				}
			},
		},
		{
			fact: "a dead port is a 502 page, and the request is recorded with its body",
			args: []string{"-w", "%{http_code}", "-o", "{dir}/502", "-d", "posted", "https://{dead}/dead"}, out: "502",
			method: "POST", url: "https://{dead}/dead",
			check: func(t *testing.T, e entry) {
				if e.end.Failed == nil || e.end.Failed.Phase != "connect" || e.end.Failed.Code != "refused" || e.end.Response != nil {
					t.Errorf("failed %+v, response %+v", e.end.Failed, e.end.Response)
				}
				is(t, "the request's body", string(e.request()), "posted")
			},
		},
		{
			fact: "a server that nobody trusts is a 502 page",
			args: []string{"-w", "%{http_code}", "-o", "{dir}/untrusted", "https://{other}/untrusted"}, out: "502",
			method: "GET", url: "https://{other}/untrusted",
			check: func(t *testing.T, e entry) {
				if e.end.Failed == nil || e.end.Failed.Phase != "server_tls" || e.end.Failed.Code != "bad_certificate" {
					t.Errorf("failed %+v", e.end.Failed)
				}
			},
		},
		{
			fact: "a Host of another name than the connection's is refused with 421",
			args: []string{"-H", "Host: other.test", "-w", "%{http_code}", "-o", "{dir}/421", "https://{go}/echo?misdirected"}, out: "421",
			check: func(t *testing.T, e entry) {
				if e.end.Refused == nil || e.end.Refused.Code != "misdirected" {
					t.Errorf("refused %+v", e.end.Refused)
				}
			},
		},
		{
			fact: "the proxy's own credentials are not recorded",
			args: []string{"-U", "ada:secret", "--proxy-basic", "http://{plain}/echo?credentials"}, out: "GET ",
			method: "GET", url: "http://{plain}/echo?credentials",
			check: func(t *testing.T, e entry) {
				is(t, "Proxy-Authorization", e.open.Request.header("Proxy-Authorization"), "")
			},
		},
		{
			fact:   "a long answer keeps its first MiB, its size and its hash",
			args:   []string{"-o", "{dir}/large", "https://{go}/large?size=3000000"},
			method: "GET", url: "https://{go}/large?size=3000000",
			check: func(t *testing.T, e entry) {
				b := e.end.Response.Body
				is(t, "kept", len(b.Base64), 1<<20)
				is(t, "truncated", b.Truncated, true)
				is(t, "size", b.Size, 3_000_000)
				is(t, "sha256", b.SHA256, sum(pattern(3_000_000)))
			},
		},
		{
			fact: "a name in capitals is one name with its small letters",
			args: []string{"-w", "%{http_code}", "-o", "{dir}/capitals", "https://{GO}/echo?capitals"}, out: "200",
			method: "GET",
			check:  func(t *testing.T, e entry) { is(t, "the status", e.end.Response.Status, 200) },
		},
	}
}

func TestCurl(t *testing.T) {
	curl := need(t, "curl")
	w := newWorld(t)
	p := w.proxy()
	other := newWorld(t) // whose authority this proxy does not know
	if err := os.WriteFile(filepath.Join(w.dir, "upload"), pattern(1_200_000), 0o600); err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(w.origin.host, ":")
	names := strings.NewReplacer(
		"{go}", w.origin.host, "{GO}", "LOCALHOST:"+port, "{plain}", w.origin.plain, "{six}", "[::1]:"+port,
		"{dead}", freePort(t), "{other}", other.origin.host, "{dir}", w.dir,
	)
	var exchanges [][2]int // for each run, the place of its exchanges in the log
	all := curls()
	for _, o := range all {
		args := []string{"-sS", "-x", "http://" + p.address, "--cacert", p.ca, "--max-time", "30"}
		for _, arg := range o.args {
			args = append(args, names.Replace(arg))
		}
		before := ended(t, p.log)
		cmd := exec.Command(curl, args...)
		cmd.Env = clean(os.Environ())
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != o.exit {
			t.Errorf("%s: curl ended with %d: %s%s", o.fact, code, stderr.String(), stdout.String())
		}
		if o.out != "" && stdout.String() != o.out {
			t.Errorf("%s: curl printed %.500q, want %.500q", o.fact, stdout.String(), o.out)
		}
		until(t, "the end line of: "+o.fact, func() bool { return ended(t, p.log) > before })
		exchanges = append(exchanges, [2]int{before, ended(t, p.log)})
	}
	p.stop()
	log := readLog(t, p.log)
	for i, o := range all {
		t.Run(o.fact, func(t *testing.T) {
			mine := log.exchanges[exchanges[i][0]:exchanges[i][1]]
			if len(mine) != 1 {
				t.Fatalf("it left %d exchanges", len(mine))
			}
			e := mine[0]
			if o.method != "" {
				is(t, "the method", e.open.Request.Method, o.method)
			}
			if o.url != "" {
				is(t, "the URL", e.open.Request.URL, names.Replace(o.url))
			}
			o.check(t, e)
		})
	}
	t.Run("the HAR of all of it is valid", func(t *testing.T) {
		if got := len(convert(t, p.log)); got != len(log.exchanges)+len(log.tunnels) {
			t.Errorf("%d entries of %d", got, len(log.exchanges)+len(log.tunnels))
		}
	})
}

// ended counts the end lines of a log so far.
func ended(t *testing.T, path string) int {
	t.Helper()
	return bytes.Count(contentOf(t, path), []byte(`,"event":"end",`))
}

func is[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %.300s, want %.300s", what, fmt.Sprint(got), fmt.Sprint(want))
	}
}

func TestCurlThroughATunnel(t *testing.T) {
	curl := need(t, "curl")
	w := newWorld(t)
	p := w.proxy("--tunnel", "localhost")
	out, err := exec.Command(curl, "-sS", "-x", "http://"+p.address, "--cacert", w.ca.file, "https://"+w.origin.host+"/large?size=100000").Output()
	if err != nil || len(out) != 100000 {
		t.Fatalf("curl: %v, %d bytes", err, len(out))
	}
	p.stop()
	log := readLog(t, p.log)
	if len(log.exchanges) != 0 || len(log.tunnels) != 1 {
		t.Fatalf("%d exchanges, %d tunnels", len(log.exchanges), len(log.tunnels))
	}
	tunnel := log.tunnels[0]
	is(t, "the target", tunnel.open.Target, w.origin.host)
	if tunnel.end.Tunnel == nil || tunnel.end.Tunnel.Received < 100000 || tunnel.end.Tunnel.Sent < 500 {
		t.Errorf("tunnel %+v", tunnel.end.Tunnel)
	}
	har := convert(t, p.log)
	if len(har) != 1 || har[0].Request.Method != "CONNECT" || har[0].Request.URL != "https://"+w.origin.host+"/" || har[0].Response.Status != 200 {
		t.Errorf("%+v", har)
	}
}

// nginx answers 413 as soon as it has the head, and reads no more.
func TestAnAnswerBeforeTheUploadsEndReachesTheClient(t *testing.T) {
	curl := need(t, "curl")
	w := newWorld(t).withNginx()
	p := w.proxy()
	upload := filepath.Join(w.dir, "upload")
	if err := os.WriteFile(upload, pattern(8_000_000), 0o600); err != nil {
		t.Fatal(err)
	}
	url := "https://" + w.nginx.host + "/limited"
	out, err := exec.Command(curl, "-sS", "-x", "http://"+p.address, "--cacert", p.ca, "--max-time", "30",
		"-H", "Expect:", "--data-binary", "@"+upload, "-o", os.DevNull, "-w", "%{http_code}", url).CombinedOutput()
	if err != nil || string(out) != "413" {
		t.Errorf("curl: %v: %s", err, out)
	}
	p.stop()
	e := readLog(t, p.log).find(t, "POST", url)
	if e.end.Response == nil || e.end.Response.Status != 413 || !e.end.Response.Complete {
		t.Fatalf("failed %+v, response %+v", e.end.Failed, e.end.Response)
	}
	is(t, "the answer's size", e.end.Response.Body.Size, 183)
}
