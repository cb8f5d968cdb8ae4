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

// eager dispatches three clocks of a split at once, and notes the order in which they come back.
type eager struct{ came []bellows.Clock }

func (d *eager) DispatchInitialTasks(to *coord.Dispatcher) {
	for range 3 {
		to.DispatchTask(0)
	}
}

func (d *eager) HandleTaskCompletion(c coord.Completion, _ *coord.Dispatcher) {
	d.came = append(d.came, c.Clock)
}

func (d *eager) Save() []float64         { return nil }
func (d *eager) Restore([]float64) error { return nil }

// TestADoneThatIsEarlyWaits tells the controller of a split's clocks in the wrong order.
func TestADoneThatIsEarlyWaits(t *testing.T) {
	driver := &eager{}
	d := newRunning(driver)
	for _, clock := range []int{2, 1} {
		d.done(1, clock)
		if said := d.said(); len(said) > 0 || len(driver.came) > 0 {
			t.Fatalf("clock %d before clock 0: %v, %v", clock, said, driver.came)
		}
	}
	d.done(1, 0)
	if want := []bellows.Clock{0, 1, 2}; !slices.Equal(driver.came, want) {
		t.Errorf("the driver receives clocks %v", driver.came)
	}
	if _, _, commit := d.Progress(); commit != 3 {
		t.Errorf("%d commits", commit)
	}
}

// TestEarlyDonesAreBoundedByDispatchedTasks lets a client say again and again, by ever new flushes, that a clock before
// its turn is done.
func TestEarlyDonesAreBoundedByDispatchedTasks(t *testing.T) {
	d := newRunning(&eager{})
	for seq := range 3 {
		d.doneAs(1, 1, seq+10)
		d.doneAs(1, 1, seq+10) // which is known
		if said := d.said(); len(said) > 0 {
			t.Fatalf("%d flushes wait, and 3 tasks are out: %v", seq+1, said)
		}
	}
	d.doneAs(1, 1, 20)
	if said := strings.Join(d.said(), "; "); !strings.Contains(said, "3 flushes wait for splits to catch up, and no more tasks are out") {
		t.Errorf("said: %s", said)
	}
}

// TestAnInterruptionBeforeTheBeginningBeginsNothing interrupts a job before its nodes are ready: no task is
// dispatched, and all are in the queue of the next life.
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

// TestDispatchedTasksAreSavedInCommitOrder saves a controller of independent splits. A controller that follows first
// dispatches again the task that saw the older commit, as it was.
func TestDispatchedTasksAreSavedInCommitOrder(t *testing.T) {
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

// TestFirstRouteChangeIsSaved saves a controller with a route that has changed once. The next controller uses that
// route.
func TestFirstRouteChangeIsSaved(t *testing.T) {
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
