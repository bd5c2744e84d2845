package capture

import (
	"os"

	"golang.org/x/sys/unix"
)

// reflink copies a file into one without a name in dir that shares its blocks,
// where the file system can do that. The copy is of one moment.
func reflink(from *os.File, dir string) (*os.File, bool) {
	to, err := os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, 0o600)
	if err != nil {
		return nil, false // most often it is mounted read-only
	}
	if err := unix.IoctlFileClone(int(to.Fd()), int(from.Fd())); err != nil {
		to.Close()
		return nil, false
	}
	return to, true
}
