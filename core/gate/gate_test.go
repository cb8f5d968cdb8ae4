package gate_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/gate"
	"bellows/internal/require"
	"bellows/link/wire"
)

func tenItems(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 10} }

func unit(s, c, begin, end int) bellows.Unit {
	return bellows.Unit{Split: bellows.SplitID(s), Clock: bellows.Clock(c), Items: bellows.Range{Begin: begin, End: end}}
}

func TestClockCompletesWhenItemsAreCoveredOnce(t *testing.T) {
	p := gate.NewProgress(2, tenItems)
	if p.Complete() != bellows.NoClock {
		t.Fatal("something is complete at the start")
	}
	for _, u := range []bellows.Unit{unit(0, 0, 4, 10), unit(1, 0, 0, 10), unit(0, 0, 0, 3)} {
		require.NoError(t, p.Check(u))
		p.Commit(u)
	}
	if p.Complete() != bellows.NoClock || p.Split(1) != 0 {
		t.Errorf("complete %d, split 1 at %d", p.Complete(), p.Split(1))
	}
	if p.Commit(unit(0, 0, 3, 4)); p.Split(0) != 0 || p.Complete() != 0 {
		t.Errorf("covered, and split 0 is at %d, complete is %d", p.Split(0), p.Complete())
	}
}

func TestCheckRefuses(t *testing.T) {
	p := gate.NewProgress(2, tenItems)
	p.Commit(unit(0, 0, 2, 5))
	for want, u := range map[string]bellows.Unit{
		"committed already":  unit(0, 0, 4, 6),
		"is at clock 0":      unit(0, 1, 0, 10),
		"items are [0,10)":   unit(1, 0, 5, 11),
		"the job has 2":      unit(2, 0, 0, 10),
		"clock's items are ": unit(1, 0, 3, 3),
	} {
		if err := p.Check(u); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want an error about %q, got %v", u, want, err)
		}
	}
}

func TestClockWithoutItemsNeedsEmptyUnit(t *testing.T) {
	p := gate.NewProgress(1, func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{} })
	require.NoError(t, p.Check(unit(0, 0, 0, 0)))
	if p.Commit(unit(0, 0, 0, 0)); p.Complete() != 0 {
		t.Error("an empty clock did not complete")
	}
}

// TestClockWithItemsRefusesEmptyUnit refuses an empty unit if the clock has items, however few, and a unit upside
// down.
func TestClockWithItemsRefusesEmptyUnit(t *testing.T) {
	p := gate.NewProgress(1, func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 3, End: 4} })
	for _, u := range []bellows.Unit{unit(0, 0, 3, 3), unit(0, 0, 4, 4), unit(0, 0, 4, 3)} {
		if err := p.Check(u); err == nil || !strings.Contains(err.Error(), "the clock's items are [3,4)") {
			t.Errorf("%v: %v", u, err)
		}
	}
	u := unit(0, 0, 3, 4)
	if err := p.Check(u); err != nil {
		t.Error(err)
	}
	if p.Commit(u); p.Complete() != 0 {
		t.Errorf("complete is %d", p.Complete())
	}
	if err := p.Check(u); err == nil || !strings.Contains(err.Error(), "is at clock 1") {
		t.Errorf("a unit of a clock that is complete: %v", err)
	}
}

// TestCompleteIsTheSlowestSplit compares the counted floor with the plain minimum.
func TestCompleteIsTheSlowestSplit(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	p := gate.NewProgress(7, tenItems)
	for range 2000 {
		s := random.IntN(7)
		c := p.Split(bellows.SplitID(s)) + 1
		p.Commit(unit(s, int(c), 0, 10))
		slowest := p.Split(0)
		for s := range 7 {
			slowest = min(slowest, p.Split(bellows.SplitID(s)))
		}
		if p.Complete() != slowest {
			t.Fatalf("complete %d, the slowest split is at %d", p.Complete(), slowest)
		}
	}
}

func TestRestoreContinues(t *testing.T) {
	p := gate.NewProgress(3, tenItems)
	require.NoError(t, p.Restore([]bellows.Clock{4, 2, 2}, nil))
	p.Commit(unit(1, 3, 0, 10))
	if p.Complete() != 2 {
		t.Errorf("complete %d", p.Complete())
	}
	p.Commit(unit(2, 3, 0, 10))
	if p.Complete() != 3 {
		t.Errorf("complete %d", p.Complete())
	}
	if p.Restore([]bellows.Clock{1}, nil) == nil {
		t.Error("a run with another number of splits was restored")
	}
}

// TestRestoreKnowsUnitsOfOpenClocks continues from another Progress's clocks that are not complete.
func TestRestoreKnowsUnitsOfOpenClocks(t *testing.T) {
	p := gate.NewProgress(2, tenItems)
	for _, u := range []bellows.Unit{unit(0, 0, 0, 10), unit(0, 1, 4, 10), unit(0, 1, 0, 3), unit(1, 0, 0, 9)} {
		p.Commit(u)
	}
	open := []bellows.Unit{unit(0, 1, 4, 10), unit(0, 1, 0, 3), unit(1, 0, 0, 9)}
	if got := p.Open(); !slices.Equal(got, open) {
		t.Fatalf("of clocks that are not complete %v count, want %v", got, open)
	}
	next := gate.NewProgress(2, tenItems)
	next.Commit(unit(1, 0, 3, 5)) // which it forgets
	require.NoError(t, next.Restore([]bellows.Clock{0, bellows.NoClock}, open))
	if err := next.Check(unit(0, 1, 2, 4)); err == nil {
		t.Error("an item counts twice")
	}
	next.Commit(unit(0, 1, 3, 4))
	if next.Commit(unit(1, 0, 9, 10)); next.Split(0) != 1 || next.Split(1) != 0 || next.Complete() != 0 || len(next.Open()) > 0 {
		t.Errorf("the splits are at clocks %d and %d, complete is %d", next.Split(0), next.Split(1), next.Complete())
	}
	if next.Restore([]bellows.Clock{1, 0}, open) == nil {
		t.Error("units of clocks that are complete are taken")
	}
}

func TestAdmits(t *testing.T) {
	n := wire.Need{Commit: 5, Clock: 2}
	for _, c := range []struct {
		commit bellows.CommitNumber
		clock  bellows.Clock
		want   bool
	}{{5, 2, true}, {4, 2, false}, {5, 1, false}, {9, 9, true}} {
		if got := gate.Admits(n, c.commit, c.clock); got != c.want {
			t.Errorf("commit %d clock %d: admits %v", c.commit, c.clock, got)
		}
	}
}
