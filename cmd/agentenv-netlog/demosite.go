package main

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/gorilla/websocket"
	"github.com/klauspost/compress/zstd"
)

// demoCodings are the content codings that the site answers in.
var demoCodings = []string{"identity", "gzip", "deflate", "br", "zstd"}

// demoSite is a small shop that does each thing that browsers record.
func demoSite() http.Handler {
	mux := http.NewServeMux()
	page := func(title, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprintf(w, "<!doctype html><html lang=en><title>%s</title><link rel=stylesheet href=/style.css>"+
				"<script src=/app.js defer></script><h1>%[1]s</h1>%s</html>\n", title, body)
		}
	}
	mux.HandleFunc("GET /{$}", page("Demo shop", `<img src=/logo.png alt=logo><a href=/login>Sign in</a>`))
	mux.HandleFunc("GET /login", page("Sign in", `<form method=post><input name=user><input name=password type=password><button>Sign in</button></form>`))
	mux.HandleFunc("GET /account", page("Your account", `<p>Nothing ordered yet.</p>`))
	mux.HandleFunc("POST /login", signIn)
	mux.HandleFunc("GET /style.css", text("text/css; charset=utf-8", "h1 { font: 2rem sans-serif }\n"))
	mux.HandleFunc("GET /app.js", text("text/javascript; charset=utf-8", "fetch('/api/prices').then(r => r.json()).then(console.log)\n"))
	mux.HandleFunc("GET /logo.png", logo)
	mux.HandleFunc("GET /api/prices", prices)
	mux.HandleFunc("GET /report", salesReport)
	mux.HandleFunc("GET /events", events)
	mux.HandleFunc("GET /chat", chat)
	mux.HandleFunc("POST /upload", upload)
	mux.HandleFunc("GET /broken", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the till is on fire", http.StatusInternalServerError)
	})
	return mux
}

func text(mediaType, content string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		io.WriteString(w, content)
	}
}

func signIn(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: "user", Value: r.FormValue("user"), Path: "/", HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode})
	http.Redirect(w, r, "/account", http.StatusFound)
}

// logo is a picture that is drawn, so that the site needs no file.
func logo(w http.ResponseWriter, _ *http.Request) {
	const side = 96
	picture := image.NewRGBA(image.Rect(0, 0, side, side))
	for y := range side {
		for x := range side {
			picture.Set(x, y, color.RGBA{uint8(x * 2), uint8(y * 2), 160, 255})
		}
	}
	w.Header().Set("Content-Type", "image/png")
	png.Encode(w, picture)
}

// prices answers in the first coding of the request's Accept-Encoding.
func prices(w http.ResponseWriter, r *http.Request) {
	list := make([]map[string]any, 40)
	for i := range list {
		list[i] = map[string]any{"sku": fmt.Sprintf("item-%02d", i), "price": 100 + 7*i, "currency": "EUR", "name": "Käse"}
	}
	coding, _, _ := strings.Cut(r.Header.Get("Accept-Encoding"), ",")
	var b bytes.Buffer
	encoder, err := demoEncoder(&b, coding)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotAcceptable)
		return
	}
	json.NewEncoder(encoder).Encode(list)
	encoder.Close()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Vary", "Accept-Encoding")
	if coding != "identity" {
		w.Header().Set("Content-Encoding", coding)
	}
	w.Write(b.Bytes())
}

func demoEncoder(w io.Writer, coding string) (io.WriteCloser, error) {
	switch coding {
	case "identity":
		return keepOpen{w}, nil
	case "gzip":
		return gzip.NewWriter(w), nil
	case "deflate":
		return zlib.NewWriter(w), nil // deflate is the zlib format (RFC 9110 §8.4.1.2)
	case "br":
		return brotli.NewWriter(w), nil
	case "zstd":
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	}
	return nil, fmt.Errorf("no coding %q here", coding)
}

type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// salesReport comes in parts of unknown total length: chunked.
func salesReport(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	for month := 1; month <= 3; month++ {
		fmt.Fprintf(w, "2024-%02d,%d\n", month, 1000*month)
		http.NewResponseController(w).Flush()
	}
}

func events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	for i, state := range []string{"paid", "packed", "sent"} {
		if i > 0 {
			select {
			case <-time.After(50 * time.Millisecond):
			case <-r.Context().Done():
				return
			}
		}
		fmt.Fprintf(w, "id: %d\nevent: order\ndata: {\"state\":%q}\n\n", i+1, state)
		http.NewResponseController(w).Flush()
	}
}

// chat says everything back until the other side closes.
func chat(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{Subprotocols: []string{"chat"}}
	socket, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // it has answered
	}
	defer socket.Close()
	for {
		kind, message, err := socket.ReadMessage()
		if err != nil {
			return
		}
		if err := socket.WriteMessage(kind, message); err != nil {
			return
		}
	}
}

// upload answers with what it took of each file.
func upload(w http.ResponseWriter, r *http.Request) {
	parts, err := r.MultipartReader()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	type file struct {
		Field, Name, SHA256 string
		Size                int64
	}
	var files []file
	for len(files) < 16 {
		part, err := parts.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		sum := sha256.New()
		size, err := io.Copy(sum, part)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		files = append(files, file{part.FormName(), part.FileName(), hex.EncodeToString(sum.Sum(nil)), size})
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	json.NewEncoder(w).Encode(files)
}
