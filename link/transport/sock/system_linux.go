package sock

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sameUser asks the kernel who opened the other end of a Unix socket: the process that dialled, or the one that listens.
func sameUser(c net.Conn) error {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil
	}
	var peer *unix.Ucred
	err := control(u, func(fd int) (err error) {
		peer, err = unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		return err
	})
	if err != nil {
		return fmt.Errorf("ask for the user of the other process: %w", err)
	}
	return compare(*peer, os.Geteuid())
}

func compare(peer unix.Ucred, own int) error {
	if int(peer.Uid) != own {
		return fmt.Errorf("process %d at the other end belongs to user %d, not to user %d", peer.Pid, peer.Uid, own)
	}
	return nil
}

// bound limits how long bytes of a TCP connection may stay unacknowledged. The keep-alive does not watch over those.
func bound(c net.Conn, d time.Duration) error {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return nil
	}
	return control(t, func(fd int) error {
		return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
	})
}

// writeNow is one call of the system, which takes what it can.
func writeNow(fd int, buffers [][]byte) (int, error) {
	if len(buffers) == 1 {
		return unix.Write(fd, buffers[0])
	}
	return unix.Writev(fd, buffers)
}

// control calls f with the descriptor of a connection.
func control(c syscall.Conn, f func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = f(int(fd)) }); err != nil {
		return err
	}
	return failed
}
