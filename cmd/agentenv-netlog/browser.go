package main

import (
	"path/filepath"
	"slices"
	"strings"
)

// chromiums are the names that Chromium and Chrome go by, in lower case and
// without .exe.
var chromiums = []string{
	"chromium", "chromium-browser", "chromium-headless-shell",
	"google-chrome", "google-chrome-stable", "google-chrome-beta", "google-chrome-unstable",
	"chrome", "chrome-headless-shell", "headless_shell",
	"google chrome", "google chrome for testing", // macOS
}

// isChromium tells by a command's base name.
func isChromium(command string) bool {
	name := strings.ToLower(filepath.Base(command))
	return slices.Contains(chromiums, strings.TrimSuffix(name, ".exe"))
}

// chromiumFlags send all that a Chromium does on the network through a proxy
// whose leaf certificates have the key that spki is the hash of.
func chromiumFlags(proxyURL, spki string) []string {
	return []string{
		"--proxy-server=" + proxyURL,
		"--proxy-bypass-list=<-loopback>", // it would go straight to loopback addresses
		"--ignore-certificate-errors-spki-list=" + spki,
		"--disable-quic",                  // a proxy carries none
		"--disk-cache-size=1",             // what comes from the cache is not on the network; 0 is the default size
		"--disable-background-networking", // updates and reports of its own
	}
}

// withChromiumFlags puts ours right after the command. One that the user gave
// wins.
func withChromiumFlags(argv []string, flags []string) []string {
	given := make(map[string]bool)
	for _, arg := range argv[1:] {
		if arg == "--" { // what follows are URLs
			break
		}
		given[switchName(arg)] = true
	}
	with := []string{argv[0]}
	for _, flag := range flags {
		if !given[switchName(flag)] {
			with = append(with, flag)
		}
	}
	return append(with, argv[1:]...)
}

// switchName is the name of a Chromium switch, which one or two hyphens begin;
// "" when arg is none.
func switchName(arg string) string {
	name, ok := strings.CutPrefix(arg, "-")
	if !ok {
		return ""
	}
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "-"), "=")
	return name
}
