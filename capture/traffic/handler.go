package traffic

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/agentenv/netlog/capture"
)

// MediaType is a capture's.
const MediaType = "application/vnd.tcpdump.pcap"

// A Handler serves a ring's captures. It does not ask who wants them.
type Handler struct {
	Ring   capture.Ring
	Logger *slog.Logger // told what went wrong here
}

// A listing is the answer of list.
type listing struct {
	Format   string            `json:"format"`
	Captures []capture.Capture `json:"captures"`
}

// List answers with the captures, each container's in the order in which they
// were captured.
func (h *Handler) List(w http.ResponseWriter, r *http.Request) {
	captures, err := h.Ring.List()
	if err != nil {
		h.failed(w, r, err)
		return
	}
	for i := range captures {
		// Readers of ISO 8601 take six digits of a second, and few more.
		captures[i].ModifiedAt = captures[i].ModifiedAt.Truncate(time.Microsecond)
	}
	if captures == nil {
		captures = []capture.Capture{}
	}
	WriteJSON(w, http.StatusOK, listing{"pcap", captures})
}

// Get answers with a copy of one capture, taken whole before a byte is sent. Part
// of it may be asked for (Range), and its rest later if it is still the same one
// (If-Range).
func (h *Handler) Get(w http.ResponseWriter, r *http.Request) {
	names := r.URL.Query()["name"]
	if len(names) != 1 {
		WriteError(w, http.StatusBadRequest, CodeInvalidParams, `"name" is to be given, once`)
		return
	}
	s, err := h.Ring.Snapshot(r.Context(), names[0])
	switch {
	case err == nil:
	case errors.Is(err, capture.ErrBadName):
		WriteError(w, http.StatusBadRequest, CodeInvalidParams, `"name" is not the name of a capture`)
		return
	case errors.Is(err, capture.ErrNotFound):
		WriteError(w, http.StatusNotFound, CodeNotFound, "there is no such capture")
		return
	case errors.Is(err, capture.ErrUnavailable):
		h.Logger.Warn("no copy could be taken", "capture", names[0], "error", err)
		w.Header().Set("Retry-After", "1")
		WriteError(w, http.StatusServiceUnavailable, CodeUnavailable, "no copy can be taken now, ask again")
		return
	default:
		h.failed(w, r, err)
		return
	}
	defer s.File.Close()
	header := w.Header()
	header.Set("Content-Type", MediaType)
	header.Set("Content-Disposition", `attachment; filename="`+s.Name+`"`)
	header.Set("Cache-Control", "no-store")
	header.Set("ETag", s.ETag)
	// The tag holds while the capture grows: it tells whether a part is of the same
	// capture, but not that there is nothing new.
	r.Header.Del("If-None-Match")
	// Parts are of a GET, and a range in another unit is as none (RFC 9110 §14.2).
	if r.Method != http.MethodGet || !strings.HasPrefix(r.Header.Get("Range"), "bytes=") {
		r.Header.Del("Range")
	}
	http.ServeContent(w, r, s.Name, time.Time{}, s.File)
}

// failed answers for what is broken on this side.
func (h *Handler) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() == nil {
		h.Logger.Error("a call failed", "path", r.URL.Path, "error", err)
	}
	WriteError(w, http.StatusInternalServerError, CodeFailed, err.Error())
}
