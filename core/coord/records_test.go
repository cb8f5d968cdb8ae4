package coord_test

import (
	"errors"
	"fmt"
	"testing"

	"bellows"
	"bellows/core/coord"
	"bellows/core/route"
	"bellows/link/wire"
)

// endless dispatches every split again and again, and reports each completion as an epoch, after one at the beginning.
type endless struct{ splits, epochs int }

func (d *endless) DispatchInitialTasks(to *coord.Dispatcher) {
	to.ShowEpoch(coord.Epoch{Number: -1})
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

// TestDriverReportsFromFirstCall: what it reports when it dispatches the first tasks is an effect of that step.
func TestDriverReportsFromFirstCall(t *testing.T) {
	d := newDesk(&endless{splits: 2}, 0)
	d.Start(&d.fx)
	if got := d.fx.Epochs; len(got) != 1 || got[0].Number != -1 {
		t.Errorf("epochs %+v", got)
	}
}

// TestDriverReportBelongsToItsStep hands the controller other effects in each step: what the driver reports on a
// completion is in those of the step that brought it.
func TestDriverReportBelongsToItsStep(t *testing.T) {
	d := newDesk(&rounds{want: 1}, 0)
	d.Start(&d.fx)
	for split := range bellows.SplitID(2) {
		m := wire.New[wire.Done]()
		m.Flush = bellows.FlushID{Client: bellows.NodeID(split + 1), Incarnation: 1, Seq: 1}
		m.Append(bellows.Unit{Split: split, Items: bellows.Range{End: 1}}, nil)
		var fx coord.Effects
		d.Step([]wire.Envelope{{From: clients[split], To: self, Message: m}}, &fx)
		if len(fx.Epochs) != int(split) || len(d.fx.Epochs) > 0 { // the last completion of a round is reported
			t.Errorf("split %d: %d epochs in its step, %d in another's", split, len(fx.Epochs), len(d.fx.Epochs))
		}
	}
}

// TestAnInterruptionIsRecordedAtOnce checks that lanes have its record with the next step, though no clock ends and no
// unit is dispatched.
func TestAnInterruptionIsRecordedAtOnce(t *testing.T) {
	d := newRunning(&rounds{want: 5})
	d.Interrupt(&d.fx)
	d.beat(clients[0])
	expect(t, d.said(), "lane 0 of node 0: record 1 drain after clock 0")
}

// newQuiet returns the controller of a job of four splits with its first tasks out.
func newQuiet(limits coord.Limits) *desk {
	job := jobOf(0, lanes, oneTable)
	job.Route = route.Spread(job.Tables, 4, lanes, []bellows.NodeID{1, 2})
	d := newDeskOf(job, coord.Options{Driver: quiet{4}, Limits: limits})
	d.Start(&d.fx)
	d.said()
	return d
}

// TestRecordsFitTheirMessage numbers two flushes with more results than one message may have: the records of the first
// leave before those of the second are added.
func TestRecordsFitTheirMessage(t *testing.T) {
	d := newQuiet(coord.Limits{})
	values := make([]float64, 1<<17+1) // two such lists are longer than one may be
	for split := range bellows.SplitID(2) {
		m := wire.New[wire.Done]()
		m.Flush, m.Deferrable = bellows.FlushID{Client: 1, Incarnation: 1, Seq: uint64(split + 1)}, true
		m.Append(bellows.Unit{Split: split, Items: bellows.Range{End: 1}}, values)
		d.deliver(clients[0], m)
		want := [][]string{nil, {"lane 0 of node 0: record 1 [split 0 clock 0 items [0,1)]"}}[split]
		expect(t, d.said(), want...)
	}
	d.Tick(250, nil, &d.fx)
	expect(t, d.said(), "lane 0 of node 0: record 2 [split 1 clock 0 items [0,1)]")
}

// TestUnneededRecordsWaitForTheirLimit numbers flushes with records that wait for the end of their clock: as many as
// may wait leave together.
func TestUnneededRecordsWaitForTheirLimit(t *testing.T) {
	d := newQuiet(coord.Limits{Records: 2})
	var want []string
	for split := range bellows.SplitID(3) {
		m := wire.New[wire.Done]()
		m.Flush, m.Deferrable = bellows.FlushID{Client: 1 + bellows.NodeID(split/2), Incarnation: 1, Seq: uint64(split + 1)}, true
		m.Append(bellows.Unit{Split: split, Items: bellows.Range{End: 1}}, nil)
		d.deliver(clients[0], m)
		want = append(want, fmt.Sprintf("lane 0 of node 0: record %d [split %d clock 0 items [0,1)]", split+1, split))
		if split == 1 {
			expect(t, d.said(), want...)
		} else {
			expect(t, d.said())
		}
	}
}

// TestTaskWaitBeginsWithDispatch lets a minute pass until all are ready: the only task is waited for from its
// dispatch on.
func TestTaskWaitBeginsWithDispatch(t *testing.T) {
	d := newDesk(quiet{1}, 10_000)
	d.Start(&d.fx)
	d.ticks(0, 60_000, clients...)
	d.fx.Reset()
	d.ready(clients...)
	d.ticks(60_500, 62_000, clients...)
	if len(d.fx.Notices) > 0 {
		t.Errorf("2 s after its dispatch: %q", d.fx.Notices)
	}
	d.ticks(62_500, 62_500, clients...)
	if want := "the job has waited 2.5 s for split 0 clock 0 on node 1, and gives up after 3600.0 s"; len(d.fx.Notices) != 1 || d.fx.Notices[0] != want {
		t.Errorf("2.5 s after it: %q, want %q", d.fx.Notices, want)
	}
}

// TestAFailureHasItsCause words outcomes as errors: those that leave no tables have a reason, a kind and perhaps a
// cause.
func TestAFailureHasItsCause(t *testing.T) {
	cause, lost := errors.New("item 7 is broken"), bellows.Errorf(bellows.Lost, "collect the model", "", "lane 1 is gone")
	for _, c := range []struct {
		outcome coord.Outcome
		kind    bellows.Kind
		want    string
	}{
		{coord.Outcome{}, 0, ""},
		{coord.Outcome{Interrupted: true, Reason: "interrupted"}, 0, ""},
		{coord.Outcome{Uncollected: lost}, bellows.Lost, "collect the model: lane 1 is gone"},
		{coord.Outcome{Interrupted: true, Reason: "interrupted", Uncollected: lost}, bellows.Lost, "collect the model: lane 1 is gone"},
		{coord.Outcome{Kind: bellows.Lost, Reason: "node 1 is gone"}, bellows.Lost, "train: node 1 is gone"},
		{coord.Outcome{Kind: bellows.BadData, Reason: "split 1 failed", Err: cause}, bellows.BadData, "train: split 1 failed: item 7 is broken"},
		{coord.Outcome{Kind: bellows.BadData, Reason: "split 1 failed: item 7 is broken", Err: cause}, bellows.BadData, "train: split 1 failed: item 7 is broken"},
	} {
		err := c.outcome.Failure("train")
		switch {
		case c.want == "":
			if err != nil {
				t.Errorf("%+v: %v", c.outcome, err)
			}
		case err == nil || err.Error() != c.want || bellows.KindOf(err) != c.kind || c.outcome.Err != nil && !errors.Is(err, cause):
			t.Errorf("%+v: %v, want %q", c.outcome, err, c.want)
		}
	}
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
