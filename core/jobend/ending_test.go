package jobend_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/audit"
	"bellows/core/checkpoint"
	"bellows/core/jobend"
	"bellows/core/journal"
	"bellows/core/liveness"
	"bellows/core/membership"
	"bellows/core/route"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// The job of these tests has a lane at node 1, which owns both partitions, one at node 3, which owns none, and clients
// at nodes 1 and 2.
var (
	self    = wire.Address{Role: wire.Controller}
	owner   = wire.LaneAt(1, 0)
	idle    = wire.LaneAt(3, 0)
	clients = []wire.Address{wire.ClientAt(1), wire.ClientAt(2)}
	all     = []wire.Address{owner, idle, clients[0], clients[1]}
	schemas = []table.Schema{{Name: "w", Rows: 4, Width: 1, Partitions: 2}}
)

// An end is an Ending with its membership, its journal and its messages.
type end struct {
	*jobend.Ending
	t          *testing.T
	job        core.Job
	membership *membership.Group
	log        *journal.Journal
	out        wire.Outbox
}

// newEnd returns the end of a job that continues. It has a collector, or none.
func newEnd(t *testing.T, collects bool) *end {
	t.Helper()
	r := route.Spread(schemas, 2, []wire.Address{owner}, []bellows.NodeID{1, 2})
	e := &end{t: t, job: core.Job{
		Controller: self, Lanes: []wire.Address{owner, idle}, Clients: clients, Tables: schemas, Route: r,
		Times: liveness.Times{Lease: 10_000, End: 20_000, Collect: 30_000}.Or(),
	}}
	e.membership = membership.New(e.job, membership.Options{Term: 3})
	require.NoError(t, e.membership.Change(r.AddLane(idle)))
	e.log = journal.New(journal.Options{Self: self, Term: 3, RecordsMax: 4})
	var state *checkpoint.Collector
	if collects {
		var err error
		state, err = checkpoint.New(schemas, r, 0)
		require.NoError(t, err)
	}
	e.Ending = jobend.New(&e.job, 3, state)
	return e
}

// begin ends the job by an outcome, and drops what that sends.
func (e *end) begin(o *jobend.Outcome) {
	e.Begin(o, false, 0)
	e.TellAll(e.membership, &e.out)
	e.out.Envelopes = nil
}

// newCollecting returns an end that has asked for the state.
func newCollecting(t *testing.T) *end {
	t.Helper()
	e := newEnd(t, true)
	e.begin(&jobend.Outcome{})
	e.close(all...)
	if e.proceed(); !e.Collecting() {
		t.Fatal("the state is not collected")
	}
	return e
}

// close closes actors that have counted one delta each.
func (e *end) close(list ...wire.Address) {
	e.t.Helper()
	for _, a := range list {
		if !e.TakeClosed(a, &wire.Closed{Counts: wire.Counts{Sent: 1}}, e.membership) {
			e.t.Errorf("%v was not waited for", a)
		}
	}
}

func (e *end) proceed() bool { return e.Proceed(e.membership, e.log, 0, &e.out) }

// expectOver compares whether the end is over since the last call.
func (e *end) expectOver(want bool) {
	e.t.Helper()
	if got := e.proceed(); got != want {
		e.t.Errorf("it is over since now: %v", got)
	}
}

// slab delivers values of a partition from the owner.
func (e *end) slab(p, values int) error {
	m := &wire.Slab{Ref: bellows.PartitionRef{Partition: bellows.PartitionID(p)}, Values: make([]float32, values)}
	return e.TakeSlab(owner, m, 0, &e.out)
}

// sent returns the messages since the last call, a line each.
func (e *end) sent() (lines []string) {
	for _, one := range e.out.Envelopes {
		line := fmt.Sprintf("%v: %T", one.To, one.Message)
		switch m := one.Message.(type) {
		case *wire.End:
			line = fmt.Sprintf("%v: end at %d %q gone %v lanes %v term %d",
				one.To, m.Commit, m.Reason, m.Gone, m.Lanes, m.Term)
		case *wire.Collect:
			line = fmt.Sprintf("%v: collect %d, whole %v, term %d", one.To, m.Slabs, m.Whole, m.Term)
		}
		lines = append(lines, line)
	}
	e.out.Envelopes = nil
	return lines
}

// expectSent compares the messages since the last call.
func (e *end) expectSent(want ...string) {
	e.t.Helper()
	if got := e.sent(); !slices.Equal(got, want) {
		e.t.Errorf("sent %q, want %q", got, want)
	}
}

