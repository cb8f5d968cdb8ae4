package sim

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"bellows/link/wire"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/cutting"
	"bellows/sim/internal/model"
	"bellows/sim/internal/moving"
	"bellows/sim/internal/msgcopy"
	"bellows/sim/internal/schedule"
	"bellows/sim/internal/visiting"
)

// tally is what many schedules had in common.
type tally struct {
	schedules, finished, failures, streams, lives int
	millis, commits                               int64
	hash                                          msgcopy.Hash // of all schedules, in order
	bits                                          [model.AllShapes]uint64
	ended                                         [model.AllShapes]int // how often a job of the shape finished with all its tables
	covered                                       [schedule.FaultKinds][schedule.Stages]int
	nodes                                         [schedule.FaultKinds][schedule.Parties]int
	events                                        [coverage.Events]int
	moves                                         [moving.Events]int
	guests                                        [visiting.Events]int
	cuts                                          [cutting.Events]int
	came                                          [moving.Steps][moving.Kinds]int
	families                                      [schedule.Families]int
	began                                         time.Duration // processor time of this process before
	messages, clocks, splits                      []int         // of each schedule
}

// add counts a schedule. A job that finishes leaves the same tables as every other of its shape (P7).
func (a *tally) add(t *testing.T, r *Result) {
	a.schedules++
	a.millis += r.Millis
	a.commits += int64(r.Commits)
	a.hash.Word(r.Hash)
	a.finished += count(r.Reason == "")
	a.streams += count(r.streams)
	a.lives += r.Lives
	a.messages, a.clocks, a.splits = append(a.messages, r.messages), append(a.clocks, r.clocks), append(a.splits, r.splits)
	for f := range schedule.FaultKinds {
		for p := range schedule.Stages {
			a.covered[f][p] += count(r.coverage.Faults[f][p])
		}
		for p := range schedule.Parties {
			a.nodes[f][p] += count(r.coverage.Nodes[f][p])
		}
	}
	for f := range schedule.Families {
		a.families[f] += count(r.coverage.Families[f])
	}
	for e := range coverage.Events {
		a.events[e] += count(r.coverage.Events[e])
	}
	for e := range moving.Events {
		a.moves[e] += count(r.coverage.Moves.Events[e])
	}
	for e := range cutting.Events {
		a.cuts[e] += count(r.coverage.Cuts[e])
	}
	for e := range visiting.Events {
		a.guests[e] += count(r.coverage.Guests.Events[e])
	}
	for s := range moving.Steps {
		for k := range moving.Kinds {
			a.came[s][k] += count(r.coverage.Moves.Came[s][k])
		}
	}
	if r.Violation != "" {
		if a.failures++; a.failures <= 10 {
			complain(t, *r)
		}
		return
	}
	if r.Reason != "" || r.bits == 0 {
		return
	}
	if a.ended[r.shape]++; a.ended[r.shape] == 1 {
		a.bits[r.shape] = r.bits
	}
	if r.bits != a.bits[r.shape] {
		t.Errorf("seed %d: the tables of shape %d end with other bits than before", r.Seed, r.shape)
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// judge checks the schedules together. Each fault must be injected in each stage, and each rare event must happen, in 1 % of the schedules. From 10,000
// schedules on, as in ./dev soak, that is the figure itself; from 3,000 on, two standard deviations less, since a count of 30 varies by 5.5; below
// that, once.
func (a *tally) judge(t *testing.T) {
	enough := a.schedules >= 3000
	least := 1
	if enough {
		mean := float64(a.schedules) / 100
		least = int(mean)
		if a.schedules < 10_000 {
			least = int(mean - 2*math.Sqrt(mean))
		}
	}
	if a.finished < a.schedules/5 || a.finished > 9*a.schedules/10 {
		t.Errorf("%d of %d schedules finished: the faults that end jobs are drawn too often or too seldom", a.finished, a.schedules)
	}
	finished := 1 // of each shape; where there are many, an eighth of what would be even
	if enough {
		finished = a.schedules / model.Shapes / 8
	}
	for shape, n := range a.ended[:model.Shapes] {
		if n < finished {
			t.Errorf("shape %d finished in %d of %d schedules", shape, n, a.schedules)
		}
	}
	for f := range schedule.FaultKinds {
		total := 0
		for p, n := range a.covered[f] {
			total += n
			if enough && n < least && schedule.Possible(f, schedule.Stage(p)) {
				t.Errorf("%v was injected in %v in %d of %d schedules", f, schedule.Stage(p), n, a.schedules)
			}
		}
		if total == 0 {
			t.Errorf("%v was injected in none of %d schedules", f, a.schedules)
		}
	}
	for _, f := range []schedule.Fault{schedule.Pause, schedule.Crash, schedule.Stop} {
		for p, n := range a.nodes[f] {
			if n < least {
				t.Errorf("%v hit %v in %d of %d schedules", f, schedule.Party(p), n, a.schedules)
			}
		}
	}
	for f, n := range a.families {
		if enough && 10*n < 3*a.schedules {
			t.Errorf("faults of %v were injected in %d of %d schedules: fewer than three in ten", schedule.Family(f), n, a.schedules)
		}
	}
	for e, n := range a.events {
		if enough && n < least {
			t.Errorf("%v: in %d of %d schedules", coverage.Event(e), n, a.schedules)
		}
	}
	for e, n := range a.moves {
		if enough && n < least {
			t.Errorf("%v: in %d of %d schedules", moving.Event(e), n, a.schedules)
		}
	}
	for e, n := range a.guests {
		if enough && n < least {
			t.Errorf("%v: in %d of %d schedules", visiting.Event(e), n, a.schedules)
		}
	}
	for e, n := range a.cuts {
		if enough && n < least {
			t.Errorf("%v: in %d of %d schedules", cutting.Event(e), n, a.schedules)
		}
	}
	a.judgeGrid(t, enough)
	t.Log(a.String())
}

// judgeGrid sees that messages of every kind came while a move was at each of its steps, but where it is said why none can.
func (a *tally) judgeGrid(t *testing.T, enough bool) {
	for k, name := range kinds() {
		for step := range moving.Steps {
			switch n, why := a.came[step][k], moving.Cannot(step, name); {
			case n > 0 && why != "":
				t.Errorf("%s came while a move was %v in %d schedules, and cannot: %s", name, step, n, why)
			case n == 0 && why == "" && enough && !moving.Seldom(step, name):
				t.Errorf("%s came while a move was %v in none of %d schedules", name, step, a.schedules)
			}
		}
	}
}

// kinds are the names of the kinds of messages, by number.
func kinds() map[uint8]string {
	names := map[uint8]string{}
	for k := range uint8(moving.Kinds) {
		if name, _, _ := strings.Cut(wire.Header{Kind: k}.String(), " of "); !strings.HasPrefix(name, "message kind") {
			names[k] = name
		}
	}
	return names
}

// TestReasonsAreOfKinds sees that whatever cannot come is a kind of message, so that no cell of the grid is excused by a name that nothing has.
func TestReasonsAreOfKinds(t *testing.T) {
	excused := 0
	for _, name := range kinds() {
		for step := range moving.Steps {
			excused += count(moving.Cannot(step, name) != "")
		}
	}
	if want := 5 * int(moving.Steps); excused != want {
		t.Errorf("%d cells of the grid are excused, not %d", excused, want)
	}
}

func (a *tally) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d schedules, %d on streams, %d lives, %d finished; %d s of their time, %d commits, hash %016x\n",
		a.schedules, a.streams, a.lives, a.finished, a.millis/1000, a.commits, uint64(a.hash))
	fmt.Fprintf(&s, "those in which a fault was injected in a stage:\n%-10s", "")
	for p := range schedule.Stages {
		fmt.Fprintf(&s, " %16v", p)
	}
	for f := range schedule.FaultKinds {
		fmt.Fprintf(&s, "\n%-10v", f)
		for p := range schedule.Stages {
			if a.covered[f][p] == 0 && !schedule.Possible(f, p) {
				fmt.Fprintf(&s, " %16s", "-")
				continue
			}
			fmt.Fprintf(&s, " %16d", a.covered[f][p])
		}
	}
	s.WriteString("\nthose in which a whole node was hit:")
	for _, f := range []schedule.Fault{schedule.Pause, schedule.Crash, schedule.Stop} {
		fmt.Fprintf(&s, "\n%-10v", f)
		for p, n := range a.nodes[f] {
			fmt.Fprintf(&s, " %s %d", schedule.Party(p), n)
		}
	}
	s.WriteString("\nthose in which faults were injected of")
	for f, n := range a.families {
		fmt.Fprintf(&s, " %v %d", schedule.Family(f), n)
	}
	fmt.Fprintf(&s, "\na schedule at the median: %d messages, %d clocks, %d splits; %v of processor time in the mean", median(a.messages), median(a.clocks),
		median(a.splits), ((processorTime() - a.began) / time.Duration(a.schedules)).Round(10*time.Microsecond))
	s.WriteString("\nthose in which it came about:")
	for e, n := range a.events {
		fmt.Fprintf(&s, "\n%-27v %d", coverage.Event(e), n)
	}
	for e, n := range a.moves {
		fmt.Fprintf(&s, "\n%-27v %d", moving.Event(e), n)
	}
	for e, n := range a.guests {
		fmt.Fprintf(&s, "\n%-27v %d", visiting.Event(e), n)
	}
	for e, n := range a.cuts {
		fmt.Fprintf(&s, "\n%-27v %d", cutting.Event(e), n)
	}
	s.WriteString("\nthose in which a message came while a move was")
	names := kinds()
	for _, k := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(&s, "\n%-12s", names[k])
		for step := range moving.Steps {
			fmt.Fprintf(&s, " %v %d", step, a.came[step][k])
		}
	}
	return s.String()
}

// median is the middle of some numbers.
func median(list []int) int {
	if len(list) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(list))[len(list)/2]
}
