package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/link/wire"
	"bellows/sim/internal/grid"
	"bellows/sim/internal/schedule"
)

// gaps are the delays after one death until another, at least and at most: in the same moment; before any node knows of
// it; when it is just known; and after its silence has had its consequence, or in the next attempt.
var gaps = [...][2]int64{{0, 0}, {1, 60}, {60, 1200}, {2500, 4000}}

// TestTwoAndThreeDeaths injects further deaths after the first: each role after each, after each of four gaps, and in
// half of the jobs a third death of any role. Each is in some step of some change. No other fault follows. The job must
// end before the deadline, with the bits of the quiet job.
func TestTwoAndThreeDeaths(t *testing.T) {
	type pair struct {
		first, second string
		gap           int
	}
	var pairs []pair
	dies := grid.Roles[:slices.Index(grid.Roles[:], "parted")]
	for _, a := range dies {
		for _, b := range dies {
			for g := range gaps {
				pairs = append(pairs, pair{a, b, g})
			}
		}
	}
	quiet := quietBits(t)
	cells := grid.Cells()
	type outcome struct {
		ending
		cell  grid.Cell
		seed  uint64
		three bool
	}
	times := *cellsFlag
	all := make([][]outcome, len(pairs))
	each(len(pairs), func(i int) {
		p := pairs[i]
		rng := rand.New(rand.NewPCG(uint64(i), 0x74776f))
		for tries := 0; len(all[i]) < times && tries < gridSeeds*times; tries++ {
			c := cells[rng.IntN(len(cells))]
			if c.Role = p.first; c.Cannot() != "" {
				continue
			}
			seed := rng.Uint64N(1 << 20)
			d := newDirected(c, seed, nil)
			span := func(g [2]int64) int64 { return g[0] + rng.Int64N(g[1]-g[0]+1) }
			d.more = []blow{{p.second, span(gaps[p.gap])}}
			three := (i+i/len(gaps)+len(all[i]))%2 == 1 // of each pair and of each gap, every other one
			if three {
				d.more = append(d.more, blow{dies[rng.IntN(len(dies))], span(gaps[rng.IntN(len(gaps))])})
			}
			if v := d.play(); v.violation != "" || v.struck && len(d.more) == 0 {
				all[i] = append(all[i], outcome{v, c, seed, three})
			}
		}
	})
	two, three, lives, slowest := 0, 0, 0, int64(0)
	for i, list := range all {
		if len(list) < times {
			t.Errorf("%v behind %v after %v ms: played %d times, and not %d", pairs[i].second, pairs[i].first, gaps[pairs[i].gap], len(list), times)
		}
		for _, o := range list {
			switch {
			case o.violation != "":
				t.Errorf("%v, seed %d, %v behind %v after %v ms (%s): %s", o.cell, o.seed, pairs[i].second, pairs[i].first, gaps[pairs[i].gap], o.who, o.violation)
			case !o.same(quiet):
				t.Errorf("%v, seed %d (%s): the tables end with bits %016x, and %016x in the quiet job", o.cell, o.seed, o.who, o.bits, quiet[o.job])
			case o.millis > livenessMax:
				t.Errorf("%v, seed %d (%s): the job takes %d ms to its end", o.cell, o.seed, o.who, o.millis)
			}
			two, three, lives, slowest = two+count(!o.three), three+count(o.three), lives+o.lives, max(slowest, o.millis)
		}
	}
	t.Logf("%d jobs with two deaths and %d with three, all %d pairs of roles and gaps; %d lives; the longest to the end took %d ms", two, three, len(pairs), lives, slowest)
}

// TestRevocations drains a node with a lane and a client, which dies when its notice is over: at once, after longer
// than it takes to leave, or between. A node that has left costs nothing; one that has not costs as much as any other
// death.
func TestRevocations(t *testing.T) {
	quiet := quietBits(t)
	const every, notices = 3, 140
	list := make([]ending, notices)
	left := make([]bool, notices)
	each(notices, func(i int) {
		cell := grid.Cell{Step: findStep(t, "leave", "emptied"), Role: "source", Moment: "before"}
		d := newDirected(cell, uint64(i), nil)
		d.watch.Comes = func(moment string) { // the drain has begun
			if moment == "before" && d.at == 0 {
				d.at, d.of = d.Now, d.world
				d.After(int64(every*i), nil, func() {
					if left[i] = d.from.Departed; !d.from.Done() && !d.job.Ending {
						d.strikes(fmt.Sprintf("node %d", d.from.Number), func() { d.crash(d.from) })
					}
				})
			}
		}
		list[i] = d.play()
	})
	gone, back, on := 0, 0, 0
	for i, v := range list {
		if v.violation != "" || !v.same(quiet) || v.millis > livenessMax {
			t.Errorf("a notice of %d ms: %+v", i*every, v)
		}
		switch {
		case left[i] && v.lives > 1:
			t.Errorf("a notice of %d ms: the node had left, and its death costs a life: %s", i*every, v.why)
		case left[i]:
			gone++
		case v.lives > 1:
			back++
		default:
			on++
		}
	}
	if gone < notices/20 || back < notices/4 {
		t.Errorf("of %d nodes that were drained %d had left when their notice was over, and for %d the job went back to a cut", notices, gone, back)
	}
	t.Logf("of %d nodes that were drained %d had left when their notice was over; for %d the job went back to its last cut, and for %d it went on", notices, gone, back, on)
}

