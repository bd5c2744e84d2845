package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// The codes of JSON-RPC 2.0 §5.1, and the data plane's own.
const (
	rpcParseError     = -32700
	rpcInvalidRequest = -32600
	rpcNoMethod       = -32601
	rpcInvalidParams  = -32602
	rpcFailed         = -32000
)

const (
	maxBatch = 100
	maxDrain = 1 << 30 // bytes of a refused body that are read, so that its sender reads why
)

// An rpcError is the error member of a response.
type rpcError struct {
	Code    int      `json:"code"`
	Message string   `json:"message"`
	Data    *rpcData `json:"data,omitempty"`
}

type rpcData struct {
	Code   string `json:"code,omitempty"`
	Detail string `json:"detail,omitempty"`
}

func invalidRequest(detail string) *rpcError {
	return &rpcError{rpcInvalidRequest, "Invalid Request", &rpcData{Detail: detail}}
}

func invalidParams(detail string) *rpcError {
	return &rpcError{rpcInvalidParams, "Invalid params", &rpcData{Code: "invalid_request", Detail: detail}}
}

// A call is one request of a body.
type call struct {
	id     json.RawMessage // nil: a notification, which nobody answers
	method string
	params map[string]json.RawMessage
	err    *rpcError // what is wrong with it
}

var null = json.RawMessage("null")

// dataPlane answers with 200 whatever the calls come to, as JSON-RPC over HTTP
// has it here.
func (a *API) dataPlane(w http.ResponseWriter, r *http.Request) {
	calls, batch, bad := readCalls(r.Body)
	if bad != nil {
		io.CopyN(io.Discard, r.Body, maxDrain)
		calls = []call{{id: null, err: bad}}
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	answered := 0
	for _, c := range calls {
		if c.id == nil {
			continue // each of the operations would do nothing
		}
		switch answered++; {
		case batch && answered == 1:
			io.WriteString(w, "[")
		case batch:
			io.WriteString(w, ",")
		}
		a.answer(w, r, c)
	}
	if batch && answered > 0 {
		io.WriteString(w, "]")
	}
}

// readCalls takes a body apart. An error is that of the body as a whole.
func readCalls(body io.Reader) (calls []call, batch bool, bad *rpcError) {
	b, err := io.ReadAll(newShortener(body))
	switch {
	case errors.Is(err, errTooLarge):
		return nil, false, invalidRequest("the body is too large")
	case err != nil:
		return nil, false, &rpcError{rpcParseError, "Parse error", &rpcData{Detail: "the body could not be read to its end"}}
	case !json.Valid(b):
		return nil, false, &rpcError{rpcParseError, "Parse error", &rpcData{Detail: "the body is not JSON"}}
	}
	if b = bytes.TrimSpace(b); b[0] != '[' {
		return []call{readCall(b)}, false, nil
	}
	var list []json.RawMessage
	switch err := json.Unmarshal(b, &list); {
	case err != nil || len(list) == 0:
		return nil, false, invalidRequest("a batch has at least one request")
	case len(list) > maxBatch:
		return nil, false, invalidRequest("the batch has too many requests")
	}
	for _, b := range list {
		calls = append(calls, readCall(b))
	}
	return calls, true, nil
}

func readCall(b []byte) call {
	c := call{id: null}
	invalid := func(detail string) call {
		c.err = invalidRequest(detail)
		return c
	}
	var members map[string]json.RawMessage
	if b[0] != '{' || json.Unmarshal(b, &members) != nil {
		return invalid("a request is an object")
	}
	id, called := members["id"]
	if called {
		if first := id[0]; first == '{' || first == '[' || first == 't' || first == 'f' {
			return invalid("id is neither a string nor a number")
		}
		c.id = id
	}
	var version string
	if json.Unmarshal(members["jsonrpc"], &version) != nil || version != "2.0" {
		return invalid(`jsonrpc is not "2.0"`)
	}
	if m := members["method"]; len(m) == 0 || m[0] != '"' || json.Unmarshal(m, &c.method) != nil {
		return invalid("method is not a string")
	}
	if p, ok := members["params"]; ok {
		switch p[0] {
		case '{':
			if json.Unmarshal(p, &c.params) != nil {
				return invalid("params are not an object")
			}
		case '[':
			c.err = invalidParams("params are given by name")
		default:
			return invalid("params are neither an object nor an array")
		}
	}
	if !called {
		c.id = nil
	}
	return c
}

// answer writes one response.
func (a *API) answer(w io.Writer, r *http.Request, c call) {
	if c.err != nil {
		writeResponse(w, c.id, "error", c.err)
		return
	}
	switch c.method {
	case "data/get":
		a.dataGet(w, r, c.id)
	case "data/add":
		if err := addParts(c.params); err != nil {
			writeResponse(w, c.id, "error", err)
			return
		}
		writeResponse(w, c.id, "result", struct{}{})
	case "data/reset":
		// The log is a record of what was, not state: it stays.
		writeResponse(w, c.id, "result", struct{}{})
	default:
		writeResponse(w, c.id, "error", &rpcError{Code: rpcNoMethod, Message: "Method not found"})
	}
}

func writeResponse(w io.Writer, id json.RawMessage, member string, value any) {
	b, err := json.Marshal(value)
	if err != nil {
		panic(err) // it is one of ours
	}
	w.Write(beginResponse(id, member))
	w.Write(b)
	io.WriteString(w, "}")
}

// beginResponse is a response up to its member, result or error.
func beginResponse(id json.RawMessage, member string) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(b, `,"`...)
	b = append(b, member...)
	return append(b, `":`...)
}
