package main

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/agentenv/netlog/ca"
	"github.com/agentenv/netlog/har"
	"github.com/agentenv/netlog/netlog"
	"github.com/agentenv/netlog/proxy"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS []byte

// A page is what the proxy shows at its own address and, through itself, at
// http://netlog.internal/ (there without what is for machines).
type page struct {
	mode      string
	logPath   string
	address   net.Addr
	authority *ca.Authority // nil: nothing is decrypted
	knows     func(user, password string) bool
	began     time.Time
	proxy     *proxy.Proxy
	log       *netlog.Writer

	recent   recent
	metrics  *metrics
	template *template.Template
	direct   *http.ServeMux // at the proxy's own address
	through  *http.ServeMux // at netlog.internal
}

// newPage makes the page of a proxy that serve is given later.
func newPage(address net.Addr, mode, logPath string, authority *ca.Authority, knows func(user, password string) bool) *page {
	if absolute, err := filepath.Abs(logPath); err == nil {
		logPath = absolute
	}
	g := &page{
		mode: mode, logPath: logPath, address: address, authority: authority, knows: knows, began: time.Now(),
		metrics:  newMetrics(),
		template: template.Must(template.New("page").Parse(pageHTML)),
	}
	g.direct, g.through = http.NewServeMux(), http.NewServeMux()
	for _, mux := range []*http.ServeMux{g.direct, g.through} {
		mux.HandleFunc("GET /{$}", g.show)
		mux.HandleFunc("GET /page.css", serve("text/css; charset=utf-8", pageCSS))
		if authority != nil {
			mux.HandleFunc("GET /ca.pem", serve("application/x-pem-file", authority.CertificatePEM()))
			mux.HandleFunc("GET /ca.crt", serve("application/x-x509-ca-cert", authority.Certificate.Raw))
		}
	}
	g.direct.HandleFunc("GET /proxy.pac", g.pac)
	g.direct.HandleFunc("GET /healthz", g.health)
	g.direct.Handle("GET /metrics", promhttp.HandlerFor(g.metrics.registry, promhttp.HandlerOpts{}))
	return g
}

// attach gives the page what it tells of, before the proxy serves.
func (g *page) attach(p *proxy.Proxy, log *netlog.Writer) {
	g.proxy, g.log = p, log
	g.metrics.watch(p, log, g.logPath)
}

// ended is proxy.Config.Ended.
func (g *page) ended(id int64, o *netlog.Open, e *netlog.End) {
	g.recent.add(id, o, e)
	g.metrics.ended(o, e)
}

// unguarded are the paths for those who can't give credentials: they say nothing
// that who asks does not know.
var unguarded = map[string]bool{"/healthz": true, "/proxy.pac": true}

func (g *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if r.URL.IsAbs() { // through the proxy, which has asked for credentials
		g.through.ServeHTTP(w, r)
		return
	}
	if g.knows != nil && !unguarded[r.URL.Path] {
		if user, password, ok := r.BasicAuth(); !ok || !g.knows(user, password) {
			h.Set("WWW-Authenticate", `Basic realm="agentenv-netlog", charset="UTF-8"`)
			http.Error(w, "this proxy asks for a user name and a password", http.StatusUnauthorized)
			return
		}
	}
	g.direct.ServeHTTP(w, r)
}

func serve(kind string, b []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Write(b)
	}
}

// show is the page for people.
func (g *page) show(w http.ResponseWriter, r *http.Request) {
	stats := g.log.Stats()
	data := pageData{
		Version: programVersion(), Mode: g.mode, Through: r.URL.IsAbs(),
		Since: g.began.UTC().Format(time.DateTime),
		Log:   g.logPath, LogSize: sizeText(fileSize(g.logPath)),
		Line: stats.Last, Queued: sizeText(stats.Queued), Lost: stats.Lost, Cut: stats.Cut, Failures: stats.Failures,
		Stalled: stats.Stalled,
		Stats:   g.proxy.Stats(),
		Address: reachable(g.address),
	}
	if stats.Err != nil {
		data.WriteError = stats.Err.Error()
	}
	if !data.Through {
		data.Address = hostWithPort(r.Host)
	}
	if g.authority != nil {
		data.Authority = g.authority.Certificate.Subject.String()
		data.Until = g.authority.Certificate.NotAfter.UTC().Format(time.DateOnly)
		data.Fingerprint = fmt.Sprintf("%X", sha256.Sum256(g.authority.Certificate.Raw))
	}
	for _, r := range g.recent.list() {
		data.Recent = append(data.Recent, pageRow{
			ID: r.id, Time: r.t.UTC().Format(time.TimeOnly), Method: r.method, Status: r.status, Type: r.kind,
			Size: sizeText(r.size), Took: millisText(har.Millis(r.took.Microseconds())), URL: r.url,
			Bad: strings.HasPrefix(r.status, "failed") || strings.HasPrefix(r.status, "refused"),
		})
	}
	var b bytes.Buffer
	if err := g.template.Execute(&b, data); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(b.Bytes())
}

// pageData is what page.html shows.
type pageData struct {
	Version, Mode, Since      string
	Through                   bool // at netlog.internal
	Log, LogSize, Queued      string
	Line, Lost, Cut, Failures int64
	Stalled                   bool
	WriteError                string
	Stats                     proxy.Stats
	Address                   string // of the proxy
	Authority, Until          string // "": nothing is decrypted
	Fingerprint               string
	Recent                    []pageRow
}

type pageRow struct {
	ID                                          int64
	Time, Method, Status, Type, Size, Took, URL string
	Bad                                         bool
}

// pac tells a browser to send everything to the proxy that it was asked at, which
// the proxy has made sure is one of its own addresses or names.
func (g *page) pac(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/x-ns-proxy-autoconfig")
	fmt.Fprintf(w, "function FindProxyForURL(url, host) {\n  return %q;\n}\n", "PROXY "+hostWithPort(r.Host))
}

// hostWithPort is a Host field's value with its port, also where that is the default.
func hostWithPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return host + ":80"
}

func healthy(s netlog.WriterStats) bool { return !s.Stalled && !s.Gone && s.Err == nil }

// health says whether what passes is recorded.
func (g *page) health(w http.ResponseWriter, _ *http.Request) {
	if !healthy(g.log.Stats()) {
		http.Error(w, "the log can't be written", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "ok")
}
