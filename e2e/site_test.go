package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gorilla/websocket"
)

// site is what the Go origin serves, and nginx by way of it: the files of
// testdata/site and what a file can't do.
func site() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir("testdata/site")))
	mux.HandleFunc("POST /form", form)
	mux.HandleFunc("GET /thanks", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><title>thanks</title><link rel=icon href=data:,><p>Thank you, %s", r.URL.Query().Get("name"))
	})
	mux.HandleFunc("POST /upload", upload)
	mux.HandleFunc("GET /api/first", func(w http.ResponseWriter, r *http.Request) {
		answer(w, map[string]string{"next": "/api/second?after=first"})
	})
	mux.HandleFunc("GET /api/second", func(w http.ResponseWriter, r *http.Request) {
		answer(w, map[string]string{"came": r.URL.RawQuery, "sign": "Grüße, 世界"})
	})
	mux.HandleFunc("/echo", echo)
	mux.HandleFunc("GET /moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/landed?by=redirect", http.StatusFound)
	})
	mux.HandleFunc("GET /landed", func(w http.ResponseWriter, r *http.Request) {
		answer(w, map[string]string{"landed": r.URL.Query().Get("by")})
	})
	mux.HandleFunc("GET /repo.git/HEAD", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "ref: refs/heads/main")
	})
	mux.HandleFunc("GET /repo.git/info/refs", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "0123456789012345678901234567890123456789\trefs/heads/main")
	})
	mux.HandleFunc("GET /status/{code}", func(w http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.PathValue("code"))
		w.WriteHeader(code)
		if code >= 200 && code != 204 && code != 304 {
			fmt.Fprintf(w, "this is a %d\n", code)
		}
	})
	mux.HandleFunc("GET /coded/{coding}", coded)
	mux.HandleFunc("GET /chunked", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Checksum")
		for i := range 4 {
			fmt.Fprintf(w, "part %d\n", i)
			http.NewResponseController(w).Flush()
		}
		w.Header().Set("X-Checksum", "four")
	})
	mux.HandleFunc("GET /early", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload; as=style")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		fmt.Fprintln(w, "after the hints")
	})
	mux.HandleFunc("GET /endless", endless)
	mux.HandleFunc("GET /held", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("GET /large", func(w http.ResponseWriter, r *http.Request) {
		size, _ := strconv.Atoi(r.URL.Query().Get("size"))
		http.ServeContent(w, r, "large.txt", time.Time{}, bytes.NewReader(pattern(size)))
	})
	mux.HandleFunc("GET /events", events)
	mux.HandleFunc("GET /events/open", openEvents)
	mux.HandleFunc("GET /socket", socket)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.RequestURI == "*" { // the mux answers it with 400
			w.Header().Set("Allow", "GET, HEAD, POST, OPTIONS")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if r.Header.Get("Origin") != "" {
			allow(w, r)
		}
		if r.Method == "OPTIONS" && r.Header.Get("Access-Control-Request-Method") != "" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// allow lets a page of another origin read the answer.
func allow(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	w.Header().Set("Access-Control-Allow-Headers", "x-asked, content-type")
	w.Header().Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE")
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

// form sets two cookies and sends the browser on (RFC 9110 §15.4.4).
func form(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Add("Set-Cookie", "session=abc123; Path=/; HttpOnly; SameSite=Lax")
	w.Header().Add("Set-Cookie", "name="+r.PostForm.Get("name")+"; Path=/; Max-Age=3600")
	http.Redirect(w, r, "/thanks?name="+r.PostForm.Get("name"), http.StatusSeeOther)
}

// upload says what came, so that the browser's side can be compared too.
func upload(w http.ResponseWriter, r *http.Request) {
	parts, err := r.MultipartReader()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	type part struct{ Name, FileName, SHA256 string }
	var came []part
	for {
		p, err := parts.NextPart()
		if err == io.EOF {
			answer(w, came)
			return
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		hash := sha256.New()
		io.Copy(hash, p)
		came = append(came, part{p.FormName(), p.FileName(), hex.EncodeToString(hash.Sum(nil))})
	}
}

// echo answers with the request's method and body; a HEAD gets the length.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	said := fmt.Appendf(nil, "%s %s", r.Method, body)
	w.Header().Set("Content-Length", strconv.Itoa(len(said)))
	w.Write(said)
}

// coded serves one JSON document in the coding asked for.
func coded(w http.ResponseWriter, r *http.Request) {
	coding := r.PathValue("coding")
	body, err := encode(coding, []byte(`{"coding":"`+coding+`","text":"`+string(pattern(2000))+`"}`))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", coding)
	w.Write(body)
}

// endless writes until nobody reads.
func endless(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	for chunk := pattern(32 << 10); ; {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// events is an event stream of three events that the server ends.
func events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range 3 {
		fmt.Fprintf(w, "id: %d\nevent: count\ndata: {\"i\":%d}\n\n", i, i)
		http.NewResponseController(w).Flush()
	}
}

// openEvents is one that goes on until the browser closes it.
func openEvents(w http.ResponseWriter, r *http.Request) {
	events(w, r)
	<-r.Context().Done()
}

// socket echoes each message until the browser closes.
func socket(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{EnableCompression: true}
	c, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer c.Close()
	for {
		kind, message, err := c.ReadMessage()
		if err != nil {
			return
		}
		if err := c.WriteMessage(kind, message); err != nil {
			return
		}
	}
}

// pattern is n bytes of text that no two neighbouring blocks share.
func pattern(n int) []byte {
	var b []byte
	for i := 0; len(b) < n; i++ {
		b = fmt.Appendf(b, "%08d ", i)
	}
	return slices.Clip(b[:n])
}
