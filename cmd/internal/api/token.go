package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"

	"github.com/agentenv/netlog/capture/traffic"
)

// CheckToken says whether a control token can be one: none at all, or characters
// that a header field carries as they are.
func CheckToken(token string) error {
	for i, c := range []byte(token) {
		if c <= ' ' || c >= 0x7f {
			return fmt.Errorf("the control token has white space or another character that is none of a token's at byte %d", i)
		}
	}
	return nil
}

// A gate knows who is in control: the requests that carry the token or, when
// there is none, all.
type gate struct {
	open bool
	sum  [sha256.Size]byte // of the one right value of Authorization
}

func newGate(token string) gate {
	return gate{open: token == "", sum: sha256.Sum256([]byte("Bearer " + token))}
}

// mark is how what lies behind the gate sees who is in control, a WebSocket's
// handshake too. The token itself is taken off: no site, log line or HAR has it.
// What else is in Authorization is somebody else's and stays.
func (g gate) mark(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inControl := g.open
		var others []string
		for _, v := range r.Header["Authorization"] {
			if !g.open && g.admits(v) {
				inControl = true
			} else {
				others = append(others, v)
			}
		}
		if len(others) > 0 {
			r.Header["Authorization"] = others
		} else {
			delete(r.Header, "Authorization")
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), controlled{}, inControl)))
	})
}

// admits compares hashes, so that the time it takes tells nothing of the token,
// its length included.
func (g gate) admits(value string) bool {
	sum := sha256.Sum256([]byte(value))
	return subtle.ConstantTimeCompare(sum[:], g.sum[:]) == 1
}

type controlled struct{}

// guard keeps a route for who is in control. It reads the mark alone: without the
// gate in front, nobody is.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if inControl, _ := r.Context().Value(controlled{}).(bool); !inControl {
			w.Header().Set("WWW-Authenticate", "Bearer")
			traffic.WriteError(w, http.StatusUnauthorized, traffic.CodeUnauthorized, "this route is agent-env's own: it takes the env's control token")
			return
		}
		next.ServeHTTP(w, r)
	})
}
