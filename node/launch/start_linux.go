package launch

import (
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// timerSlack is how late, in nanoseconds, the kernel may wake a process of a job for a timer.
const timerSlack = 1_000_000

// startPlaced starts process i of so many that compute. It inherits from the thread that starts it:
//
//   - Timers that may be late (prctl(2), PR_SET_TIMERSLACK). In a process that works in short turns, as those of a job do
//     from clock to clock, the Go runtime wakes a watcher every 20 µs, which took 6 % of the processors with four processes
//     on two of them. Nothing in a job needs finer timing.
//   - Its share of the processors (sched_setaffinity(2)), if i is not negative. From clock to clock all processes sleep and
//     wake together, faster than the kernel rebalances them: now and then one processor had three of four, and all waited
//     for it.
//
// Both belong to a thread, and processes started by the thread inherit them: so the thread is locked for the start, and
// gets its settings back (TestStartRestoresThread). The child could not do it: its runtime has started threads before
// any code of ours runs. Settings that the system refuses are left out, since they only affect speed. Rejected: shorter
// time slices (sched_setattr(2)), which made no difference.
func startPlaced(cmd *exec.Cmd, i, of int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if before, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); err == nil {
		if unix.Prctl(unix.PR_SET_TIMERSLACK, timerSlack, 0, 0, 0) == nil {
			defer unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(before), 0, 0, 0)
		}
	}
	var all unix.CPUSet
	if i >= 0 && unix.SchedGetaffinity(0, &all) == nil {
		mine := share(&all, i, of)
		if unix.SchedSetaffinity(0, &mine) == nil {
			defer unix.SchedSetaffinity(0, &all)
		}
	}
	return cmd.Start()
}

// share returns the processors of process i: separate ones if there are enough, else one that is shared with other
// processes (TestSharesOfProcessors). They are a part of what this process may use, which may be less than the machine
// has.
func share(all *unix.CPUSet, i, of int) (mine unix.CPUSet) {
	n := all.Count()
	first, end := i*n/of, (i+1)*n/of
	if of > n {
		first, end = i%n, i%n+1
	}
	for cpu, seen := 0, 0; seen < n; cpu++ {
		if !all.IsSet(cpu) {
			continue
		}
		if seen >= first && seen < end {
			mine.Set(cpu)
		}
		seen++
	}
	return mine
}
