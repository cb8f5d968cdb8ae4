// Package steps draws and runs the steps of the simulation's tasks: reads, changes and leases of rows, one after the
// other.
//
// Make a Life for an attempt of a job and draw a Script of it for each task that runs; take its steps until it is over,
// then check what it leased (CheckSlabs). The witness sees what a task reads and reports what it should not see. The
// package refuses to know when a step is taken, and which tasks compute meanwhile: a caller whose step must wait takes
// it again when the answer has come.
package steps

import (
	"bellows"
	"bellows/core/client"
	"bellows/core/route"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/model"
	"bellows/sim/internal/msgcopy"
	"bellows/sim/internal/schedule"
	"bellows/sim/internal/witness"
)

// Life is what the tasks of one life of a job have in common.
type Life struct {
	*schedule.Schedule
	Route    *route.Route // only the cuts of its tables are used
	Witness  *witness.Witness
	Coverage *coverage.Coverage
	Violated func(format string, args ...any)
	Leased   func(bellows.NodeID) // a task of the node has got a lease

	numbers []float32     // memory for a step
	keys    []bellows.Key // memory for a step
}

// Script is the steps of one task.
//
// A step that must wait has changed nothing but what it has drawn: reads are made twice, as an executor's are. The order of steps is drawn, but for those of one
// table, so that a task reads before it writes, and reads what it has written.
type Script struct {
	of     *Life
	client *client.Client
	fx     *client.Effects
	node   bellows.NodeID
	task   *client.Task
	unit   bellows.Unit
	steps  []step
	leases []model.LeaseOf // that the task takes, in the order of slabs
	at     int
	drawn  bool // what the step is about has been drawn: first and end, or list
	first  int
	end    int
	list   []bellows.RowID
	see    witness.Task
	slabs  []slab
	sum    msgcopy.Hash // of what it has read
}

// slab is a lease of the task and what it saw there.
type slab struct {
	model.LeaseOf
	values []float32
	copy   []float32
}

// groups are the steps of a task that have to do with one table. Those of a group are done in order.
var groups = [...][]step{
	{readCells, pushSums, readSums},
	{readWeights, pushWeights, readWeights},
	{readColumns(model.Counts), pushColumns(model.Counts), readColumns(model.Counts)},
	{readColumns(model.Free), pushColumns(model.Free), readColumns(model.Free)},
	{readState, pushState, readState},
	{readWords, pushWords, readWords},
}

// prefetches is the group of a task that asks for rows ahead, groupsMost how many groups a task has.
var prefetches = []step{prefetch}

const groupsMost = 12

// step does one thing and reports whether it could; if not, it is tried again when the task is woken.
type step func(s *Script) bool

// Draw draws the steps of a task of a node's client, which asks by way of the effects.
func (w *Life) Draw(t *client.Task, node bellows.NodeID, c *client.Client, fx *client.Effects) Script {
	s := Script{of: w, client: c, fx: fx, node: node, task: t, unit: t.Unit, see: w.Witness.Task(t.Unit, node)}
	var memory [groupsMost][]step
	groups := memory[:copy(memory[:], groups[:])]
	if w.Job.Loose {
		groups = groups[2:]
	}
	reads := w.Rng.IntN(len(groups)) // of brief tasks
	_, units := w.Job.Share(t.Unit)
	for i, all := range groups {
		if w.Chance(300) {
			groups[i] = all[:2]
		}
		if i > 0 && w.Chance(300) {
			groups[i] = groups[i][1:]
		}
		if i != reads && (w.Job.Brief || units > 1 && i > 0) {
			groups[i] = all[1:2]
		}
	}
	for w.Prefetches > 0 && len(groups) < groupsMost && w.Chances.IntN(1000) < w.Prefetches {
		groups = append(groups, prefetches)
	}
	s.leases = w.Job.Leases(s.unit)
	count := len(s.leases)
	for _, g := range groups {
		count += len(g)
	}
	s.steps = make([]step, 0, count)
	for len(groups) > 0 {
		i := w.Rng.IntN(len(groups))
		s.steps = append(s.steps, groups[i][0])
		if groups[i] = groups[i][1:]; len(groups[i]) == 0 {
			groups = append(groups[:i], groups[i+1:]...)
		}
	}
	for range s.leases {
		s.steps = append(s.steps, takeLease)
	}
	return s
}

// Len returns how many steps the task has.
func (s *Script) Len() int { return len(s.steps) }

// Position returns how many steps it has taken.
func (s *Script) Position() int { return s.at }

// Leases returns how many leases it has got.
func (s *Script) Leases() int { return len(s.slabs) }

// Take takes the next step, and reports whether it could.
func (s *Script) Take() bool {
	if !s.steps[s.at](s) {
		return false
	}
	s.at, s.drawn = s.at+1, false
	return true
}

// Sum returns the hash of all that the task has read.
func (s *Script) Sum() uint64 { return uint64(s.sum) }

func (s *Script) String() string { return s.see.String() }

// CheckSlabs checks at a task's end that nothing else has changed what it leased.
func (s *Script) CheckSlabs() {
	for _, l := range s.slabs {
		for i, v := range l.values {
			if v != l.copy[i] {
				s.of.Violated("leases: %v leased state/p%d and value %d changed under it from %v to %v", s, l.Partition, i, l.copy[i], v)
			}
		}
	}
}

// checkBlocks passes to the checker of reads (witness) the version in which the cache shows the task rows of a table.
func (s *Script) checkBlocks(t bellows.TableID, rows []bellows.RowID) {
	cut := s.of.Route.Cut(t)
	next := bellows.RowID(0) // after the last partition
	for _, r := range rows {
		if r >= next {
			p := cut.Find(r)
			_, next = cut.Rows(p)
			ref := bellows.PartitionRef{Table: t, Partition: p}
			s.see.Block(ref, s.task.Version(ref))
		}
	}
}
