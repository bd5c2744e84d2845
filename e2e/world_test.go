package e2e

import (
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

// newWorld starts the Go origin; it needs nothing but Go.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	w.ca = newAuthority(t, w.dir)
	w.origin = startOrigin(t, w.ca)
	return w
}

// withNginx starts nginx too.
func (w *world) withNginx() *world {
	w.t.Helper()
	w.nginx = startNginx(w.t, w.dir, w.ca, w.origin)
	return w
}

// hosts are the origins' names: whatever goes elsewhere is the browser's own.
func (w *world) hosts() []string {
	hosts := []string{w.origin.host}
	if w.nginx != nil {
		hosts = append(hosts, w.nginx.host)
	}
	return hosts
}
