package main

import (
	"cmp"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentenv/netlog/ca"
	"github.com/agentenv/netlog/ca/trust"
)

// Where ca trust keeps what it needs of its own.
const (
	trustedFile  = "/etc/agentenv/agentenv-netlog.pem" // the certificate, for every user to read
	trustJournal = "/etc/agentenv/trust.json"          // what was changed
)

// trustFlags are those of ca trust and untrust.
type trustFlags struct {
	root, user string
}

func (f *trustFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.root, "root", "", "`FOLDER` that holds the system's files, such as an image's; nothing outside it is changed (default: this system)")
	flags.StringVar(&f.user, "user", "", "`NAME` of the user whose NSS database is meant (default: who called sudo, or you)")
}

func newCATrust() *cobra.Command {
	var f trustFlags
	var dir string
	c := &cobra.Command{
		Use:   "trust",
		Short: "Have this system and its browsers trust the authority (root, Linux)",
		Long: `Have this Linux system trust the authority: its own store (Debian's and Red Hat's
families), Firefox and Chromium by their managed policies, a user's NSS database,
and the variables that Node and Python read at login (/etc/profile.d). Whoever has
the authority's key can then read what this system's users send: untrust when done.

One line a store says what was changed, or why not. "ca untrust" makes each file
what it was; what others have changed since stays.`,
		Example: `  sudo agentenv-netlog ca trust
  sudo agentenv-netlog ca trust --user alice --ca-dir ./ca`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			dir, err := trustedFolder(dir)
			if err != nil {
				return err
			}
			authority, err := loadAuthority(dir)
			if err != nil {
				return err
			}
			return runTrust(f, authority, c.OutOrStdout())
		},
	}
	addAuthorityFlag(c.Flags(), &dir)
	f.add(c.Flags())
	return c
}

func newCAUntrust() *cobra.Command {
	var f trustFlags
	c := &cobra.Command{
		Use:     "untrust",
		Short:   "Make what ca trust has changed what it was (root, Linux)",
		Example: "  sudo agentenv-netlog ca untrust",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runUntrust(f, c.OutOrStdout()) },
	}
	f.add(c.Flags())
	return c
}

// bySudo names the program by its path: sudo looks for names in folders of its own.
const bySudo = `call it by sudo "$(command -v agentenv-netlog)"`

// trustedFolder is the authority's: under sudo that of the user who called it.
func trustedFolder(flag string) (string, error) {
	if name := os.Getenv("SUDO_USER"); flag == "" && name != "" && os.Geteuid() == 0 {
		if u, err := user.Lookup(name); err == nil {
			return filepath.Join(u.HomeDir, ".config", program), nil
		}
	}
	return authorityFolder(flag)
}

// systemRoot is --root as an absolute path; "" for this system.
func systemRoot(flag string) (string, error) {
	if flag == "" {
		return "", nil
	}
	root, err := filepath.Abs(flag)
	if err != nil {
		return "", failed(fmt.Errorf("find --root %q: %w", flag, err), "give it as an absolute path")
	}
	if root == "/" {
		return "", nil
	}
	return root, nil
}

// open opens the journal, for who may change the system.
func (f *trustFlags) open() (*trust.Journal, *trust.User, error) {
	root, err := systemRoot(f.root)
	if err != nil {
		return nil, nil, err
	}
	f.root = root
	if f.root == "" && os.Geteuid() != 0 {
		return nil, nil, failed(errors.New("only root can change what the system trusts"), bySudo+"; for one program, see: agentenv-netlog ca bundle --help")
	}
	name := cmp.Or(f.user, os.Getenv("SUDO_USER"))
	if u, err := user.Current(); name == "" && err == nil {
		name = u.Username
	}
	u, err := trust.LookupUser(f.root, name)
	if err != nil && f.user != "" {
		return nil, nil, failed(err, "name a user of the system with --user")
	}
	j, err := trust.OpenJournal(f.root, trustJournal)
	if errors.Is(err, trust.ErrBusy) {
		return nil, nil, failed(err, "do it again when that one has ended")
	} else if err != nil {
		return nil, nil, failed(err, "see whether --root names the folder of a system")
	}
	return j, u, nil
}

func runTrust(f trustFlags, authority *ca.Authority, stdout io.Writer) error {
	j, u, err := f.open()
	if err != nil {
		return err
	}
	defer j.Close()
	a := trust.Authority{Name: program, PEM: topmost(authority.CertificatePEM()), Path: trustedFile, User: u}
	if err := j.Edit(trust.OwnFile(a.Path, a.PEM)); err != nil {
		return failed(fmt.Errorf("put the certificate where all can read it: %w", err), "")
	}
	return tellPlaced(stdout, trust.Install(j, a))
}

func runUntrust(f trustFlags, stdout io.Writer) error {
	j, u, err := f.open()
	if err != nil {
		return err
	}
	defer j.Close()
	if j.Empty() {
		_, err := fmt.Fprintln(stdout, "nothing was changed by ca trust")
		return err
	}
	a := trust.Authority{Name: program, Path: trustedFile, User: u}
	if a.PEM, err = j.Read(a.Path); err != nil {
		return err
	}
	if err := tellPlaced(stdout, trust.Uninstall(j, a)); err != nil {
		return err
	}
	if err := j.Undo(trust.OwnFile(a.Path, nil)); err != nil {
		return err
	}
	return j.Finish()
}

// topmost is the last certificate of a chain: the root, where it has one.
func topmost(chain []byte) []byte {
	var last []byte
	for block, rest := pem.Decode(chain); block != nil; block, rest = pem.Decode(rest) {
		last = pem.EncodeToMemory(block)
	}
	return last
}

// tellPlaced says what became of each store, and fails when one could not be
// changed.
func tellPlaced(stdout io.Writer, placed []trust.Placed) error {
	if err := printPlaced(stdout, placed); err != nil {
		return err
	}
	var broken []error
	for _, p := range placed {
		if p.Error != "" {
			broken = append(broken, fmt.Errorf("%s: %s", p.Store, p.Error))
		}
	}
	if len(broken) > 0 {
		return failed(errors.Join(broken...), "the other stores are as the lines above say; "+mendAndAgain)
	}
	return nil
}

// mendAndAgain is what to do when a store's tool has failed.
const mendAndAgain = "mend this, or wait for the apt or dpkg that is running, and do it again"

// printPlaced says what became of each store that could be changed.
func printPlaced(stdout io.Writer, placed []trust.Placed) error {
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	for _, p := range placed {
		switch {
		case p.Error != "":
		case p.Skipped != "":
			fmt.Fprintf(w, "%s\tskipped: %s\n", p.Store, p.Skipped)
		default:
			fmt.Fprintf(w, "%s\t%s\n", p.Store, p.Path)
		}
	}
	return w.Flush()
}
