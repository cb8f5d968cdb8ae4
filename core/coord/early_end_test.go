package coord_test

import (
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/coord"
	"bellows/internal/require"
	"bellows/link/wire"
)

// TestAnInterruptionBeforeTheBeginningBeginsNothing interrupts a job before its nodes are ready: no task is dispatched, and all are in the queue of the next life.
func TestAnInterruptionBeforeTheBeginningBeginsNothing(t *testing.T) {
	d := newDesk(&rounds{want: 5}, 0)
	d.Interrupt(&d.fx)
	d.Start(&d.fx)
	got := d.said()
	if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, `"interrupted"`) }) ||
		slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "run split") }) {
		t.Fatalf("said %q", got)
	}
	d.closeAll(lanes[0], clients[0], clients[1])
	if o := d.fx.Outcome; o == nil || !o.Interrupted || len(o.State.Queue) != 2 || !slices.Equal(o.State.Complete, []bellows.Clock{bellows.NoClock, bellows.NoClock}) {
		t.Errorf("outcome %+v", o)
	}
}

// alone dispatches each split again when it is done, whatever the other does.
type alone struct{ rounds }

func (d *alone) HandleTaskCompletion(c coord.Completion, to *coord.Dispatcher) {
	to.DispatchTask(c.Unit.Split, float64(c.Unit.Clock))
}

// TestWhatIsOutIsSavedInTheOrderOfItsCommits saves a controller of splits that wait for nobody: who follows dispatches again what saw the older commit first, as it was.
func TestWhatIsOutIsSavedInTheOrderOfItsCommits(t *testing.T) {
	d := newDesk(&alone{}, 0)
	d.Start(&d.fx)
	d.done(1, 0)
	d.done(1, 1)
	saved, ok := d.Save()
	if !ok || len(saved.Out) != 2 {
		t.Fatalf("saved %+v", saved)
	}
	if first, then := saved.Out[0], saved.Out[1]; first.Unit.Split != 1 || first.Commit != 0 || then.Unit.Split != 0 || then.Commit != 2 {
		t.Errorf("first %+v, then %+v", first, then)
	}
}

// TestTheFirstChangeOfTheRouteIsSaved saves a controller whose route has changed once: who follows goes by that route.
func TestTheFirstChangeOfTheRouteIsSaved(t *testing.T) {
	f := newFollow(t, &rounds{want: 3})
	f.commit(0)
	f.ready(freshClient)
	require.NoError(t, f.AddClient(freshClient.Node, &f.fx))
	saved, ok := f.Save()
	if !ok || saved.Route != 1 {
		t.Fatalf("saved %+v", saved)
	}
	f.hear()
	f.desk = recovered(t, f.job, coord.Options{Driver: &rounds{want: 3}, Term: 2}, saved)
	f.ready(clients...)
	f.ready(freshClient)
	f.said()
	f.holdBoth(3, 1)
	var told []wire.Address
	for _, e := range f.fx.Envelopes {
		if m, ok := e.Message.(*wire.Route); ok && m.Version == 1 {
			told = append(told, e.To)
		}
	}
	if len(told) != 3 {
		t.Errorf("of route 1 are told %v: %q", told, f.said())
	}
}
