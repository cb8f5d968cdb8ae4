package coord_test

import (
	"slices"
	"testing"

	"bellows"
	"bellows/core/visits"
)

// TestVisitsAreWhatIsRecorded: a unit is told of when its flush gets a number, with that; one that waits for its
// turn, comes again or is refused is not.
func TestVisitsAreWhatIsRecorded(t *testing.T) {
	d := newDesk(&eager{}, 0)
	d.Start(&d.fx)
	d.done(1, 1)
	if len(d.fx.Visits) > 0 {
		t.Fatalf("%v waits for its turn", d.fx.Visits)
	}
	d.done(1, 0)
	d.done(1, 0) // known by its flush
	visit := func(commit bellows.CommitNumber, clock bellows.Clock) visits.Visit {
		return visits.Visit{Commit: commit, Unit: bellows.Unit{Clock: clock, Items: bellows.Range{End: 1}}}
	}
	want := []visits.Visit{visit(1, 0), visit(2, 1)}
	if !slices.Equal(d.fx.Visits, want) {
		t.Fatalf("%v count, not %v", d.fx.Visits, want)
	}
	d.doneAs(1, 1, 9) // the same unit, by another flush: the job ends
	if !slices.Equal(d.fx.Visits, want) {
		t.Errorf("%v count", d.fx.Visits)
	}
	d.fx.Reset()
	if len(d.fx.Visits) > 0 {
		t.Error("they are told twice")
	}
}
