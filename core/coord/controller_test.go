package coord_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/link/wire"
)

func TestAJobFromStartToOutcome(t *testing.T) {
	driver := &rounds{want: 2}
	d := newDesk(driver, 0)
	d.Start(&d.fx)
	expect(t, d.said(),
		"node 1: run split 0 clock 0 items [0,1) [1.5] after commit 0",
		"node 2: run split 1 clock 0 items [0,1) [2.5] after commit 0")
	d.done(2, 0)
	expect(t, d.said(), "lane 0 of node 0: record 1 [split 1 clock 0 items [0,1)]")
	if !d.Training() {
		t.Error("a task is out, and it does not count as training")
	}
	d.done(1, 0)
	expect(t, d.said(), // the record before the tasks that rely on it
		"lane 0 of node 0: record 2 [split 0 clock 0 items [0,1)]",
		"node 1: run split 0 clock 1 items [0,1) [1.5] after commit 2",
		"node 2: run split 1 clock 1 items [0,1) [2.5] after commit 2")
	d.doneBoth(1)
	if d.Training() {
		t.Error("no task is out, and the job still trains")
	}
	expect(t, d.said(),
		"lane 0 of node 0: record 3 [split 0 clock 1 items [0,1)]",
		"lane 0 of node 0: record 4 [split 1 clock 1 items [0,1)]",
		"lane 0 of node 0: record 5 keep",
		`lane 0 of node 0: end after commit 5: "" gone []`,
		`node 1: end after commit 5: "" gone []`,
		`node 2: end after commit 5: "" gone []`)
	expect(t, driver.seen, "commit 1: split 1 clock 0 items [0,1) [2]", "commit 2: split 0 clock 0 items [0,1) [1]",
		"commit 3: split 0 clock 1 items [0,1) [1]", "commit 4: split 1 clock 1 items [0,1) [2]")
	d.closed(lanes[0], 0, 7)
	d.closed(clients[0], 3, 0)
	if d.fx.Outcome != nil {
		t.Fatal("an outcome before everybody has closed")
	}
	d.closed(clients[1], 4, 0)
	o := d.fx.Outcome
	if o == nil || o.Reason != "" || o.Commits != 5 || o.Counts.Sent != 7 || o.Counts.Applied != 7 {
		t.Errorf("outcome %+v", o)
	}
}

func TestAnOverlapEndsTheJob(t *testing.T) {
	d := newDesk(&rounds{want: 2}, 0)
	d.Start(&d.fx)
	d.done(1, 0)
	d.said()
	d.doneAs(1, 0, 2)
	got := d.said()
	if len(got) != 3 || !strings.Contains(got[0], "refused: split 0 clock 0 items [0,1): the split is at clock 1") {
		t.Errorf("said %q", got)
	}
	d.done(2, 0)
	expect(t, d.said())
}

// TestADoneThatComesAgainIsKnown hears twice that a flush is done, of its client and of a lane: it counts once, and
// nothing ends.
func TestADoneThatComesAgainIsKnown(t *testing.T) {
	d := newRunning(&rounds{want: 2})
	d.done(1, 0)
	d.doneBoth(0)
	expect(t, d.said(), "lane 0 of node 0: record 1 [split 0 clock 0 items [0,1)]", "lane 0 of node 0: record 2 [split 1 clock 0 items [0,1)]",
		"node 1: run split 0 clock 1 items [0,1) [1.5] after commit 2", "node 2: run split 1 clock 1 items [0,1) [2.5] after commit 2")
}

func TestASilentNodeIsDeclaredGone(t *testing.T) {
	d := newBegun(&rounds{want: 2}, 1000)
	d.said()
	d.Tick(900, nil, &d.fx)
	d.beat(clients[0])
	d.Tick(1500, nil, &d.fx)
	d.beat(clients[0])
	expect(t, d.said(),
		`lane 0 of node 0: end after commit 0: "node 2 has been silent for 1.5 s and is declared gone; nothing of its unfinished clock counts" gone [2]`,
		`node 1: end after commit 0: "node 2 has been silent for 1.5 s and is declared gone; nothing of its unfinished clock counts" gone [2]`,
		`node 2: end after commit 0: "node 2 has been silent for 1.5 s and is declared gone; nothing of its unfinished clock counts" gone [2]`)
	d.closed(lanes[0], 0, 0)
	d.ticks(2000, 3500, clients[0])
	if d.fx.Outcome != nil {
		t.Fatal("node 1 has not closed yet, and may")
	}
	d.Tick(3600, nil, &d.fx)
	if d.fx.Outcome == nil {
		t.Error("the end waits for ever for a node that lives and says nothing")
	}
}

