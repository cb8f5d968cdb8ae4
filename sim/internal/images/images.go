// Package images compares the tables that lanes, cuts and node 0 of a simulated job have with the model.
//
// Every lane must have the state of exactly the commits that it has applied, however late it woke up (P11), also after
// a crash of its node. So the checks need not know about faults: from the number of commits, the model computes the
// partitions. The package does not judge why a job has ended.
package images

import (
	"cmp"
	"iter"
	"math/rand/v2"
	"slices"

	"bellows"
	"bellows/core/checkpoint"
	"bellows/core/coord"
	"bellows/core/route"
	"bellows/core/rowstore"
	"bellows/link/wire"
	"bellows/sim/internal/account"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/cutting"
	"bellows/sim/internal/lanewatch"
	"bellows/sim/internal/lifecycle"
	"bellows/sim/internal/model"
	"bellows/sim/internal/msgcopy"
	"bellows/sim/internal/nodestate"
	"bellows/sim/internal/trace"
)

// A Watch compares the tables of one attempt of a job (a life) with the model, whenever there are tables to compare.
type Watch struct {
	*trace.Trace
	*coverage.Coverage
	Oracle  *model.Oracle
	Ledger  *account.Watch
	History *account.History
	Lanes   *lanewatch.Watch
	Nodes   *nodestate.Watch
	Life    *lifecycle.Watch
	Route   *route.Route // that the life began with
	Job     *model.Job
	Before  *cutting.Image // image from the life before; nil: this life is the first

	View View

	Whole bool         // the state has reached node 0
	Bits  msgcopy.Hash // of the tables at the end; 0: some are lost
}

// View is what a Watch sees of the controller.
type View struct {
	Kept     func() bellows.CommitNumber // newest commit that the tables kept by the driver show; 0: it keeps none
	Newest   func() *route.Route         // of node 0
	Removed  func(wire.Address) bool     // the actor was asked to leave
	CutShort func() bool                 // the job ended before its controller knew what was recorded
}

// Owned returns the partitions of a lane, by the records that it has applied.
func (w *Watch) Owned(l *lanewatch.Lane) iter.Seq[bellows.PartitionRef] {
	return func(yield func(bellows.PartitionRef) bool) {
		for ref := range w.Route.Each() {
			if w.History.RouteAt(l.Applied()).Owner(ref).Lane == l.Address && !yield(ref) {
				return
			}
		}
	}
}

// Load gives a lane what the previous life has left: its partitions, and what counts of clocks.
func (w *Watch) Load(l *lanewatch.Lane, state *coord.State, chances *rand.Rand) {
	damaged, err := w.Before.Load(l.Lane, w.Owned(l), w.Route.Cut, state, chances)
	w.HitIf("damaged-image-refused", damaged > 0)
	if err != nil {
		w.Violated("%v: %v", l.Address, err)
	}
	for ref := range w.Owned(l) {
		for _, g := range w.Before.Live[ref.Table][ref.Partition].Gathered {
			w.Ledger.Carry(l.Address, int64(len(g.Values)/w.Job.Schemas[ref.Table].Width))
		}
	}
}

// After compares the images of tables that a lane has made in its step.
func (w *Watch) After(from wire.Address, _ []wire.Envelope) {
	if l := w.Lanes.Lookup(from); l != nil && l.Look {
		l.Look = false
		w.checkKept(l)
	}
}

// Final compares what all lanes have at the end. The bits of the tables count only if all lanes are there and the state has
// reached node 0.
func (w *Watch) Final() {
	if w.Violation != "" {
		return
	}
	whole := true
	for _, l := range w.Lanes.All {
		whole = whole && !(w.Nodes.All[l.Address.Node].Crashed && slices.Contains(w.View.Newest().Lanes(), l.Address))
		n := l.Applied()
		if int(n) > len(w.Oracle.Log) {
			if w.View.CutShort() && w.Life.EndedFor("cannot be recovered") { // by a record that only this lane has, which has added it (seed 93043)
				continue
			}
			w.Violated("P1: %v ended at commit %d; %d were recorded", l.Address, n, len(w.Oracle.Log))
			return
		}
		if l.Closed && n != w.commits() && !w.View.CutShort() && !w.View.Removed(l.Address) {
			w.Violated("P1: %v closed at commit %d of %d", l.Address, n, w.commits())
			return
		}
		w.checkLane(l)
	}
	if !whole || !w.Whole {
		w.Bits = 0
	}
}

// commits returns how many commits counted when the controller ended the job.
func (w *Watch) commits() bellows.CommitNumber {
	if w.Life.Outcome == nil { // node 0 died before it could report that
		return bellows.CommitNumber(len(w.Oracle.Log))
	}
	return w.Life.Outcome.Commits
}

// checkLane compares the partitions of a lane, and the images that it has kept.
func (w *Watch) checkLane(l *lanewatch.Lane) {
	for ref := range w.Owned(l) {
		w.checkPartition(l, ref)
	}
	if w.Life.Outcome == nil || w.Life.Outcome.Reason != "" || !l.Told {
		return
	}
	w.checkStillKept(l)
	if l.Kept != w.View.Kept() && !l.Removed() {
		w.Violated("keep: %v has images of commit %d, not %d", l.Address, l.Kept, w.View.Kept())
	}
	w.checkKept(l)
}