// TestEveryActorIsSentTheEnd ends a job with a lane that was added and one that leaves. Of those that were lost none is
// waited for.
func TestEveryActorIsSentTheEnd(t *testing.T) {
	e := newEnd(t, false)
	added := wire.LaneAt(4, 1)
	require.NoError(t, e.membership.Change(e.membership.Route().AddLane(added)))
	e.membership.Enrol(added)
	removal, err := e.membership.RemoveActor(idle)
	require.NoError(t, err)
	e.membership.StartLeaving(removal, 0)
	e.membership.Remove(idle)
	e.membership.Lose(2, "dead")
	if e.Begun() || e.Outcome() != nil {
		t.Error("it has begun")
	}
	e.expectOver(false)
	e.Begin(&jobend.Outcome{Commits: 7, Reason: "why", Kind: bellows.Lost}, false, 0)
	e.TellAll(e.membership, &e.out)
	e.expectSent(`lane 0 of node 1: end at 7 "why" gone [2] lanes [] term 3`,
		`lane 1 of node 4: end at 7 "why" gone [2] lanes [] term 3`,
		`node 1: end at 7 "why" gone [2] lanes [{4 1}] term 3`,
		`node 2: end at 7 "why" gone [2] lanes [{4 1}] term 3`,
		`lane 0 of node 3: end at 7 "why" gone [2] lanes [] term 3`)
	e.TellOpen(e.membership, &e.out)
	e.expectSent(`lane 0 of node 1: end at 7 "why" gone [2] lanes [] term 3`,
		`lane 1 of node 4: end at 7 "why" gone [2] lanes [] term 3`,
		`lane 0 of node 3: end at 7 "why" gone [2] lanes [] term 3`)
	if e.TakeClosed(clients[1], &wire.Closed{}, e.membership) {
		t.Error("a lost node is waited for")
	}
	e.close(owner, added, clients[0])
	e.expectOver(false)
	e.close(idle)
	e.expectOver(true)
}

// TestThoseThatHaveLeftAreNamed ends a job before its controller knows what was recorded, and has one lane leave.
func TestThoseThatHaveLeftAreNamed(t *testing.T) {
	for _, unread := range []bool{false, true} {
		e := newEnd(t, false)
		e.membership.Leave(9)
		removal, err := e.membership.RemoveActor(idle)
		require.NoError(t, err)
		e.membership.StartLeaving(removal, 0)
		e.Begin(&jobend.Outcome{}, unread, 0)
		gone := map[bool]string{false: "[]", true: "[9]"}[unread]
		e.TellSome([]wire.Address{owner, idle, wire.ClientAt(9)}, e.membership, &e.out)
		e.expectSent(fmt.Sprintf(`lane 0 of node 1: end at 0 "" gone %s lanes [] term 3`, gone),
			`lane 0 of node 3: end at 0 "" gone [9] lanes [] term 3`,
			fmt.Sprintf(`node 9: end at 0 "" gone %s lanes [] term 3`, gone))
		if e.TakeClosed(wire.ClientAt(9), &wire.Closed{}, e.membership) {
			t.Error("a node that has left is waited for")
		}
	}
}

// TestCountsAreAddedOnce gives the counts of a client that leaves to a lane. The client closes before or after it, or
// never. A flush that a lane has missed is dropped, unless it has a number or its client was removed.
func TestCountsAreAddedOnce(t *testing.T) {
	leaver := wire.ClientAt(4)
	for _, order := range [][]wire.Address{{leaver, owner}, {owner, leaver}, {owner}} {
		e := newEnd(t, false)
		require.NoError(t, e.membership.Change(e.membership.Route().AddClient(4)))
		removal, err := e.membership.RemoveActor(leaver)
		require.NoError(t, err)
		e.membership.Enrol(leaver)
		e.membership.StartLeaving(removal, 0)
		e.membership.Remove(leaver)
		flush := func(client bellows.NodeID, seq uint64) bellows.FlushID {
			return bellows.FlushID{Client: client, Incarnation: 1, Seq: seq}
		}
		e.log.AppendFlush(&wire.Done{Flush: flush(1, 1)}, nil, &e.out)
		e.begin(&jobend.Outcome{})
		e.close(idle, clients[0], clients[1])
		for _, a := range order {
			m := &wire.Closed{Counts: wire.Counts{Sent: 10}}
			if a == owner {
				m.Counts.Sent, m.Adopted = 15, []bellows.Control{removal}
				m.Missed = []wire.Missed{
					{Flush: flush(1, 1), Rows: 100, Bits: 1},
					{Flush: flush(1, 2), Rows: 3, Bits: 5},
				}
			}
			e.TakeClosed(a, m, e.membership)
		}
		e.expectOver(true)
		c := e.Outcome().Counts
		if c.Sent != 18 || c.Dropped != 3 || !slices.Equal(c.Ledgers, []audit.Ledger{{Dropped: 5}}) {
			t.Errorf("%v: counts %+v", order, c)
		}
	}
}