func TestTheFirstTasksWaitForAllNodes(t *testing.T) {
	d := newDesk(&rounds{want: 2}, 1000)
	d.Start(&d.fx)
	d.ready(clients[0], clients[0]) // the same twice is one
	d.ticks(500, 4000, clients[0])  // who is not ready has no lease yet
	if got := d.said(); len(got) != 0 || d.fx.Outcome != nil {
		t.Fatalf("before all are ready, said %q", got)
	}
	expect(t, d.fx.Notices, "the job has waited 2.0 s for node 2 to be ready, and gives up after 600.0 s",
		"the job has waited 4.0 s for node 2 to be ready, and gives up after 600.0 s")
	d.ready(clients[1])
	if got := d.said(); len(got) != 2 || !strings.HasPrefix(got[0], "node 1: run split 0 clock 0") {
		t.Errorf("when all are ready, said %q", got)
	}
	d.Tick(4900, nil, &d.fx)
	d.ready(clients[1]) // again: nothing follows
	d.beat(clients...)
	expect(t, d.said())
}

func TestHeartbeatsGoToEveryOtherNode(t *testing.T) {
	d := newDesk(&rounds{want: 2}, 1000)
	d.ready(clients...)
	d.Tick(500, nil, &d.fx)
	var to []string
	for _, e := range d.fx.Envelopes {
		if _, ok := e.Message.(*wire.Beat); ok {
			to = append(to, e.To.String())
		}
	}
	expect(t, to, clients[0].String(), clients[1].String())
}

func TestBrokenConnectionWaitsForBetterReason(t *testing.T) {
	for name, c := range map[string]struct {
		died bool
		want string
	}{
		"none comes":       {false, "node 2 is gone: EOF"},
		"its process died": {true, "node 2 died: signal: killed"},
	} {
		d := newBegun(&rounds{want: 2}, 10_000)
		d.ticks(500, 500, clients...)
		d.said()
		d.Broken(2, "node 2 is gone: EOF")
		d.ticks(1000, 1000, clients...)
		expect(t, d.said())
		if c.died {
			d.Lost(2, "node 2 died: signal: killed", &d.fx)
		}
		d.ticks(1500, 1500, clients...)
		if got := d.said(); len(got) != 3 || !strings.Contains(got[0], c.want) {
			t.Errorf("%s: said %q", name, got)
		}
		expect(t, d.fx.Losses, c.want)
	}
}

func TestNodesLosingEachOtherEndJob(t *testing.T) {
	d := newBegun(&rounds{want: 2}, 10_000)
	d.said()
	d.deliver(clients[0], &wire.Complaint{Node: 2, Reason: "node 1 lost its connection to node 2: reset"})
	d.ticks(500, 2500, clients...)
	expect(t, d.said())
	d.ticks(3000, 3000, clients...)
	expectLine(t, d.said(), 3, 0, `"node 1 lost its connection to node 2: reset" gone [2]`)
}

func TestNodeSilentDuringCollectionIsLost(t *testing.T) {
	d := newBegun(&rounds{want: 1}, 1000)
	d.doneBoth(0)
	d.closeAll(slices.Concat(lanes, clients)...)
	if d.fx.Outcome == nil {
		t.Fatal("no outcome")
	}
	d.ticks(500, 2000, clients[0])
	if len(d.fx.Losses) != 1 || !strings.Contains(d.fx.Losses[0], "node 2 has been silent for 1.5 s") {
		t.Errorf("losses %q", d.fx.Losses)
	}
}

func TestActorDelayingTheEndIsNamed(t *testing.T) {
	d := newBegun(&rounds{want: 1}, 5000)
	d.doneBoth(0)
	d.closed(clients[0], 0, 0)
	d.ticks(500, 4000, clients...)
	expect(t, d.fx.Notices, "the end of the job has waited 2.5 s for the last word of lane 0 of node 0, node 2, and goes on without after 10.0 s")
}

func TestAControllerThatSleptBlamesNobody(t *testing.T) {
	d := newBegun(&rounds{want: 2}, 1500)
	d.ticks(500, 1000, clients...)
	d.said()
	d.Tick(60_000, nil, &d.fx) // what came meanwhile is still queued
	d.beat(clients...)
	d.ticks(60_500, 62_000, clients...)
	expect(t, d.said())
}

func TestInterruptFinishesTheClocksThatHaveBegun(t *testing.T) {
	d := newDesk(&rounds{want: 5}, 0)
	d.Start(&d.fx)
	d.done(1, 0)
	d.Interrupt(&d.fx)
	d.said()
	d.done(2, 0)
	got := d.said()
	if len(got) != 5 || !strings.Contains(got[0], "record 2 drain after clock 0") || !strings.Contains(got[2], `"interrupted"`) {
		t.Fatalf("said %q", got)
	}
	d.closeAll(lanes[0], clients[0], clients[1])
	o := d.fx.Outcome
	if o == nil || !o.Interrupted || len(o.State.Queue) != 2 || !slices.Equal(o.State.Complete, []bellows.Clock{0, 0}) {
		t.Fatalf("outcome %+v", o)
	}

	again := newDesk(&rounds{want: 5}, 0)
	require.NoError(t, again.Resume(o.State))
	again.Start(&again.fx)
	expect(t, again.said(),
		"node 1: run split 0 clock 1 items [0,1) [1.5] after commit 0",
		"node 2: run split 1 clock 1 items [0,1) [2.5] after commit 0")
}

