package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentenv/netlog/ca"
	"github.com/agentenv/netlog/proxy/site"
)

// The files in site.Folder.
const (
	configFile  = "config.json"           // all of the configuration; root's alone
	serveFile   = "serve.json"            // the same without its secrets
	headersFile = "upstream_headers.json" // the sites' fields for the gateway; root's alone
	caFile      = "ca.pem"
	journalFile = "undo.json"       // what was changed elsewhere
	lockFile    = "site-proxy.lock" // held by who serves
	ownLogFile  = "site-proxy.log"  // what the process says
)

// At is where a path is when the system's files are in root; "" is this system.
func At(root, path string) string { return filepath.Join("/", root, path) }

// openFolder opens site.Folder, out of which no link leads.
func openFolder(root string) (*os.Root, error) {
	system, err := os.OpenRoot(At(root, "/"))
	if err != nil {
		return nil, err
	}
	defer system.Close()
	return system.OpenRoot(strings.TrimPrefix(site.Folder, "/"))
}

// put makes a file anew, with its mode from its first byte on.
func put(folder *os.Root, name string, content []byte, mode fs.FileMode) error {
	if err := folder.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Chmod(mode), f.Close()) // whatever the umask
}

// fill writes a configuration's files. The folder is root's alone until what is
// secret is.
func fill(folder *os.Root, c site.Config) error {
	if err := folder.Chmod(".", 0o700); err != nil {
		return err
	}
	headers := map[string]map[string]string{}
	bare := c
	bare.Sites = append([]site.Site(nil), c.Sites...)
	for i := range bare.Sites {
		s := &bare.Sites[i]
		if s.KeyPEM != "" {
			if err := put(folder, s.Name+".key", []byte(s.KeyPEM), 0o600); err != nil {
				return err
			}
			if err := put(folder, s.Name+".crt", []byte(s.CertPEM), 0o644); err != nil {
				return err
			}
		}
		if len(s.UpstreamHeaders) > 0 {
			headers[s.Name] = s.UpstreamHeaders
		}
		s.KeyPEM, s.UpstreamHeaders = "", nil
	}
	for _, file := range []struct {
		name    string
		content any
		mode    fs.FileMode
	}{{headersFile, headers, 0o600}, {configFile, c, 0o600}, {serveFile, bare, 0o644}} {
		content, err := encode(file.content)
		if err == nil {
			err = put(folder, file.name, content, file.mode)
		}
		if err != nil {
			return err
		}
	}
	if c.CAPEM != "" {
		if err := put(folder, caFile, []byte(c.CAPEM), 0o644); err != nil {
			return err
		}
	}
	return folder.Chmod(".", 0o755)
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// empty removes a configuration's files; the network log stays.
func empty(folder *os.Root) error {
	f, err := folder.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	for _, e := range entries {
		switch name := e.Name(); {
		case name == configFile, name == serveFile, name == headersFile, name == caFile, name == lockFile, name == ownLogFile,
			strings.HasSuffix(name, ".key"), strings.HasSuffix(name, ".crt"):
			err = errors.Join(err, folder.Remove(name))
		}
	}
	return err
}

// Complete gives a configuration that lies in site.Folder the secrets that lie
// beside it.
func Complete(root, path string, c site.Config) (site.Config, error) {
	if dir, err := filepath.Abs(filepath.Dir(path)); err != nil || dir != At(root, site.Folder) {
		return c, nil
	}
	folder, err := openFolder(root)
	if err != nil {
		return c, err
	}
	defer folder.Close()
	read := func(name string) string {
		raw, e := folder.ReadFile(name)
		if e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
		return string(raw)
	}
	headers := map[string]map[string]string{}
	if raw := read(headersFile); raw != "" {
		if e := json.Unmarshal([]byte(raw), &headers); e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", headersFile, e))
		}
	}
	if c.CAPEM == "" {
		c.CAPEM = read(caFile)
	}
	for i := range c.Sites {
		s := &c.Sites[i]
		if s.CertPEM == "" {
			s.CertPEM = read(s.Name + ".crt")
		}
		if s.KeyPEM == "" {
			s.KeyPEM = read(s.Name + ".key")
		}
		if s.UpstreamHeaders == nil {
			s.UpstreamHeaders = headers[s.Name]
		}
	}
	return c, err
}

// certify gives a configuration without certificates those of an authority that is
// made for it.
func certify(c site.Config) (site.Config, error) {
	if !site.NeedsCertificates(c) {
		return c, nil
	}
	var names [][]string
	c.Sites = append([]site.Site(nil), c.Sites...)
	for i := range c.Sites {
		if secure := c.Sites[i].SecureNames(); len(secure) > 0 {
			names = append(names, secure)
		}
	}
	authority, leaves, err := ca.Deploy(c.Label, c.Life(), names...)
	if err != nil {
		return c, err
	}
	c.CAPEM = string(authority)
	for i := range c.Sites {
		if s := &c.Sites[i]; len(s.SecureNames()) > 0 {
			s.CertPEM, s.KeyPEM = string(leaves[0].Certificate), string(leaves[0].Key)
			leaves = leaves[1:]
		}
	}
	return c, nil
}
