package failover

import (
	"strings"
	"testing"

	"bellows"
	"bellows/core/coord"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/sim/internal/account"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/lifecycle"
	"bellows/sim/internal/model"
	"bellows/sim/internal/trace"
)

// newWatch returns the watch of a job that has begun, with its first controller.
func newWatch(knows *bool) *Watch {
	job := model.Jobs[0]()
	r := route.Spread(job.Schemas, job.Splits, []wire.Address{wire.LaneAt(0, 0)}, []bellows.NodeID{1})
	tr, cover := &trace.Trace{Clock: new(int64)}, new(coverage.Coverage)
	return &Watch{Trace: tr, Coverage: cover, Term: FirstTerm, View: View{
		Ledger: &account.Watch{Ledger: account.NewLedger(r), Trace: tr, Coverage: cover}, Oracle: model.NewOracle(job), Life: new(lifecycle.Watch),
		Knows: func() bool { return *knows }, Lanes: r.Lanes, First: r.Lanes()}}
}

func TestFlushIsRecordedAfterItsDone(t *testing.T) {
	t.Parallel()
	knows, id := true, bellows.FlushID{Client: 1, Seq: 1}
	w := newWatch(&knows)
	e := wire.Envelope{From: wire.ControllerAt(), To: wire.LaneAt(0, 0), Message: &wire.Records{List: []wire.Record{{Number: 1, Flush: id}}}}
	w.View.Ledger.Done[id] = true
	if w.Posted(e); w.Violation != "" {
		t.Fatal(w.Violation)
	}
	delete(w.View.Ledger.Done, id)
	if w.Posted(e); !strings.HasPrefix(w.Violation, "P5") {
		t.Errorf("a flush was recorded that is not done: %q", w.Violation)
	}
}

func TestJobIsCutShortWhileControllerAsks(t *testing.T) {
	t.Parallel()
	knows := false
	w := newWatch(&knows)
	end := wire.Envelope{From: wire.ControllerAt(), To: wire.LaneAt(0, 0), Message: &wire.End{}}
	if w.Posted(end); w.CutShort {
		t.Error("the first controller knows what was recorded")
	}
	w.Term++
	if w.Posted(end); !w.CutShort {
		t.Error("the job has ended before its controller knew what was recorded")
	}
}

func TestLaneReportsWhatItWasNotSent(t *testing.T) {
	t.Parallel()
	knows := true
	w := newWatch(&knows)
	m := &wire.Holding{Flushes: []wire.HeldFlush{{Flush: bellows.FlushID{Client: 1, Seq: 1}}}}
	if w.Delivered(wire.Envelope{From: wire.LaneAt(0, 0), To: wire.ControllerAt(), Message: m}); w.Violation == "" || w.Heard != 1 {
		t.Errorf("%d reports, %q", w.Heard, w.Violation)
	}
}

func TestNextControllerBeginsFromCoveredSave(t *testing.T) {
	t.Parallel()
	var s Saves
	s.Asked.Commit = 9
	if s.Newest() != &s.First {
		t.Error("a save counts that no lane covers")
	}
	if s.Covered.Saved = (coord.Saved{Commit: 5}); s.Newest() != &s.Covered {
		t.Error("the covered save does not count")
	}
}

func TestLaneKeepsWhatNextControllerNeeds(t *testing.T) {
	t.Parallel()
	first, added := wire.LaneAt(0, 0), wire.LaneAt(2, 0)
	for _, one := range []struct {
		name   string
		lane   wire.Address
		saves  Saves
		oldest bellows.CommitNumber
		wrong  bool
	}{
		{"all since the beginning", first, Saves{}, 1, false},
		{"one is missing", first, Saves{}, 2, true},
		{"all since the save", first, Saves{Covered: Savepoint{Saved: coord.Saved{Commit: 5}}}, 6, false},
		{"one since the save is missing", first, Saves{Covered: Savepoint{Saved: coord.Saved{Commit: 5}}}, 7, true},
		{"a save is wanted", first, Saves{Wanted: true}, 2, false},
		{"a save is under way", first, Saves{Asked: Savepoint{Saved: coord.Saved{Commit: 1}}}, 2, false},
		{"a lane was added", added, Saves{}, 2, false},
	} {
		knows := true
		w := newWatch(&knows)
		w.Saves = one.saves
		if w.CheckTail(one.lane, one.oldest); w.Violation != "" != one.wrong {
			t.Errorf("%s: %q", one.name, w.Violation)
		}
	}
}
