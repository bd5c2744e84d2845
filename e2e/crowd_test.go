package e2e

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Many clients at once, each asking for one thing after the other: what the
// origin was asked and answered is in the log and the HAR, to the byte.
func TestACrowdIsRecordedToTheByte(t *testing.T) {
	for version, client := range map[string]func(*proxy) *http.Client{"HTTP/1.1": (*proxy).client, "HTTP/2": (*proxy).multiplexing} {
		t.Run(version, func(t *testing.T) { crowded(t, version, client) })
	}
}

func crowded(t *testing.T, version string, client func(*proxy) *http.Client) {
	const clients, each = 24, 40
	w := newWorld(t)
	p := w.proxy()
	crowd(t, client(p), clients, each, "https://"+w.origin.host)
	p.stop()
	log := readLog(t, p.log)
	is(t, "the exchanges of the log", len(log.exchanges), clients*each)
	asked := byOrigin(w.origin.accesses(t), w.origin.host)
	agree(t, "the origin", asked, "the log", byLog(log.exchanges))
	agree(t, "the origin", asked, "the HAR", byHAR(t, convert(t, p.log)))
	spoke(t, log.exchanges, version)
	for _, e := range log.exchanges {
		went(t, e)
	}
}

// The stand-in's figures are the origin's, of tunnels and of http:// requests.
func TestACrowdIsCountedToTheByte(t *testing.T) {
	const clients, each = 24, 40
	w := newWorld(t)
	p := w.proxy("--stand-in")
	crowd(t, p.client(), clients, each, "https://"+w.origin.host, "http://"+w.origin.plain)
	p.stop()
	log := readLog(t, p.log)
	is(t, "the exchanges of the log", len(log.exchanges), clients*each/2)
	stoodIn(t, w, log)
}

// crowd sends its clients to one base after the other.
func crowd(t *testing.T, client *http.Client, clients, each int, bases ...string) {
	t.Helper()
	var crowd sync.WaitGroup
	for n := range clients {
		crowd.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(n)))
			for i := range each {
				r := oddRequest(t, random, bases[n%len(bases)], fmt.Sprintf("%d-%d", n, i))
				answer, err := client.Do(r)
				if err != nil {
					t.Errorf("%s %s: %v", r.Method, r.URL, err)
					continue
				}
				if _, err := io.Copy(io.Discard, answer.Body); err != nil {
					t.Errorf("%s %s: %v", r.Method, r.URL, err)
				}
				answer.Body.Close()
			}
		})
	}
	crowd.Wait()
	client.CloseIdleConnections()
}

// oddRequest is one of the things that the site can do, with a URL of its own.
func oddRequest(t *testing.T, random *rand.Rand, base, name string) *http.Request {
	method, path := "GET", ""
	var body io.Reader
	switch random.IntN(8) {
	case 0:
		path = "/coded/" + []string{"gzip", "deflate", "br", "zstd"}[random.IntN(4)]
	case 1:
		path = "/chunked"
	case 2:
		method, path = "HEAD", "/echo"
	case 3:
		path = fmt.Sprintf("/status/%d", []int{204, 304, 404, 418, 500}[random.IntN(5)])
	case 4:
		path = "/logo.png"
	case 5: // with a length
		method, path = "POST", "/echo"
		body = strings.NewReader(string(pattern(random.IntN(200_000))) + name)
	case 6: // chunked, as no length is known
		method, path = "PUT", "/echo"
		body = io.MultiReader(bytes.NewReader(pattern(random.IntN(100_000))), strings.NewReader(name))
	case 7:
		path = "/early"
	}
	r, err := http.NewRequestWithContext(t.Context(), method, base+path+"?name="+name, body)
	if err != nil {
		t.Error(err)
	}
	return r
}

// A proxy that is told to stop ends what is still open as stopped.
func TestAStoppedProxyEndsWhatIsOpen(t *testing.T) {
	w := newWorld(t)
	p := w.proxy("--drain", "0s")
	client := p.client()
	var asking sync.WaitGroup
	asking.Go(func() {
		if r, err := client.Get("https://" + w.origin.host + "/held"); err == nil {
			r.Body.Close()
			t.Errorf("the held request was answered with %s", r.Status)
		}
	})
	until(t, "the held request's open line", func() bool { return contains(t, p.log, `/held"`) })
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.wait("SIGTERM")
	asking.Wait()
	end := readLog(t, p.log).find(t, "GET", "https://"+w.origin.host+"/held").end
	if end.Failed == nil || end.Failed.Code != "stopped" {
		t.Errorf("failed %+v", end.Failed)
	}
}
