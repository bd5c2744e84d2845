package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// curl speaks HTTP/2 through the proxy, and the proxy with the Go origin and with
// nginx, where curl wants to and --http1 does not forbid it.
func TestCurlSpeaksTheVersionThatItMay(t *testing.T) {
	curl := need(t, "curl")
	for _, c := range []struct {
		args  []string // of the proxy
		asks  string   // curl's switch
		speak string
	}{
		{nil, "--http2", "HTTP/2"},
		{nil, "--http1.1", "HTTP/1.1"},
		{[]string{"--http1"}, "--http2", "HTTP/1.1"},
	} {
		t.Run(strings.Join(append(c.args, c.asks), " "), func(t *testing.T) {
			w := newWorld(t).withNginx()
			p := w.proxy(c.args...)
			upload := filepath.Join(w.dir, "upload")
			write(t, upload, pattern(3_000_000))
			for _, host := range []string{w.origin.host, w.nginx.host} {
				base := "https://" + host
				for _, args := range [][]string{
					{base + "/echo?get"},
					{"-d", "posted", base + "/echo?post"},
					{"-T", upload, base + "/echo?put"},
					{"-I", base + "/echo?head"},
					{"-L", base + "/moved"},
					{"--compressed", base + "/coded/br"},
					{base + "/status/204"},
				} {
					args = slices.Concat([]string{"-sS", "-x", "http://" + p.address, "--cacert", p.ca, c.asks, "-o", os.DevNull, "-w", "HTTP/%{http_version}"}, args)
					if out, err := exec.Command(curl, args...).CombinedOutput(); err != nil || string(out) != c.speak {
						t.Errorf("curl %q: %v, %s", args, err, out)
					}
				}
			}
			w.nginx.stop()
			p.stop()
			log := readLog(t, p.log)
			spoke(t, log.exchanges, c.speak)
			for _, e := range log.exchanges {
				went(t, e)
			}
			agree(t, "the Go origin", byOrigin(w.origin.accesses(t), w.origin.host), "the log", byLog(log.to(w.origin.host)))
			agree(t, "nginx", byNginx(w.nginx.accesses(t)), "the log", byLog(log.to(w.nginx.host)))
			sameVersions(t, log, sound(t, p.log))
		})
	}
}

// curl has many transfers on one connection.
func TestCurlAsksManyThingsAtOnce(t *testing.T) {
	const total = 200
	curl := need(t, "curl")
	w := newWorld(t)
	p := w.proxy()
	out, err := exec.Command(curl, "-sS", "-x", "http://"+p.address, "--cacert", p.ca, "--http2", "--parallel", "--parallel-max", "100",
		fmt.Sprintf("https://%s/large?size=20000&n=[1-%d]", w.origin.host, total)).Output()
	if err != nil || len(out) != total*20000 {
		t.Errorf("curl: %v, %d bytes", err, len(out))
	}
	p.stop()
	log := readLog(t, p.log)
	is(t, "the number of entries", len(log.exchanges), total)
	spoke(t, log.exchanges, "HTTP/2")
	for n := range total {
		e := log.find(t, "GET", fmt.Sprintf("https://%s/large?size=20000&n=%d", w.origin.host, n+1))
		went(t, e)
		is(t, "the connection", e.open.Connection, log.exchanges[0].open.Connection)
		is(t, "the answer's body", string(e.end.Response.Body.Base64), string(pattern(20000)))
	}
}
