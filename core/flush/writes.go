package flush

import (
	"slices"

	"bellows"
	"bellows/core/delta"
	"bellows/core/lists"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Work is what a task that has run leaves behind.
type Work struct {
	Unit   bellows.Unit
	Result []float64
	// Clock are the items of the split's clock. The unit has all of them, unless the clock is divided.
	Clock bellows.Range
	// Summed reports that there is a BSP table: the unit has a place in the sum of its clock, even if it has changed
	// nothing.
	Summed bool
	// Barrier are the deltas of BSP tables.
	Barrier *delta.Set
	// Stream are the deltas of the other tables, of which the split is a user too: it lays them over its reads until
	// they are committed. Nil: none.
	Stream *delta.Bundle
	Leases []Lease
}

// Lease is an exclusive lease that a task had. Its flush ends it.
type Lease struct {
	Reader  uint64 // which has seen its end
	Number  int    // of the partition
	Copied  int    // values that are a copy, which goes back to its lane
	Granted *wire.Granted
}

// writeSet is what finished tasks of one clock leave for the next flush. At most one is open for each clock, besides
// those of tasks with leases, which leave alone. It is open from the first unit that is dispatched. It leaves when no
// unit of its clock is left here, or when no task executes (Leave): waiting longer could be waiting for oneself. Then
// it belongs to its flush, whose deltas are sent from here, also when they are sent again (PushAgain).
type writeSet struct {
	clock   bellows.Clock
	open    int             // units of the clock that are dispatched here and not finished
	done    *wire.Done      // the results so far; nil: none, or they have been handed out (done)
	tree    []subtree       // BSP deltas: sums of aligned groups of splits
	counts  *delta.Bundle   // BSP deltas of counts, of all of these: they join the first when it leaves; nil: none
	members []*delta.Bundle // deltas of the other tables, a split each
	leases  []Lease
	leased  int // values of these that are copies
}

// subtree is the sum of the deltas of the splits below a node of the tree (package delta), or of its two halves,
// which are not added yet.
type subtree struct {
	at     wire.Subtree
	bundle *delta.Bundle
	right  *delta.Bundle // the sum of the group's right half, where bundle is that of the left; nil: bundle is all
}

// join returns the parent of two siblings. Two that have halves are added at once, the halves of each first.
func (s *subtree) join(right subtree) subtree {
	parent := subtree{at: delta.Parent(s.at), bundle: s.bundle}
	if s.right == nil || right.right == nil {
		s.add()
		right.add()
		parent.right = right.bundle
		return parent
	}
	s.bundle.MergeThree(&s.right.Set, &right.bundle.Set, &right.right.Set)
	s.right.Drop()
	right.bundle.Drop()
	right.right.Drop()
	return parent
}

// add makes one sum of what is in halves.
func (s *subtree) add() {
	if s.right != nil {
		s.bundle.Merge(&s.right.Set)
		s.right.Drop()
		s.right = nil
	}
}

// gatherer gathers the work of finished tasks in a write set for each clock. They are in the order of clocks.
type gatherer struct {
	open   []*writeSet
	spare  lists.Spare[writeSet]
	pools  *delta.Pools
	splits int // of the job
	leased int // Limits.Leased
}

func (g *gatherer) newWriteSet(clock bellows.Clock) *writeSet {
	w := g.spare.Get()
	*w = writeSet{clock: clock, tree: w.tree[:0], members: w.members[:0], leases: w.leases[:0]}
	return w
}

// writeSetOf returns the open write set of a clock. They are in the order of clocks, in which they leave where they
// leave together: a lane above its cap relies on that (server, hasRoom;
// TestFlushesLeaveInClockOrder).
func (g *gatherer) writeSetOf(clock bellows.Clock) *writeSet {
	at := len(g.open)
	for at > 0 && g.open[at-1].clock >= clock {
		if at--; g.open[at].clock == clock {
			return g.open[at]
		}
	}
	w := g.newWriteSet(clock)
	g.open = slices.Insert(g.open, at, w)
	return w
}

// Dispatched notes that a unit of a clock is to run here.
func (g *gatherer) Dispatched(clock bellows.Clock) { g.writeSetOf(clock).open++ }

// Finished notes that a unit of a clock has run here, or will not run here after all.
func (g *gatherer) Finished(clock bellows.Clock) { g.writeSetOf(clock).open-- }

// leavesWithClock reports whether a task with exclusive leases leaves with the others of its clock on this node: if all
// its additions show with the whole clock. Then it is a part of one sum instead of a separate message, which every lane
// would keep until then (TestLeasedTasksOfClockAreOneSum). Its leases end that much later: a task that waits for one
// waits for tasks of this clock, and for no longer than some task executes here (Leave; planted: clock-keeps-leases).
// Slabs leased from other nodes stay in memory until then, so that they have a bound (Limits.Leased).
func (g *gatherer) leavesWithClock(w *writeSet, t *Work) bool {
	if !t.Summed || t.Unit.Items.End != t.Clock.End || len(t.Barrier.Touched()) == 0 || t.Stream != nil {
		return false
	}
	leased := w.leased
	for _, l := range t.Leases {
		leased += l.Copied
	}
	return leased <= g.leased
}

// accumulate moves a finished task's deltas, leases and result into a write set. Under BSP a split's place in the
// tree is taken even if it has changed nothing, so that its siblings' sums meet. Deltas of the other tables stay with
// their split, too, which lays them over its reads until they are committed.
//
// If the clock of a split is divided, each unit has a place of its own below that of its split: what it adds to tables
// with a barrier leaves in the flush that makes the unit count. So nothing that counts is with this node alone, and
// another node can run the rest of the clock (TestUnitLeavesWithItsSum, docs/decisions/0116).
func (g *gatherer) accumulate(w *writeSet, t *Work) {
	if w.done == nil {
		w.done = wire.New[wire.Done]()
	}
	w.done.Append(t.Unit, t.Result)
	for _, l := range t.Leases {
		w.leased += l.Copied
	}
	w.leases = append(w.leases, t.Leases...)
	if t.Summed {
		var b *delta.Bundle
		if t.Unit.Items.End < t.Clock.End && planted.On("half-sent-again") {
			b = g.pools.NewBundle()
			b.Merge(t.Barrier)
		} else {
			b = g.pools.Bundle(t.Barrier)
		}
		g.addCounts(w, b)
		g.addUnit(w, subtree{at: delta.UnitLeaf(t.Unit, t.Clock), bundle: b}, t.Clock)
	}
	if t.Stream != nil {
		w.members = append(w.members, t.Stream)
	}
}

// addCounts moves the deltas of counts from a split's to the write set's own, which leave as a part of its first
// subtree: integers have one sum in whatever order, so that nothing waits in memory for its sibling
// (TestCountsAreOneSum; planted: counts-of-one).
func (g *gatherer) addCounts(w *writeSet, b *delta.Bundle) {
	if !b.HasCounts() {
		return
	}
	if w.counts == nil {
		w.counts = g.pools.NewBundle()
	}
	w.counts.TakeCounts(&b.Set)
}

// addUnit adds the deltas of a unit, of a clock that has all these items. Units that leave together are one sum if
// it begins with the clock's first; lanes add the rest in the order of items (delta.Extends). A whole clock is a leaf
// of the tree over splits.
func (g *gatherer) addUnit(w *writeSet, s subtree, all bellows.Range) {
	if !s.at.Part() {
		g.addSubtree(w, s)
		return
	}
	for i, o := range w.tree {
		at, ok := delta.Extends(o.at, s.at, all)
		if !ok {
			continue
		}
		o.bundle.Merge(&s.bundle.Set)
		s.bundle.Drop()
		o.at = at
		if at.Part() {
			w.tree[i] = o
			return
		}
		w.tree = slices.Delete(w.tree, i, i+1)
		g.addSubtree(w, o)
		return
	}
	w.tree = append(w.tree, s)
}

// addSubtree adds a subtree's sum and joins it with its sibling, as long as that is here, into their parent's: what a
// node sends are sums over aligned groups of splits (TestAFlushIsSummedAlongTheTree). Only siblings are joined, so
// that the sum is that of the one tree, whichever splits run here (delta.Sum; planted: cousins-merged). A subtree
// whose sibling has no splits stands for its parent. Two siblings are joined without being added; four in a row are
// added at once, which reads and writes about half of what three additions do.
func (g *gatherer) addSubtree(w *writeSet, s subtree) {
	for merged := true; merged; {
		merged = false
		if delta.Empty(delta.Sibling(s.at), g.splits) && uint64(s.at.Index) > 0 {
			s.at, merged = delta.Parent(s.at), true
			continue
		}
		for i, o := range w.tree {
			if o.at.Part() {
				continue
			}
			if o.at != delta.Sibling(s.at) && !(planted.On("cousins-merged") && o.at.Level == s.at.Level) {
				continue
			}
			left, right := s, o
			if delta.LowerChild(s.at) != s.at {
				left, right = o, s
			}
			w.tree[i] = w.tree[len(w.tree)-1]
			w.tree = w.tree[:len(w.tree)-1]
			s, merged = left.join(right), true
			break
		}
	}
	w.tree = append(w.tree, s)
}

// replacement returns an empty write set in the place of one that leaves, for the units of its clock that are left.
func (g *gatherer) replacement(w *writeSet) *writeSet {
	again := g.newWriteSet(w.clock)
	again.open = w.open
	return again
}

// sum makes what a write set sends: one sum of each subtree, the counts in the first, and one of the deltas of
// several splits, which it returns; nil: there are those of at most one.
func (g *gatherer) sum(w *writeSet) (several *delta.Bundle) {
	for i := range w.tree {
		w.tree[i].add()
	}
	if w.counts != nil { // of some unit, which has a place in the tree
		w.tree[0].bundle.TakeAll(&w.counts.Set)
		w.counts.Drop()
		w.counts = nil
	}
	if len(w.members) > 1 {
		several = g.pools.NewBundle()
		for _, m := range w.members {
			several.Merge(&m.Set)
		}
	}
	return several
}

// finished reports whether the write set has the result of a unit of a split.
func (w *writeSet) finished(s bellows.SplitID) bool {
	return w.done != nil && slices.ContainsFunc(w.done.Results, func(r wire.Result) bool { return r.Unit.Split == s })
}

// ready reports whether a write set is to leave: no unit of its clock is left here, or no task executes.
func (w *writeSet) ready(idle bool) bool {
	return w.done != nil && (w.open == 0 || idle && !(len(w.leases) > 0 && planted.On("clock-keeps-leases")))
}
