//go:build planted

package coord_test

import (
	"errors"
	"testing"

	"bellows"
	"bellows/core/planted"
	"bellows/core/visits"
	"bellows/internal/require"
)

// TestUnitCountedTwiceIsInLog takes the controller's own check away: what it records is told as it is, and a
// proof finds it.
func TestUnitCountedTwiceIsInLog(t *testing.T) {
	defer planted.Plant("")
	for bug, want := range map[string]visits.Fault{
		"":                 {Kind: visits.Missing, Split: 1}, // the job has ended, and split 1 has nothing
		"overlap-accepted": {Kind: visits.Again, Split: 0},
	} {
		planted.Plant(bug)
		d := newDesk(&rounds{want: 1}, 0)
		d.Start(&d.fx)
		d.done(1, 0)
		d.doneAs(1, 0, 7)
		d.done(2, 0)
		err := prove(t, d.fx.Visits, 1)
		var f *visits.Fault
		if !errors.As(err, &f) || f.Kind != want.Kind || f.Split != want.Split || f.Clock != 0 {
			t.Errorf("%q is planted: %v", bug, err)
		}
	}
}

// prove returns what a proof says of what a controller has recorded, of splits whose every clock is an epoch of one item.
func prove(t *testing.T, list []visits.Visit, epochs int) error {
	t.Helper()
	say, err := visits.State(2, 0, 1, func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 1} })
	require.NoError(t, err)
	p, err := visits.NewProof(say)
	require.NoError(t, err)
	g := visits.NewGatherer(2)
	for _, v := range list {
		g.Add(v)
	}
	b, _ := g.Take()
	if err := p.Take(b); err != nil {
		return err
	}
	return p.EpochsOver(epochs)
}
