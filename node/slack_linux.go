package node

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// timerSlack is how late, in nanoseconds, the kernel may wake a process of a job for a timer.
const timerSlack = 1_000_000

// withSlack starts a process whose timers may be late. The Go runtime of a process that works in short turns, as
// those of a job do from clock to clock, wakes a watcher every 20 µs while it works, which took 6 % of the processors with four
// processes on two of them; nothing in a job is timed more finely than this. A process inherits the slack of the
// thread that starts it (prctl(2), PR_SET_TIMERSLACK).
func withSlack(start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if before, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); err == nil {
		if unix.Prctl(unix.PR_SET_TIMERSLACK, timerSlack, 0, 0, 0) == nil {
			defer unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(before), 0, 0, 0)
		}
	}
	return start()
}
