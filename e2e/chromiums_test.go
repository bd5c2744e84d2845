package e2e

import (
	"os"
	"path/filepath"
	"slices"
)

// chromiums are Chromium told of the proxy by a switch, and by the proxy's own PAC
// file, which it does not ask about loopback. What it asks on its own behalf goes
// the same way, and the proxy refuses it.
func chromiums() []client {
	visit := func(switches []string, urls ...string) func(s *session) {
		return func(s *session) {
			chromium := need(s.t, "chromium")
			trustInNSS(s.t, s.home, s.proxy.trust, "proxy")
			for _, url := range urls {
				shot := filepath.Join(s.home, "shot.png")
				args := slices.Concat(quiet, switches, []string{"--proxy-bypass-list=<-loopback>", "--user-data-dir={home}/profile", "--screenshot=" + shot, url})
				s.do(chromium, args...)
				if picture, err := os.Stat(shot); err != nil || picture.Size() < 1000 {
					s.t.Errorf("the picture of %s: %v, %v", url, picture, err)
				}
				os.Remove(shot)
			}
		}
	}
	return []client{
		{
			name: "chromium by a switch",
			run:  visit([]string{"--proxy-server={proxy}"}, "http://{plain}/sync.html", "https://{tls}/talk.html"),
			asks: []string{
				"GET http://{plain}/imported.css 200", "GET http://{plain}/frame.js 200", "GET http://{plain}/api/second?a=1&b=%20&b=%C3%BC 200",
				"PUT http://{plain}/echo?put 200", "GET http://{plain}/large?size=2500000 200", "POST http://{plain}/upload 200",
				"GET wss://{tls}/socket 101", "GET https://{tls}/closed.png 200",
			},
		},
		{
			name: "chromium by a PAC file",
			run:  visit([]string{"--proxy-pac-url={proxy}/proxy.pac"}, "https://{tls.test}/sync.html", "http://{plain.test}/talk.html"),
			asks: []string{
				"GET https://{tls.test}/coded/br 200", "GET https://{tls.test}/large?size=2500000 200", "POST https://{tls.test}/upload 200",
				"GET ws://{plain.test}/socket 101", "GET http://{plain.test}/closed.png 200",
			},
		},
	}
}
