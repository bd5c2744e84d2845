package har

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/agentenv/netlog/netlog"
)

// wantsWebSocket says whether a request asks for a WebSocket (RFC 6455 §4.1,
// RFC 8441 §4), whatever the answer to it.
func wantsWebSocket(req *netlog.Request) bool {
	return req != nil && (strings.EqualFold(header(req.Headers, "Upgrade"), "websocket") ||
		strings.EqualFold(header(req.Pseudo, ":protocol"), "websocket"))
}

func (e *Entry) webSocket(w *netlog.WebSocket, messages []*netlog.Message) {
	for _, m := range messages {
		e.WebSocketMessages = append(e.WebSocketMessages, socketMessage(m))
	}
	if w == nil {
		return
	}
	e.WebSocket = &WebSocket{
		Sent: frames(&w.Sent), Received: frames(&w.Received),
		Subprotocol: w.Subprotocol, Extensions: w.Extensions,
	}
	if w.Recorded != nil {
		e.WebSocket.Recorded = new(counted(*w.Recorded))
	}
	if c := w.Close; c != nil {
		e.WebSocketClose = &WebSocketClose{Code: c.Code, Reason: c.Reason, By: c.By}
		e.WebSocket.Close = e.WebSocketClose
	}
}

func frames(f *netlog.Frames) Frames {
	return Frames{Messages: counted(f.Messages), Bytes: counted(f.Bytes), Frames: counted(f.Frames), Control: counted(f.Control)}
}

func socketMessage(m *netlog.Message) WebSocketMessage {
	out := WebSocketMessage{Type: m.Dir, Time: Seconds(m.Time.UnixMicro()), Opcode: m.Opcode}
	kept := m.Base64
	if m.Text != nil {
		kept = []byte(*m.Text)
	}
	if m.Opcode == 1 && utf8.Valid(kept) {
		out.Data = string(kept)
	} else {
		out.Data = base64.StdEncoding.EncodeToString(kept)
		if m.Opcode == 1 {
			out.Encoding = "base64"
		}
	}
	if m.Size == nil || *m.Size != int64(len(kept)) {
		out.Truncated = true
		if m.Size != nil {
			out.Size = new(counted(*m.Size))
		}
	}
	return out
}
