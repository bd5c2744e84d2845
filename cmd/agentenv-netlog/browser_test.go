package main

import (
	"slices"
	"testing"
)

func TestIsChromium(t *testing.T) {
	for command, want := range map[string]bool{
		"chromium":                                true,
		"/usr/bin/chromium":                       true,
		"/usr/bin/chromium-browser":               true,
		"google-chrome":                           true,
		"/opt/google/chrome/google-chrome-stable": true,
		"./chrome":                                true,
		"chrome-headless-shell":                   true,
		"headless_shell":                          true,
		"Chrome.exe":                              true,
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome": true,
		"firefox":       false,
		"chromium.sh":   false,
		"chromedriver":  false,
		"/chromium/run": false,
		"xvfb-run":      false,
	} {
		if got := isChromium(command); got != want {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
	}
}

func TestWithChromiumFlags(t *testing.T) {
	flags := []string{"--one=1", "--two", "--three=3"}
	for name, c := range map[string]struct{ argv, want []string }{
		"none given":      {[]string{"chromium"}, []string{"chromium", "--one=1", "--two", "--three=3"}},
		"others given":    {[]string{"chromium", "--four", "url"}, []string{"chromium", "--one=1", "--two", "--three=3", "--four", "url"}},
		"given":           {[]string{"chromium", "--one=9", "url", "--two"}, []string{"chromium", "--three=3", "--one=9", "url", "--two"}},
		"given otherwise": {[]string{"chromium", "-one=9", "--two=x"}, []string{"chromium", "--three=3", "-one=9", "--two=x"}},
		"a longer name":   {[]string{"chromium", "--one-more=1"}, []string{"chromium", "--one=1", "--two", "--three=3", "--one-more=1"}},
		"after --":        {[]string{"chromium", "--", "--one=9"}, []string{"chromium", "--one=1", "--two", "--three=3", "--", "--one=9"}},
	} {
		if got := withChromiumFlags(c.argv, flags); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestQuote(t *testing.T) {
	for s, want := range map[string]string{
		"":                      "''",
		"/a/b-c_d.pem":          "/a/b-c_d.pem",
		"a b":                   "'a b'",
		"it's":                  `'it'\''s'`,
		"--x=<-loopback>":       "'--x=<-loopback>'",
		"$HOME":                 "'$HOME'",
		"http://127.0.0.1:8080": "http://127.0.0.1:8080",
		"a\nb":                  "'a\nb'",
		"ä":                     "'ä'",
	} {
		if got := quote(s); got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
}
