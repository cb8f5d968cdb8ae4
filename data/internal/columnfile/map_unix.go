//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package columnfile

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func mapFile(f *os.File, size int64) (*Mapping, error) {
	if size <= 0 || size != int64(int(size)) {
		return nil, errors.New("columnfile: the file is empty, or too large to map")
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	return &Mapping{Bytes: b, unmap: func() error { return syscall.Munmap(b) }}, nil
}

func idle(mapped []byte) { _ = unix.Madvise(mapped, unix.MADV_DONTNEED) } // only a hint
