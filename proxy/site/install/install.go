package install

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"strings"

	"github.com/agentenv/netlog/ca/trust"
	"github.com/agentenv/netlog/proxy/site"
)

// authorityName is that of the authority's files, and its nickname.
const authorityName = "agentenv-sites"

// CheckPorts says whether the computer's resolver will find the names: it asks at
// port 53 alone.
func CheckPorts(c site.Config, t *site.Table) error {
	if _, _, dns, _ := c.Ports(); t.HasWildcard() && dns != 53 {
		return fmt.Errorf("dns_port: %d: wildcards are asked for at port 53 alone", dns)
	}
	return nil
}

// Check names everything that keeps a configuration from being installed on the
// system in root, but for what its table says.
func Check(root string, c site.Config, t *site.Table) error {
	var problems []error
	add := func(err error) {
		if err != nil {
			problems = append(problems, err)
		}
	}
	if root == "" && os.Geteuid() != 0 {
		add(errors.New("only root can install names and certificates"))
	}
	if c.User != "" {
		if _, err := trust.LookupUser(root, c.User); err != nil {
			add(fmt.Errorf("user: %w", err))
		}
	}
	if c.ServeUser != "" {
		if _, err := trust.LookupUser(root, c.ServeUser); err != nil {
			add(fmt.Errorf("serve_user: %w", err))
		}
	} else if root == "" {
		_, err := Server(root, c)
		add(err)
	}
	add(CheckPorts(c, t))
	hosts, err := os.ReadFile(At(root, hostsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		add(err)
	}
	problems = append(problems, hostsConflicts(hosts, t.ExactNames(), c.Loopback())...)
	if info, err := os.Stat(At(root, site.Folder)); err == nil && root == "" {
		if owner(info) != 0 {
			add(fmt.Errorf("%q is not root's", site.Folder))
		}
	}
	if root == "" && os.Geteuid() == 0 && Holder(root) == 0 {
		ports, err := site.Listen(c, t)
		if err != nil {
			add(err)
		} else {
			ports.Close()
		}
	}
	return errors.Join(problems...)
}

// Installed tells whether there is an installation.
func Installed(root string) bool {
	_, err := os.Stat(At(root, site.Folder+"/"+journalFile))
	return err == nil
}

// ConfigPath is where an installation's configuration is.
func ConfigPath(root string) string { return At(root, site.Folder+"/"+configFile) }

// OpenJournal opens the journal of what an installation changes. Whoever has it is
// alone at it until it is closed.
func OpenJournal(root string) (*trust.Journal, error) {
	return trust.OpenJournal(root, site.Folder+"/"+journalFile)
}

// Put writes the installation's own files, after which it can be served. A
// configuration without certificates gets them; what was put is returned.
func Put(j *trust.Journal, root string, c site.Config) (site.Config, error) {
	if err := j.Begin(); err != nil {
		return c, fmt.Errorf("make %q: %w", site.Folder, err)
	}
	c, err := certify(c)
	if err != nil {
		return c, err
	}
	folder, err := openFolder(root)
	if err != nil {
		return c, err
	}
	defer folder.Close()
	if err := fill(folder, c); err != nil {
		return c, fmt.Errorf("fill %q: %w", site.Folder, err)
	}
	return c, nil
}

// Point has the system find the names where the proxy listens, and trust their
// authority. A store that can't be changed is no error, and says so itself.
func Point(j *trust.Journal, root string, c site.Config, t *site.Table) ([]trust.Placed, error) {
	placed := []trust.Placed{}
	if c.CAPEM != "" && t.HasTLS() {
		placed = trust.Install(j, authority(root, c))
	}
	if names := t.ExactNames(); len(names) > 0 {
		if err := j.Edit(hostsEdit(names, c.Loopback())); err != nil {
			return placed, err
		}
	}
	if t.HasWildcard() {
		if err := j.Edit(resolvEdit(c.Loopback())); err != nil {
			return placed, err
		}
	}
	return placed, nil
}

// Remove makes everything that Put and Point have changed what it was. The
// network log stays.
func Remove(j *trust.Journal, root string) ([]trust.Placed, error) {
	c, unreadable := readConfig(root)
	err := errors.Join(j.Undo(resolvEdit(netip.Addr{})), j.Undo(hostsEdit(nil, netip.Addr{})))
	placed := trust.Uninstall(j, authority(root, c))
	for _, p := range placed {
		if p.Error != "" {
			err = errors.Join(err, fmt.Errorf("%s: %s", p.Store, p.Error))
		}
	}
	if err != nil {
		return placed, errors.Join(err, unreadable)
	}
	folder, err := openFolder(root)
	if errors.Is(err, fs.ErrNotExist) {
		return placed, nil
	}
	if err != nil {
		return placed, err
	}
	defer folder.Close()
	if err := empty(folder); err != nil {
		return placed, err
	}
	return placed, j.Finish()
}

// Config is the configuration of an installation; empty when it can't be read.
func Config(root string) site.Config {
	c, _ := readConfig(root)
	return c
}

func readConfig(root string) (site.Config, error) {
	f, err := os.Open(ConfigPath(root))
	if err != nil {
		return site.Config{}, err
	}
	defer f.Close()
	return site.ReadConfig(f)
}

// User is the session's, as whom names are checked; nil for root.
func User(root string, c site.Config) *trust.User {
	if c.User == "" {
		return nil
	}
	u, err := trust.LookupUser(root, c.User)
	if err != nil {
		return nil
	}
	return u
}

func authority(root string, c site.Config) trust.Authority {
	a := trust.Authority{Name: authorityName, PEM: []byte(c.CAPEM), Path: site.Folder + "/" + caFile, User: User(root, c)}
	if c.User == "" {
		a.User, _ = trust.LookupUser(root, "root")
	}
	return a
}

// Nameservers are who is asked about names that are no site's: the configuration's,
// or the system's own.
func Nameservers(root string, c site.Config) ([]netip.AddrPort, error) {
	if len(c.Nameservers) > 0 {
		var all []netip.AddrPort
		for _, s := range c.Nameservers {
			at, err := site.ParseNameserver(strings.TrimSpace(s))
			if err != nil {
				return nil, err
			}
			all = append(all, at)
		}
		return all, nil
	}
	file, err := os.ReadFile(At(root, resolvFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return nameservers(file, c.Loopback()), nil
}
