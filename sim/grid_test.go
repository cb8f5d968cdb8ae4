package sim

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"bellows/sim/internal/grid"
	"bellows/sim/internal/model"
)

var (
	cellsFlag = flag.Int("sim.cells", 1, "how often each cell of the grid of deaths is filled")
	cellFlag  = flag.String("sim.cell", "", "a regular expression: only cells whose names match are played; with -sim.seed, that one with its trace")
)

// gridSeeds is how many seeds a cell is searched in. Almost every seed reaches the moment of the cell; the search is
// for a seed in which a node has the role at that moment.
const gridSeeds = 60

// livenessMax is the deadline of a job from the last fault on, in milliseconds of its time: what silence, suspicion and the ends of waits take, the rest of the job, and another life of
// it from a cut.
const livenessMax = 60000

// filled is what has become of one cell.
type filled struct {
	cell     grid.Cell
	seeds    int // that were played
	verdicts []ending
	played   []uint64
	broken   *ending
	seed     uint64
}

// fill plays a cell with one seed after the other until it has been filled so many times.
func fill(at int, c grid.Cell, times int) (f filled) {
	f.cell = c
	for k := range uint64(gridSeeds * times) {
		f.seed = uint64(at)*7919 + k
		v := newDirected(c, f.seed, nil).play()
		f.seeds++
		if v.violation != "" {
			f.broken = &v
			return f
		}
		if v.struck {
			f.verdicts, f.played = append(f.verdicts, v), append(f.played, f.seed)
		}
		if len(f.verdicts) == times {
			return f
		}
	}
	return f
}

// TestEveryDeath plays the death of each role in each step of everything that changes while a job runs, before the
// first message of the step, in its midst and after its last one. A cell is filled when the death was in it; cells that
// cannot be filled have a reason by name. No other fault is injected after the death: the job must end before a
// deadline (liveness), with the bits of the quiet job and an exact audit. If it ends because a server is lost, it must
// end in another attempt from the last cut. The loss of a worker or a controller costs no attempt.
func TestEveryDeath(t *testing.T) {
	cells := grid.Cells()
	some := regexp.MustCompile(*cellFlag)
	if *seedFlag != 0 && *cellFlag != "" {
		for _, c := range cells {
			if some.MatchString(c.String()) {
				v := newDirected(c, *seedFlag, os.Stdout).play()
				t.Logf("%v, seed %d: %+v", c, *seedFlag, v)
				return
			}
		}
	}
	quiet := quietBits(t)
	all := make([]filled, len(cells))
	each(len(cells), func(i int) {
		if cells[i].Cannot() == "" && some.MatchString(cells[i].String()) {
			all[i] = fill(i, cells[i], *cellsFlag)
		}
	})
	deaths, lives, seeds, slowest, cannot, played := 0, 0, 0, int64(0), 0, 0
	var slow string
	var list strings.Builder
	for i := range all {
		f := &all[i]
		switch {
		case cells[i].Cannot() != "":
			cannot++
			continue
		case f.cell.Step == nil:
			continue
		case f.broken != nil:
			t.Errorf("%v, seed %d: %s dies: %s\n  to see it again: go test ./sim -run TestEveryDeath -v -sim.seed %d -sim.cell '^%v$'", f.cell, f.seed, f.broken.who, f.broken.violation, f.seed, f.cell)
			continue
		case len(f.verdicts) < *cellsFlag:
			t.Errorf("%v: the cell is empty after %d seeds, or filled too seldom: %d of %d times", f.cell, f.seeds, len(f.verdicts), *cellsFlag)
		}
		played++
		seeds += f.seeds
		back := 0
		for k := range f.verdicts {
			v := &f.verdicts[k]
			deaths++
			lives += v.lives - 1
			if v.lives > 1 {
				back++
			}
			if v.millis > slowest {
				slowest, slow = v.millis, fmt.Sprintf("%v, seed %d", f.cell, f.played[k])
			}
			for _, s := range v.cost(f.cell, quiet) {
				t.Errorf("%v, seed %d: %s", f.cell, f.played[k], s)
			}
		}
		fmt.Fprintf(&list, "%-50v %3d seeds, %d deaths, %d went back to a cut\n", f.cell, f.seeds, len(f.verdicts), back)
	}
	t.Logf("%d cells of %d steps: %d filled, %d cannot be; %d deaths in %d jobs, %d went back to a cut; the longest to the end took %d ms (%s)\n%s",
		len(cells), len(grid.Steps), played, cannot, deaths, seeds, lives, slowest, slow, list.String())
}

