package api

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"github.com/agentenv/netlog/capture/traffic"
	"github.com/agentenv/netlog/netlog"
)

const codeUpgrade = "upgrade_required" // 426

const (
	pingEvery = 30 * time.Second // of silence, for what stands between and forgets silent connections
	writeWait = 30 * time.Second // for a message, and a second more for each slowest
	slowest   = 64 << 10         // bytes
)

// live streams the lines after a number, each as a text message, for as long as
// the client stays. Browsers can't give a token, and a page of another origin is
// refused (gorilla's own check).
func (a *API) live(w http.ResponseWriter, r *http.Request) {
	var after int64
	if err := readQuery(r, map[string]field{"after": whole(&after, 0, math.MaxInt64)}); err != nil {
		traffic.WriteError(w, http.StatusBadRequest, traffic.CodeInvalidParams, err.Error())
		return
	}
	if !r.ProtoAtLeast(1, 1) || !websocket.IsWebSocketUpgrade(r) { // RFC 9110 §7.8
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Connection", "Upgrade")
		traffic.WriteError(w, http.StatusUpgradeRequired, codeUpgrade, "this route is a WebSocket")
		return
	}
	a.sockets.Add(1)
	defer a.sockets.Done()
	upgrader := websocket.Upgrader{
		HandshakeTimeout: writeWait,
		Error: func(w http.ResponseWriter, _ *http.Request, status int, reason error) {
			traffic.WriteError(w, status, codeUpgrade, reason.Error())
		},
	}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // answered
	}
	defer conn.Close()
	ctx, cancel := a.waiting(r)
	defer cancel()
	listened := make(chan struct{})
	go func() {
		defer close(listened)
		defer cancel()
		listen(conn)
	}()
	code, reason := websocket.CloseGoingAway, "" // the server is stopped, or the client gone
	if err := a.stream(ctx, conn, after); err != nil {
		a.config.Logger.Error("the log could not be streamed", "error", err)
		code, reason = websocket.CloseInternalServerErr, "the log can't be read"
	}
	conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason), time.Now().Add(time.Second))
	conn.Close()
	<-listened
}

// listen notices that the client goes; what it says is passed over. A client that
// vanished is TCP's to notice (keep-alive).
func listen(conn *websocket.Conn) {
	conn.SetReadLimit(4 << 10)
	for {
		if _, _, err := conn.NextReader(); err != nil {
			return
		}
	}
}

// stream writes lines until ctx ends or the client can't be written to. Its error
// is the log's.
func (a *API) stream(ctx context.Context, conn *websocket.Conn, after int64) error {
	reader := netlog.NewReader(a.config.Log)
	for {
		turn, cancel := context.WithTimeout(ctx, pingEvery)
		page, err := reader.Follow(turn, after, defaultLimit)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, context.DeadlineExceeded):
			if conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeWait)) != nil {
				return nil
			}
			continue
		case err != nil:
			return err
		}
		for _, l := range page.Lines {
			conn.SetWriteDeadline(time.Now().Add(writeWait + time.Duration(len(l)/slowest)*time.Second))
			if conn.WriteMessage(websocket.TextMessage, l) != nil {
				return nil
			}
		}
		after = page.Next
	}
}
