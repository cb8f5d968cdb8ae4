//go:build unix

package sim

import (
	"syscall"
	"time"
)

// processorTime returns the processor time that this process has used in its own code; 0: unknown.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano())
}
