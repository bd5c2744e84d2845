package har

import "strings"

// backgroundHosts are whom browsers ask on their own behalf, whatever page is
// open: for updates, lists, accounts, suggestions, the time, and whether there
// is an Internet. A name stands for itself, one behind a dot for those below it.
// Names that pages load things from as well (fonts.googleapis.com, gstatic.com)
// are none of them.
func backgroundHosts() []string {
	return []string{
		// Chrome, Chromium
		"accounts.google.com",
		"android.clients.google.com",
		"clients1.google.com", "clients2.google.com", "clients3.google.com",
		"clients4.google.com", "clients5.google.com", "clients6.google.com",
		"clients2.googleusercontent.com",
		"chromewebstore.googleapis.com",
		"clientservices.googleapis.com",
		"connectivitycheck.gstatic.com",
		"content-autofill.googleapis.com",
		"dl.google.com",
		"mtalk.google.com",
		"optimizationguide-pa.googleapis.com",
		"passwordsleakcheck-pa.googleapis.com",
		"safebrowsing.google.com",
		"safebrowsing.googleapis.com",
		"safebrowsingohttpgateway.googleapis.com",
		"sb-ssl.google.com",
		"tools.google.com",
		"update.googleapis.com",
		".gvt1.com", ".gvt2.com", ".gvt3.com",
		// Edge
		"config.edge.skype.com",
		"edge.microsoft.com",
		"msedge.api.cdp.microsoft.com",
		".events.data.microsoft.com",
		".smartscreen.microsoft.com",
		// Firefox
		"ads.mozilla.org",
		"aus5.mozilla.org",
		"ciscobinary.openh264.org",
		"detectportal.firefox.com",
		"download.mozilla.org",
		".cdn.mozilla.net",
		".mozilla-backup.org",
		".services.mozilla.com",
		".telemetry.mozilla.org",
	}
}

// isBackground says whether a host is one of backgroundHosts.
func isBackground(host string) bool {
	for _, name := range backgroundHosts() {
		if host == name || name[0] == '.' && strings.HasSuffix(host, name) {
			return true
		}
	}
	return false
}
