package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentenv/netlog/ca"
)

func newCA() *cobra.Command {
	c := &cobra.Command{
		Use:   "ca",
		Short: "The certificate authority that browsers are to trust",
		Long: `The certificate authority that signs what browsers see of https:// sites.
It is made when it is first needed; its key never leaves the folder (--ca-dir).

One of your own works as well: put its certificate, followed by its chain if it
has one, in ca.pem and its EC or RSA key, unencrypted, in ca-key.pem.`,
		Example: `  agentenv-netlog ca path
  agentenv-netlog ca print >agentenv-netlog.pem
  agentenv-netlog ca bundle >bundle.pem
  agentenv-netlog ca create --ca-dir ./ca
  sudo agentenv-netlog ca trust`,
	}
	makeGroup(c)
	c.AddCommand(
		newCACommand("path", "Print where the certificate is",
			`  curl --cacert "$(agentenv-netlog ca path)" --proxy http://127.0.0.1:8080 https://example.com/`,
			func(c *cobra.Command, dir string) error {
				a, err := loadAuthority(dir)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(c.OutOrStdout(), a.CertificatePath())
				return err
			}),
		newCACommand("print", "Print the certificate in PEM, with its chain if it has one",
			"  agentenv-netlog ca print >agentenv-netlog.pem",
			func(c *cobra.Command, dir string) error {
				a, err := loadAuthority(dir)
				if err != nil {
					return err
				}
				_, err = c.OutOrStdout().Write(a.CertificatePEM())
				return err
			}),
		newCACommand("bundle", "Print the system's certificates and the authority's, in PEM",
			`  agentenv-netlog ca bundle >bundle.pem
  export SSL_CERT_FILE="$PWD/bundle.pem" REQUESTS_CA_BUNDLE="$PWD/bundle.pem"`,
			func(c *cobra.Command, dir string) error {
				a, err := loadAuthority(dir)
				if err != nil {
					return err
				}
				b, err := trustBundle(a)
				if err != nil {
					return err
				}
				_, err = c.OutOrStdout().Write(b)
				return err
			}),
		newCACommand("create", "Create the authority, and print where its certificate is",
			"  agentenv-netlog ca create --ca-dir ./ca",
			func(c *cobra.Command, dir string) error {
				a, err := ca.Create(dir)
				if errors.Is(err, fs.ErrExist) {
					return failed(err, "there is one; to make another, name another folder with --ca-dir")
				}
				if err != nil {
					return failed(err, "choose a folder that you can write, with --ca-dir")
				}
				_, err = fmt.Fprintln(c.OutOrStdout(), a.CertificatePath())
				return err
			}),
		newCATrust(), newCAUntrust(),
	)
	return c
}

// newCACommand is a command that needs nothing but the authority's folder.
func newCACommand(name, short, example string, work func(c *cobra.Command, dir string) error) *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:     name,
		Short:   short,
		Example: example,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			dir, err := authorityFolder(dir)
			if err != nil {
				return err
			}
			return work(c, dir)
		},
	}
	addAuthorityFlag(c.Flags(), &dir)
	return c
}

func addAuthorityFlag(flags *pflag.FlagSet, dir *string) {
	flags.StringVar(dir, "ca-dir", "", "`FOLDER` of the certificate authority (default: agentenv-netlog in your configuration folder)")
}

// authorityFolder is the absolute path of the folder that the flag says, or of
// the default.
func authorityFolder(flag string) (string, error) {
	if flag == "" {
		config, err := os.UserConfigDir()
		if err != nil {
			return "", failed(fmt.Errorf("find your configuration folder: %w", err), "say where the certificate authority is to be, with --ca-dir")
		}
		flag = filepath.Join(config, program)
	}
	dir, err := filepath.Abs(flag)
	if err != nil {
		return "", failed(fmt.Errorf("find the certificate authority's folder %q: %w", flag, err), "give --ca-dir as an absolute path")
	}
	return dir, nil
}

func loadAuthority(dir string) (*ca.Authority, error) {
	a, err := ca.Load(dir)
	if errors.Is(err, ca.ErrNone) {
		return nil, failed(err, "make one: agentenv-netlog ca create, with the same --ca-dir if there was one")
	}
	if err != nil {
		return nil, unusableAuthority(err)
	}
	return a, nil
}

// needAuthority loads the folder's authority or makes it on first use. A key that
// others can read is told to stderr.
func needAuthority(flag string, stderr io.Writer) (a *ca.Authority, created bool, err error) {
	dir, err := authorityFolder(flag)
	if err != nil {
		return nil, false, err
	}
	a, created, err = ca.LoadOrCreate(dir)
	if err != nil {
		return nil, false, unusableAuthority(err)
	}
	if info, err := os.Stat(a.KeyPath()); err == nil && info.Mode()&0o077 != 0 {
		warn(stderr, "others can read the authority's key %q, and so pass for any site to who trusts it: chmod 600 it", a.KeyPath())
	}
	return a, created, nil
}

func unusableAuthority(err error) error {
	return failed(err, "mend its files, or name another folder with --ca-dir: an authority is made there when there is none")
}
