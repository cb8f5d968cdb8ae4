package coord_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/checkpoint"
	"bellows/core/coord"
	"bellows/core/liveness"
	"bellows/core/route"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// The job of these tests has a lane at node 1, which owns both partitions, one at node 3, which owns none, and
// clients at nodes 1 and 2.
var (
	owner     = wire.Address{Node: 1, Role: wire.Lane}
	idle      = wire.Address{Node: 3, Role: wire.Lane}
	all       = []wire.Address{owner, idle, clients[0], clients[1]}
	schemas   = []table.Schema{{Name: "w", Rows: 4, Width: 1, Partitions: 2}}
	partition = []bellows.PartitionRef{{}, {Partition: 1}}
)

// newCollecting makes a desk whose controller collects the state of two rounds.
func newCollecting(t *testing.T, times liveness.Times) *desk {
	t.Helper()
	one := route.Spread(schemas, 2, []wire.Address{owner}, []bellows.NodeID{1, 2})
	state, err := checkpoint.New(schemas, one, 0)
	require.NoError(t, err)
	times.Lease = cmp.Or(times.Lease, 10_000)
	job := core.Job{Controller: self, Lanes: []wire.Address{owner, idle}, Clients: clients, Times: times, Route: one, Items: items(1)}
	return newDeskOf(job, coord.Options{Term: 2, Driver: &rounds{want: 1}, Collector: state})
}

// finishTasks runs the job until no task is left.
func (d *desk) finishTasks() {
	d.ready(all...)
	d.Start(&d.fx)
	d.doneBoth(0)
}

// collecting lets it come so far that all actors have closed.
func (d *desk) collecting(t *testing.T) {
	t.Helper()
	d.finishTasks()
	d.said()
	d.closeAll(all...)
	expect(t, d.said(), "lane 0 of node 1: *wire.Collect")
	if !d.Collecting() {
		t.Fatal("the state is not collected")
	}
}

// slab returns a message of the owner with some values of a partition.
func slab(p, values int) wire.Envelope {
	return wire.Envelope{From: owner, To: self, Message: &wire.Slab{Ref: partition[p], Values: make([]float32, values)}}
}

func collected(reason string) wire.Envelope {
	return wire.Envelope{From: owner, To: self, Message: &wire.Collected{Reason: reason}}
}

// step takes messages at once.
func (d *desk) step(batch ...wire.Envelope) { d.Step(batch, &d.fx) }

// uncollected returns why the state was not collected: "there is no outcome", or the reason, or empty.
func (d *desk) uncollected() string {
	switch {
	case d.fx.Outcome == nil:
		return "there is no outcome"
	case d.fx.Outcome.Uncollected == nil:
		return ""
	}
	return d.fx.Outcome.Uncollected.Error()
}

func TestStateIsCollectedPieceByPiece(t *testing.T) {
	d := newCollecting(t, liveness.Times{})
	d.collecting(t)
	d.step(slab(0, 1))
	d.step(slab(0, 1), slab(1, 2))
	expect(t, d.said(), "lane 0 of node 1: *wire.Collect", "lane 0 of node 1: *wire.Collect", "lane 0 of node 1: *wire.Collect")
	d.step(collected(""))
	if d.uncollected() != "" || d.Collecting() {
		t.Errorf("the end: %q", d.uncollected())
	}
	expect(t, d.said())
	d.fx.Outcome = nil
	d.step(slab(0, 1), collected("")) // as if they had come again
	d.Lost(1, "node 1 is gone", &d.fx)
	d.ticks(500, 1_000_000)
	if d.fx.Outcome != nil {
		t.Error("a second outcome")
	}
}

// TestInvalidStateBeforeEndIsRejected: a lane sends more than a partition has, and its end in the same breath.
func TestInvalidStateBeforeEndIsRejected(t *testing.T) {
	d := newCollecting(t, liveness.Times{})
	d.collecting(t)
	d.step(slab(0, 2), slab(1, 2), slab(1, 1), collected(""))
	const want = "lane 0 of node 1 sent 3 values of t0/p1, slot 0, which has 2"
	if !strings.Contains(d.uncollected(), want) || !d.Gone(1) {
		t.Errorf("the model is taken: %q, node 1 is gone: %v", d.uncollected(), d.Gone(1))
	}
	expect(t, d.fx.Losses, want)
}

func TestLaneReportsWhyStateIsUnavailable(t *testing.T) {
	d := newCollecting(t, liveness.Times{})
	d.collecting(t)
	d.step(slab(0, 2), collected("t0/p1 is leased"))
	if !strings.Contains(d.uncollected(), "t0/p1 is leased") || d.Gone(1) {
		t.Errorf("%q", d.uncollected())
	}
}