// TestFlushesOfRemovedNodesAreNotMissed adds up a flush of a node that was lost while the job continued.
func TestFlushesOfRemovedNodesAreNotMissed(t *testing.T) {
	e := newEnd(t, false)
	e.membership.Lose(2, "dead")
	e.membership.RemoveLost(2)
	e.begin(&jobend.Outcome{})
	e.close(idle, clients[0])
	m := &wire.Closed{Missed: []wire.Missed{{Flush: bellows.FlushID{Client: 2}, Rows: 3, Bits: 5}}}
	e.TakeClosed(owner, m, e.membership)
	e.expectOver(true)
	if c := e.Outcome().Counts; c.Dropped != 0 || c.Sent != 2 {
		t.Errorf("counts %+v", c)
	}
}

// TestTheEndIsOverOnce ends jobs that give no state: without a collector, and one that has failed.
func TestTheEndIsOverOnce(t *testing.T) {
	for _, collects := range []bool{false, true} {
		o := &jobend.Outcome{}
		if collects {
			o.Reason = "a task failed"
		}
		e := newEnd(t, collects)
		if e.TakeClosed(owner, &wire.Closed{}, e.membership) {
			t.Error("an actor has closed before the end")
		}
		e.begin(o)
		e.expectOver(false)
		e.close(all...)
		if e.TakeClosed(owner, &wire.Closed{}, e.membership) {
			t.Error("an actor has closed twice")
		}
		if e.Spares(2, e.membership) || e.Finished() {
			t.Error("it is over, or the state is wanted")
		}
		e.expectOver(true)
		e.expectOver(false)
		if !e.Finished() || e.Collecting() || e.Outcome() != o || o.Counts.Sent != 4 {
			t.Errorf("outcome %+v", e.Outcome())
		}
		e.expectSent()
	}
}

// TestTheStateIsCollected asks the owner of the partitions for all of them, in pieces.
func TestTheStateIsCollected(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		e := newEnd(t, true)
		e.begin(&jobend.Outcome{Interrupted: interrupted, Reason: map[bool]string{true: "interrupted"}[interrupted]})
		e.close(all...)
		if !e.Spares(2, e.membership) || e.Spares(1, e.membership) {
			t.Error("the wrong node is spared before the state is collected")
		}
		e.expectOver(false)
		e.expectSent(fmt.Sprintf("lane 0 of node 1: collect 4, whole %v, term 3", interrupted))
		require.NoError(t, e.TakeSlab(owner, &wire.Slab{Term: 2, Values: make([]float32, 9)}, 0, &e.out))
		require.NoError(t, e.TakeCollected(owner, &wire.Collected{Term: 2}, 0))
		e.expectSent() // for an earlier controller
		require.NoError(t, e.slab(0, 2))
		require.NoError(t, e.slab(1, 2))
		const more = "lane 0 of node 1: collect 1, whole %v, term 3"
		e.expectSent(fmt.Sprintf(more, interrupted), fmt.Sprintf(more, interrupted))
		e.expectOver(false)
		require.NoError(t, e.TakeCollected(owner, &wire.Collected{Term: 3}, 0))
		e.expectOver(true)
		if e.Collecting() || e.Outcome().Uncollected != nil || e.Outcome().Failure("train") != nil {
			t.Errorf("outcome %+v", e.Outcome())
		}
		require.NoError(t, e.slab(0, 9)) // too late
		require.NoError(t, e.TakeCollected(idle, &wire.Collected{}, 0))
		e.Withhold(1, "late")
		e.expectOver(false)
		e.expectSent()
		if e.Spares(2, e.membership) {
			t.Error("a node is spared when all is over")
		}
	}
}

