//go:build !linux

package sock

import (
	"net"
	"syscall"
	"time"
)

// sameUser relies on the modes of folder and socket.
func sameUser(net.Conn) error { return nil }

// bound leaves it to the system how long it waits for an acknowledgement.
func bound(net.Conn, time.Duration) error { return nil }

// writesNow reports whether writeNow writes.
const writesNow = false

// writeNow takes nothing: the writer does.
func writeNow(int, [][]byte) (int, error) { return 0, nil }

// acknowledged returns nothing: the system does not tell.
func acknowledged(syscall.RawConn) (bytes int64, busy time.Duration, told bool) { return 0, 0, false }

// readNow reads into first alone.
func readNow(fd int, first, _ []byte) (int, error) { return syscall.Read(fd, first) }
