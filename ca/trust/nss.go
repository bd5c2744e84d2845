package trust

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"syscall"
)

// nssFolders are where Chromium and its kin keep a user's certificates, below
// their home: they take the second only where the first is not.
var nssFolders = []string{".pki/nssdb", ".local/share/pki/nssdb"}

func nssStore(j *Journal, a Authority) store {
	s := store{name: "nss", nss: true}
	switch _, err := exec.LookPath("certutil"); {
	case a.User == nil:
		s.why = "no user's database was asked for"
	case !j.tree.exists(a.User.Home):
		s.why = "the user has no home folder " + a.User.Home
	case err != nil:
		s.why = "certutil is not installed"
	}
	return s
}

// openHome is the user's home, out of which nothing leads: what lies in it is
// theirs, and we may be root.
func openHome(j *Journal, u *User) (*os.Root, error) { return os.OpenRoot(j.tree.real(u.Home)) }

// databases are the user's, as paths below their home; made if there is none.
func databases(j *Journal, u *User) (found []string, err error) {
	home, err := openHome(j, u)
	if err != nil {
		return nil, err
	}
	defer home.Close()
	for _, folder := range nssFolders {
		if _, err := home.Stat(path.Join(folder, "cert9.db")); err == nil {
			found = append(found, folder)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	return nssFolders[:1], makeDatabase(j, u, home, nssFolders[0])
}

func makeDatabase(j *Journal, u *User, home *os.Root, folder string) error {
	var parts []string
	for dir := folder; dir != "."; dir = path.Dir(dir) {
		parts = append(parts, dir)
	}
	for _, dir := range slices.Backward(parts) {
		err := home.Mkdir(dir, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil && os.Geteuid() == 0 {
			err = home.Lchown(dir, int(u.UID), int(u.GID))
		}
		if err != nil {
			return err
		}
		j.state.Databases = append(j.state.Databases, path.Join(u.Home, dir))
		if err := j.save(); err != nil {
			return err
		}
	}
	_, err := certutil(j, u, folder, nil, "-N", "--empty-password")
	return err
}

// certutil runs NSS's own tool as the user.
func certutil(j *Journal, u *User, folder string, in []byte, args ...string) ([]byte, error) {
	c := exec.Command("certutil", append([]string{"-d", "sql:" + path.Join(j.tree.real(u.Home), folder)}, args...)...)
	c.Stdin = bytes.NewReader(in)
	c.Dir = "/"
	if os.Geteuid() == 0 && u.UID != 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: u.UID, Gid: u.GID}}
	}
	out, err := c.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("certutil %s: %w: %s", args[0], err, bytes.TrimSpace(out))
	}
	return out, nil
}

// hasOthers tells whether a database has certificates, whoever put them there.
func hasOthers(j *Journal, u *User, folder string) bool {
	listed, err := certutil(j, u, folder, nil, "-L")
	for line := range strings.Lines(string(listed)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "Certificate Nickname") && !strings.HasPrefix(line, "SSL,S/MIME") {
			return true
		}
	}
	return err != nil
}

func installNSS(j *Journal, a Authority) []Placed {
	folders, err := databases(j, a.User)
	if err != nil {
		return []Placed{{Store: "nss", Error: err.Error()}}
	}
	var all []Placed
	for _, folder := range folders {
		p := Placed{Store: "nss", Path: path.Join(a.User.Home, folder)}
		certutil(j, a.User, folder, nil, "-D", "-n", a.Name) // one of an earlier time
		if !slices.Contains(j.state.Trusting, p.Path) {
			j.state.Trusting = append(j.state.Trusting, p.Path)
		}
		err := j.save()
		if err == nil {
			_, err = certutil(j, a.User, folder, a.PEM, "-A", "-a", "-t", "C,,", "-n", a.Name)
		}
		if err != nil {
			p.Error = err.Error()
		}
		all = append(all, p)
	}
	return all
}

// uninstallNSS has the databases forget the certificate. One that was made is
// deleted, unless others have come to use it.
func uninstallNSS(j *Journal, a Authority) []Placed {
	if a.User == nil || len(j.state.Trusting) == 0 {
		return nil
	}
	home, err := openHome(j, a.User)
	if errors.Is(err, fs.ErrNotExist) { // and with it the databases
		j.state.Trusting, j.state.Databases = nil, nil
		return nil
	}
	if err != nil {
		return []Placed{{Store: "nss", Error: err.Error()}}
	}
	defer home.Close()
	var all []Placed
	var left []string
	for _, at := range j.state.Trusting {
		folder, below := cutHome(at, a.User.Home)
		if !below {
			left = append(left, at)
			continue
		}
		p := Placed{Store: "nss", Path: at}
		_, err := home.Stat(path.Join(folder, "cert9.db"))
		if err == nil {
			err = forget(j, a, folder)
		}
		if err == nil && slices.Contains(j.state.Databases, at) && !hasOthers(j, a.User, folder) {
			err = home.RemoveAll(folder)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			p.Error = err.Error()
			left = append(left, at)
		}
		all = append(all, p)
	}
	if len(left) == 0 {
		for _, made := range slices.Backward(j.state.Databases) {
			if folder, below := cutHome(made, a.User.Home); below {
				home.Remove(folder) // which fails when others have come to use it
			}
		}
		j.state.Databases = nil
	}
	j.state.Trusting = left
	if err := j.save(); err != nil {
		all = append(all, Placed{Store: "nss", Error: err.Error()})
	}
	return all
}

// forget takes the certificate out of a database, which may not have it: it could not
// be put there, or its user has deleted it.
func forget(j *Journal, a Authority, folder string) error {
	_, err := certutil(j, a.User, folder, nil, "-D", "-n", a.Name)
	if err == nil {
		return nil
	}
	if listed, e := certutil(j, a.User, folder, nil, "-L"); e == nil && !bytes.Contains(listed, []byte("\n"+a.Name+" ")) {
		return nil
	}
	return err
}

func cutHome(p, home string) (string, bool) {
	home = path.Clean(home) + "/"
	if len(p) <= len(home) || p[:len(home)] != home {
		return "", false
	}
	return p[len(home):], true
}
