package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentenv/netlog/proxy/site"
	"github.com/agentenv/netlog/proxy/site/install"
)

func newSites(token string) *cobra.Command {
	c := &cobra.Command{
		Use:   "sites",
		Short: "Route browsers to websites behind a gateway, by name",
		Long: `Have a computer's browsers find websites under names of their own: https://notes.test/
is what a gateway serves at http://gateway:8080/website/notes/, with TLS that they
trust. Every other host is where the network has it. All of it goes to one log.

CONFIG is JSON, in a file or, as -, on standard input; "check" and "install" do
without one where --from has the sites:

  {"user": "agent",
   "sites": [
     {"name": "notes", "upstream": "http://gateway:8080/website/notes/", "domains": ["notes.test", "*.notes.test"]},
     {"name": "wiki", "upstream": "http://gateway:8080/website/wiki/"},
     {"name": "bank", "live": true, "domains": ["bank.example"]}],
   "allow_hosts": ["gateway", "*.cdn.example"]}

Of a site: name; upstream, its route; domains, its names (none: NAME.localhost, over
http://; "*." stands for one label); live, for names that are let through to the
real site; allow_hosts, other hosts that it needs; cert_pem and key_pem;
signin_headers, fields whose values the log has as <removed>; upstream_headers, an
object of secret fields that are added on the way up.

Of all: user, who browses; serve_user, who serves (nobody); allow_hosts, what of
other hosts is let through (absent: all; "*." stands for any depth; addresses and
ranges too); listen (127.0.0.1); https_port (443), http_port (80), dns_port (53),
forward_port (none; a proxy for browsers that are pointed at one); nameservers (the
system's); network_log (/etc/agentenv/sites/network.jsonl; "" for none); log; label;
valid_for_s, how long the deployment lasts (10800); ca_pem, of certificates that are
given. Any other key is an error.`,
		Example: `  agentenv-netlog sites check sites.json
  sudo agentenv-netlog sites install sites.json
  sudo agentenv-netlog sites uninstall`,
	}
	makeGroup(c)
	c.AddCommand(newSitesCheck(), newSitesRun(token), newSitesInstall(token), newSitesUninstall(), newSitesProbe())
	return c
}

// sitesFlags are those of every command that reads a configuration.
type sitesFlags struct {
	root string
	from []string
}

func (f *sitesFlags) add(flags *pflag.FlagSet) {
	addSitesRoot(flags, &f.root)
	flags.StringArrayVar(&f.from, "from", nil, "take the websites of the composed environment at `URL` too, by its card; ENV=URL names it, for sites of which two environments have one of the same name (repeatable)")
}

func addSitesRoot(flags *pflag.FlagSet, root *string) {
	flags.StringVar(root, "root", "", "`FOLDER` that holds the system's files, such as an image's (default: this system)")
}

// args wants one configuration, or none where --from has the sites.
func (f *sitesFlags) args(_ *cobra.Command, args []string) error {
	if len(args) > 1 || len(args) == 0 && len(f.from) == 0 {
		return fmt.Errorf("it takes one CONFIG, or none with --from, and got %d", len(args))
	}
	return nil
}

// read reads a configuration, "" for an empty one, with the sites of --from and the secrets beside it.
func (f *sitesFlags) read(ctx context.Context, path string, stdin io.Reader) (site.Config, error) {
	var c site.Config
	var err error
	if f.root, err = systemRoot(f.root); err != nil {
		return c, err
	}
	var sources []site.Source
	for _, s := range f.from {
		source, err := site.ParseSource(s)
		if err != nil {
			return c, misused(fmt.Errorf("--from: %w", err), "write it as http://gateway:8080 or NAME=http://gateway:8080")
		}
		sources = append(sources, source)
	}
	in, called := stdin, "standard input"
	switch path {
	case "-":
	case "":
		in = strings.NewReader("{}")
	default:
		file, err := os.Open(path)
		if err != nil {
			return c, failed(fmt.Errorf("read the configuration: %w", err), "name a file that you can read, or - for standard input")
		}
		defer file.Close()
		in, called = file, fmt.Sprintf("%q", path)
	}
	if c, err = site.ReadConfig(in); err != nil {
		return c, failed(fmt.Errorf("%s: %w", called, err), "see: agentenv-netlog sites --help")
	}
	if path != "" {
		if c, err = install.Complete(f.root, path, c); err != nil {
			return c, failed(fmt.Errorf("read what lies beside %q: %w", path, err), "install it anew")
		}
	}
	transport := &http.Transport{} // the gateway is near: no proxy of the environment's is between
	defer transport.CloseIdleConnections()
	found, err := site.FromCards(ctx, sources, &http.Client{Transport: transport})
	if err != nil {
		return c, failed(err, "see whether the environment is up, and whether --from has its address")
	}
	c.Take(found)
	return c, nil
}

