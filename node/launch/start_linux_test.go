package launch

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"bellows/internal/require"
	"bellows/node"
)

// TestStartRestoresThread starts a process with its share of the processors: the thread that started it has all of them again afterwards, and
// timers as exact as before.
func TestStartRestoresThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := func() (slack int, cpus unix.CPUSet) {
		slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
		require.NoError(t, err)
		require.NoError(t, unix.SchedGetaffinity(0, &cpus))
		return slack, cpus
	}
	slack, cpus := thread()
	cmd := exec.Command("/bin/sh", "-c", "exit 0")
	require.NoError(t, startPlaced(cmd, 0, 1<<10))
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

// TestEachProcessThatComputesHasItsShare starts two processes that compute, and one that does not: each of the first has its part of the processors, the third all.
func TestEachProcessThatComputesHasItsShare(t *testing.T) {
	f := &fleet{deaths: make(chan node.Death, 3), patience: closeWait}
	members := []node.Member{{}, {Node: 1, Slots: 1}, {Node: 2}, {Node: 3, Slots: 1}}
	require.NoError(t, f.start(Local{Program: "/bin/sh", Args: []string{"sh", "-c", "grep Cpus_allowed: /proc/self/status; read end"}}, assignment{Cluster: node.Cluster{Members: members}}, false))
	defer f.close()
	var all unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &all))
	want := []unix.CPUSet{share(&all, 0, 2), all, share(&all, 1, 2)}
	for i, c := range f.children {
		if got := string(<-c.Answer()); strings.TrimSpace(strings.TrimPrefix(got, "Cpus_allowed:")) != mask(&want[i]) {
			t.Errorf("node %d: %q, want %s", c.node, got, mask(&want[i]))
		}
	}
}

// mask returns a set of processors as /proc has it, of the length that the machine's has.
func mask(s *unix.CPUSet) string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err.Error()
	}
	_, own, _ := strings.Cut(string(status), "Cpus_allowed:")
	own, _, _ = strings.Cut(strings.TrimSpace(own), "\n")
	digits := []byte(own)
	for i, cpu := len(digits)-1, 0; i >= 0; i-- {
		if digits[i] == ',' {
			continue
		}
		four := 0
		for bit := range 4 {
			if s.IsSet(cpu + bit) {
				four |= 1 << bit
			}
		}
		digits[i], cpu = "0123456789abcdef"[four], cpu+4
	}
	return string(digits)
}

// TestAJobLeavesNothingOpen runs a job in processes twice: after the second as much is open as after the first.
func TestAJobLeavesNothingOpen(t *testing.T) {
	l := processes(t, "part", "tcp", nil)
	var open [2]int
	for i := range open {
		if _, err := l.Run(t.Context(), counts(), node.Options{}); err != nil {
			t.Fatal(err)
		}
		list, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		open[i] = len(list)
	}
	if open[1] > open[0] {
		t.Errorf("%d files and sockets are open, and were %d", open[1], open[0])
	}
}
