package launch

import (
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAStartLeavesItsThreadAsItWas starts a process with its share of the processors: the thread that started it has all of them again afterwards, and
// timers as exact as before.
func TestAStartLeavesItsThreadAsItWas(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := func() (slack int, cpus unix.CPUSet) {
		slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.SchedGetaffinity(0, &cpus); err != nil {
			t.Fatal(err)
		}
		return slack, cpus
	}
	slack, cpus := thread()
	cmd := exec.Command("/bin/sh", "-c", "exit 0")
	if err := startPlaced(cmd, 0, 1<<10); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if s, c := thread(); s != slack || c != cpus {
		t.Errorf("timers of the thread may be %d ns late, %d before; it has %d processors, %d before", s, slack, c.Count(), cpus.Count())
	}
	if slack == timerSlack {
		t.Errorf("timers were %d ns late before: this test sees nothing", slack)
	}
}

// TestSharesOfProcessors wants each process to get its part of the processors that there are, and all to be used.
func TestSharesOfProcessors(t *testing.T) {
	for _, c := range []struct {
		cpus []int
		of   int
		want [][]int
	}{
		{[]int{0, 1}, 4, [][]int{{0}, {1}, {0}, {1}}},
		{[]int{2, 3, 5, 7}, 2, [][]int{{2, 3}, {5, 7}}},
		{[]int{0, 1, 2}, 2, [][]int{{0}, {1, 2}}},
		{[]int{6}, 1, [][]int{{6}}},
	} {
		var all unix.CPUSet
		for _, cpu := range c.cpus {
			all.Set(cpu)
		}
		for i, want := range c.want {
			mine := share(&all, i, c.of)
			if mine.Count() != len(want) {
				t.Errorf("process %d of %d on %v has %d processors, want %v", i, c.of, c.cpus, mine.Count(), want)
			}
			for _, cpu := range want {
				if !mine.IsSet(cpu) {
					t.Errorf("process %d of %d on %v has not %d", i, c.of, c.cpus, cpu)
				}
			}
		}
	}
}
