//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// readWrite reports whether f is open for reading and writing.
func readWrite(f *os.File) bool {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR
}

// shared reports whether two descriptors are the same open file. It changes O_APPEND on one, which means nothing for
// /dev/null, and looks whether it changed on the other. kcmp(2) would tell without a change, but containers forbid it.
func shared(f, other *os.File) bool {
	before, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil {
		return false
	}
	was, err := unix.FcntlInt(other.Fd(), unix.F_GETFL, 0)
	if err != nil {
		return false
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETFL, before^unix.O_APPEND); err != nil {
		return false
	}
	now, err := unix.FcntlInt(other.Fd(), unix.F_GETFL, 0)
	_, restored := unix.FcntlInt(f.Fd(), unix.F_SETFL, before)
	return err == nil && restored == nil && now != was
}
