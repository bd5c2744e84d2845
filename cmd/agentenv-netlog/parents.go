package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/agentenv/netlog/proxy"
)

// parents are the proxies through which servers are reached: the one that
// --upstream-proxy names, or those of the environment. By the rules that curl and
// Go share, https:// (for us, CONNECTs) and http:// have a variable each, NO_PROXY
// names who is reached directly, and so is whatever is on this machine.
type parents struct {
	http, https parent
	through     func(*url.URL) (*url.URL, error) // nil, nil: directly
}

// A parent is one of them and who named it; without a Parent there is none.
type parent struct {
	*proxy.Parent
	name string // "--upstream-proxy" or a variable
}

// parents are those that the flags and the environment name.
func (f *upstreamFlags) parents() (*parents, error) {
	env := httpproxy.FromEnvironment()
	ps := &parents{}
	var err error
	switch {
	case f.noParent && f.parent != "":
		return nil, misused(errors.New("--upstream-proxy and --no-upstream-proxy contradict each other"), "give one of the two")
	case f.noParent:
		return ps, nil
	case f.parent != "":
		if ps.https, err = parseParent("--upstream-proxy", f.parent); err != nil {
			return nil, err
		}
		ps.http = ps.https
	default:
		if ps.https, err = parentOf(env.HTTPSProxy, "HTTPS_PROXY"); err != nil {
			return nil, err
		}
		if env.CGI { // HTTP_PROXY may then be a request's header
			env.HTTPProxy = ""
		}
		if ps.http, err = parentOf(env.HTTPProxy, "HTTP_PROXY"); err != nil {
			return nil, err
		}
	}
	const any = "http://any" // httpproxy only has to say whether
	ps.through = (&httpproxy.Config{HTTPProxy: any, HTTPSProxy: any, NoProxy: env.NoProxy}).ProxyFunc()
	return ps, nil
}

// parentOf is the parent that a variable names, or ALL_PROXY in its place.
func parentOf(value, name string) (parent, error) {
	if value == "" {
		value, name = cmp.Or(os.Getenv("all_proxy"), os.Getenv("ALL_PROXY")), "ALL_PROXY"
	}
	if value == "" {
		return parent{}, nil
	}
	return parseParent(name, value)
}

// parseParent reads a proxy's URL. It may hold a password: errors don't show it.
func parseParent(name, value string) (parent, error) {
	p, err := proxy.ParseParent(value)
	if err == nil {
		return parent{p, name}, nil
	}
	err = fmt.Errorf("%s is no proxy's URL: %w", name, err)
	if name == "--upstream-proxy" {
		return parent{}, misused(err, "write it as http://HOST:PORT, or with https, socks5 or socks5h, and USER:PASSWORD@ before the host (%XX for odd characters)")
	}
	return parent{}, misused(err, "mend or unset the variable, or say --no-upstream-proxy")
}

// of is Config.Parent.
func (ps *parents) of(t proxy.Target) *proxy.Parent {
	p := ps.https
	if t.Scheme == "http" {
		p = ps.http
	}
	if p.Parent == nil || t.Host == "localhost" || strings.HasSuffix(t.Host, ".localhost") {
		return nil
	}
	to := &url.URL{Scheme: t.Scheme, Host: net.JoinHostPort(t.Host, strconv.Itoa(int(t.Port)))}
	if u, err := ps.through(to); u == nil || err != nil {
		return nil
	}
	return p.Parent
}

// ownLookup bounds the look at where a parent is.
const ownLookup = 5 * time.Second

// leaveOut makes sure that what listens on addr is not its own parent. The
// environment may well be the one that was made for who uses the proxy.
func (ps *parents) leaveOut(addr net.Addr, stderr io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), ownLookup)
	defer cancel()
	for _, p := range []*parent{&ps.https, &ps.http} {
		switch {
		case p.Parent == nil || !p.LeadsTo(ctx, addr):
		case p.name == "--upstream-proxy":
			return misused(fmt.Errorf("--upstream-proxy %s is this proxy itself", p), "name another, or another address with --listen")
		default:
			warn(stderr, "%s names this proxy itself, and is left out", p.name)
			*p = parent{}
		}
	}
	return nil
}

// tell says through what servers are reached.
func (ps *parents) tell(stderr io.Writer) {
	for _, p := range []parent{ps.https, ps.http} {
		if p.Parent != nil {
			fmt.Fprintf(stderr, "  upstream  %s, by %s\n", p, p.name)
		}
		if ps.http == ps.https {
			return
		}
	}
}
