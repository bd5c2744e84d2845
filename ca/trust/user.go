package trust

import (
	"errors"
	"fmt"
	"os/user"
	"strconv"
	"strings"
)

// ErrNoUser says that a system has no user of a name.
var ErrNoUser = errors.New("there is no such user")

// LookupUser finds a user of the system in root, "" or "/" for this one, by name;
// its error wraps [ErrNoUser] when there is none.
func LookupUser(root, name string) (*User, error) {
	t, err := openTree(root)
	if err != nil {
		return nil, err
	}
	defer t.close()
	raw, _, err := t.read("/etc/passwd")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(raw)) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) < 7 || f[0] != name {
			continue
		}
		if u, err := newUser(name, f[2], f[3], f[5]); err == nil {
			return u, nil
		}
	}
	if t.root == nil { // it may be known elsewhere than in the file
		if u, err := user.Lookup(name); err == nil {
			return newUser(name, u.Uid, u.Gid, u.HomeDir)
		}
	}
	return nil, fmt.Errorf("user %q: %w", name, ErrNoUser)
}

func newUser(name, uid, gid, home string) (*User, error) {
	u, err := strconv.ParseUint(uid, 10, 32)
	if err != nil {
		return nil, err
	}
	g, err := strconv.ParseUint(gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &User{Name: name, UID: uint32(u), GID: uint32(g), Home: home}, nil
}
