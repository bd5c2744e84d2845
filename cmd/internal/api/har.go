package api

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"

	"github.com/agentenv/netlog/capture/traffic"
	"github.com/agentenv/netlog/har"
	"github.com/agentenv/netlog/netlog"
)

// networkHAR gives the log as a HAR, built as it is sent.
func (a *API) networkHAR(w http.ResponseWriter, r *http.Request) {
	if err := readQuery(r, nil); err != nil {
		traffic.WriteError(w, http.StatusBadRequest, traffic.CodeInvalidParams, err.Error())
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Disposition", `attachment; filename="`+harName+`"`)
	h.Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		return
	}
	started := &starter{w: w}
	switch err := a.convert(r.Context(), started, a.config.HAR); {
	case err == nil:
	case started.begun:
		a.broke(r, err)
	case errors.Is(err, fs.ErrNotExist):
		h.Del("Content-Disposition")
		traffic.WriteError(w, http.StatusNotFound, traffic.CodeNotFound, "there is no network log yet")
	default:
		h.Del("Content-Disposition")
		a.failed(w, r, err)
	}
}

// convert writes the HAR of the log as it is now. It gives up when ctx ends.
func (a *API) convert(ctx context.Context, w io.Writer, o har.Options) error {
	log, err := netlog.OpenLog(a.config.Log)
	if err != nil {
		return err
	}
	defer log.Close()
	o.Progress = func(int64, int64) error { return ctx.Err() }
	_, err = har.Convert(log, w, o)
	return err
}

// broke ends an answer that can't be finished so that its reader sees that it is
// not whole.
func (a *API) broke(r *http.Request, err error) {
	if r.Context().Err() == nil {
		a.config.Logger.Error("an answer broke off", "path", r.URL.Path, "error", err)
	}
	panic(http.ErrAbortHandler)
}
