package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"bellows/bench/internal/pair"
	"bellows/bench/lab/internal/jobs"
)

// Runs of a job while others want the machine say little. othersMost is the share of the machine that others may have had,
// and triesMost how often a run is made for each one that is to count.
const (
	othersMost = 0.04
	triesMost  = 3
)

// tick is the unit of /proc/stat.
const tick = 10 * time.Millisecond

// busy returns the time of all cores that was used on this machine so far; 0 where it is not told.
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

// others returns the share of the machine that others had while do ran.
func others(do func()) float64 {
	all, ours, began := busy(), pair.FamilyTime(), time.Now()
	do()
	return ((busy() - all) - (pair.FamilyTime() - ours)).Seconds() / (time.Since(began).Seconds() * float64(cores()))
}

// measured is a job that runs for real, and how that went.
type measured struct {
	Order jobs.Order
	Shape shape
	Pace  pace    // CPU time is the median, wall time the least: what else runs can only add to it
	Other float64 // the most of the machine that others had in a run
	runs  []run
}

// run is a real run and the share of the machine that others had meanwhile.
type run struct {
	pace
	others float64
}

// gather runs all jobs for real, turn by turn, so that a slow hour of the machine hits all alike.
func (b *bench) gather(list []measured) {
	for range b.Turns {
		for i := range list {
			list[i].turn()
		}
	}
	for i := range list {
		list[i].settle()
	}
}

// turn makes a run, and another where others had too much of the machine.
func (m *measured) turn() {
	var best run
	for try := range triesMost {
		var r run
		r.others = others(func() { r.pace = real(m.Order, m.Shape.Processes, m.Shape.Slots) })
		if try == 0 || r.others < best.others {
			best = r
		}
		if r.others <= othersMost {
			break
		}
	}
	m.runs = append(m.runs, best)
}

func (m *measured) settle() {
	var cpu, wall, trained []float64
	for _, r := range m.runs {
		cpu, wall, trained = append(cpu, r.CPU), append(wall, r.Wall), append(trained, r.Trained)
		m.Other = max(m.Other, r.others)
	}
	m.Pace = pace{Wall: pair.SpreadOf(wall).Min, Trained: pair.SpreadOf(trained).Min, CPU: pair.SpreadOf(cpu).Median}
}
