// Package witness compares each read of the simulation's tasks with the model: nothing unrecorded, missing, or older
// than what the split saw before.
//
// Make a Witness for an attempt of a job, and from it a Task for each task that runs. Pass the Task its changes (Adds)
// and its reads, row by row; pass versions of the blocks that rows come from to Block, slabs to Slab. The first
// violated invariant goes to the Violated function.
//
// The package shares no code with the core. It refuses to guess: a value that several versions have is taken for the oldest of them
// that the split may see.
package witness

import (
	"fmt"

	"bellows"
	"bellows/link/wire"
	"bellows/sim/internal/model"
	"bellows/sim/internal/schedule"
	"bellows/table"
)

// Witness is what the splits of a job have seen in one life.
type Witness struct {
	*schedule.Schedule
	oracle   *model.Oracle
	violated func(string, ...any)
	splits   [model.SplitsMax]seen
	lost     map[bellows.NodeID]*[model.SplitsMax]seen // by lost node; its tasks may continue
}

// Lose records that a node is lost while the job continues: the reads of its tasks no longer count. Its splits begin
// again at other nodes, where they may see less than those reads showed.
func (w *Witness) Lose(n bellows.NodeID, splits []bellows.SplitID) {
	if w.lost == nil {
		w.lost = map[bellows.NodeID]*[model.SplitsMax]seen{}
	}
	was := w.splits
	w.lost[n] = &was
	for _, s := range splits {
		w.splits[s] = seen{}
	}
}

// seen is the newest that a split has seen, so that it may not see anything older (P3).
type seen struct {
	columns [2][model.CountRows][model.SplitsMax]int32 // of counts and free
	words   [model.WordRows][model.SplitsMax]int32
	weights [model.WeightRows]int                    // places in the list of versions
	held    [model.StateRows * model.SplitsMax]int   // the same of column 0 of state
	others  [model.StateRows * model.SplitsMax]int32 // what other splits have added to column 1
	// its own commits that its client has learned of since its last task began
	told   []bellows.CommitNumber
	blocks [model.Tables][model.PartitionsMax]*blockBefore // versions of what the cache showed
}

type blockBefore struct {
	by bellows.Unit
	at wire.Need
}

// New returns a Witness that has seen nothing.
func New(s *schedule.Schedule, o *model.Oracle, violated func(string, ...any)) *Witness {
	return &Witness{Schedule: s, oracle: o, violated: violated}
}

// Task is one task as the Witness knows it.
type Task struct {
	w     *Witness
	unit  bellows.Unit
	step  model.Step // units of its split before it
	node  bellows.NodeID
	added [model.Tables]bool
	cells [2]float32
}

// Task returns a task that begins on a node.
func (w *Witness) Task(u bellows.Unit, n bellows.NodeID) Task {
	t := Task{w: w, unit: u, node: n}
	t.step, _ = w.Job.Step(u)
	t.begins()
	return t
}

func (t *Task) String() string { return fmt.Sprintf("%v on node %d", t.unit, t.node) }

// Adds notes that the task changes a table from now on.
func (t *Task) Adds(tab bellows.TableID) { t.added[tab] = true }

// Cells notes what the task has read in the two rows of sums that its deltas depend on.
func (t *Task) Cells(own, other float32) { t.cells = [2]float32{own, other} }

// SumDelta returns the task's delta for a row of sums.
func (t *Task) SumDelta(row int) [model.SumWidth]float32 {
	return t.sumDelta(row, t.cells[0], t.cells[1])
}

// sumDelta returns what the task adds to a row of sums when it has read that in its two cells.
func (t *Task) sumDelta(row int, own, other float32) (d [model.SumWidth]float32) {
	for col := range d {
		d[col] = t.w.Job.SumDelta(t.unit, row, col, own, other)
	}
	return d
}

// steps returns how many of its split's units the task sees in a table, without itself: those before it or, under BSP, those of earlier clocks.
func (t *Task) steps(tab bellows.TableID) model.Step {
	if t.w.Bound(tab, t.unit.Clock) == table.BSP {
		return t.w.Job.Steps(int(t.unit.Split), t.unit.Clock)
	}
	return t.step
}

// visible returns the task's view of its split's additions to a value: those of steps, and its own. at returns the sum
// over the split's first units.
func (t *Task) visible(tab bellows.TableID, at func(model.Step) int32) int32 {
	return at(t.steps(tab)) + t.self(tab, at)
}

// self returns what the task has added to a value itself.
func (t *Task) self(tab bellows.TableID, at func(model.Step) int32) int32 {
	if !t.added[tab] {
		return 0
	}
	return at(t.step+1) - at(t.step)
}

func (t *Task) seen() *seen {
	if own := t.w.lost[t.node]; own != nil {
		return &own[t.unit.Split]
	}
	return &t.w.splits[t.unit.Split]
}

// mustSee returns how many units of every split the task must see in a table (P4 and Litz).
func (t *Task) mustSee(tab bellows.TableID) [model.SplitsMax]model.Step {
	need := t.w.oracle.DoneAt[t.w.oracle.Dispatched[t.unit.Split][t.unit.Clock]]
	bound := t.w.Bound(tab, t.unit.Clock)
	for i := range t.w.Job.Splits {
		switch bound {
		case table.Async:
		case table.BSP: // only whole clocks are visible
			need[i] = t.w.Job.Steps(i, t.unit.Clock)
		default:
			need[i] = max(need[i], t.w.Job.Steps(i, t.unit.Clock-bellows.Clock(bound)))
		}
	}
	return need
}

// maySee returns how many units of every split the task may see in a table.
func (t *Task) maySee(tab bellows.TableID) [model.SplitsMax]model.Step {
	if t.w.Bound(tab, t.unit.Clock) == table.BSP {
		return t.mustSee(tab)
	}
	return *t.w.oracle.Done()
}

// Block sees that what the cache shows a split of a partition never goes back (P3).
func (t *Task) Block(ref bellows.PartitionRef, at wire.Need) {
	was := &t.seen().blocks[ref.Table][ref.Partition]
	if *was == nil {
		*was = &blockBefore{t.unit, at}
		return
	}
	if b := (*was).at; at.Commit < b.Commit || at.Clock < b.Clock {
		t.violated("P3: %v is shown %v at commit %d, clock %d; its split's clock %d was shown commit %d, clock %d",
			t, ref, at.Commit, at.Clock, (*was).by.Clock, b.Commit, b.Clock)
	}
	**was = blockBefore{t.unit, at}
}

// violated says what was broken, but of a task of a node that is lost: it may work on what came before it was.
func (t *Task) violated(format string, args ...any) {
	if t.w.lost[t.node] == nil {
		t.w.violated(format, args...)
	}
}