func TestAnOldGenerationEndsTheJob(t *testing.T) {
	d := newRunning(&rounds{want: 2})
	m := wire.New[wire.Done]()
	m.Flush = flushID(1, 1)
	m.Append(bellows.Unit{Items: bellows.Range{End: 1}}, nil)
	m.Pairs = append(m.Pairs, wire.Pair{Generation: 7})
	d.deliver(clients[0], m)
	expectLine(t, d.said(), 3, 0, "is at generation 1, not 7")
}

func TestALostNodeIsNotWaitedFor(t *testing.T) {
	d := newBegun(&rounds{want: 2}, 1000)
	d.said()
	d.Lost(2, "node 2 died: signal: killed", &d.fx)
	expect(t, d.said(),
		`lane 0 of node 0: end after commit 0: "node 2 died: signal: killed" gone [2]`,
		`node 1: end after commit 0: "node 2 died: signal: killed" gone [2]`,
		`node 2: end after commit 0: "node 2 died: signal: killed" gone [2]`)
	d.closed(clients[1], 9, 0) // too late to count
	d.closed(lanes[0], 0, 3)
	d.closed(clients[0], 3, 0)
	if o := d.fx.Outcome; o == nil || o.Reason != "node 2 died: signal: killed" || o.Counts.Sent != 3 || o.Out != 2 {
		t.Errorf("outcome %+v", o)
	}
}

func TestEndSkipsNodesLostMeanwhile(t *testing.T) {
	d := newDesk(&rounds{want: 1}, 0)
	d.Start(&d.fx)
	d.doneBoth(0)
	d.closed(lanes[0], 0, 2)
	d.closed(clients[0], 1, 0)
	if d.fx.Outcome != nil {
		t.Fatal("node 2 has not closed")
	}
	d.Lost(2, "node 2 died", &d.fx)
	if o := d.fx.Outcome; o == nil || o.Reason != "" {
		t.Errorf("outcome %+v: the job had finished before", o)
	}
}

// TestSilenceIsNamedWhileOthersAreAwaited: node 1 is ready and falls silent before node 2 is ready.
func TestSilenceIsNamedWhileOthersAreAwaited(t *testing.T) {
	d := newDesk(&rounds{want: 2}, 10_000)
	d.Start(&d.fx)
	d.ready(clients[0])
	d.ticks(500, 3000)
	expect(t, d.fx.Notices, "the job has waited 2.0 s for node 2 to be ready, and gives up after 600.0 s",
		"node 1 has been silent for 2.5 s; after 10.0 s it is declared gone")
}

func TestSilenceIsNamedOnce(t *testing.T) {
	d := newBegun(&rounds{want: 2}, 10_000)
	d.ticks(500, 6000, clients[0])
	d.beat(clients[1])
	d.ticks(6500, 8500, clients[0])
	expect(t, d.fx.Notices, "node 2 has been silent for 2.5 s; after 10.0 s it is declared gone",
		"the job has waited 2.5 s for split 0 clock 0 on node 1 and 1 more, and gives up after 3600.0 s",
		"node 2 has been silent for 2.5 s; after 10.0 s it is declared gone")
}

// TestTheLostAreFenced loses a node whose flush has its number and not left: lanes that are left hear of the
// record, then of the fence, then of the end, all in the controller's term.
func TestTheLostAreFenced(t *testing.T) {
	d := newRunning(&rounds{want: 5})
	m := wire.New[wire.Done]()
	m.Flush, m.Deferrable = bellows.FlushID{Client: 2, Seq: 1}, true
	m.Append(bellows.Unit{Split: 1, Items: bellows.Range{End: 1}}, []float64{2})
	d.deliver(clients[1], m)
	if got := d.said(); len(got) != 0 {
		t.Fatalf("the record does not wait: %q", got)
	}
	d.Lost(2, "node 2 died", &d.fx)
	d.Lost(2, "node 2 died again", &d.fx)
	var got []string
	for _, e := range d.fx.Envelopes {
		if e.To == lanes[0] {
			got = append(got, fmt.Sprintf("%T in term %d", e.Message, e.Term()))
		}
		if f, fence := e.Message.(*wire.Fence); fence && f.Node != 2 {
			t.Errorf("node %d is fenced", f.Node)
		}
	}
	expect(t, got, "*wire.Records in term 1", "*wire.Fence in term 1", "*wire.End in term 1")
}
