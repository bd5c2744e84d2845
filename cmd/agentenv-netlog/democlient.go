package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// demoDomain holds every host of the demo. No host on the internet is under it
// (RFC 6761 §6.2).
const demoDomain = "demo.test"

const (
	demoShop = "https://www." + demoDomain
	demoGone = "https://gone." + demoDomain // nobody listens there
)

// A demoClient does what a browser would.
type demoClient struct {
	http   *http.Client
	socket *websocket.Dialer
}

func newDemoClient(proxyURL string, roots *x509.CertPool) (*demoClient, error) {
	to, err := url.Parse(proxyURL)
	if err != nil {
		return nil, err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	trust := &tls.Config{RootCAs: roots}
	return &demoClient{
		http: &http.Client{
			Jar: jar,
			Transport: &http.Transport{
				Proxy:              http.ProxyURL(to),
				TLSClientConfig:    trust,
				DisableCompression: true, // the codings are asked for one by one
			},
		},
		socket: &websocket.Dialer{Proxy: http.ProxyURL(to), TLSClientConfig: trust.Clone(), Subprotocols: []string{"chat"}},
	}, nil
}

// drive makes the demo's requests, one after the other.
func (c *demoClient) drive(ctx context.Context) error {
	defer c.http.CloseIdleConnections()
	for _, load := range []struct{ path, as string }{
		{"/", "document"},
		{"/style.css", "style"},
		{"/app.js", "script"},
		{"/logo.png", "image"},
	} {
		if err := c.get(ctx, demoShop+load.path, http.StatusOK, "Sec-Fetch-Dest", load.as); err != nil {
			return err
		}
	}
	for _, coding := range demoCodings {
		if err := c.get(ctx, demoShop+"/api/prices?from=10&to=20", http.StatusOK, "Accept-Encoding", coding, "Sec-Fetch-Dest", "empty"); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context) error{c.signIn, c.upload} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if err := c.get(ctx, demoShop+"/report", http.StatusOK); err != nil {
		return err
	}
	if err := c.get(ctx, demoShop+"/events", http.StatusOK, "Accept", "text/event-stream"); err != nil {
		return err
	}
	if err := c.chat(ctx); err != nil {
		return err
	}
	if err := c.get(ctx, demoShop+"/broken", http.StatusInternalServerError); err != nil {
		return err
	}
	return c.get(ctx, demoGone+"/", http.StatusBadGateway)
}

// get asks for a URL with header fields and reads the whole answer.
func (c *demoClient) get(ctx context.Context, to string, want int, fields ...string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, to, nil)
	if err != nil {
		return err
	}
	for i := 0; i+1 < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	return c.do(r, want)
}

func (c *demoClient) do(r *http.Request, want int) error {
	answer, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return fmt.Errorf("%s %q: %w", r.Method, r.URL, err)
	}
	if answer.StatusCode != want {
		return fmt.Errorf("%s %q: status %d, not %d", r.Method, r.URL, answer.StatusCode, want)
	}
	return nil
}

// signIn opens the form and sends it; the answer redirects to the account.
func (c *demoClient) signIn(ctx context.Context) error {
	if err := c.get(ctx, demoShop+"/login", http.StatusOK, "Sec-Fetch-Dest", "document"); err != nil {
		return err
	}
	form := url.Values{"user": {"ada"}, "password": {"not a secret"}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, demoShop+"/login", strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Dest", "document")
	return c.do(r, http.StatusOK)
}

func (c *demoClient) upload(ctx context.Context) error {
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	note, err := form.CreateFormField("note")
	if err != nil {
		return err
	}
	io.WriteString(note, "three years of receipts")
	file, err := form.CreateFormFile("receipts", "receipts.csv")
	if err != nil {
		return err
	}
	for i := range 4000 {
		fmt.Fprintf(file, "%d,receipt %d,%d.99\n", i, i, i%100)
	}
	if err := form.Close(); err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, demoShop+"/upload", &b)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", form.FormDataContentType())
	return c.do(r, http.StatusCreated)
}

// chat exchanges messages over a WebSocket and closes it properly.
func (c *demoClient) chat(ctx context.Context) error {
	to := strings.Replace(demoShop, "https:", "wss:", 1) + "/chat"
	socket, _, err := c.socket.DialContext(ctx, to, nil)
	if err != nil {
		return fmt.Errorf("open the WebSocket %q: %w", to, err)
	}
	defer socket.Close()
	if deadline, ok := ctx.Deadline(); ok {
		socket.SetReadDeadline(deadline)
		socket.SetWriteDeadline(deadline)
	}
	for kind, message := range map[int]string{websocket.TextMessage: "is the shop open?", websocket.BinaryMessage: "\x00\x01\x02"} {
		if err := socket.WriteMessage(kind, []byte(message)); err != nil {
			return fmt.Errorf("send to the WebSocket %q: %w", to, err)
		}
		if _, back, err := socket.ReadMessage(); err != nil || string(back) != message {
			return fmt.Errorf("the WebSocket %q said %q back to %q: %w", to, back, message, err)
		}
	}
	bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "bye")
	if err := socket.WriteControl(websocket.CloseMessage, bye, time.Now().Add(10*time.Second)); err != nil {
		return fmt.Errorf("close the WebSocket %q: %w", to, err)
	}
	_, _, err = socket.ReadMessage()
	var closed *websocket.CloseError
	if !errors.As(err, &closed) {
		return fmt.Errorf("close the WebSocket %q: %w", to, err)
	}
	return nil
}
