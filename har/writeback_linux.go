package har

import (
	"os"

	"golang.org/x/sys/unix"
)

// writeBack begins to write back n bytes of f from an offset on. Where that can't
// be done, Sync has more to do.
func writeBack(f *os.File, offset, n int64) {
	unix.SyncFileRange(int(f.Fd()), offset, n, unix.SYNC_FILE_RANGE_WRITE)
}