func TestEarlyEndIsProtocolViolation(t *testing.T) {
	d := newCollecting(t, liveness.Times{})
	d.collecting(t)
	d.step(slab(0, 2), collected(""))
	if !strings.Contains(d.uncollected(), "lane 0 of node 1 ended before it had sent all of t0/p1") || !d.Gone(1) {
		t.Errorf("%q", d.uncollected())
	}
}

// TestCollectionNeedsOnlyOwnersOfState loses every node in turn, by every way: only the owner takes
// the state with it.
func TestCollectionNeedsOnlyOwnersOfState(t *testing.T) {
	ways := map[string]func(d *desk, n bellows.NodeID){
		"its process died": func(d *desk, n bellows.NodeID) { d.Lost(n, fmt.Sprintf("node %d died", n), &d.fx) },
		"it is silent": func(d *desk, n bellows.NodeID) {
			for now := int64(500); now <= 12_000; now += 500 {
				d.Tick(now, nil, &d.fx)
				d.beat(slices.DeleteFunc(slices.Clone(all), func(a wire.Address) bool { return a.Node == n })...)
			}
		},
		"its connection has ended": func(d *desk, n bellows.NodeID) {
			d.Broken(n, fmt.Sprintf("node %d hung up", n))
			d.ticks(500, 2000, all...)
		},
		"it sends what cannot be": func(d *desk, n bellows.NodeID) {
			d.step(wire.Envelope{From: wire.Address{Node: n, Role: wire.Lane}, To: self, Message: &wire.Slab{Ref: partition[0], Values: make([]float32, 3)}})
		},
	}
	for way, lose := range ways {
		for n := bellows.NodeID(1); n <= 3; n++ {
			d := newCollecting(t, liveness.Times{})
			d.collecting(t)
			d.step(slab(0, 2))
			lose(d, n)
			if len(d.fx.Losses) != 1 || !d.Gone(n) {
				t.Fatalf("%s: losses %q", way, d.fx.Losses)
			}
			d.step(slab(1, 2), collected(""))
			if got := d.uncollected(); (got != "") != (n == 1) || n == 1 && !strings.Contains(got, "node 1") {
				t.Errorf("%s: node %d is lost, and %q", way, n, got)
			}
		}
	}
}

// TestOwnerLostBeforeCollectionIsNamed loses nodes while final counts are awaited.
func TestOwnerLostBeforeCollectionIsNamed(t *testing.T) {
	for n := bellows.NodeID(1); n <= 3; n++ {
		d := newCollecting(t, liveness.Times{})
		d.finishTasks()
		d.Lost(n, "its process died", &d.fx)
		d.closeAll(all...)
		d.step(slab(0, 2), slab(1, 2), collected(""))
		if got := d.uncollected(); (got != "") != (n == 1) || n == 1 && !strings.Contains(got, "its process died") {
			t.Errorf("node %d was lost, and %q", n, got)
		}
	}
}

// TestStateOwnerIsKeptOfTwoAccusers lets a worker and the owner of the state lose each other, and no other
// node, while final counts are awaited or the state is on its way. The worker goes, whichever reported first, and the
// state comes. If the owner is also silent, it goes.
func TestStateOwnerIsKeptOfTwoAccusers(t *testing.T) {
	says := func(by, n bellows.NodeID) wire.Envelope {
		return wire.Envelope{From: wire.ClientAt(by), To: self, Message: &wire.Complaint{Node: n, Reason: fmt.Sprintf("node %d lost its connection to node %d: EOF", by, n)}}
	}
	for _, first := range []bellows.NodeID{1, 2} {
		for _, silent := range []bool{false, true} {
			for _, collecting := range []bool{false, true} {
				d := newCollecting(t, liveness.Times{})
				if collecting {
					d.collecting(t)
				} else {
					d.finishTasks()
				}
				d.ticks(500, 1000, all...)
				d.step(says(first, 3-first))
				d.ticks(1500, 1500, all...)
				d.step(says(3-first, first))
				beating := all
				if silent {
					beating = []wire.Address{idle, clients[1]}
				}
				d.ticks(2000, 12_000, beating...)
				d.closeAll(beating...)
				d.step(slab(0, 2), slab(1, 2), collected(""))
				if got := d.uncollected(); d.Gone(1) != silent || (got != "") != silent || !silent && !d.Gone(2) {
					t.Errorf("node %d speaks first, node 1 is silent: %v, collecting: %v: nodes 1 and 2 are gone: %v %v, and %q", first, silent, collecting, d.Gone(1), d.Gone(2), got)
				}
			}
		}
	}
}

