package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentenv/netlog/ca/trust"
	"github.com/agentenv/netlog/proxy/site"
	"github.com/agentenv/netlog/proxy/site/install"
)

// siteProbe is how long each site may take to load.
const siteProbe = 15 * time.Second

// A siteChecked is what came of loading a name.
type siteChecked struct {
	URL    string `json:"url"`
	Status int    `json:"status,omitempty"`
	Error  string `json:"error,omitempty"`
}

// A probeOrder is what sites probe reads on standard input.
type probeOrder struct {
	User *trust.User       `json:"user,omitempty"` // as whom; nil: who it is
	URLs map[string]string `json:"urls"`           // by name
	CA   string            `json:"ca,omitempty"`   // in PEM, to be trusted besides the system's
}

// newSitesProbe is the process in which install looks at the names: it becomes the
// user, for good.
func newSitesProbe() *cobra.Command {
	return &cobra.Command{
		Use:    "probe",
		Short:  "Load each site as the user would",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var order probeOrder
			if err := json.NewDecoder(c.InOrStdin()).Decode(&order); err != nil {
				return err
			}
			if err := install.Become(order.User); err != nil {
				return err
			}
			return json.NewEncoder(c.OutOrStdout()).Encode(loadAll(c.Context(), order))
		},
	}
}

// probeSites loads the names as the session's user.
func probeSites(c site.Config, urls map[string]string, placed []trust.Placed) (map[string]siteChecked, error) {
	command, err := self("sites", "probe")
	if err != nil {
		return nil, err
	}
	order := probeOrder{User: install.User("", c), URLs: urls}
	inStore := slices.ContainsFunc(placed, func(p trust.Placed) bool { return p.Store == "system" && p.Skipped == "" })
	if !inStore { // a system without a store: its browsers have it by policy
		order.CA = c.CAPEM
	}
	raw, err := json.Marshal(order)
	if err != nil {
		return nil, err
	}
	command.Env = []string{"PATH=" + os.Getenv("PATH")} // no proxy, and no certificates but the system's
	command.Dir = "/"
	var said bytes.Buffer
	command.Stdin, command.Stderr = bytes.NewReader(raw), &said
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("load the sites as the user: %w: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	var checks map[string]siteChecked
	if err := json.Unmarshal(out, &checks); err != nil {
		return nil, fmt.Errorf("load the sites as the user: %w", err)
	}
	return checks, nil
}

func loadAll(ctx context.Context, order probeOrder) map[string]siteChecked {
	transport := &http.Transport{DisableKeepAlives: true}
	if order.CA != "" {
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool()
		}
		roots.AppendCertsFromPEM([]byte(order.CA))
		transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	client := &http.Client{
		Transport:     transport,
		Timeout:       siteProbe,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var mu sync.Mutex
	var running sync.WaitGroup
	checks := map[string]siteChecked{}
	for name, url := range order.URLs {
		running.Go(func() {
			checked := load(ctx, client, url)
			mu.Lock()
			defer mu.Unlock()
			checks[name] = checked
		})
	}
	running.Wait()
	return checks
}

// load tells whether a URL is answered by a site: an answer of the proxy's own is
// none.
func load(ctx context.Context, client *http.Client, url string) siteChecked {
	checked := siteChecked{URL: url}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		checked.Error = err.Error()
		return checked
	}
	r.Header.Set("User-Agent", program+" sites install") // its entries are told by it
	answer, err := client.Do(r)
	if err != nil {
		checked.Error = err.Error()
		return checked
	}
	defer answer.Body.Close()
	if answer.Header.Get("X-Agentenv-Site-Proxy") == "failed" {
		page, _ := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
		checked.Error = fmt.Sprintf("the proxy itself answered %s: %s", answer.Status, pageReason(page))
		return checked
	}
	checked.Status = answer.StatusCode
	io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20)) // else its entry says that the browser went away
	return checked
}

// pageReason is what a page of the proxy's says.
func pageReason(page []byte) string {
	_, reason, _ := bytes.Cut(page, []byte("agentenv-netlog: "))
	reason, _, _ = bytes.Cut(reason, []byte("</p>"))
	return string(reason)
}
