package api

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
)

// reads holds that the next messages are these lines.
func reads(t *testing.T, conn *websocket.Conn, want string) {
	t.Helper()
	for l := range strings.Lines(want) {
		kind, b, err := conn.ReadMessage()
		if err != nil || kind != websocket.TextMessage || string(b)+"\n" != l {
			t.Fatalf("%d %.200q, %v; want %.200q", kind, b, err, l)
		}
	}
}

func TestLiveStreamsLinesAsTheyCome(t *testing.T) {
	w := newWorld(t, "")
	conn, _, err := dial(w, "/network/live?after=2") // there is no log yet
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	long := line(4, 0, strings.Repeat("x", 20<<20))
	w.write(w.log, lines(1, 3, 0))
	reads(t, conn, line(3, 0, ""))
	w.appendTo(w.log, long[:len(long)/2])
	w.appendTo(w.log, long[len(long)/2:]+lines(5, 6, 0))
	reads(t, conn, long+lines(5, 6, 0))
	w.write(w.log, lines(1, 2, 1)) // begun again
	reads(t, conn, lines(1, 2, 1))
	if err := conn.WriteMessage(websocket.TextMessage, []byte("what a client says is passed over")); err != nil {
		t.Fatal(err)
	}
	w.appendTo(w.log, line(3, 1, ""))
	reads(t, conn, line(3, 1, ""))
	w.stop()
	if _, _, err := conn.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseGoingAway) {
		t.Errorf("a server that stops: %v", err)
	}
}

func TestLiveSaysWhyItEnds(t *testing.T) {
	w := newWorld(t, "")
	w.write(w.log, lines(1, 1, 0))
	conn, _, err := dial(w, "/network/live")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	reads(t, conn, line(1, 0, ""))
	replaceWithLink(t, w.log)
	if _, _, err := conn.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseInternalServerErr) {
		t.Errorf("a log that is none: %v", err)
	}
	if !strings.Contains(w.said.String(), "could not be streamed") {
		t.Errorf("nobody was told: %s", w.said)
	}
}

func TestLiveIsAWebSocketOfTheSameOrigin(t *testing.T) {
	w := newWorld(t, "")
	w.fails(426, "upgrade_required", "GET", "/network/live", "")
	for _, query := range []string{"after=-1", "after=x", "after=", "after=1&after=2", "after=+1", "before=1"} {
		w.fails(400, "invalid_params", "GET", "/network/live?"+query, "")
		if conn, answer, err := dial(w, "/network/live?"+query); err == nil || answer == nil || answer.StatusCode != 400 {
			t.Errorf("%s: %v", query, err)
			if err == nil {
				conn.Close()
			}
		}
	}
	for origin, taken := range map[string]bool{"": true, w.url: true, "http://evil.test": false, "null": false} {
		var headers []string
		if origin != "" {
			headers = []string{"Origin", origin}
		}
		conn, answer, err := dial(w, "/network/live", headers...)
		if err == nil {
			conn.Close()
		}
		if (err == nil) != taken {
			t.Errorf("Origin %q: %v", origin, err)
		}
		if !taken && err != nil {
			wantBody(t, answer, 403)
		}
	}
}

func wantBody(t *testing.T, answer *http.Response, status int) {
	t.Helper()
	var f struct{ Error struct{ Code string } }
	b, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != status || json.Unmarshal(b, &f) != nil || f.Error.Code == "" {
		t.Errorf("%d %s", answer.StatusCode, b)
	}
}
