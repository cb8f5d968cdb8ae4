package sock

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// sameUser asks the kernel who opened the other end of a Unix socket: the process that dialled, or the one that listens.
func sameUser(c net.Conn) error {
	unix, ok := c.(*net.UnixConn)
	if !ok {
		return nil
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return err
	}
	var peer *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		peer, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err != nil {
		return err
	}
	if failed != nil {
		return fmt.Errorf("ask for the user of the other process: %w", failed)
	}
	return compare(*peer, os.Geteuid())
}

func compare(peer syscall.Ucred, own int) error {
	if int(peer.Uid) != own {
		return fmt.Errorf("process %d at the other end belongs to user %d, not to user %d", peer.Pid, peer.Uid, own)
	}
	return nil
}
