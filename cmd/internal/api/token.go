package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"strings"

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
// there is none, all that are meant for this server.
type gate struct {
	open bool
	own  func(host string) bool
	sum  [sha256.Size]byte // of the one right value of Authorization
}

func newGate(c Config) gate {
	return gate{open: c.Token == "", own: c.Own, sum: sha256.Sum256([]byte("Bearer " + c.Token))}
}

// mark is how what lies behind the gate sees who is in control, a WebSocket's
// handshake too. The token itself is taken off: no site, log line or HAR has it.
// What else is in Authorization is somebody else's and stays.
func (g gate) mark(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mark := refused
		switch {
		case g.open && (g.own == nil || g.own(hostname(r.Host))):
			mark = inControl
		case g.open:
			mark = astray
		}
		var others []string
		for _, v := range r.Header["Authorization"] {
			if !g.open && g.admits(v) {
				mark = inControl
			} else {
				others = append(others, v)
			}
		}
		if len(others) > 0 {
			r.Header["Authorization"] = others
		} else {
			delete(r.Header, "Authorization")
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), control{}, mark)))
	})
}

// admits compares hashes, so that the time it takes tells nothing of the token,
// its length included.
func (g gate) admits(value string) bool {
	sum := sha256.Sum256([]byte(value))
	return subtle.ConstantTimeCompare(sum[:], g.sum[:]) == 1
}

// hostname is a Host field's value without its port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

type control struct{} // the key of a request's standing

type standing int

const (
	refused standing = iota
	inControl
	astray // it is meant for another server
)

// guard keeps a route for who is in control. It reads the mark alone: without the
// gate in front, nobody is.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch s, _ := r.Context().Value(control{}).(standing); s {
		case inControl:
			next.ServeHTTP(w, r)
		case astray:
			traffic.WriteError(w, http.StatusMisdirectedRequest, codeMisdirected, "this server, which has no control token, does not go by the name that it is asked by")
		default:
			w.Header().Set("WWW-Authenticate", "Bearer")
			traffic.WriteError(w, http.StatusUnauthorized, traffic.CodeUnauthorized, "this route is agent-env's own: it takes the env's control token")
		}
	})
}

const codeMisdirected = "misdirected" // 421
