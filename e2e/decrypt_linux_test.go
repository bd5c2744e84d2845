package e2e

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// With the proxy's key log, a capture of an intercepted run tells the same
// requests and answers as the log, on either side of the proxy.
func TestTheKeyLogDecryptsACapture(t *testing.T) {
	t.Parallel()
	tcpdump, tshark := need(t, "tcpdump"), need(t, "tshark")
	if os.Getuid() != 0 {
		lacking(t, "only root can capture")
	}
	w := newWorld(t)
	keys, capture := filepath.Join(w.dir, "keys.txt"), filepath.Join(w.dir, "run.pcap")
	p := w.proxy("--key-log", keys)
	_, proxyPort, _ := net.SplitHostPort(p.address)
	_, originPort, _ := net.SplitHostPort(w.origin.host)

	recorder := exec.Command(tcpdump, "-i", "lo", "-n", "-U", "-B", "65536", "-Z", "root", "-w", capture,
		fmt.Sprintf("tcp port %s or tcp port %s", proxyPort, originPort))
	var heard said
	recorder.Stderr = &heard
	if err := recorder.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "tcpdump to listen", func() bool { return strings.Contains(heard.String(), "listening on") })
	client := elsewhere(p.client())
	for i := range 20 {
		asks(t, client, "GET", fmt.Sprintf("https://%s/echo?n=%d", w.origin.host, i), "", "")
		asks(t, client, "POST", fmt.Sprintf("https://%s/echo?posted=%d", w.origin.host, i), "application/json", strings.Repeat("x", i*1000))
		asks(t, elsewhere(p.client()), "GET", fmt.Sprintf("https://%s/status/404?alone=%d", w.origin.host, i), "", "")
	}
	// Packets come in order: what came before this one is captured when it is.
	asks(t, client, "GET", fmt.Sprintf("http://%s/echo?the-last-of-all", w.origin.plain), "", "")
	until(t, "the last packets", func() bool { return contains(t, capture, "the-last-of-all") })
	p.stop()
	recorder.Process.Signal(syscall.SIGTERM)
	if err := recorder.Wait(); err != nil || !strings.Contains(heard.String(), "\n0 packets dropped by kernel") {
		t.Fatalf("tcpdump: %v\n%s", err, &heard)
	}

	var want []string
	for _, e := range readLog(t, p.log).to(w.origin.host) {
		want = append(want, e.open.Request.Method+" "+e.open.Request.URL, fmt.Sprintf("%d %s", e.end.Response.Status, e.open.Request.URL))
	}
	slices.Sort(want)
	if len(want) != 2*60 {
		t.Fatalf("the log has %q", want)
	}
	for _, leg := range []struct{ name, port string }{{"the browser's", proxyPort}, {"the server's", originPort}} {
		// Without the keys there is nothing to see inside TLS.
		if got := decrypted(t, tshark, capture, os.DevNull, leg.port, proxyPort, originPort); len(got) != 0 {
			t.Errorf("%s leg is not encrypted: %q", leg.name, got)
		}
		if got := decrypted(t, tshark, capture, keys, leg.port, proxyPort, originPort); !slices.Equal(got, want) {
			t.Errorf("%s leg has, and the log not: %q; the log has: %q", leg.name, without(got, want), without(want, got))
		}
	}
}

// elsewhere has c connect from another address than the proxy does: tshark takes
// what a CONNECT makes for a connection to its target, and two from the same port
// for one.
func elsewhere(c *http.Client) *http.Client {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	c.Transport.(*http.Transport).DialContext = d.DialContext
	return c
}

// without are those of a that are not in b, or not so often.
func without(a, b []string) (more []string) {
	times := make(map[string]int)
	for _, s := range b {
		times[s]++
	}
	for _, s := range a {
		if times[s]--; times[s] < 0 {
			more = append(more, s)
		}
	}
	return more
}

// decrypted are the requests and the answers inside TLS with a port, as tshark has
// them, sorted. It is told what is spoken where: else the port that a client has
// happened to get may say something else.
func decrypted(t *testing.T, tshark, capture, keys, port, proxyPort, originPort string) (messages []string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), tshark, "-n", "-r", capture, "-o", "tls.keylog_file:"+keys,
		"-d", fmt.Sprintf("tcp.port==%s,http", proxyPort), "-d", fmt.Sprintf("tcp.port==%s,tls", originPort), "-Y", fmt.Sprintf("(http.request || http.response) && tls && tcp.port==%s", port),
		"-T", "fields", "-E", "separator=|", "-E", "occurrence=l",
		"-e", "http.request.method", "-e", "http.request.full_uri", "-e", "http.response.code", "-e", "http.response_for.uri")
	c.Env = append(clean(os.Environ()), "HOME="+t.TempDir())
	var complaints bytes.Buffer
	c.Stderr = &complaints
	out, err := c.Output()
	if err != nil {
		t.Fatalf("tshark: %v\n%s", err, complaints.String())
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		if len(f) != 4 {
			t.Fatalf("tshark: %q", line)
		}
		if f[0] != "" {
			messages = append(messages, f[0]+" "+f[1])
		} else {
			messages = append(messages, f[2]+" "+f[3])
		}
	}
	slices.Sort(messages)
	return messages
}