// cost returns what a death has cost more than it may: the deadline, the bits, or, where a worker or a controller has died, a life.
func (v *ending) cost(c grid.Cell, quiet map[uint64]uint64) (more []string) {
	if v.millis > livenessMax {
		more = append(more, fmt.Sprintf("the job takes %d ms to its end", v.millis))
	}
	if !v.same(quiet) {
		more = append(more, fmt.Sprintf("the tables end with bits %016x, and %016x in the quiet job", v.bits, quiet[v.job]))
	}
	worker := c.Role == "writer" || c.Role == "leaser" || c.Role == "parted" ||
		(c.Step.Change == "split" || c.Step.Change == "half") && (c.Role == "source" || c.Role == "target")
	switch {
	case v.lives == 1:
	case c.Role == "controller":
		more = append(more, "the loss of a controller costs a life: "+v.why)
	case worker && c.Step.Change != "follow": // a new controller does not know yet what was recorded
		more = append(more, "the loss of a worker costs a life: "+v.why)
	}
	return more
}

// same reports whether a job has ended with the bits of the quiet one. Where a server has died behind its last word, all tables have been held against the model when they had been collected.
func (v *ending) same(quiet map[uint64]uint64) bool {
	return v.bits == quiet[v.job] || v.bits == 0 && v.collected
}

// quietBits returns the hash of each job's tables when nothing befalls the job, by its place (model.Job.Index). A divided job has another hash than the undivided
// one of its shape.
func quietBits(t *testing.T) map[uint64]uint64 {
	t.Helper()
	bits, err := playQuiet()
	if err != nil {
		t.Fatal(err)
	}
	return bits
}

// playQuiet plays each job once for all tests.
var playQuiet = sync.OnceValues(func() (map[uint64]uint64, error) {
	list := make([]ending, 2*model.Shapes)
	each(len(list), func(i int) {
		seed := uint64(i % model.Shapes)
		d := newDirected(grid.Cells()[0], seed, nil)
		for d.Job.Divided != (i < model.Shapes) {
			seed += model.Shapes
			d = newDirected(grid.Cells()[0], seed, nil)
		}
		d.struck = true // no change is made, and no node dies
		list[i] = d.play()
	})
	bits := map[uint64]uint64{}
	for i := range list {
		if v := &list[i]; v.violation != "" || v.lives > 1 || v.bits == 0 {
			return nil, fmt.Errorf("the quiet job %d: %+v", i, *v)
		}
		bits[list[i].job] = list[i].bits
	}
	if len(bits) != len(list) {
		return nil, fmt.Errorf("%d quiet jobs, want %d", len(bits), len(list))
	}
	return bits, nil
})

// each calls a function n times, on all cores.
func each(n int, do func(i int)) {
	var group sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
}

// TestCellsHaveReasons counts the cells that cannot be filled, so that none is excused unseen.
func TestCellsHaveReasons(t *testing.T) {
	why := map[string]int{}
	for _, c := range grid.Cells() {
		if r := c.Cannot(); r != "" {
			why[r]++
		}
	}
	total := 0
	for _, n := range why {
		total += n
	}
	if len(why) != 3 || total != 3*(5+2+6+5) {
		t.Errorf("%d cells are excused for %d reasons: %v", total, len(why), why)
	}
}
