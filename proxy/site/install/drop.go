package install

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/agentenv/netlog/ca/trust"
	"github.com/agentenv/netlog/proxy/site"
)

// Server is who serves a configuration once the ports are taken: the user that it
// names, else nobody or, where the system has none, the session's. nil: this
// process is not root's, and stays who it is.
func Server(root string, c site.Config) (*trust.User, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	if c.ServeUser != "" {
		u, err := trust.LookupUser(root, c.ServeUser)
		if err != nil {
			return nil, fmt.Errorf("serve_user: %w", err)
		}
		return u, nil
	}
	u, err := trust.LookupUser(root, "nobody")
	if errors.Is(err, trust.ErrNoUser) && c.User != "" {
		u, err = trust.LookupUser(root, c.User)
	}
	if err != nil {
		return nil, fmt.Errorf("find a user to serve as, which serve_user may name: %w", err)
	}
	return u, nil
}

// Become makes the process the user's for good.
func Become(u *trust.User) error {
	if u == nil || os.Geteuid() == int(u.UID) {
		return nil
	}
	err := syscall.Setgroups([]int{int(u.GID)})
	if err == nil {
		err = syscall.Setgid(int(u.GID))
	}
	if err == nil {
		err = syscall.Setuid(int(u.UID))
	}
	if err != nil {
		return fmt.Errorf("drop privileges: become user %d of group %d: %w", u.UID, u.GID, err)
	}
	return nil
}
