package install

import (
	"io/fs"
	"syscall"
)

// owner is a file's user.
func owner(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid)
	}
	return -1
}
