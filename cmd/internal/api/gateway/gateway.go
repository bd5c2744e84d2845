package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentenv/netlog/capture/traffic"
)

// Where the sites are: for browsers, and for who is in control.
const (
	WebsitePath = "/website/"
	ServicePath = "/svc/"
)

// Config is what a Gateway serves. It is not changed afterwards.
type Config struct {
	// Sites are told apart by their names.
	Sites []Site

	// RoleKey makes a role other than the default believed. Empty: every role is.
	RoleKey string

	// Withhold names the header fields that no site gets: what those that stand in
	// front of this server add for it alone.
	Withhold []string

	// Logger is told of answers that failed. Nil: nobody is.
	Logger *slog.Logger
}

// limits are what nothing waits longer for, or is larger than.
type limits struct {
	connect time.Duration // a site's address, and its TLS
	open    time.Duration // the answer to a WebSocket's handshake
	silence time.Duration // the next byte, in either direction
	card    time.Duration // a site's card, whole
	closing time.Duration // the rest of a WebSocket that is being closed
	message int64         // bytes of a WebSocket's message
}

var usual = limits{
	connect: 10 * time.Second, open: 10 * time.Second, silence: time.Hour,
	card: 5 * time.Second, closing: 5 * time.Second, message: 16 << 20,
}

// A Gateway passes requests on to sites. It may be used by many goroutines.
type Gateway struct {
	sites    []*site // in the order in which they were given
	roleKey  string
	withheld map[string]bool // by the names that plain gives
	limits   limits
	logger   *slog.Logger

	pooled  *http.Transport // for what may be sent again when a kept connection turns out to be closed
	fresh   *http.Transport // for what may not: each on a connection of its own
	sockets *http.Transport // for WebSockets, which may be silent for long

	stop context.CancelFunc // ends what still reads cards
	work sync.WaitGroup
}

// New makes a Gateway.
func New(c Config) *Gateway { return newGateway(c, usual) }

func newGateway(c Config, l limits) *Gateway {
	g := &Gateway{
		roleKey: c.RoleKey, withheld: withheld(c.Withhold), limits: l, logger: c.Logger,
		pooled: newTransport(l, l.silence, l.silence), fresh: newTransport(l, l.silence, l.silence), sockets: newTransport(l, l.open, 0),
	}
	g.fresh.DisableKeepAlives = true
	g.sockets.DisableKeepAlives = true
	if g.logger == nil {
		g.logger = slog.New(slog.DiscardHandler)
	}
	var ctx context.Context
	ctx, g.stop = context.WithCancel(context.Background())
	for _, s := range c.Sites {
		g.sites = append(g.sites, &site{Site: s, gateway: g, ctx: ctx})
	}
	return g
}

// Close lets go of the sites. No request may begin any more.
func (g *Gateway) Close() {
	g.stop()
	g.work.Wait()
	g.pooled.CloseIdleConnections()
}

// methods are what a site can be asked with.
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
	http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t, err := parseTarget(r.RequestURI)
	if err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	s := g.named(t.service)
	if s == nil {
		writeError(w, http.StatusNotFound, "Unknown service: "+t.service)
		return
	}
	if !slices.Contains(methods, r.Method) {
		w.Header().Set("Allow", strings.Join(methods, ", "))
		writeError(w, http.StatusMethodNotAllowed, "a site takes "+strings.Join(methods, ", "))
		return
	}
	if isSocket(r) && r.ContentLength != 0 {
		// A site that refuses the handshake may take the body for another request.
		writeError(w, http.StatusBadRequest, "a WebSocket's handshake has no body")
		return
	}
	if t.browser {
		if t.wantsSlash(r) {
			w.Header().Set("Location", t.withSlash())
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		switch kept, err := s.keeps(r.Context(), t.path); {
		case err != nil:
			writeError(w, http.StatusServiceUnavailable, "website card unavailable")
			return
		case kept:
			writeError(w, http.StatusNotFound, "not found")
			return
		}
	}
	(&passage{gateway: g, site: s, target: t, in: r, socket: isSocket(r)}).serve(w)
}

// IsCard says whether a request is one for a site's card, below [ServicePath].
func (g *Gateway) IsCard(r *http.Request) bool {
	t, err := parseTarget(r.RequestURI)
	return err == nil && !t.browser && t.path == traffic.CardPath && (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		r.ContentLength == 0 && !isSocket(r) // a body and a WebSocket are more than a question
}

func (g *Gateway) named(name string) *site {
	for _, s := range g.sites {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// writeError answers with an error as every gateway of envs does.
func writeError(w http.ResponseWriter, status int, text string) {
	traffic.WriteJSON(w, status, struct {
		Error string `json:"error"`
	}{text})
}
