package main

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"os"
)

func tlsConfig(leaf *tls.Certificate) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{*leaf}, ClientAuth: tls.RequestClientCert}
}

// environmentProxy is http.ProxyFromEnvironment without its exception for
// loopback addresses.
func environmentProxy(r *http.Request) (*url.URL, error) {
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		if os.Getenv(name) != "" {
			return nil, errors.New(name + " is set")
		}
	}
	if r.URL.Scheme == "https" {
		return url.Parse(os.Getenv("HTTPS_PROXY"))
	}
	return url.Parse(os.Getenv("http_proxy"))
}
