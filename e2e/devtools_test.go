package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// DevTools shows what the log holds. It has no word for a type that is not
// known, and for a body without bytes shows the size of the head.
func readWithDevTools(t *testing.T, c *collection) {
	got := inDevTools(t, c.har)
	ends := map[int64]*line{}
	messages := map[int64][]any{}
	var lines []*line
	if c.log != nil {
		lines = c.log.lines
	}
	for _, l := range lines {
		switch l.Event {
		case "end":
			ends[l.ID] = l
		case "message":
			at, err := time.Parse("2006-01-02T15:04:05.000000Z", l.T)
			if err != nil {
				t.Fatal(err)
			}
			data := base64.StdEncoding.EncodeToString(l.Base64)
			if l.Text != nil {
				data = *l.Text
			}
			messages[l.ID] = append(messages[l.ID], []any{l.Dir, float64(at.UnixMicro()) / 1e6, l.Opcode, data})
		}
	}
	holds(t, c.entries, got, func(e harEntry, facts map[string]any) {
		facts["transferSize"] = e.Response.TransferSize
		facts["messages"] = append([]any{}, messages[e.ID]...)
		if c.log == nil {
			facts["messages"] = messagesOf(e)
		}
		events := []any{}
		for _, m := range e.Events {
			events = append(events, []any{m.Time, m.EventName, m.EventID, m.Data})
		}
		facts["events"] = events
		facts["resource"] = e.ResourceType
		facts["server"] = e.ServerIPAddress + ":80"
		if e.Connection != "" {
			facts["server"] = e.ServerIPAddress + ":" + e.Connection
		}
		if e.Response.Content.MimeType == "x-unknown" {
			facts["type"] = nil
		}
		if facts["content"] == nil {
			facts["content"] = ""
		}
		if e.Response.Content.Size == 0 {
			facts["size"] = max(e.Response.HeadersSize, 0) + max(e.Response.BodySize, 0)
		}
		timings := maps.Clone(e.Timings)
		timings["blocked"] = max(timings["blocked"], 0)
		facts["timings"] = timings
		if l := ends[e.ID]; l != nil && !e.Open {
			s := l.Timings
			for name, micros := range map[string]int64{
				"dns": s.DNS, "connect": s.Connect, "ssl": s.TLS, "send": s.Send, "wait": s.Wait, "receive": s.Receive,
			} {
				if micros > 0 { // else it was none, or took no time
					timings[name] = float64(micros) / 1000
				}
			}
			if r := l.Response; r != nil && !l.Unparsed {
				facts["status"] = r.Status
				size := r.HeaderBytes
				if r.Body != nil {
					size += r.Body.Size
				}
				if l.WebSocket != nil {
					size += l.WebSocket.Received.Bytes
				}
				facts["transferSize"] = size
			}
		}
	})
}

// messagesOf are a WebSocket's as the HAR has them.
func messagesOf(e harEntry) []any {
	list := []any{}
	for _, m := range e.Messages {
		list = append(list, []any{m.Type, m.Time, m.Opcode, m.Data})
	}
	return list
}

// inDevTools has the importer of Chromium's DevTools read a HAR.
func inDevTools(t *testing.T, file string) []reading {
	t.Helper()
	got, err := askDevTools[[]reading](t, "devtools.js", string(contentOf(t, file)))
	if err != nil {
		t.Fatalf("DevTools refuses the file: %v", err)
	}
	return got
}

// askDevTools calls a script's function in a page of Chromium's DevTools.
func askDevTools[T any](t *testing.T, script string, argument any) (answer T, err error) {
	t.Helper()
	b := startChromium(t, nil, nil)
	made, err := chromedp.CallBrowser(b.ctx, target.CreateTarget, target.CreateTargetParams{URL: "devtools://devtools/bundled/devtools_app.html"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithTargetID(made.TargetID))
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, patience)
	defer cancel()
	text, err := json.Marshal(argument)
	if err != nil {
		t.Fatal(err)
	}
	call := "(" + string(contentOf(t, inTestdata(t, "readers", script))) + ")(" + string(text) + ")"
	return chromedp.Run(ctx, chromedp.Evaluate[T](call, chromedp.EvalAwaitPromise))
}
