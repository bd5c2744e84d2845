//go:build !linux

package capture

import (
	"errors"
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func enter(namespace *os.File) error {
	if namespace != nil {
		return errors.New("only Linux has network namespaces")
	}
	return nil
}

func prefer(*os.Process) {}
