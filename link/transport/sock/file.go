package sock

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"bellows"
)

// pathMax is how long the path of a Unix socket may be on this system.
const pathMax = len(syscall.RawSockaddrUnix{}.Path) - 1

// prepare makes place fit for a socket: a private folder, and nothing of that name in it.
func prepare(place string) error {
	if len(place) > pathMax {
		return fmt.Errorf("the path has %d bytes, more than the system's %d: choose a folder with a shorter name", len(place), pathMax)
	}
	folder := filepath.Dir(place)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(folder)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return &bellows.Error{Kind: bellows.Refused, Op: "use folder", Subject: folder, Hint: "chmod 700 it, or choose another",
			Err: fmt.Errorf("other users may enter it (mode %#o)", mode)}
	}
	return unlinkStale(place)
}

// unlinkStale removes a socket on which no process listens. Two processes that do so at the same time for one path may
// remove each other's: a path belongs to one node of one run.
func unlinkStale(place string) error {
	info, err := os.Lstat(place)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("a file that is no socket has that name: move it away, or choose another path")
	}
	c, err := net.Dial("unix", place)
	switch {
	case err == nil:
		c.Close()
		return errors.New("another process listens there")
	case errors.Is(err, syscall.ECONNREFUSED):
		return os.Remove(place)
	}
	return plain(err)
}
