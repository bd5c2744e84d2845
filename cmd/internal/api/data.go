package api

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
)

// Names of the parts of an export.
const (
	harName        = "network.har"
	browserLogName = "browser-log.jsonl"
)

// addParts takes an export back: the records in it are passed over, as they are no
// state. There is nothing else that could be added.
func addParts(params map[string]json.RawMessage) *rpcError {
	var parts []json.RawMessage
	if p := params["parts"]; len(p) == 0 || p[0] != '[' || json.Unmarshal(p, &parts) != nil {
		return invalidParams("parts is not an array")
	}
	if len(parts) == 0 {
		return invalidParams("parts has no part")
	}
	for i, p := range parts {
		var part struct {
			Kind string `json:"kind"`
			File struct {
				Name string `json:"name"`
			} `json:"file"`
		}
		if json.Unmarshal(p, &part) != nil || part.Kind != "file" || part.File.Name != harName && part.File.Name != browserLogName {
			return invalidParams(fmt.Sprintf("parts[%d] is neither %s nor %s, and nothing else can be added", i, harName, browserLogName))
		}
	}
	return nil
}

// dataGet exports the log as a HAR, or nothing while there is no log. It is built
// as it is sent, so that it may be of any length.
func (a *API) dataGet(w io.Writer, r *http.Request, id json.RawMessage) {
	begin := append(beginResponse(id, "result"), `{"parts":[{"kind":"file","file":{"name":"`+harName+`","mimeType":"application/json","bytes":"`...)
	started := &starter{w: w, begin: begin}
	encoded := base64.NewEncoder(base64.StdEncoding, started)
	err := a.convert(r.Context(), encoded, a.config.HAR)
	switch {
	case err == nil:
		encoded.Close() // the last bytes; a client that is gone needs no answer
		io.WriteString(w, `"}}]}}`)
	case started.begun:
		a.broke(r, err)
	case errors.Is(err, fs.ErrNotExist):
		writeResponse(w, id, "result", map[string][]struct{}{"parts": {}})
	default:
		a.config.Logger.Error("the log could not be exported", "error", err)
		writeResponse(w, id, "error", &rpcError{rpcFailed, "the network log could not be exported", &rpcData{Code: "get_failed", Detail: err.Error()}})
	}
}

// A starter writes its beginning before the first byte, and so leaves who writes
// through it time to fail.
type starter struct {
	w     io.Writer
	begin []byte
	begun bool
}

func (s *starter) Write(p []byte) (int, error) {
	if !s.begun {
		s.begun = true
		if _, err := s.w.Write(s.begin); err != nil {
			return 0, err
		}
	}
	return s.w.Write(p)
}
