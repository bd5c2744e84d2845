package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// firefoxes are Firefox told of the proxy by its settings, and by the proxy's
// own PAC file. What it asks on its own behalf goes the same way, and the
// proxy refuses it.
func firefoxes() []client {
	visit := func(settings func(s *session) []string, urls ...string) func(s *session) {
		return func(s *session) {
			firefox := need(s.t, "firefox-esr")
			profile := filepath.Join(s.home, "profile")
			trustIn(s.t, profile, s.proxy.trust, "proxy")
			var prefs strings.Builder
			for _, pref := range append(settings(s), stillFirefox...) {
				fmt.Fprintf(&prefs, "user_pref(%s);\n", pref)
			}
			write(s.t, filepath.Join(profile, "user.js"), []byte(prefs.String()))
			for i, url := range urls {
				shot := filepath.Join(s.home, fmt.Sprintf("%d.png", i))
				s.doWith([]string{"MOZ_CRASHREPORTER_DISABLE=1"}, firefox, "--headless", "--no-remote", "--profile", profile, "--screenshot", shot, url)
				if picture, err := os.Stat(shot); err != nil || picture.Size() < 1000 {
					s.t.Errorf("the picture of %s: %v, %v", url, picture, err)
				}
			}
		}
	}
	return []client{
		{
			name: "firefox by its settings",
			run: visit(func(s *session) []string {
				host, port, _ := net.SplitHostPort(s.proxy.address)
				return []string{
					`"network.proxy.type", 1`,
					`"network.proxy.http", "` + host + `"`, `"network.proxy.http_port", ` + port,
					`"network.proxy.ssl", "` + host + `"`, `"network.proxy.ssl_port", ` + port,
				}
			}, "https://{tls}/sync.html", "http://{plain}/talk.html"),
			asks: []string{
				"GET https://{tls}/imported.css 200", "GET https://{tls}/frame.js 200", "GET https://{tls}/api/second?a=1&b=%20&b=%C3%BC 200",
				"PUT https://{tls}/echo?put 200", "GET https://{tls}/coded/br 200", "GET https://{tls}/large?size=2500000 200", "POST https://{tls}/upload 200",
				"GET ws://{plain}/socket 101", "GET http://{plain}/closed.png 200",
			},
		},
		{
			name: "firefox by a PAC file",
			run: visit(func(s *session) []string {
				return []string{`"network.proxy.type", 2`, `"network.proxy.autoconfig_url", "http://` + s.proxy.address + `/proxy.pac"`}
			}, "http://{plain}/sync.html", "https://{tls}/talk.html"),
			asks: []string{
				"GET http://{plain}/large?size=2500000 200", "POST http://{plain}/upload 200",
				"GET wss://{tls}/socket 101", "GET https://{tls}/closed.png 200",
			},
		},
	}
}

// stillFirefox are settings that send loopback through the proxy too, and that
// turn off what Firefox does by itself.
var stillFirefox = []string{
	`"network.proxy.allow_hijacking_localhost", true`,
	`"network.proxy.no_proxies_on", ""`,
	`"app.normandy.enabled", false`,
	`"app.update.enabled", false`,
	`"browser.aboutHomeSnippets.updateUrl", ""`,
	`"browser.region.update.enabled", false`,
	`"browser.safebrowsing.downloads.remote.enabled", false`,
	`"browser.safebrowsing.malware.enabled", false`,
	`"browser.safebrowsing.phishing.enabled", false`,
	`"browser.shell.checkDefaultBrowser", false`,
	`"browser.startup.homepage_override.mstone", "ignore"`,
	`"browser.startup.page", 0`,
	`"datareporting.healthreport.uploadEnabled", false`,
	`"datareporting.policy.dataSubmissionEnabled", false`,
	`"dom.push.connection.enabled", false`,
	`"dom.security.https_first", false`,
	`"dom.security.https_only_mode", false`,
	`"extensions.getAddons.cache.enabled", false`,
	`"extensions.systemAddon.update.enabled", false`,
	`"extensions.update.enabled", false`,
	`"media.gmp-manager.updateEnabled", false`,
	`"media.gmp-provider.enabled", false`,
	`"network.captive-portal-service.enabled", false`,
	`"network.connectivity-service.enabled", false`,
	`"network.dns.disablePrefetch", true`,
	`"network.http.speculative-parallel-limit", 0`,
	`"network.prefetch-next", false`,
	`"network.trr.mode", 5`,
	`"signon.autofillForms", false`,
	`"toolkit.telemetry.enabled", false`,
	`"toolkit.telemetry.unified", false`,
}
