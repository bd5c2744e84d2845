package e2e

import "testing"

// The parties are checked against each other first, without the proxy: what
// fails here is no fault of the product's.
func TestTheBrowserAndTheOriginsAgreeWithoutAProxy(t *testing.T) {
	w := newWorld(t).withNginx()
	b := startChromium(t, nil, nil, w.ca.file)
	c := b.collect()
	for _, site := range w.sites() {
		b.open(site.url("/"), "done")
		b.submit("thanks")
	}
	c.requests() // waits for the bodies
	seen := func(hosts ...string) []witness { return byChromium(c.requests(hosts...)) }
	b.close()
	w.nginx.stop()
	agree(t, "Chromium", seen(w.origin.host, w.origin.plain), "the Go origin", byOrigin(w.origin.accesses(t), w.origin.host, w.origin.plain))
	agree(t, "Chromium", seen(w.nginx.host), "nginx", byNginx(w.nginx.accesses(t)))
	for _, host := range w.hosts() {
		inOrder(t, "Chromium", seen(host), host, causes)
	}
}

// causes are chains of the site's requests, each stage the cause of the next.
var causes = [][][]string{
	{{"/"}, {"/style.css"}, {"/imported.css"}},
	{{"/"}, {"/frame.html"}, {"/frame.js"}},
	{
		{"/"},
		{"/app.js"},
		{"/module.js"},
		{"/api/first"},
		{"/api/second?after=first"},
		{"/moved"},
		{"/landed?by=redirect"},
		{"/echo?to=json"},
		{"/echo?to=put"},
		{"/echo?to=delete"},
		{"/echo?to=head"},
		{"/status/404"},
		{"/status/204"},
		{"/upload"},
		{"/coded/gzip", "/coded/deflate", "/coded/br", "/coded/zstd"},
		{"/chunked"},
		{"/large?size=300000"},
		{"/echo?together=1", "/echo?together=2", "/echo?together=3", "/echo?together=4"},
		{"/echo?twice=same"},
		{"/events"},
		{"/events/open"},
		{"/socket"},
		{"/form"},
		{"/thanks?name=Ada"},
	},
}