// TestABreachWhileTheStateIsCollected lists messages that no lane may send.
func TestABreachWhileTheStateIsCollected(t *testing.T) {
	e := newCollecting(t)
	e.sent()
	if e.slab(0, 9) == nil || e.TakeCollected(owner, &wire.Collected{}, 0) == nil {
		t.Error("a breach is taken")
	}
	e.expectSent()
	e = newEnd(t, false)
	if e.slab(0, 1) == nil || e.TakeCollected(owner, &wire.Collected{}, 0) == nil {
		t.Error("a message is taken that was not asked for")
	}
}

// TestOnlyAnOwnerTakesTheState loses each node before the state is collected, and while it is.
func TestOnlyAnOwnerTakesTheState(t *testing.T) {
	for n := bellows.NodeID(1); n <= 3; n++ {
		for _, collecting := range []bool{false, true} {
			e := newEnd(t, true)
			e.begin(&jobend.Outcome{})
			if collecting {
				e.close(all...)
				e.expectOver(false)
				e.sent()
				if e.Spares(n, e.membership) != (n != 1) {
					t.Errorf("node %d is spared", n)
				}
			}
			e.membership.Lose(n, "it died")
			e.Lose(n, "it died")
			if !collecting {
				e.close(slices.DeleteFunc(slices.Clone(all), func(a wire.Address) bool { return a.Node == n })...)
			}
			e.TellOpen(e.membership, &e.out)
			if said := e.sent(); len(said) != 0 && (!collecting || n == 1) || len(said) != 1 && collecting && n != 1 {
				t.Errorf("node %d, collecting %v: sent %q", n, collecting, said)
			}
			e.expectOver(n == 1)
			if n == 1 && e.Outcome().Uncollected.Error() != "collect the model: it died" {
				t.Errorf("uncollected: %v", e.Outcome().Uncollected)
			}
			if n == 1 {
				e.expectSent()
			}
		}
	}
}

// TestTheEndIsGivenUp waits for final counts, and then for the state.
func TestTheEndIsGivenUp(t *testing.T) {
	e := newEnd(t, true)
	e.begin(&jobend.Outcome{})
	e.close(all[:3]...)
	await := func(millis int64, want string) {
		t.Helper()
		if got := e.Await(millis, e.membership, &e.out); got != want {
			t.Errorf("at %d: %q, want %q", millis, got, want)
		}
	}
	await(2000, "")
	await(3000, "the end of the job has waited 3.0 s for the last word of node 2, and goes on without after 20.0 s")
	await(3500, "")
	e.Skip(1000)
	await(21_000, "")
	e.expectOver(false)
	e.Restart(1000)
	await(21_000, "the end of the job has waited 20.0 s for the last word of node 2, and goes on without after 20.0 s")
	await(21_001, "")
	if e.Proceed(e.membership, e.log, 21_001, &e.out) || !e.Collecting() {
		t.Error("the state is not collected")
	}
	await(23_000, "")
	await(24_001, "collecting the model has waited 3.0 s for lane 0 of node 1, and gives up after 30.0 s")
	require.NoError(t, e.TakeSlab(owner, &wire.Slab{Values: make([]float32, 1)}, 25_000, &e.out))
	await(55_000, "collecting the model has waited 30.0 s for lane 0 of node 1, and gives up after 30.0 s")
	e.expectOver(false)
	await(55_001, "")
	e.expectOver(true)
	const want = "collect the model: nothing has come of lane 0 of node 1 for 30.0 s"
	if got := e.Outcome().Uncollected; got == nil || got.Error() != want || e.Outcome().Counts.Sent != 3 {
		t.Errorf("outcome %+v", e.Outcome())
	}
}

// TestFinishedJobHurriesItsLanes waits for two lanes for three quarters of the time: then they are asked, once, to
// close without the End of clients. Lanes of a job that has not finished may still be sent pushes that must be counted.
func TestFinishedJobHurriesItsLanes(t *testing.T) {
	for _, o := range []*jobend.Outcome{{}, {Reason: "interrupted", Interrupted: true}, {Reason: "a task failed"}} {
		e := newEnd(t, true)
		e.begin(o)
		e.close(clients[0])
		parting := func(millis int64) (list []wire.Address) {
			e.Await(millis, e.membership, &e.out)
			for _, one := range e.out.Envelopes {
				if m, ok := one.Message.(*wire.End); ok && m.Parts {
					list = append(list, one.To)
				}
			}
			e.out.Envelopes = nil
			return list
		}
		if got := parting(15_000); got != nil {
			t.Errorf("%q: %v are hurried early", o.Reason, got)
		}
		want := []wire.Address{owner, idle}
		if o.Reason != "" {
			want = nil
		}
		if got := parting(15_001); !slices.Equal(got, want) {
			t.Errorf("%q: %v are hurried, want %v", o.Reason, got, want)
		}
		if got := parting(16_000); got != nil {
			t.Errorf("%q: %v are hurried again", o.Reason, got)
		}
		e.close(owner, idle, clients[1])
		if e.proceed(); o.Counts.Sent != 4 {
			t.Errorf("%q: counts %+v", o.Reason, o.Counts)
		}
	}
}