// findStep returns the step of a change by its name.
func findStep(t *testing.T, c string, name string) *grid.Step {
	for i := range grid.Steps {
		if p := &grid.Steps[i]; p.Change == c && p.Name == name {
			return p
		}
	}
	t.Fatalf("%v has no step %s", c, name)
	return nil
}

// TestRejoinStorms makes workers die and others join for them, many at once. Some of these never come, have made
// another job, stop for a while, or die: invited, started, calling, joined or at work. Only their unfinished work is
// lost: the job ends in its first attempt, with the bits of the quiet job.
func TestRejoinStorms(t *testing.T) {
	quiet := quietBits(t)
	storms := 60 * *cellsFlag
	list := make([]ending, storms)
	var died [storms0][]string
	joined := make([]int, storms)
	each(storms, func(i int) {
		rng := rand.New(rand.NewPCG(uint64(i), 0x73746f726d))
		d := newDirected(grid.Cells()[0], uint64(i), nil)
		d.struck = true // nothing is changed but what follows
		w := d.world
		note := func(n *node) {
			how := "invited"
			switch g := n.Joiner; {
			case g.TakesPart:
				how = "at work"
			case n.Ready:
				how = "ready"
			case g.Joined:
				how = "joined"
			case g.Visits:
				how = "calling"
			case g.Up:
				how = "started"
			}
			died[i%storms0] = append(died[i%storms0], how)
		}
		invite := func() {
			g := schedule.Guest{Slots: 1 + rng.IntN(2), Start: rng.Int64N(30), Stays: schedule.Forever, Fate: schedule.Fates[rng.IntN(len(schedule.Fates))]}
			g.At = rng.Int64N(1 << rng.IntN(6))
			for range 1 + rng.IntN(3) {
				g.Splits = append(g.Splits, bellows.SplitID(rng.IntN(w.Job.Splits)))
			}
			fate := g.Fate
			if fate == "mortal" { // it is killed here, so that it is known how far it was
				g.Fate, g.At = "sound", rng.Int64N(1<<rng.IntN(11))
			}
			at := len(w.nodes)
			if len(w.admission.OnTheWay()) > 12 || w.job.Outcome != nil || w.job.Ending {
				return
			}
			w.invite(g)
			if fate == "mortal" && at < len(w.nodes) {
				n := w.nodes[at]
				w.After(g.At, nil, func() {
					if !n.Done() && !w.job.Ending && w.job.Outcome == nil {
						note(n)
						w.crash(n)
						d.at, d.of = w.Now, w
					}
				})
			}
		}
		for wave := range int64(3) {
			w.After(50+wave*250+rng.Int64N(60), w.nodes[0], func() {
				if n := works(w, "writer"); n != nil && !w.job.Ending && w.lead.Begun() && spared(w, n) {
					w.crash(n)
					d.at, d.of = w.Now, w
				}
				for range 3 + rng.IntN(5) {
					w.After(rng.Int64N(40), w.nodes[0], invite)
				}
			})
		}
		list[i] = d.play()
		for _, n := range w.nodes {
			joined[i] += count(n.Joiner != nil && n.Joiner.TakesPart)
		}
	})
	states, all := map[string]int{}, 0
	for i := range died {
		for _, how := range died[i] {
			states[how]++
		}
	}
	for i, v := range list {
		if v.violation != "" || v.lives > 1 || !v.same(quiet) || v.millis > livenessMax {
			t.Errorf("storm %d: %+v", i, v)
		}
		all += joined[i]
	}
	for _, how := range []string{"invited", "started", "calling", "at work"} {
		if states[how] == 0 {
			t.Errorf("nobody who joins has died %s: %v", how, states)
		}
	}
	if all < 2*storms {
		t.Errorf("%d nodes have joined in %d storms", all, storms)
	}
	t.Logf("%d storms: %d nodes have joined; those that died on their way: %v", storms, all, states)
}

// storms0 keeps what dies in parallel storms apart.
const storms0 = 1 << 12

// spared reports whether the job continues without a worker: another worker is alive.
func spared(w *world, n *node) bool {
	if strings.Contains(w.Violation, "P") {
		return false
	}
	others := 0
	for _, o := range w.nodes {
		others += count(o != n && !o.Done() && o.worker != nil && (o.Joiner == nil || o.Joiner.TakesPart))
	}
	return others > 0 && wire.ClientAt(n.Number).Node > schedule.DirectedLanes
}