// examine makes the table, and looks at the certificates that are given; the error
// has all that is wrong, and the table is there all the same.
func examine(c site.Config) (*site.Table, *site.Certificates, error) {
	table, err := site.NewTable(c)
	if site.NeedsCertificates(c) {
		return table, nil, err
	}
	certificates, e := site.NewCertificates(c, table, time.Now())
	return table, certificates, errors.Join(err, e)
}

func newSitesCheck() *cobra.Command {
	var f sitesFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "check [CONFIG]",
		Short: "Print what becomes of each name, and every problem",
		Long: `Print what becomes of each name: served from a site's route, let through to where
the network has it, or taken by a stronger name (a site's goes before a live one, that
before an allowed host). Then each problem; there being one is exit status 1. Nothing
is changed, and nobody is asked but for the cards of --from.`,
		Example: `  agentenv-netlog sites check sites.json
  agentenv-netlog sites check --from http://gateway:8080`,
		Args: f.args,
		RunE: func(c *cobra.Command, args []string) error {
			config, err := f.read(c.Context(), strings.Join(args, ""), c.InOrStdin())
			if err != nil {
				return err
			}
			table, _, problems := examine(config)
			problems = errors.Join(problems, install.CheckPorts(config, table))
			if asJSON {
				err = printCheckJSON(c.OutOrStdout(), table.Report(), problems)
			} else {
				err = printCheck(c.OutOrStdout(), table.Report(), problems)
			}
			if err == nil && problems != nil {
				err = failed(fmt.Errorf("the configuration has problems: %d", len(each(problems))), "they stand below the table")
			}
			return err
		},
	}
	f.add(c.Flags())
	c.Flags().BoolVar(&asJSON, "json", false, "print an object: routes, unrouted, shadowed, problems")
	return c
}

// each takes joined errors apart.
func each(err error) (all []error) {
	var joined interface{ Unwrap() []error }
	if err == nil {
		return nil
	}
	if !errors.As(err, &joined) {
		return []error{err}
	}
	for _, e := range joined.Unwrap() {
		all = append(all, each(e)...)
	}
	return all
}

func printCheck(stdout io.Writer, r site.Report, problems error) error {
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "name\tsite\trank\tgoes to")
	cell := func(s string) string { return cmp.Or(printable(s), "-") } // a card's, perhaps
	for _, n := range r.Routes {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", cell(n.Name), cell(n.Site), site.Synthetic, cell(n.Upstream))
	}
	for _, n := range r.Unrouted {
		to := "where the network has it"
		for _, s := range r.Shadowed {
			if s.Name == n.Name && s.Site == n.Site && s.Rank == n.Rank {
				to += fmt.Sprintf(", but for %s of %s", cell(s.By), cell(s.BySite))
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", cell(n.Name), cell(n.Site), n.Rank, to)
	}
	for _, s := range r.Shadowed {
		if s.Whole {
			fmt.Fprintf(w, "%s\t%s\t%s\tnowhere: %s of %s goes before it\n", cell(s.Name), cell(s.Site), s.Rank, cell(s.By), cell(s.BySite))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, p := range each(problems) {
		if _, err := fmt.Fprintf(stdout, "problem: %s\n", printable(oneLine(p.Error()))); err != nil {
			return err
		}
	}
	return nil
}

func printCheckJSON(stdout io.Writer, r site.Report, problems error) error {
	said := struct {
		site.Report
		Problems []string `json:"problems"`
	}{r, []string{}}
	for _, p := range each(problems) {
		said.Problems = append(said.Problems, p.Error())
	}
	return printIndented(stdout, said)
}

func printIndented(stdout io.Writer, v any) error {
	e := json.NewEncoder(stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
