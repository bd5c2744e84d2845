package e2e

import (
	"net/http"
	"testing"
)

// A world holds every party of a test: the origins and their authority, and
// the proxy between them and whoever asks.
type world struct {
	t      *testing.T
	dir    string // everything that the parties write
	ca     *authority
	origin *origin
	nginx  *nginxServer // nil until withNginx
}

// newWorld starts the Go origin with the site; it needs nothing but Go.
func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOf(t, site())
}

// newWorldOf starts the Go origin with something else.
func newWorldOf(t *testing.T, h http.Handler) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	w.ca = newAuthority(t, w.dir)
	w.origin = startOrigin(t, w.ca, h)
	return w
}

// withNginx starts nginx too.
func (w *world) withNginx() *world {
	w.t.Helper()
	w.nginx = startNginx(w.t, w.dir, w.ca, w.origin)
	return w
}

// sites are the same site's addresses, each with its authority: at the Go
// origin, at nginx, and at the Go origin without TLS.
func (w *world) sites() []place {
	return []place{
		{"https", w.origin.host},
		{"https", w.nginx.host},
		{"http", w.origin.plain},
	}
}

// A place is a scheme and an authority.
type place struct{ scheme, host string }

func (p place) url(path string) string { return p.scheme + "://" + p.host + path }

// hosts are the origins' names: whatever goes elsewhere is the browser's own.
func (w *world) hosts() []string {
	var hosts []string
	for _, s := range w.sites() {
		hosts = append(hosts, s.host)
	}
	return hosts
}