// checkKept compares the images that a lane has kept. An image of a partition with a lease out may not be there yet.
func (w *Watch) checkKept(l *lanewatch.Lane) {
	for ref := range w.Owned(l) {
		if _, awaits := w.History.Awaits(l.Applied(), ref); awaits || l.Kept == 0 || w.Ledger.LeasedOut(ref) {
			continue
		}
		w.Hit("tables-kept")
		im := l.Lane.Kept(ref)
		if im == nil {
			w.Violated("keep: %v has no image of %v", l.Address, ref)
			return
		}
		w.compare(l.Address, ref, im, l.Kept, true)
	}
}

// checkStillKept sees that images that an earlier life kept are still there, if this one has made none.
func (w *Watch) checkStillKept(l *lanewatch.Lane) {
	if w.Before == nil || l.Kept > 0 {
		return
	}
	for ref := range w.Owned(l) {
		w.Must(w.Before.Still(ref, l.Lane.Kept(ref)))
	}
}

// checkPartition compares a partition. If a task died inside an exclusive lease of it, it must be refused.
func (w *Watch) checkPartition(l *lanewatch.Lane, ref bellows.PartitionRef) {
	im, err := l.Partition(ref)
	if from, awaits := w.History.Awaits(l.Applied(), ref); awaits && (err != nil || !w.History.Late(l.Applied(), ref)) {
		w.Whole = false // its bits
		gone := w.Nodes.All[from.Node].Gone || w.Nodes.All[l.Address.Node].Gone
		if err == nil || bellows.KindOf(err) != bellows.Lost || l.Closed && !gone && !w.View.CutShort() {
			w.Violated("P1: %v, whose state %v has not sent to %v: %v", ref, from, l.Address, err)
		}
		return
	}
	if dirty := w.Ledger.Dirty(ref); dirty || err != nil {
		w.Hit("torn-partition-refused")
		if !dirty || bellows.KindOf(err) != bellows.Lost {
			w.Violated("P1: %v, exclusive lease out: %v: %v", ref, dirty, err)
		}
		return
	}
	w.Bits ^= w.Job.Bits(ref, &im) // in any order of lanes
	w.compare(l.Address, ref, &im, l.Applied(), true)
}

// compare compares a partition, and the slots of its rule if memory is true, with the model after exactly the commits up to n
// (P1, P7).
func (w *Watch) compare(at wire.Address, ref bellows.PartitionRef, im *rowstore.Image, n bellows.CommitNumber, memory bool) {
	if err := w.Oracle.Check(w.Route.Cut(ref.Table), ref, im, n, memory); err != nil {
		w.Violated("P1: %v has %v", at, err)
	}
	compared := memory && len(im.Slots) > 0
	w.HitIf("slots-compared", compared && ref.Table != model.Words)
	w.HitIf("slots-of-words-compared", compared && ref.Table == model.Words)
}

// CheckCut compares a partition as it was at a cut, and the image that was kept by then.
func (w *Watch) CheckCut(at wire.Address, ref bellows.PartitionRef, live, kept *rowstore.Image,
	n bellows.CommitNumber) {
	w.compare(at, ref, live, n, true)
	switch was := w.Oracle.KeptAt(n); {
	case was > 0 && kept == nil:
		w.Violated("keep: %v has no image of %v at cut %d, which was kept at %d", at, ref, n, was)
	case was > 0:
		w.compare(at, ref, kept, was, true)
	case (kept != nil) != (w.Before != nil && w.Before.Kept != nil):
		w.Violated("keep: %v has an image of %v at cut %d, which no life has kept, or lacks one", at, ref, n)
	}
}

// CheckCollected compares the state that has reached node 0 for an outcome.
func (w *Watch) CheckCollected(o *coord.Outcome, state *checkpoint.Collector) {
	w.Whole = true
	live, kept := state.Images()
	for ref := range w.Route.Each() {
		if kept != nil {
			w.checkImage(ref, &kept[ref.Table][ref.Partition], w.View.Kept())
		}
		if kept == nil || o.Interrupted {
			w.checkImage(ref, &live[ref.Table][ref.Partition], o.Commits)
		}
	}
	n := w.View.Kept()
	if o.Reason == "" && w.Before == nil { // the tables as a whole: those that were kept last, or as they ended
		w.Must(w.Oracle.CheckTables(cmp.Or(n, o.Commits), state.Tables))
	}
	if n > 0 && kept == nil {
		w.Violated("keep: the tables of commit %d were kept, and are not among what was collected", n)
	}
}

// checkImage compares a partition that was collected. Images of an earlier life were compared when they were made.
func (w *Watch) checkImage(ref bellows.PartitionRef, im *rowstore.Image, n bellows.CommitNumber) {
	if n > 0 || w.Before == nil {
		w.compare(wire.ControllerAt(), ref, im, n, false)
	}
}
