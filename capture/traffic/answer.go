package traffic

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// The codes of errors, each with its status.
const (
	CodeInvalidParams = "invalid_params"     // 400
	CodeUnauthorized  = "unauthorized"       // 401
	CodeNotFound      = "not_found"          // 404
	CodeBadMethod     = "method_not_allowed" // 405
	CodeFailed        = "extension_failed"   // 500
	CodeUnavailable   = "unavailable"        // 503: ask again
)

// failure is the body of an answer that is no success. A success has no envelope.
type failure struct {
	OK    bool `json:"ok"`
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// WriteError answers with an error as every route of an env does.
func WriteError(w http.ResponseWriter, status int, code, message string) {
	var f failure
	f.Error.Code, f.Error.Message = code, message
	WriteJSON(w, status, f)
}

// WriteJSON answers with v, whole.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // v is one of ours, which have no such values
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(b)))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(b)
}
