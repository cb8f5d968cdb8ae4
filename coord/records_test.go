package coord_test

import (
	"testing"

	"bellows"
	"bellows/coord"
	"bellows/core"
	"bellows/route"
	"bellows/table"
	"bellows/wire"
)

// endless dispatches every split again and again, and reports each completion as an epoch, after one of its own at the beginning.
type endless struct{ splits, epochs int }

func (d *endless) DispatchInitialTasks(to *coord.Dispatcher) {
	to.Report(coord.Epoch{Number: -1})
	for s := range bellows.SplitID(d.splits) {
		to.DispatchTask(s)
	}
}

func (d *endless) HandleTaskCompletion(c coord.Completion, to *coord.Dispatcher) {
	d.epochs++
	to.DispatchTask(c.Split)
}

func (*endless) Save() []float64         { return nil }
func (*endless) Restore([]float64) error { return nil }

// TestADriverReportsFromItsFirstCallOn: what it reports when it dispatches the first tasks is an effect of that step.
func TestADriverReportsFromItsFirstCallOn(t *testing.T) {
	d := newDesk(&endless{splits: 2}, 0)
	d.Start(&d.fx)
	if got := d.fx.Epochs; len(got) != 1 || got[0].Number != -1 {
		t.Errorf("epochs %+v", got)
	}
}

// TestWhatADriverReportsIsOfItsStep hands the controller other effects in each step: what the driver reports on a completion is in those of the
// step that brought it.
func TestWhatADriverReportsIsOfItsStep(t *testing.T) {
	d := newDesk(&rounds{want: 1}, 0)
	d.Start(&d.fx)
	for split := range bellows.SplitID(2) {
		m := wire.New[wire.Done]()
		m.Flush = bellows.FlushID{Client: bellows.NodeID(split + 1), Incarnation: 1, Seq: 1}
		m.Append(bellows.Unit{Split: split, Items: bellows.Range{Begin: 0, End: 1}}, nil)
		var fx coord.Effects
		d.Step([]wire.Envelope{{From: clients[split], To: self, Message: m}}, &fx)
		if len(fx.Epochs) != int(split) || len(d.fx.Epochs) > 0 { // the last completion of a round is reported
			t.Errorf("split %d: %d epochs in its step, %d in another's", split, len(fx.Epochs), len(d.fx.Epochs))
		}
	}
}

// TestAnInterruptionIsRecordedAtOnce: lanes have its record with the next step, though no clock ends and nobody is dispatched.
func TestAnInterruptionIsRecordedAtOnce(t *testing.T) {
	d := newDesk(&rounds{want: 5}, 0)
	d.Start(&d.fx)
	d.said()
	d.Interrupt(&d.fx)
	d.beat(clients[0])
	expect(t, d.said(), "lane 0 of node 0: record 1 drain after clock 0")
}

// TestRecordsFitTheirMessage numbers two flushes whose results have more numbers than one message may: the records of the first leave before
// those of the second are added.
func TestRecordsFitTheirMessage(t *testing.T) {
	tables := []table.Schema{{Name: "w", Rows: 1, Width: 1}}
	d := &desk{Controller: coord.New(core.Job{Controller: self, Lanes: lanes, Clients: clients,
		Route: route.Spread(tables, 4, lanes, []bellows.NodeID{1, 2}),
		Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 2} }}, coord.Options{Driver: quiet{4}})}
	d.Start(&d.fx)
	d.said()
	values := make([]float64, 1<<17+1) // two such lists are longer than one may be
	for split := range bellows.SplitID(2) {
		m := wire.New[wire.Done]()
		m.Flush, m.Barred = bellows.FlushID{Client: 1, Incarnation: 1, Seq: uint64(split + 1)}, true
		m.Append(bellows.Unit{Split: split, Items: bellows.Range{Begin: 0, End: 1}}, values)
		d.Step([]wire.Envelope{{From: clients[0], To: self, Message: m}}, &d.fx)
		want := [][]string{nil, {"lane 0 of node 0: record 1 [split 0 clock 0 items [0,1)]"}}[split]
		expect(t, d.said(), want...)
	}
	d.Tick(250, nil, &d.fx)
	expect(t, d.said(), "lane 0 of node 0: record 2 [split 1 clock 0 items [0,1)]")
}

// quiet dispatches each split once.
type quiet struct{ splits int }

func (d quiet) DispatchInitialTasks(to *coord.Dispatcher) {
	for s := range bellows.SplitID(d.splits) {
		to.DispatchTask(s)
	}
}
func (quiet) HandleTaskCompletion(coord.Completion, *coord.Dispatcher) {}
func (quiet) Save() []float64                                          { return nil }
func (quiet) Restore([]float64) error                                  { return nil }
