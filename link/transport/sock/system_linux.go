package sock

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sameUser asks the kernel which user opened the other end of a Unix socket: the process that dialled, or the listener.
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

// writesNow reports whether writeNow writes.
const writesNow = true

// writeNow makes one system call, which takes what it can, up to writeBuffers and writeBytes.
//
// The scheduler does not hear of the call, nor of readNow's: a connection's descriptor never waits. If it hears of a
// call that lasts 20 µs, it gives the processor to another thread and looks again every 20 µs; a copy of 64 KiB takes as long.
//
// Rejected: Writev of golang.org/x/sys. It reports its reads to the race detector when the call is over. By then the
// other end may have everything and have acknowledged it, and the memory may hold the next message. The detector cannot
// see that the kernel orders these two: it called it a race (TestChurnHasNoEffect of bench/protocol --only churn). A
// write of several buffers by package net does not report them either.
func writeNow(fd int, buffers [][]byte) (int, error) {
	var room [writeBuffers]unix.Iovec
	list := room[:0]
	bytes := 0
	for _, b := range buffers[:min(len(buffers), writeBuffers)] {
		v := unix.Iovec{Base: unsafe.SliceData(b)}
		v.SetLen(min(len(b), writeBytes-bytes))
		list = append(list, v)
		if bytes += len(b); bytes >= writeBytes {
			break
		}
	}
	n, _, failed := unix.RawSyscall(unix.SYS_WRITEV, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(list))), uintptr(len(list)))
	runtime.KeepAlive(buffers)
	if failed != 0 {
		return 0, failed
	}
	return int(n), nil
}

// readNow makes one system call, which brings what has come, into first and then into second. See writeNow for why the
// scheduler does not hear of it.
func readNow(fd int, first, second []byte) (int, error) {
	list := [2]unix.Iovec{{Base: unsafe.SliceData(first)}, {Base: unsafe.SliceData(second)}}
	list[0].SetLen(len(first))
	list[1].SetLen(len(second))
	n, _, failed := unix.RawSyscall(unix.SYS_READV, uintptr(fd), uintptr(unsafe.Pointer(&list)), uintptr(len(list)))
	runtime.KeepAlive(first)
	runtime.KeepAlive(second)
	if failed != 0 {
		return 0, failed
	}
	return int(n), nil
}

// acknowledged asks the kernel what the other end of a TCP connection has acknowledged, and for how long some bytes were
// queued or under way. The kernel counts that in its ticks, of 1 to 10 ms: short times are right on average.
//
// Systems that only look like Linux may leave the figures out. A connection has acknowledged its handshake, so that 0
// bytes mean such a system.
func acknowledged(raw syscall.RawConn) (bytes int64, busy time.Duration, told bool) {
	var info *unix.TCPInfo
	failed := raw.Control(func(fd uintptr) { info, _ = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
	if failed != nil || info == nil || info.Bytes_acked == 0 {
		return 0, 0, false
	}
	return int64(info.Bytes_acked), time.Duration(info.Busy_time) * time.Microsecond, true
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