// TestLanesOwingStateLearnOfLosses loses a client while the state is collected: a lane that is asked for it
// may wait for that client to pass the end on, since its last word was not waited for.
func TestLanesOwingStateLearnOfLosses(t *testing.T) {
	d := newCollecting(t, liveness.Times{})
	d.collecting(t)
	d.Lost(2, "its process died", &d.fx)
	for _, e := range d.fx.Envelopes {
		if m, ok := e.Message.(*wire.End); ok && e.To == owner && slices.Equal(m.Gone, []bellows.NodeID{2}) {
			return
		}
	}
	t.Errorf("said %q", d.said())
}

// TestAFailedJobCollectsNothing ends a job that failed, and has a lane send to a controller without a collector.
func TestAFailedJobCollectsNothing(t *testing.T) {
	d := newCollecting(t, liveness.Times{})
	d.ready(all...)
	d.Start(&d.fx)
	d.step(wire.Envelope{From: clients[0], To: self, Message: &wire.Failed{Reason: "a task failed"}})
	d.closeAll(all...)
	if d.fx.Outcome == nil || !strings.Contains(d.fx.Outcome.Reason, "a task failed") || d.Collecting() {
		t.Errorf("outcome %+v", d.fx.Outcome)
	}
	d = newDesk(&rounds{want: 1}, 10_000)
	d.ready(clients...)
	d.Start(&d.fx)
	d.said()
	d.Step([]wire.Envelope{{From: lanes[0], To: self, Message: &wire.Slab{}}}, &d.fx) // no lane was asked for it
	expectLine(t, d.said(), 3, 0, "for which it was not asked")
}

// TestCollectingIsNamedAndGivenUp uses a lane that lives and sends nothing: it is named after 2 s, and given up when
// its time has passed without anything of the state.
func TestCollectingIsNamedAndGivenUp(t *testing.T) {
	d := newCollecting(t, liveness.Times{Collect: 20_000})
	d.collecting(t)
	d.ticks(500, 5000, all...)
	expect(t, d.fx.Notices, "collecting the model has waited 2.5 s for lane 0 of node 1, and gives up after 20.0 s")
	d.step(slab(0, 2))
	d.ticks(5500, 25_000, all...)                      // 20 s since then
	if d.fx.Outcome != nil || len(d.fx.Notices) != 1 { // 20 s are not unusual after 5
		t.Fatalf("outcome %+v, notices %q", d.fx.Outcome, d.fx.Notices)
	}
	d.ticks(25_500, 25_500, all...)
	if d.uncollected() != "collect the model: nothing has come of lane 0 of node 1 for 20.5 s" {
		t.Errorf("%q", d.uncollected())
	}
}

// TestWaitForEndIsBounded uses an actor that lives and does not send its final counts.
func TestWaitForEndIsBounded(t *testing.T) {
	for _, c := range []struct{ times, until int64 }{{3000, 3500}, {0, 20_500}} {
		d := newCollecting(t, liveness.Times{End: c.times})
		d.finishTasks()
		for _, a := range all[:3] {
			d.closed(a, 5, 0)
		}
		d.ticks(500, c.until-500, all...)
		expect(t, d.fx.Notices, fmt.Sprintf("the end of the job has waited 2.5 s for the last word of node 2, and goes on without after %.1f s", float64(c.until-500)/1000))
		if d.Collecting() {
			t.Fatal("node 2 is not waited for")
		}
		d.ticks(c.until, c.until, all...)
		if !d.Collecting() {
			t.Errorf("node 2 is waited for longer than %d ms", c.until-500)
		}
		d.closed(clients[1], 9, 0) // too late to count
		d.step(slab(0, 2), slab(1, 2), collected(""))
		if d.uncollected() != "" || d.fx.Outcome.Counts.Sent != 15 {
			t.Errorf("%q, counts %+v", d.uncollected(), d.fx.Outcome.Counts)
		}
	}
}

