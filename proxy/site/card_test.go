package site

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A gateways answers for cards by URL, each time with the next answer and then
// with the last one; "" is a connection that fails.
type gateways map[string][]string

func (g gateways) RoundTrip(r *http.Request) (*http.Response, error) {
	url := r.URL.String()
	said := g[url]
	if len(said) == 0 {
		return nil, errors.New("no such gateway")
	}
	if len(said) > 1 {
		g[url] = said[1:]
	}
	if said[0] == "" {
		return nil, errors.New("connection refused")
	}
	answer := &http.Response{StatusCode: 200, Status: "200 OK", Body: io.NopCloser(strings.NewReader(said[0]))}
	if status, ok := strings.CutPrefix(said[0], "status "); ok {
		answer.Status, answer.StatusCode, answer.Body = status+" x", 500, http.NoBody
		if status == "404" {
			answer.StatusCode = 404
		}
	}
	return answer, nil
}

const shopCard = `{"name": "env1", "url": "/agentenv", "capabilities": null, "children_environments": [
	{"name": "mail", "url": "/svc/mail/agentenv", "capabilities": {"extensions": [
		{"uri": "urn:agentenv:clock/v1", "params": null},
		{"uri": "urn:agentenv:website/v1", "params": {"domains": ["mail.test"], "browse_url": "/website/mail/", "allow_hosts": null, "signin_headers": ["X-Who"]}}]}},
	{"name": "mail", "url": "/svc/other-mail/agentenv", "capabilities": {"extensions": [
		{"uri": "urn:agentenv:website/v1", "params": {"browse_url": "http://else:1/x/", "domains": 7}}]}},
	{"name": "real", "url": "http://gw/svc/real", "capabilities": {"extensions": [
		{"uri": "urn:agentenv:website/v1", "params": {"live": true, "domains": ["real.example"], "allow_hosts": ["cdn.example"], "browse_url": "/website/real/"}}]}},
	{"name": "tool", "url": "/svc/mcp-tool", "capabilities": {"extensions": [{"uri": "urn:agentenv:clock/v1"}]}},
	{"name": "broken", "capabilities": {"extensions": 5}}, 7, null]}`

func TestFromCards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &http.Client{Transport: gateways{
			"http://gw/env/.well-known/agent-env.json": {"", "status 500", shopCard},
			"http://b/.well-known/agent-env.json":      {strings.Replace(shopCard, "env1", "env 2", 1)},
			"http://none/.well-known/agent-env.json":   {"status 404"},
			"http://text/.well-known/agent-env.json":   {"<html>"},
		}}
		began := time.Now()
		sites, err := FromCards(t.Context(), []Source{{"shop", "http://gw/env"}, {"", "http://none"}, {"", "http://text"}}, client)
		if err != nil {
			t.Fatal(err)
		}
		want := []Site{
			{Name: "mail", Upstream: "http://gw/env/website/mail/", Domains: []string{"mail.test"}, SignInHeaders: []string{"X-Who"}},
			{Name: "other-mail", Upstream: "http://else:1/x/"},
			{Name: "real", Live: true, Domains: []string{"real.example"}, AllowHosts: []string{"cdn.example"}},
		}
		if !reflect.DeepEqual(sites, want) {
			t.Errorf("%+v", sites)
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("three attempts took %v", took)
		}
		sites, err = FromCards(t.Context(), []Source{{"shop", "http://gw/env"}, {"", "http://b"}}, client)
		var names []string
		for _, s := range sites {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != "shop-mail shop-other-mail shop-real env-2-mail env-2-other-mail env-2-real" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// A site of the configuration goes before the same one on a card.
func TestTake(t *testing.T) {
	c := Config{Sites: []Site{{Name: "own", Upstream: "http://gw/website/notes", Domains: []string{"notes.test"}}, {Name: "real", Live: true}}}
	c.Take([]Site{
		{Name: "notes", Upstream: "http://gw/website/notes/"},
		{Name: "docs", Upstream: "http://gw/website/docs/"},
		{Name: "unreachable"},
		{Name: "live", Live: true},
	})
	var names []string
	for _, s := range c.Sites {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, " "); got != "own real docs unreachable live" || len(c.Sites[0].Domains) != 1 {
		t.Errorf("%+v", c.Sites)
	}
}

func TestFromCardsFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &http.Client{Transport: gateways{"http://gw/.well-known/agent-env.json": {""}, "http://b/.well-known/agent-env.json": {"status 503"}}}
		for _, url := range []string{"http://gw", "http://b"} {
			if _, err := FromCards(t.Context(), []Source{{"", url}}, client); err == nil || !strings.Contains(err.Error(), `"`+url+`"`) {
				t.Errorf("%s: %v", url, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		began := time.Now()
		if _, err := FromCards(ctx, []Source{{"", "http://gw"}}, client); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 500*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestParseSource(t *testing.T) {
	for s, want := range map[string]Source{
		"http://gw:8080":           {"", "http://gw:8080"},
		"shop=http://gw:8080/env/": {"shop", "http://gw:8080/env"},
		"https://gw/a=b":           {"", "https://gw/a=b"},
	} {
		if got, err := ParseSource(s); err != nil || got != want {
			t.Errorf("%s: %+v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "gw:8080", "shop=", "shop=gw", "ftp://gw", "http://", "http://u:p@gw", "http://gw/?x"} {
		if got, err := ParseSource(s); err == nil {
			t.Errorf("%s: %+v", s, got)
		}
	}
}
