package main

import (
	"encoding/json"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/agentenv/netlog/har"
)

// A summary is a line of show --json, whose help describes it.
type summary struct {
	ID              int64        `json:"id"`
	StartedDateTime string       `json:"startedDateTime"`
	Method          string       `json:"method"`
	URL             string       `json:"url"`
	Status          int          `json:"status,omitempty"`
	ResourceType    string       `json:"resourceType,omitempty"`
	MimeType        string       `json:"mimeType,omitempty"`
	RequestSize     *int64       `json:"requestSize,omitempty"`
	ResponseSize    *int64       `json:"responseSize,omitempty"`
	Time            *har.Millis  `json:"time,omitempty"`
	Via             string       `json:"via,omitempty"`
	Site            string       `json:"site,omitempty"`
	ServerIPAddress string       `json:"serverIPAddress,omitempty"`
	Open            bool         `json:"open,omitempty"`
	Failed          *har.Failed  `json:"failed,omitempty"`
	Refused         *har.Refused `json:"refused,omitempty"`
	Error           string       `json:"error,omitempty"`
}

func printJSON(out io.Writer, e *har.Entry) error {
	s := summary{
		ID: e.ID, StartedDateTime: e.StartedDateTime, Method: e.Request.Method, URL: e.Request.URL,
		Status: max(e.Response.Status, 0), ResourceType: e.ResourceType, MimeType: mediaTypeOf(e),
		Via: e.Via, Site: e.Site, ServerIPAddress: e.ServerIPAddress,
		Open: e.Open, Failed: e.Failed, Refused: e.Refused, Error: e.Response.Error,
	}
	if n := sentSize(e); n >= 0 {
		s.RequestSize = &n
	}
	if n := receivedSize(e); n >= 0 {
		s.ResponseSize = &n
	}
	if !e.Open && e.Time >= 0 {
		s.Time = &e.Time
	}
	b, err := json.Marshal(&s)
	if err != nil {
		return err
	}
	_, err = out.Write(append(asciiJSON(b), '\n'))
	return err
}

// asciiJSON escapes what is not ASCII, some of which steers terminals.
func asciiJSON(b []byte) []byte {
	const hex = "0123456789abcdef"
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		b = b[size:]
		if r < 0x7f {
			out = append(out, byte(r))
			continue
		}
		for _, u := range utf16.AppendRune(nil, r) {
			out = append(out, '\\', 'u', hex[u>>12], hex[u>>8&15], hex[u>>4&15], hex[u&15])
		}
	}
	return out
}
