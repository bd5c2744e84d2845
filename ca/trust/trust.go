// Package trust has a Linux system and its browsers trust a certificate
// authority, and trust it no more.
//
//	j, err := trust.OpenJournal("", "/etc/agentenv/undo.json")
//	placed := trust.Install(j, trust.Authority{Name: "agentenv-sites", PEM: pem, Path: "/etc/agentenv/ca.pem"})
//	…
//	removed := trust.Uninstall(j, authority)
//	err = j.Finish()
//
// It knows the system's store (of Debian's and Red Hat's families), Firefox's and
// Chromium's managed policies, a user's NSS databases, and the variables by which
// Node, Python and others find certificates. A store that is not there is passed
// by, with the reason.
//
// What was changed is written down first, in a [Journal], from which another
// process makes every file what it was, byte for byte: what others have changed
// meanwhile keeps their changes, files that were made are deleted, and so are
// folders that are empty then. An NSS database that was there is only asked to
// forget the certificate. Files are rewritten in place, since some are mounts.
package trust

import "slices"

// An Authority is what is to be trusted. Uninstall needs the same as Install.
type Authority struct {
	Name string // of the files that are made, and the nickname in NSS databases
	PEM  []byte // its certificate, one alone
	Path string // where programs find it: a file that every user can read
	User *User  // whose NSS databases get it; nil: nobody's
}

// A User is whom programs run as.
type User struct {
	Name     string
	UID, GID uint32
	Home     string
}

// A Placed says what became of one store.
type Placed struct {
	Store   string `json:"store"`             // "system", "firefox", "chromium", "nss", "environment"
	Path    string `json:"path,omitempty"`    // the file that was changed
	Skipped string `json:"skipped,omitempty"` // why it was not
	Error   string `json:"error,omitempty"`   // why it could not be
}

// A store is one place that is looked at for trust.
type store struct {
	name  string
	edits []Edit
	made  []string     // folders whose files a tool makes of the edited
	tool  func() error // makes them; nil: nothing has to be
	fresh func() error // the same, when the edits are undone
	nss   bool
	why   string // it is passed by
}

func stores(j *Journal, a Authority) []store {
	return []store{systemStore(j, a), firefoxStore(a), chromiumStore(j, a), nssStore(j, a), environmentStore(j, a)}
}

// Install has every store trust the authority. What can't be done in one keeps no
// other from it.
func Install(j *Journal, a Authority) []Placed {
	var all []Placed
	for _, s := range stores(j, a) {
		if s.why != "" {
			all = append(all, Placed{Store: s.name, Skipped: s.why})
			continue
		}
		if s.nss {
			all = append(all, installNSS(j, a)...)
			continue
		}
		work := func() error {
			for _, e := range s.edits {
				p := Placed{Store: s.name, Path: e.Path}
				if err := j.Edit(e); err != nil {
					p.Error = err.Error()
				}
				all = append(all, p)
			}
			if s.tool == nil {
				return nil
			}
			return s.tool()
		}
		if err := j.around(s.made, work); err != nil {
			all = append(all, Placed{Store: s.name, Error: err.Error()})
		}
	}
	return all
}

// Uninstall takes the authority out of every store that Install put it into. What
// could not be done in one is done by the next call.
func Uninstall(j *Journal, a Authority) []Placed {
	var all []Placed
	for _, s := range stores(j, a) {
		if s.nss {
			all = append(all, uninstallNSS(j, a)...)
		} else {
			all = append(all, j.leave(s)...)
		}
	}
	return all
}

// leave makes a store's files what they were, and has its tool know of it.
func (j *Journal) leave(s store) []Placed {
	var all []Placed
	work := func() error {
		for _, e := range s.edits {
			if j.record(e.Path) == nil {
				continue
			}
			if s.fresh != nil {
				j.state.stale(s.name)
			}
			p := Placed{Store: s.name, Path: e.Path}
			if err := j.Undo(e); err != nil {
				p.Error = err.Error()
			}
			all = append(all, p)
		}
		if !slices.Contains(j.state.Stale, s.name) {
			return nil
		}
		if err := s.fresh(); err != nil {
			return err
		}
		return j.freshened(s.name)
	}
	if err := j.restore(s.made, work); err != nil {
		all = append(all, Placed{Store: s.name, Error: err.Error()})
	}
	return all
}
