package checkpoint

import (
	"os"

	"golang.org/x/sys/unix"
)

// forgetFile takes a file out of the page cache.
func forgetFile(f *os.File) error { return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }
