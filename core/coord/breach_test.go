package coord_test

import (
	"strings"
	"testing"

	"bellows"
	"bellows/core/coord"
	"bellows/link/wire"
)

// ended closes all actors, and returns how the job of a desk has ended.
func (d *desk) ended(t *testing.T) *coord.Outcome {
	t.Helper()
	d.closeAll(lanes[0], clients[0], clients[1])
	if d.fx.Outcome == nil {
		t.Fatal("the job goes on")
	}
	return d.fx.Outcome
}

// TestWorkThatWasNotDispatchedIsRefused lets a client report what cannot have been done.
func TestWorkThatWasNotDispatchedIsRefused(t *testing.T) {
	unit := func(c bellows.Clock) bellows.Unit {
		return bellows.Unit{Split: 0, Clock: c, Items: bellows.Range{End: 1}}
	}
	for want, units := range map[string][]bellows.Unit{
		"the split is at clock 1":    {unit(0), unit(0)}, // twice in one flush
		"the split is at clock 0":    {unit(1)},
		"clock 1 items [0,1) was no": {unit(0), unit(1)},
	} {
		driver := &rounds{want: 2}
		d := newDesk(driver, 0)
		d.Start(&d.fx)
		m := &wire.Done{Flush: flushID(1, 1)}
		for _, u := range units {
			m.Append(u, []float64{1})
		}
		d.deliver(clients[0], m)
		if o := d.ended(t); o.Kind != bellows.Lost || !strings.Contains(o.Reason, want) || o.Commits != 0 {
			t.Errorf("ends with %q after %d commits, want %q", o.Reason, o.Commits, want)
		}
		if len(driver.seen) > 0 {
			t.Errorf("the driver received %q of a flush that was refused", driver.seen)
		}
	}
}

// TestPartOfTaskDoesNotCompleteIt lets a client report one of the two items that it was given: the driver would take
// its task for done.
func TestPartOfTaskDoesNotCompleteIt(t *testing.T) {
	driver := &rounds{want: 2}
	job := jobOf(0, lanes, oneTable)
	job.Items = items(2)
	d := newDeskOf(job, coord.Options{Driver: driver})
	d.Start(&d.fx)
	m := &wire.Done{Flush: flushID(1, 1)}
	m.Append(bellows.Unit{Items: bellows.Range{End: 1}}, []float64{1})
	d.deliver(clients[0], m)
	if o := d.ended(t); !strings.Contains(o.Reason, "clock 0 items [0,1) was not dispatched") || len(driver.seen) > 0 {
		t.Errorf("ends with %q, and the driver received %q", o.Reason, driver.seen)
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
	d := newRunning(&rounds{want: 2})
	d.deliver(lanes[0], &wire.Complaint{Node: 2, Reason: "not heard"})
	expect(t, d.said()) // that is for the shell to judge
	d.deliver(lanes[0], &wire.Complaint{Node: 2, Reason: "row 9 of 4", Breach: true})
	expect(t, d.said(), `lane 0 of node 0: end after commit 0: "row 9 of 4" gone [2]`,
		`node 1: end after commit 0: "row 9 of 4" gone [2]`, `node 2: end after commit 0: "row 9 of 4" gone [2]`)
	if o := d.ended(t); o.Kind != bellows.Lost || o.Reason != "row 9 of 4" {
		t.Errorf("ends with kind %d, %q", o.Kind, o.Reason)
	}
}

// TestOtherErasAreNothing delivers a done of era 1 to a controller of era 0, which numbers nothing, and then one of its
// own era.
func TestOtherErasAreNothing(t *testing.T) {
	d := newRunning(&rounds{want: 2})
	m := wire.New[wire.Done]()
	m.Flush = flushID(2, 1)
	m.Append(bellows.Unit{Split: 1, Items: bellows.Range{End: 1}}, nil)
	d.step(wire.Envelope{From: clients[1], To: self, Message: m, Era: 1})
	expect(t, d.said())
	d.done(2, 0)
	expect(t, d.said(), "lane 0 of node 0: record 1 [split 1 clock 0 items [0,1)]")
}

// TestNodeOfAnotherJobEndsThisJob lets the second of two nodes show another fingerprint, before the first task leaves.
func TestNodeOfAnotherJobEndsThisJob(t *testing.T) {
	job := bellows.Fingerprint{Tables: 1, Splits: 2, Data: 3, Formats: 4, Kernels: 5, Program: 6}
	newDesk := func() *desk {
		return newDeskOf(jobOf(10_000, lanes, oneTable), coord.Options{Driver: &rounds{want: 1}, Fingerprint: job})
	}
	ready := func(d *desk, n bellows.NodeID, f bellows.Fingerprint) []string {
		d.deliver(wire.Address{Node: n}, &wire.Ready{Fingerprint: f})
		return d.said()
	}
	for want, change := range map[string]func(f *bellows.Fingerprint){
		"":                    func(*bellows.Fingerprint) {},
		"tables":              func(f *bellows.Fingerprint) { f.Tables++ },
		"splits":              func(f *bellows.Fingerprint) { f.Splits++ },
		"data or settings":    func(f *bellows.Fingerprint) { f.Data++ },
		"formats on the wire": func(f *bellows.Fingerprint) { f.Formats++ },
		"kernels, program":    func(f *bellows.Fingerprint) { f.Kernels, f.Program = 0, 0 },
	} {
		d := newDesk()
		d.Start(&d.fx)
		ready(d, 1, job)
		other := job
		change(&other)
		said := strings.Join(ready(d, 2, other), "\n")
		runs := strings.Contains(said, "run")
		ends := strings.Contains(said, "node 2 has made another job than node 0: what differs is "+want)
		if runs != (want == "") || ends == runs {
			t.Errorf("%q differs: the controller says\n%s", want, said)
		}
	}
}
