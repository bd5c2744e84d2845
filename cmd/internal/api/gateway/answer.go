package gateway

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
)

// An upload is a request's body on its way up.
type upload struct {
	io.ReadCloser
	ended  atomic.Bool
	broken atomic.Bool // it is no body, or the client is gone
}

func (u *upload) Read(b []byte) (int, error) {
	n, err := u.ReadCloser.Read(b)
	switch {
	case errors.Is(err, io.EOF):
		u.ended.Store(true)
	case err != nil:
		u.broken.Store(true)
	}
	return n, err
}

// An answerWriter adds nothing to what a site has answered.
type answerWriter struct {
	http.ResponseWriter
	upload *upload
}

// Unwrap is for http.ResponseController.
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *answerWriter) WriteHeader(status int) {
	if status >= http.StatusOK {
		h := w.Header()
		for _, name := range []string{"Content-Type", "Date"} {
			if _, ok := h[name]; !ok {
				h[name] = nil // net/http would make one up
			}
		}
		if !w.upload.ended.Load() {
			// net/http panics when it looks for the next request while what is left of
			// this one may still be read (golang.org/issue/68560).
			h.Set("Connection", "close")
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// A download is an answer's body on its way down. What breaks it off is logged:
// the client sees no more than that it is not whole.
type download struct {
	io.ReadCloser
	p *passage
	n int64
}

func (d *download) Read(b []byte) (int, error) {
	n, err := d.ReadCloser.Read(b)
	d.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) && d.p.in.Context().Err() == nil {
		d.p.gateway.logger.Warn("a site's answer broke off", "site", d.p.site.Name, "path", d.p.target.path, "bytes", d.n, "error", err)
	}
	return n, err
}
