package e2e

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// startNodeServer is Node's server of HTTP/2, host:port, with its own idea of what
// frames are.
func startNodeServer(t *testing.T, w *world) string {
	t.Helper()
	cmd := exec.Command(need(t, "node"), inTestdata(t, "http2", "server.js"), w.ca.leaf.cert, w.ca.leaf.key)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		io.Copy(io.Discard, out)
		cmd.Wait()
	})
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("Node's server does not listen: %v", err)
	}
	return "127.0.0.1:" + strings.TrimSpace(port)
}

// Node's client asks Node's server for what HTTP/2 has and HTTP/1 has not. Each
// checks what it gets of the other; the log tells the same.
func TestNodeOverHTTP2(t *testing.T) {
	node := need(t, "node")
	w := newWorld(t)
	p := w.proxy()
	host := startNodeServer(t, w)
	cmd := exec.CommandContext(t.Context(), node, inTestdata(t, "http2", "client.js"), host, "http://"+p.address, p.trust)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "done\n" {
		t.Errorf("Node: %v\n%s", err, out)
	}
	p.stop()
	log := readLog(t, p.log)
	spoke(t, log.exchanges, "HTTP/2")
	of := func(method, path string) entry { return log.find(t, method, "https://"+host+path) }

	for n := range 150 {
		e := of("POST", fmt.Sprint("/echo?n=", n))
		went(t, e)
		is(t, "a body", string(e.request()), fmt.Sprint("body ", n))
	}
	fields := of("PUT", "/echo?fields")
	went(t, fields)
	is(t, "the cookies", fmt.Sprint(fields.open.Request.headers("cookie")), "[a=1 b=2 c=3]")
	is(t, "the request's trailers", fmt.Sprint(fields.trailers()), "[[x-after the body]]")
	is(t, "the upload", len(fields.request()), 300_000)
	is(t, "the set cookies", fmt.Sprint(fields.end.Response.headers("set-cookie")), "[one=1; Path=/ two=2; Path=/]")
	is(t, "the answer's trailers", fmt.Sprint(of("GET", "/trailers").end.Response.Trailers), "[[x-checksum four] [x-again yes]]")
	early := of("GET", "/early")
	went(t, early)
	is(t, "the informational answers", fmt.Sprint(early.end.Response.Informational), "[{103} {103}]")

	for path, want := range map[string]string{
		"/broken":  "receive reset INTERNAL_ERROR: the server reset the stream",
		"/refused": "wait reset HTTP_1_1_REQUIRED: the server reset the stream",
		"/begun?1": "receive client_gone CANCEL: the browser reset the stream",
		"/begun?2": "receive client_gone INTERNAL_ERROR: the browser reset the stream",
	} {
		f := of("GET", path).end.Failed
		if f == nil {
			t.Errorf("%s did not fail", path)
			continue
		}
		is(t, path, f.Phase+" "+f.Code+" "+f.Reason, want)
	}
	s := of("CONNECT", "/socket").end
	if s.WebSocket == nil || s.WebSocket.Sent.Messages != 2 || s.WebSocket.Received.Messages != 2 || s.WebSocket.Close == nil || s.WebSocket.Close.Code != 1000 || s.WebSocket.Close.By != "client" {
		t.Errorf("the socket: %+v, failed %+v", s.WebSocket, s.Failed)
	}
	is(t, "its messages", strings.Join(log.messagesOf(s.ID), " "), "send one receive one send two receive two send close receive close")
	for _, path := range []string{"/away", "/echo?again", "/trailers?narrow", "/large", "/none", "/nowhere"} {
		went(t, of("GET", path))
	}
	is(t, "the large body", of("GET", "/large").end.Response.Body.Size, 1_500_000)

	for _, e := range sound(t, p.log) {
		if strings.HasSuffix(e.Request.URL, "/echo?fields") {
			is(t, "the HAR's cookies", fmt.Sprint(valuesOf(e.Request.Headers, "cookie")), "[a=1; b=2; c=3]")
		}
	}
}
