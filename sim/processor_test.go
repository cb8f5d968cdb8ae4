//go:build unix

package sim

import (
	"syscall"
	"time"
)

// processorTime returns what this process has used of its processors in its own code; 0: nobody knows.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano())
}
