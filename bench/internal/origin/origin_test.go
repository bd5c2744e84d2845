package origin

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"github.com/agentenv/netlog/bench/internal/party"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestItAnswersAsNetHTTPReadsIt(t *testing.T) {
	certificate, _, err := party.SelfSigned()
	if err != nil {
		t.Fatal(err)
	}
	o, err := Start(certificate)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	roots := x509.NewCertPool()
	roots.AddCert(certificate.Leaf)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: party.Host}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for _, path := range []string{JSON, Bytes + "1", Bytes + "1000001", JSON} {
		resp, err := client.Get("https://" + o.HTTP2 + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 200 || resp.ProtoMajor != 2 || int64(len(body)) != resp.ContentLength || path == JSON && !json.Valid(body) {
			t.Errorf("%s: status %d, %d bytes of %d, %s, %v", path, resp.StatusCode, len(body), resp.ContentLength, resp.Proto, err)
		}
	}
	for _, test := range []struct {
		method, path string
		upload       int
		status, size int
		closes       bool
	}{
		{"GET", JSON, 0, 200, JSONBytes, false},
		{"GET", Bytes + "0", 0, 200, 0, false},
		{"GET", Bytes + "1000001", 0, 200, 1_000_001, false},
		{"POST", Sink, 300_000, 204, 0, false},
		{"GET", Once, 0, 200, JSONBytes, true},
		{"GET", JSON, 0, 200, JSONBytes, false},
	} {
		req, err := http.NewRequest(test.method, "http://"+o.Plain+test.path, strings.NewReader(strings.Repeat("a", test.upload)))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatalf("%s %s: %v", test.method, test.path, err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != test.status || len(body) != test.size || resp.Close != test.closes {
			t.Errorf("%s %s: status %d, %d bytes, close %v, %v", test.method, test.path, resp.StatusCode, len(body), resp.Close, err)
		}
		if strings.HasPrefix(test.path, JSON) && !json.Valid(body) {
			t.Errorf("%s is no JSON: %s", test.path, body)
		}
	}
}

func TestItEchoesMessages(t *testing.T) {
	certificate, _, err := party.SelfSigned()
	if err != nil {
		t.Fatal(err)
	}
	o, err := Start(certificate)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	ws, _, err := websocket.DefaultDialer.Dial("ws://"+o.Plain+Echo, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	for _, size := range []int{0, 1, 100, 125} {
		text := strings.Repeat("a", size)
		if err := ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if kind, got, err := ws.ReadMessage(); err != nil || kind != websocket.TextMessage || string(got) != text {
			t.Errorf("%d bytes: kind %d, %q, %v", size, kind, got, err)
		}
	}
	ws.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""))
	if _, _, err := ws.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		t.Errorf("closed with %v", err)
	}
}
