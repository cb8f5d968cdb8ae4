//go:build unix

package measure

import (
	"syscall"
	"time"
)

// ProcessorTime returns how long processors have worked for this process, in the program and in the system for it; 0 if
// the operating system does not say.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
