package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/agentenv/netlog/capture/traffic"
	"github.com/agentenv/netlog/netlog"
)

const (
	defaultLimit = 1 << 20  // bytes of lines in an answer
	maxLimit     = 16 << 20 // but one line is given however long it is
	maxWait      = 30       // seconds
)

// network gives the lines after a number. Nothing is kept between two calls, so
// that any number of clients may each follow the log at their own pace.
func (a *API) network(w http.ResponseWriter, r *http.Request) {
	var after int64
	limit, wait := int64(defaultLimit), 0.0
	err := readParams(w, r, map[string]field{
		"after": whole(&after, 0, math.MaxInt64),
		"limit": whole(&limit, 1, maxLimit),
		"wait":  seconds(&wait, maxWait),
	})
	if err != nil {
		traffic.WriteError(w, http.StatusBadRequest, traffic.CodeInvalidParams, err.Error())
		return
	}
	page, err := a.page(r, after, int(limit), time.Duration(wait*float64(time.Second)))
	if err != nil {
		a.failed(w, r, err)
		return
	}
	writePage(w, page)
}

// page waits for lines up to wait, or until the client or this server goes.
func (a *API) page(r *http.Request, after int64, limit int, wait time.Duration) (*netlog.Page, error) {
	reader := netlog.NewReader(a.config.Log)
	if wait == 0 {
		return reader.Page(after, limit)
	}
	ctx, cancel := a.waiting(r)
	defer cancel()
	ctx, end := context.WithTimeout(ctx, wait)
	defer end()
	page, err := reader.Follow(ctx, after, limit)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		err = nil
	}
	return page, err
}

// writePage gives the lines as they are in the log, to the byte.
func writePage(w http.ResponseWriter, p *netlog.Page) {
	const begin, lines = `{"lines":[`, `],`
	tail, err := json.Marshal(struct {
		Next       int64 `json:"next"`
		More       bool  `json:"more"`
		BegunAgain bool  `json:"begun_again"`
		Unreadable int64 `json:"unreadable"`
		Missing    int64 `json:"missing"`
	}{p.Next, p.More, p.BegunAgain, p.Unreadable, p.Missing})
	if err != nil {
		panic(err) // numbers and truth values
	}
	size := len(begin) + max(len(p.Lines)-1, 0) + len(lines) + len(tail) - 1
	for _, l := range p.Lines {
		size += len(l)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(size))
	h.Set("Cache-Control", "no-store")
	io.WriteString(w, begin)
	for i, l := range p.Lines {
		if i > 0 {
			io.WriteString(w, ",")
		}
		if _, err := w.Write(l); err != nil {
			return // the client is gone
		}
	}
	io.WriteString(w, lines)
	w.Write(tail[1:])
}
