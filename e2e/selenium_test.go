package e2e

import (
	"path/filepath"
	"slices"
	"strings"
)

// seleniums are Chromium in Selenium's hands, by the lines of docs/trust.md. What
// Selenium says to chromedriver is no request of the browser's, and not in the log.
func seleniums() []client {
	return []client{{
		name: "selenium",
		run: func(s *session) {
			for _, program := range []string{"chromium", "chromedriver"} {
				need(s.t, program)
			}
			lines := readme(s.t, "python")
			from := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "os.environ[") })
			to := slices.Index(lines, "driver = webdriver.Chrome(options=options)")
			if from < 0 || to < from {
				s.t.Fatalf("no page has Selenium's lines: %q", lines)
			}
			file := filepath.Join(s.home, "lines.py")
			text := strings.Join(lines[from:to+1], "\n")
			write(s.t, file, []byte(strings.Replace(text, "http://127.0.0.1:8080", "http://"+s.proxy.address, 1)))
			args := append([]string{script(s.t, "with_selenium.py"), file, "http://{plain}/sync.html", "https://{tls}/talk.html", "--"}, quiet...)
			s.said(s.doWith([]string{"SE_OFFLINE=true", "SE_AVOID_STATS=true"}, venv(s.t), args...), "complete\ncomplete\n")
			if log := string(contentOf(s.t, s.proxy.log)); strings.Contains(log, "/session") {
				s.t.Errorf("the log has what Selenium said to chromedriver:\n%.1000s", log)
			}
		},
		asks: []string{
			"GET http://{plain}/frame.js 200", "PUT http://{plain}/echo?put 200", "POST http://{plain}/upload 200",
			"GET wss://{tls}/socket 101", "GET https://{tls}/closed.png 200",
		},
	}}
}
