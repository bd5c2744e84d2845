package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"

	"github.com/agentenv/netlog/capture/traffic"
	"github.com/agentenv/netlog/har"
	"github.com/agentenv/netlog/netlog"
)

// networkHAR gives the log as a HAR, built as it is sent.
func (a *API) networkHAR(w http.ResponseWriter, r *http.Request) {
	options := a.config.HAR
	if err := readQuery(r, map[string]field{"for": reader(&options)}); err != nil {
		traffic.WriteError(w, http.StatusBadRequest, traffic.CodeInvalidParams, err.Error())
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Disposition", `attachment; filename="`+harName+`"`)
	h.Set("Cache-Control", "no-store")
	started := &starter{w: w}
	var err error
	if r.Method == http.MethodHead {
		err = a.readable()
	} else {
		err = a.convert(r.Context(), started, options)
	}
	switch {
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

// reader reads for whom a HAR is to be made, "" for nobody in particular.
func reader(o *har.Options) field {
	return func(b json.RawMessage) error {
		if o.Rewrite = nil; len(b) == 0 {
			return nil
		}
		for _, p := range har.Profiles() {
			if p.Name == string(b) {
				o.Rewrite = p.Rewrite
				return nil
			}
		}
		return fmt.Errorf("is none of %s", strings.Join(readers(), ", "))
	}
}

// readers are those that a HAR can be made for.
func readers() []string {
	var names []string
	for _, p := range har.Profiles() {
		names = append(names, p.Name)
	}
	return names
}

// readable says whether there is a log to make a HAR of.
func (a *API) readable() error {
	log, err := netlog.OpenLog(a.config.Log)
	if err != nil {
		return err
	}
	return log.Close()
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