// TestUnreadyNodeEndsJob uses a node that never says a word.
func TestUnreadyNodeEndsJob(t *testing.T) {
	d := newCollecting(t, liveness.Times{Ready: 7000})
	d.Start(&d.fx)
	d.ready(owner, idle)
	d.ticks(500, 7000, owner, idle)
	const named = "the job has waited %d.0 s for node 2 to be ready, and gives up after 7.0 s"
	expect(t, d.fx.Notices, fmt.Sprintf(named, 2), fmt.Sprintf(named, 4), fmt.Sprintf(named, 6))
	if len(d.fx.Losses) > 0 {
		t.Fatalf("losses %q", d.fx.Losses)
	}
	d.ticks(7500, 7500, owner, idle)
	expect(t, d.fx.Losses, "node 2 has not been ready after 7.5 s")
	d.closeAll(owner, idle, clients[0])
	if o := d.fx.Outcome; o == nil || o.Kind != bellows.Lost || o.Reason != "node 2 has not been ready after 7.5 s" {
		t.Errorf("outcome %+v", o)
	}
}

// TestEndlessTaskIsNamedAndEndsJob lets node 2 send heartbeats and nothing else.
func TestEndlessTaskIsNamedAndEndsJob(t *testing.T) {
	d := newCollecting(t, liveness.Times{Task: 60_000})
	d.ready(all...)
	d.Start(&d.fx)
	d.ticks(500, 1000, all...)
	d.done(1, 0)
	d.ticks(1500, 61_000, all...) // the wait for node 1 lasted one second
	expect(t, d.fx.Notices, "the job has waited 4.5 s for split 1 clock 0 on node 2, and gives up after 60.0 s")
	if d.fx.Outcome != nil || len(d.fx.Losses) > 0 {
		t.Fatal("the job has ended")
	}
	d.said()
	d.ticks(61_500, 61_500, all...)
	expectLine(t, d.said(), 4, 0, `"split 1 clock 0 on node 2 has not ended, and nothing has been committed for 60.5 s" gone []`)
}

// TestOnlyAnUnusualWaitIsNamed plays clocks of one length, then one of nearly four times that, and one of more. Short
// ones are never named.
func TestOnlyAnUnusualWaitIsNamed(t *testing.T) {
	d := newBegun(&rounds{want: 100}, 10_000)
	now, clock := int64(0), 0
	takes := func(millis int64) []string {
		d.ticks(now+500, now+millis, clients...)
		now += millis
		d.doneBoth(clock)
		clock++
		list := d.fx.Notices
		d.fx.Notices = nil
		return list
	}
	for _, c := range []struct {
		millis int64
		named  string // how long, when it is
	}{{500, ""}, {1000, ""}, {4000, ""}, {16_000, ""}, {64_000, ""}, {2000, ""}, {257_000, "256.5"}, {257_000, ""}, {1_028_500, "1028.5"}} {
		got := takes(c.millis)
		if c.named == "" {
			expect(t, got)
			continue
		}
		expect(t, got, fmt.Sprintf("the job has waited %s s for split 0 clock %d on node 1 and 1 more, and gives up after 3600.0 s", c.named, clock-1))
	}
}

// TestAWaitIsNamedOnce: what comes begins another.
func TestAWaitIsNamedOnce(t *testing.T) {
	d := newBegun(&rounds{want: 100}, 10_000)
	d.ticks(500, 9000, clients...)
	d.done(1, 0)
	d.ticks(9500, 9000+36_500, clients...)
	expect(t, d.fx.Notices, "the job has waited 2.5 s for split 0 clock 0 on node 1 and 1 more, and gives up after 3600.0 s",
		"the job has waited 36.5 s for split 1 clock 0 on node 2, and gives up after 3600.0 s")
}

// TestASleepIsNoWait lets the controller sleep for an hour in each of its waits.
func TestASleepIsNoWait(t *testing.T) {
	const hour = 3_600_000
	d := newCollecting(t, liveness.Times{})
	d.Start(&d.fx)
	awake := func(at int64) {
		d.beat(all...)
		d.ticks(at, at, all...)
	}
	awake(500)
	awake(hour) // while node 1 is awaited
	d.ready(all...)
	awake(2 * hour) // while tasks are out
	awake(2*hour + 500)
	awake(3 * hour)
	d.doneBoth(0)
	awake(4 * hour) // while it waits for the final counts
	if d.Collecting() {
		t.Fatal("it does not wait for the final counts")
	}
	d.closeAll(all...)
	awake(5 * hour) // while the state is collected
	d.step(slab(0, 2), slab(1, 2), collected(""))
	if d.uncollected() != "" || d.fx.Outcome.Reason != "" || len(d.fx.Losses) > 0 {
		t.Errorf("%q, outcome %+v, losses %q", d.uncollected(), d.fx.Outcome, d.fx.Losses)
	}
}

