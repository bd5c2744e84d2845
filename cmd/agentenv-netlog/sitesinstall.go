package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentenv/netlog/ca/trust"
	"github.com/agentenv/netlog/proxy/site"
	"github.com/agentenv/netlog/proxy/site/install"
)

// An installReport is what sites install prints.
type installReport struct {
	Trust  []trust.Placed         `json:"trust"`
	Names  site.Report            `json:"names"`
	Checks map[string]siteChecked `json:"checks"`
}

func newSitesInstall(token string) *cobra.Command {
	var f sitesFlags
	c := &cobra.Command{
		Use:   "install [CONFIG]",
		Short: "Put the sites on this computer and serve them (root, Linux)",
		Long: `Put the sites on this computer: certificates of an authority that is made for them,
unless they are given; names in /etc/hosts, wildcards by a resolver in
/etc/resolv.conf; the authority in the system's store, in Firefox's and Chromium's
managed policies, in the user's NSS database and in /etc/profile.d. Then the proxy is
started, supervised, and each site's first name is loaded as the user would: by the
system's resolver and store. Everything of its own is in /etc/agentenv/sites.

The result is one JSON object on standard output: trust (what became of each store),
names (what sites check prints) and checks (each name's url, and its status or error).
A name that did not load is exit status 1, and all stays as it is. What keeps the
sites from being installed is said before anything is written. A second time replaces
the first. With --root only files are written: nothing is started or checked.`,
		Example: `  sudo agentenv-netlog sites install sites.json
  sudo agentenv-netlog sites install --from http://gateway:8080
  sudo agentenv-netlog sites install --from shop=http://gateway:8080 sites.json`,
		Args: f.args,
		RunE: func(c *cobra.Command, args []string) error {
			config, err := f.read(c.Context(), strings.Join(args, ""), c.InOrStdin())
			if err != nil {
				return err
			}
			return installSites(f.root, config, token, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f.add(c.Flags())
	return c
}

func installSites(root string, c site.Config, token string, stdout, stderr io.Writer) error {
	if err := checkToken(token); err != nil {
		return err
	}
	table, _, err := examine(c)
	if err := errors.Join(err, install.Check(root, c, table)); err != nil {
		if root == "" && os.Geteuid() != 0 {
			return failed(err, bySudo)
		}
		return failed(err, "nothing was changed; agentenv-netlog sites check has the table")
	}
	j, err := install.OpenJournal(root)
	if err != nil {
		return failed(err, "nothing was changed; do it again when that one has ended")
	}
	defer j.Close()
	if install.Installed(root) { // what it has changed is what the next must find
		if err := takeAway(j, root); err != nil {
			return failed(fmt.Errorf("take away what is installed: %w", err), mendAndAgain)
		}
	}
	report, err := putSites(j, root, c, table, token)
	if err != nil {
		if left := takeAway(j, root); left != nil {
			return failed(errors.Join(err, left), "not all that was changed is undone; do that with: agentenv-netlog sites uninstall")
		}
		return failed(err, "what was changed is undone, and no sites are installed")
	}
	if err := printIndented(stdout, report); err != nil {
		return err
	}
	for _, p := range report.Trust {
		if p.Error != "" {
			warn(stderr, "who looks for the authority in the store %q may not find it: %s; %s", p.Store, p.Error, mendAndAgain)
		}
	}
	var lost []error
	for _, name := range slices.Sorted(maps.Keys(report.Checks)) {
		if check := report.Checks[name]; check.Error != "" {
			lost = append(lost, fmt.Errorf("%q did not load: %s", name, check.Error))
		}
	}
	if len(lost) > 0 {
		return failed(errors.Join(lost...), "the sites are installed; see the log: agentenv-netlog show "+quote(install.At(root, c.LogPath())))
	}
	return nil
}

func putSites(j *trust.Journal, root string, c site.Config, t *site.Table, token string) (*installReport, error) {
	c, err := install.Put(j, root, c)
	if err != nil {
		return nil, err
	}
	r := &installReport{Names: t.Report(), Checks: map[string]siteChecked{}}
	if root != "" {
		r.Trust, err = install.Point(j, root, c, t)
		return r, err
	}
	if err := launchSites(c, token); err != nil {
		return nil, err
	}
	if r.Trust, err = install.Point(j, root, c, t); err != nil {
		return nil, err
	}
	https, http, _, _ := c.Ports()
	r.Checks, err = probeSites(c, t.CheckURLs(https, http), r.Trust)
	return r, err
}

// takeAway stops the proxy and undoes the installation.
func takeAway(j *trust.Journal, root string) error {
	if err := stopSites(root); err != nil {
		return err
	}
	_, err := install.Remove(j, root)
	return err
}

func newSitesUninstall() *cobra.Command {
	var root string
	var deleteLog bool
	c := &cobra.Command{
		Use:   "uninstall [CONFIG]",
		Short: "Stop serving, and make everything what it was (root, Linux)",
		Long: `Stop the proxy and make every file that sites install has changed what it was; what
others have changed since stays. The network log stays too, unless --delete-log is
given. CONFIG is not read: the installation knows its own.`,
		Example: "  sudo agentenv-netlog sites uninstall",
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(c *cobra.Command, _ []string) error { return uninstallSites(root, deleteLog, c.OutOrStdout()) },
	}
	addSitesRoot(c.Flags(), &root)
	c.Flags().BoolVar(&deleteLog, "delete-log", false, "delete the network log too")
	return c
}

func uninstallSites(root string, deleteLog bool, stdout io.Writer) error {
	root, err := systemRoot(root)
	if err != nil {
		return err
	}
	if root == "" && os.Geteuid() != 0 {
		return failed(errors.New("only root can take the sites away"), bySudo)
	}
	if !install.Installed(root) {
		_, err := fmt.Fprintln(stdout, "no sites are installed")
		return err
	}
	j, err := install.OpenJournal(root)
	if err != nil {
		return failed(err, "nothing was changed; do it again when that one has ended")
	}
	defer j.Close()
	c := install.Config(root)
	if err := stopSites(root); err != nil {
		return err
	}
	placed, err := install.Remove(j, root)
	if err := errors.Join(printPlaced(stdout, placed), err); err != nil {
		return failed(err, "what could be undone is; "+mendAndAgain)
	}
	path := c.LogPath()
	if path == "" {
		return nil
	}
	path = install.At(root, path)
	if !deleteLog {
		if _, err := os.Stat(path); err == nil {
			_, err = fmt.Fprintf(stdout, "the log stays: %s\n", quote(path))
			return err
		}
		return nil
	}
	return deleteSitesLog(root, path)
}

// deleteSitesLog deletes the log, and its folder when that was ours and is empty
// then.
func deleteSitesLog(root, path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed(err, "delete it by hand")
	}
	if dir := filepath.Dir(path); dir == install.At(root, site.Folder) {
		if os.Remove(dir) == nil {
			os.Remove(filepath.Dir(dir)) // which fails when others use it
		}
	}
	return nil
}
