// Package api is what `agentenv-netlog serve` answers: the card, the captures
// (traffic/v1), the lines of the network log (browser/v1), the log as a HAR, the
// data plane, and the routes of websites (package gateway).
//
// An [API] is an http.Handler. It reads the log and the captures at each request
// and holds neither, so that both may be written, rotated, begun again or not be
// there yet.
//
// With a control token every route but the cards and those of browsers to websites
// is for who sends it; without one all are open to whoever reaches them. Errors are
// {"ok":false,"error":{"code","message"}}, those of the data plane JSON-RPC's, and
// those of websites' routes {"error"}.
package api

import (
	"compress/gzip"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzhttp"

	"github.com/agentenv/netlog/capture"
	"github.com/agentenv/netlog/capture/traffic"
	"github.com/agentenv/netlog/cmd/internal/api/gateway"
	"github.com/agentenv/netlog/har"
)

// Config is what an API serves. It is not changed afterwards.
type Config struct {
	// Name is the env's, on the card.
	Name string

	// Token guards all routes but the cards and gateway.WebsitePath. Empty: they are
	// open.
	Token string

	// Own says whether a Host, without its port, names this server, when there is no
	// token: else any page could have a name of its own lead here (DNS rebinding),
	// and its visitors' browsers read all there is. Nil: any does.
	Own func(host string) bool

	// Captures is the folder of the captures, which need not be there yet. Empty:
	// traffic/v1 is not served.
	Captures string

	// Log is the network log, its live file or its folder, which need not be there
	// yet. Empty: nothing of a log is served.
	Log string

	// HAR is how the log becomes one; its Progress is not used.
	HAR har.Options

	// Gateway is what stands behind this server. Its Logger is this Config's. No
	// Sites: it has no routes.
	Gateway gateway.Config

	// Logger is told what went wrong here. Nil: nobody is.
	Logger *slog.Logger
}

// An API answers. It may be used by many goroutines.
type API struct {
	config  Config
	metrics *metrics
	routes  map[string]http.Handler // by path
	sites   *gateway.Gateway        // nil: there are none
	below   map[string]http.Handler // by what their paths begin with: the sites' routes
	handler http.Handler

	stopping context.Context // ends what waits for lines
	stop     context.CancelFunc
	sockets  sync.WaitGroup
}

// New makes an API.
func New(c Config) *API {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	a := &API{config: c, metrics: newMetrics(), routes: make(map[string]http.Handler)}
	a.stopping, a.stop = context.WithCancel(context.Background())
	get, post := []string{http.MethodGet, http.MethodHead}, []string{http.MethodPost}
	a.add(traffic.CardPath, get, a.serveCard(newCard(c)))
	a.guarded(metricsPath, get, a.metrics.handler())
	if c.Captures != "" {
		h := traffic.Handler{Ring: capture.Ring{Dir: c.Captures}, Logger: c.Logger}
		a.guarded(traffic.ListPath, get, http.HandlerFunc(h.List))
		a.guarded(traffic.GetPath, get, http.HandlerFunc(h.Get))
	}
	if c.Log != "" {
		a.guarded(networkPath, post, http.HandlerFunc(a.network))
		a.guarded(livePath, []string{http.MethodGet}, http.HandlerFunc(a.live))
		a.guarded(harPath, get, zipped(http.HandlerFunc(a.networkHAR)))
		a.guarded(dataPath, post, http.HandlerFunc(a.dataPlane))
	}
	if len(c.Gateway.Sites) > 0 {
		c.Gateway.Logger = c.Logger
		a.sites = gateway.New(c.Gateway)
		a.below = a.siteRoutes()
	}
	a.handler = newGate(c).mark(http.HandlerFunc(a.route))
	return a
}

func (a *API) guarded(path string, methods []string, h http.Handler) {
	a.routes[path] = a.metrics.count(path, guard(allow(methods, h)))
}

// add adds a route that is open to all.
func (a *API) add(path string, methods []string, h http.Handler) {
	a.routes[path] = a.metrics.count(path, allow(methods, h))
}

func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.handler.ServeHTTP(w, r) }

// Stop has calls that wait for lines answered as they are, and WebSockets closed.
// Downloads go on.
func (a *API) Stop() { a.stop() }

// Wait returns when the WebSockets are closed, of which an http.Server knows
// nothing, and the sites let go of. No request may begin any more.
func (a *API) Wait() {
	a.sockets.Wait()
	if a.sites != nil {
		a.sites.Close()
	}
}

// waiting is the context of what waits for lines on behalf of a request.
func (a *API) waiting(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	unbind := context.AfterFunc(a.stopping, cancel)
	return ctx, func() {
		unbind()
		cancel()
	}
}

func (a *API) route(w http.ResponseWriter, r *http.Request) {
	if found, ok := a.routes[r.URL.Path]; ok {
		found.ServeHTTP(w, r)
		return
	}
	for beginning, found := range a.below {
		if strings.HasPrefix(r.URL.Path, beginning) {
			found.ServeHTTP(w, r)
			return
		}
	}
	traffic.WriteError(w, http.StatusNotFound, traffic.CodeNotFound, "there is nothing at this path")
}

// zipped compresses for those who ask for it.
func zipped(next http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.EnableZstd(false), gzhttp.CompressionLevel(gzip.BestSpeed))
	if err != nil {
		panic(err) // the options are right
	}
	return wrap(next)
}

// allow refuses other methods, once it is known who asks.
func allow(methods []string, next http.Handler) http.Handler {
	allowed := strings.Join(methods, ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(methods, r.Method) {
			w.Header().Set("Allow", allowed)
			traffic.WriteError(w, http.StatusMethodNotAllowed, traffic.CodeBadMethod, "this route takes "+allowed)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (a *API) serveCard(c card) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := c
		if a.sites != nil {
			c.Children = a.sites.Cards(r.Context())
		}
		traffic.WriteJSON(w, http.StatusOK, c)
	}
}

// failed answers for what is broken on this side.
func (a *API) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() == nil {
		a.config.Logger.Error("a call failed", "path", r.URL.Path, "error", err)
	}
	traffic.WriteError(w, http.StatusInternalServerError, traffic.CodeFailed, err.Error())
}
