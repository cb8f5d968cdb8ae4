package fabric

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// slice is the shortest that Linux grants.
const slice = 100 * time.Microsecond

// ShortenSlices asks Linux for short time slices for all threads of this process, and those that they start. Shares of
// the processors stay as they are. A thread that wakes, as the reader of a frame, waits less: with slices of some
// milliseconds it waits until a computing thread of this or another process has used up its own, and then for the next
// tick. Before Linux 6.12 the kernel ignores the request. A thread with another policy than the
// ordinary one stays as it is.
func ShortenSlices() {
	done := map[int]bool{}
	for more := true; more; { // a thread that has not been asked for may start another meanwhile
		more = false
		list, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return
		}
		for _, entry := range list {
			thread, err := strconv.Atoi(entry.Name())
			if err == nil && !done[thread] {
				done[thread], more = true, true
				shorten(thread)
			}
		}
	}
}

// shorten asks for one thread. If the thread has ended or a sandbox forbids the call, its slices stay as they are.
func shorten(thread int) {
	attr, err := unix.SchedGetAttr(thread, 0)
	if err != nil || attr.Policy != unix.SCHED_NORMAL {
		return
	}
	attr.Runtime = uint64(slice)
	unix.SchedSetAttr(thread, attr, 0)
}
