package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"bellows/bench/internal/pair"
)

// Runs of a job while others want the machine say little. othersMost is the share of the machine that others may have had,
// and triesMost how often a run is made for each one that is to count.
const (
	othersMost = 0.04
	triesMost  = 3
)

// tick is the unit of /proc/stat.
const tick = 10 * time.Millisecond

// busy is the time of all cores that was used on this machine so far; 0 where it is not told.
func busy() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	var user, nice, system, idle, wait, interrupts, soft, stolen int64
	if _, err := fmt.Sscanf(line, "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &wait, &interrupts, &soft, &stolen); err != nil {
		return 0
	}
	return time.Duration(user+nice+system+interrupts+soft+stolen) * tick
}

// own is the time of cores that this process and those that it started and waited for have used.
func own() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		return 0
	}
	return pair.CPUTime() + time.Duration(u.Utime.Nano()+u.Stime.Nano())
}

// others is the share of the machine that others had while do ran.
func others(do func() error) (share float64, err error) {
	all, ours, began := busy(), own(), time.Now()
	err = do()
	return ((busy() - all) - (own() - ours)).Seconds() / (time.Since(began).Seconds() * float64(cores())), err
}

// measure runs a job for real some times, and again where others had too much of the machine; the least disturbed runs
// count. CPU time is the median, wall time the least: what else runs can only add to it. disturbed is the most that others
// had in a run that counts.
func (b *bench) measure(o order, processes, slots int) (p pace, disturbed float64, err error) {
	var runs []run
	for tries := 0; tries < b.options.Turns*triesMost && quiet(runs) < b.options.Turns; tries++ {
		var r run
		r.others, err = others(func() (err error) { r.pace, err = o.real(processes, slots); return err })
		if err != nil {
			return p, 0, err
		}
		runs = append(runs, r)
	}
	var cpu, wall, trained []float64
	for _, r := range leastDisturbed(runs, b.options.Turns) {
		cpu, wall, trained = append(cpu, r.cpu), append(wall, r.wall), append(trained, r.trained)
		disturbed = max(disturbed, r.others)
	}
	return pace{wall: pair.SpreadOf(wall).Min, trained: pair.SpreadOf(trained).Min, cpu: pair.SpreadOf(cpu).Median}, disturbed, nil
}

// run is a real run and the share of the machine that others had meanwhile.
type run struct {
	pace
	others float64
}

// quiet is how many runs nobody disturbed.
func quiet(runs []run) (n int) {
	for _, r := range runs {
		if r.others <= othersMost {
			n++
		}
	}
	return n
}

// leastDisturbed are so many of the runs.
func leastDisturbed(runs []run, count int) []run {
	slices.SortStableFunc(runs, func(a, b run) int { return cmp.Compare(a.others, b.others) })
	return runs[:min(count, len(runs))]
}
