package node

import (
	"testing"

	"golang.org/x/sys/unix"
)

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