// TestASlowSenderIsWaitedFor sends the end of the state just before it is given up.
func TestASlowSenderIsWaitedFor(t *testing.T) {
	e := newCollecting(t)
	for p := range 2 {
		require.NoError(t, e.TakeSlab(owner, &wire.Slab{
			Ref: bellows.PartitionRef{Partition: bellows.PartitionID(p)}, Values: make([]float32, 2),
		}, 29_000, &e.out))
	}
	e.Await(58_000, e.membership, &e.out)
	require.NoError(t, e.TakeCollected(owner, &wire.Collected{}, 58_000))
	e.expectOver(true)
	if e.Outcome().Uncollected != nil {
		t.Errorf("uncollected: %v", e.Outcome().Uncollected)
	}
}

// TestWithhold withholds the state: at a node that owes it, and at one that owes nothing.
func TestWithhold(t *testing.T) {
	e := newEnd(t, true)
	e.Withhold(1, "early")
	e.begin(&jobend.Outcome{})
	e.Withhold(1, "early")
	e.close(all...)
	e.expectOver(false)
	e.Withhold(3, "no")
	e.expectOver(false)
	e.Withhold(1, "no")
	e.expectOver(true)
	if got := e.Outcome().Uncollected; got == nil || got.Error() != "collect the model: no" {
		t.Errorf("uncollected: %v", got)
	}
}

// TestSpare stops waiting for an actor after a lane has taken over its counts.
func TestSpare(t *testing.T) {
	e := newEnd(t, false)
	e.begin(&jobend.Outcome{})
	e.close(owner, clients[0], clients[1])
	e.Spare([]bellows.Control{e.membership.Route().RemoveLane(idle, owner)}, e.membership)
	e.expectOver(true)
}

// TestFailure words outcomes as errors.
func TestFailure(t *testing.T) {
	cause := errors.New("disk full")
	for _, c := range []struct {
		o     jobend.Outcome
		want  string
		cause bool
	}{
		{jobend.Outcome{}, "", false},
		{jobend.Outcome{Uncollected: cause}, "disk full", true},
		{jobend.Outcome{Reason: "interrupted", Interrupted: true}, "", false},
		{jobend.Outcome{Reason: "node 2 died", Kind: bellows.Lost}, "train: node 2 died", false},
		{jobend.Outcome{Reason: "node 2 failed: disk full", Err: cause}, "train: node 2 failed: disk full", true},
		{jobend.Outcome{Reason: "node 2 failed", Err: cause}, "train: node 2 failed: disk full", true},
	} {
		err := c.o.Failure("train")
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		if err == nil || err.Error() != c.want || errors.Is(err, cause) != c.cause {
			t.Errorf("%+v: %v", c.o, err)
		}
		if c.o.Kind != 0 && bellows.KindOf(err) != c.o.Kind {
			t.Errorf("kind %v", bellows.KindOf(err))
		}
	}
}

// TestFailureOfAnActor words failures of a task and of a node.
func TestFailureOfAnActor(t *testing.T) {
	cause := &bellows.Error{Kind: bellows.Config, Op: "read"}
	o := jobend.Failure(clients[0], &wire.Failed{Reason: "disk full", Kind: bellows.Lost})
	if o.Reason != "node 1 failed: disk full" || o.Kind != bellows.Lost || o.Err != nil {
		t.Errorf("outcome %+v", o)
	}
	unit := bellows.Unit{Split: 2, Clock: 3, Items: bellows.Range{End: 4}}
	o = jobend.Failure(clients[0], &wire.Failed{Unit: unit, Reason: "disk full", Kind: bellows.Lost, Err: cause})
	const want = "split 2 clock 3 items [0,4) on node 1 failed: disk full"
	if o.Reason != want || o.Kind != bellows.Config || o.Err != cause {
		t.Errorf("outcome %+v", o)
	}
}