// TestASlowControllerEndsItsWaits ticks every minute only: each of its waits ends all the same, in so many turns as
// it has seconds.
func TestASlowControllerEndsItsWaits(t *testing.T) {
	const minute = 60_000
	for name, c := range map[string]struct {
		begin func(d *desk)
		ended func(d *desk) bool
	}{
		"a node to be ready": {func(d *desk) { d.Start(&d.fx) }, func(d *desk) bool { return len(d.fx.Losses) > 0 }},
		"a task": {func(d *desk) {
			d.Start(&d.fx)
			d.ready(all...)
		}, func(d *desk) bool {
			return slices.ContainsFunc(d.said(), func(s string) bool { return strings.Contains(s, "has not ended") })
		}},
		"a last word": {func(d *desk) {
			d.Start(&d.fx)
			d.ready(all...)
			d.doneBoth(0)
		}, func(d *desk) bool { return d.Collecting() }},
		"the state": {func(d *desk) { d.collecting(t) }, func(d *desk) bool { return strings.Contains(d.uncollected(), "nothing has come") }},
	} {
		d := newCollecting(t, liveness.Times{Ready: 10_000, Task: 10_000, End: 10_000, Collect: 10_000})
		c.begin(d)
		turns := 0
		for now := int64(minute); !c.ended(d); now += minute {
			if turns++; turns > 20 {
				t.Errorf("%s is waited for without end", name)
				break
			}
			d.Tick(now, nil, &d.fx)
			d.beat(all...)
		}
		if turns < 10 {
			t.Errorf("%s is waited for %d turns only", name, turns)
		}
	}
}

// TestSuspicionsAreNotKept lets nodes say of others again and again that they cannot be reached.
func TestSuspicionsAreNotKept(t *testing.T) {
	d := newCollecting(t, liveness.Times{})
	d.ready(all...)
	d.Start(&d.fx)
	d.said()
	m := []wire.Envelope{{From: clients[0], To: self, Message: &wire.Complaint{Node: 2, Reason: "node 1 lost its connection to node 2: reset"}}}
	d.Step(m, &d.fx)
	if n := testing.AllocsPerRun(1000, func() { d.Step(m, &d.fx) }); n != 0 {
		t.Errorf("each takes %v allocations", n)
	}
	d.ticks(500, 3000, all...)
	d.Step(m, &d.fx)
	d.ticks(3500, 10_000, all...)
	expect(t, d.fx.Losses, "node 1 lost its connection to node 2: reset")
}

// TestTheTaskThatComputesIsNamed uses two splits of one node at the same clock. One has finished, and its flush waits
// for the other, which continues to compute. The node reports that, and then nothing more.
func TestTheTaskThatComputesIsNamed(t *testing.T) {
	job := jobOf(10_000, lanes, oneTable)
	job.Clients, job.Route = clients[:1], route.Spread(job.Tables, 2, lanes, []bellows.NodeID{1})
	d := newDeskOf(job, coord.Options{Driver: &rounds{want: 100}})
	d.ready(clients[0])
	d.ready(wire.ClientAt(0))
	d.Start(&d.fx)
	now := int64(0)
	hang := func(split bellows.SplitID, clock bellows.Clock, millis int64, named string) {
		t.Helper()
		for end := now + millis; now < end; now += 500 {
			d.deliver(clients[0], &wire.Computing{Unit: bellows.Unit{Split: split, Clock: clock}, Millis: now})
			d.ticks(now+500, now+500, clients[:1]...)
		}
		expect(t, d.fx.Notices, named)
		d.fx.Notices = nil
	}
	d.Step([]wire.Envelope{{From: clients[0], To: self, Message: &wire.Computing{Unit: bellows.Unit{Split: 0, Clock: 1}, Millis: 5000}}}, &d.fx) // which was not dispatched
	hang(1, 0, 2500, "the job has waited 2.5 s for split 1 clock 0 on node 1 and 1 more, and gives up after 3600.0 s")
	d.done(1, 0) // of split 0, which was reported to wait
	hang(0, 0, 11_000, "the job has waited 10.5 s for split 1 clock 0 on node 1, and gives up after 3600.0 s")
	d.Step([]wire.Envelope{{From: clients[0], To: self, Message: &wire.Computing{Unit: bellows.Unit{Split: 1, Clock: 7}, Millis: now}}}, &d.fx) // which is none
	d.ticks(now+500, now+3_600_000, clients[:1]...)
	if o := d.fx.Envelopes; len(o) == 0 {
		t.Error("it goes on for ever")
	}
}
