package coord_test

import (
	"strings"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/coord"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/table"
)

// ended is how the job of a desk has ended, after everybody has closed.
func (d *desk) ended(t *testing.T) *coord.Outcome {
	t.Helper()
	for _, a := range []wire.Address{lanes[0], clients[0], clients[1]} {
		d.closed(a, 0, 0)
	}
	if d.fx.Outcome == nil {
		t.Fatal("the job goes on")
	}
	return d.fx.Outcome
}

// TestWorkThatWasNotDispatchedIsRefused has a client report what cannot have been done.
func TestWorkThatWasNotDispatchedIsRefused(t *testing.T) {
	unit := func(c bellows.Clock) bellows.Unit {
		return bellows.Unit{Split: 0, Clock: c, Items: bellows.Range{Begin: 0, End: 1}}
	}
	for want, units := range map[string][]bellows.Unit{
		"the split is at clock 1":    {unit(0), unit(0)}, // twice in one flush
		"the split is at clock 0":    {unit(1)},
		"clock 1 items [0,1) was no": {unit(0), unit(1)},
	} {
		driver := &rounds{want: 2}
		d := newDesk(driver, 0)
		d.Start(&d.fx)
		m := &wire.Done{Flush: bellows.FlushID{Client: 1, Incarnation: 1, Seq: 1}}
		for _, u := range units {
			m.Append(u, []float64{1})
		}
		d.Step([]wire.Envelope{{From: clients[0], To: self, Message: m}}, &d.fx)
		if o := d.ended(t); o.Kind != bellows.Lost || !strings.Contains(o.Reason, want) || o.Commits != 0 {
			t.Errorf("ends with %q after %d commits, want %q", o.Reason, o.Commits, want)
		}
		if len(driver.seen) > 0 {
			t.Errorf("the driver was told %q of a flush that was refused", driver.seen)
		}
	}
}

// TestAPartOfATaskIsNotTheTask has a client report one of the two items that it was given: the driver would take its task for done.
func TestAPartOfATaskIsNotTheTask(t *testing.T) {
	tables := []table.Schema{{Name: "w", Rows: 1, Width: 1}}
	driver := &rounds{want: 2}
	d := &desk{Controller: coord.New(core.Job{Controller: self, Lanes: lanes, Clients: clients, Route: route.Spread(tables, 2, lanes, []bellows.NodeID{1, 2}),
		Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 2} }}, coord.Options{Driver: driver})}
	d.Start(&d.fx)
	m := &wire.Done{Flush: bellows.FlushID{Client: 1, Incarnation: 1, Seq: 1}}
	m.Append(bellows.Unit{Items: bellows.Range{End: 1}}, []float64{1})
	d.Step([]wire.Envelope{{From: clients[0], To: self, Message: m}}, &d.fx)
	if o := d.ended(t); !strings.Contains(o.Reason, "clock 0 items [0,1) was not dispatched") || len(driver.seen) > 0 {
		t.Errorf("ends with %q, and the driver was told %q", o.Reason, driver.seen)
	}
}

// trusting is a driver that looks at results without counting them.
type trusting struct{ rounds }

func (d *trusting) HandleTaskCompletion(c coord.Completion, to *coord.Dispatcher) { _ = c.Result[5] }

func TestADriverThatPanicsEndsTheJob(t *testing.T) {
	d := newDesk(&trusting{}, 0)
	d.Start(&d.fx)
	d.done(2, 0)
	o := d.ended(t)
	if o.Kind != bellows.Bug || !strings.Contains(o.Reason, "the driver failed on what split 1 clock 0 items [0,1) of node 2 signalled") ||
		!strings.Contains(o.Err.Error(), "index out of range") {
		t.Errorf("ends with kind %d, %q, %v", o.Kind, o.Reason, o.Err)
	}
}

func TestABreachEndsTheJob(t *testing.T) {
	d := newDesk(&rounds{want: 2}, 0)
	d.Start(&d.fx)
	d.said()
	d.Step([]wire.Envelope{{From: lanes[0], To: self, Message: &wire.Complaint{Node: 2, Reason: "not heard"}}}, &d.fx)
	expect(t, d.said()) // that is for the shell to judge
	d.Step([]wire.Envelope{{From: lanes[0], To: self, Message: &wire.Complaint{Node: 2, Reason: "row 9 of 4", Breach: true}}}, &d.fx)
	expect(t, d.said(), `lane 0 of node 0: end after commit 0: "row 9 of 4" gone [2]`,
		`node 1: end after commit 0: "row 9 of 4" gone [2]`, `node 2: end after commit 0: "row 9 of 4" gone [2]`)
	if o := d.ended(t); o.Kind != bellows.Lost || o.Reason != "row 9 of 4" {
		t.Errorf("ends with kind %d, %q", o.Kind, o.Reason)
	}
}
