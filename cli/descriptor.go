package cli

import (
	"io"
	"os"
	"syscall"
)

// closedAtStart reports whether f, one of the standard streams, was closed when the process started. others are the
// other standard streams.
//
// The Go runtime opens /dev/null for reading and writing in place of each closed descriptor 0, 1 or 2, so writes there
// succeed and the results are lost. A caller asks closedAtStart before its first write, and writes to closedStream
// instead.
//
// A parent that opens /dev/null for reading and writing itself, as Python's subprocess.DEVNULL does, looks the same. A
// shell's `> /dev/null` opens it for writing only and is never taken for a closed stream. Nor is a stream that shares
// its open file with another one, as in a daemon.
func closedAtStart(f *os.File, others ...*os.File) bool {
	if !readWrite(f) {
		return false
	}
	here, err := f.Stat()
	if err != nil {
		return false
	}
	null, err := os.Stat(os.DevNull)
	if err != nil || !os.SameFile(here, null) {
		return false
	}
	for _, other := range others {
		if shared(f, other) {
			return false
		}
	}
	return true
}

// closedStream fails each write as the kernel does on a closed descriptor.
var closedStream io.Writer = closed{}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, syscall.EBADF }
