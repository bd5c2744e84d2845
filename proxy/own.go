package proxy

import (
	"bytes"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy/wire"
)

// OwnName is the name under which browsers find the proxy's own page through the
// proxy, by http:// alone. It is never resolved.
const OwnName = "netlog.internal"

// handleOwn answers a request for the proxy itself, which is not logged, and
// turns down one whose Host is another's: a name that somebody points at our
// address must not make the page theirs (DNS rebinding).
func (c *client) handleOwn(at time.Time) bool {
	if !c.isForUs() {
		o := c.blame()
		host, _ := c.req.Fields.Get("host")
		ex := c.newExchange(o, at)
		return c.turnDown(ex, misdirected(string(host), o.authority()))
	}
	return c.servePage(string(c.req.Target))
}

// isForUs tells whether an origin-form request's Host is an address or a name of
// the proxy's.
func (c *client) isForUs() bool {
	value, ok := c.req.Fields.Get("host")
	if !ok {
		return true
	}
	host, port, err := wire.SplitHostPort(string(value), 80)
	if err != nil {
		return false
	}
	if slices.Contains(c.p.Names, host) {
		return true
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && c.p.isOwn(netip.AddrPortFrom(ip, port))
}

// isOwnName tells a target that is the proxy's by its name.
func isOwnName(t wire.Target) bool { return t.Host == OwnName }

// handleOwnName answers a request for the proxy's own name that came as one for a
// server's would.
func (c *client) handleOwnName(t wire.Target, o *origin, at time.Time) bool {
	if t.Port != 80 {
		return c.turnDown(c.newExchange(o, at), refusedOwn())
	}
	if f := c.admits(o, &c.req, t); f != nil {
		return c.turnDown(c.newExchange(o, at), f)
	}
	return c.servePage("http://" + OwnName + string(t.Path))
}

// refusedOwn is how what would reach the proxy through itself is turned down.
func refusedOwn() *failure {
	return refusal(netlog.RefusedOwnAddress, http.StatusForbidden, errOwnAddress.Error())
}

// servePage has Config.Page answer the request in c.req for target. The
// connection ends with it.
func (c *client) servePage(target string) bool {
	w := &pageWriter{header: http.Header{}}
	u, err := url.ParseRequestURI(target)
	if err != nil {
		http.Error(w, "the request's target is no path", http.StatusBadRequest)
	} else {
		r := &http.Request{
			Method: string(c.req.Method), URL: u, RequestURI: target,
			Proto: c.req.Version, ProtoMajor: 1, ProtoMinor: c.req.Minor,
			Header: http.Header{}, Host: c.tcp.LocalAddr().String(), RemoteAddr: c.addr,
			Body: http.NoBody,
		}
		for _, f := range c.req.Fields {
			r.Header.Add(string(f.Name), string(f.Value))
		}
		if host, ok := c.req.Fields.Get("host"); ok {
			r.Host = string(host)
		}
		if u.IsAbs() {
			r.Host = u.Host
		}
		c.p.Page.ServeHTTP(w, r.WithContext(c.ctx))
	}
	c.write(w.answer(string(c.req.Method) == http.MethodHead))
	c.linger()
	return false
}

// A pageWriter gathers an answer, which is short.
type pageWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *pageWriter) Header() http.Header { return w.header }

func (w *pageWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *pageWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// answer is the whole of it as it goes to the browser.
func (w *pageWriter) answer(head bool) []byte {
	w.WriteHeader(http.StatusOK)
	w.header.Set("Content-Length", fmt.Sprint(w.body.Len()))
	w.header.Set("Connection", "close")
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", w.status, http.StatusText(w.status))
	w.header.Write(&b)
	b.WriteString("\r\n")
	if !head {
		b.Write(w.body.Bytes())
	}
	return b.Bytes()
}

// plainPage is the page of a proxy that was given none.
func plainPage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	fmt.Fprint(w, "agentenv-netlog records what passes through it.\n\n"+
		"This is a proxy: set it as the browser's HTTP and HTTPS proxy to use it.\n")
}
