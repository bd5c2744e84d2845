package api

import (
	"net/http"

	"github.com/gorilla/websocket"

	"github.com/agentenv/netlog/cmd/internal/api/gateway"
)

// siteRoutes are the sites': for browsers open, for the harness guarded, but for
// the sites' cards.
func (a *API) siteRoutes() map[string]http.Handler {
	site := http.HandlerFunc(a.site)
	guarded := guard(site)
	harness := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.sites.IsCard(r) {
			site(w, r)
		} else {
			guarded.ServeHTTP(w, r)
		}
	})
	return map[string]http.Handler{
		gateway.WebsitePath: a.metrics.count(gateway.WebsitePath, site),
		gateway.ServicePath: a.metrics.count(gateway.ServicePath, harness),
	}
}

// site passes a request on to its site. A WebSocket ends when the server does.
func (a *API) site(w http.ResponseWriter, r *http.Request) {
	if websocket.IsWebSocketUpgrade(r) {
		a.sockets.Add(1)
		defer a.sockets.Done()
		ctx, cancel := a.waiting(r)
		defer cancel()
		r = r.WithContext(ctx)
	}
	a.sites.ServeHTTP(w, r)
}
