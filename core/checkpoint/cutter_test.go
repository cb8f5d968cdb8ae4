package checkpoint_test

import (
	"fmt"
	"slices"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/checkpoint"
	"bellows/core/journal"
	"bellows/core/liveness"
	"bellows/core/route"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

var cutLanes = []wire.Address{wire.LaneAt(0, 0), wire.LaneAt(1, 0)}

// cutJob returns a job of two splits and two tables. The first table has a barrier. A clock has two items, and the
// clocks of split 1 are divided into two units.
func cutJob() core.Job {
	tables := []table.Schema{{Name: "b", Rows: 2, Width: 1, Partitions: 2, Consistency: table.BSP},
		{Name: "a", Rows: 2, Width: 1, Consistency: table.Async}}
	return core.Job{
		Controller: wire.Address{Role: wire.Controller}, Lanes: cutLanes, Tables: tables,
		Route: route.Spread(tables, 2, cutLanes, []bellows.NodeID{0, 1}),
		Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 2} },
		Units: func(s bellows.SplitID, _ bellows.Clock) int { return 1 + int(s) },
		Times: liveness.Times{Lease: 1000, Collect: 5000},
	}
}

// cutting is a cutter, how far its job is, and the messages that it has sent.
type cutting struct {
	*checkpoint.Cutter
	out wire.Outbox
	now int64
}

func newCutting() *cutting {
	job := cutJob()
	return &cutting{Cutter: checkpoint.NewCutter(job, 3), now: 100}
}

// sent returns the messages since the last call, a line each.
func (c *cutting) sent() (lines []string) {
	for _, e := range c.out.Envelopes {
		m := e.Message.(*wire.Cut)
		lines = append(lines, fmt.Sprintf("%v: attempt %d, record %d, whole %v, term %d", e.To, m.Attempt, m.Commit,
			m.Whole, m.Term))
	}
	c.out = wire.Outbox{}
	return lines
}

func expectLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func (c *cutting) begin(t *testing.T) {
	t.Helper()
	require.NoError(t, c.Begin(cutLanes, c.now, &c.out))
}

func (c *cutting) ready() bool { return c.Ready() }

// armed takes the answers of both lanes that they are armed.
func (c *cutting) armed(attempt uint64) {
	for _, l := range cutLanes {
		c.TakeShard(l, &wire.Shard{Term: 3, Attempt: attempt}, cutJob().Route, c.now)
	}
}

// stored returns a lane's report that a partition is stored.
func (c *cutting) store(ref bellows.PartitionRef, commit bellows.CommitNumber) checkpoint.Advance {
	return c.TakeShard(cutLanes[0], &wire.Shard{Term: 3, Attempt: 1, Ref: ref, Commit: commit}, cutJob().Route, c.now)
}

// TestACutIsStored takes a cut from its beginning to its end.
func TestACutIsStored(t *testing.T) {
	c := newCutting()
	if c.Active() || c.ready() {
		t.Error("a cut is under way")
	}
	c.begin(t)
	if c.Begin(cutLanes, c.now, &c.out) == nil {
		t.Error("two cuts at a time")
	}
	expectLines(t, c.sent(), "lane 0 of node 0: attempt 1, record 0, whole false, term 3",
		"lane 0 of node 1: attempt 1, record 0, whole false, term 3")
	c.Arm(wire.LaneAt(2, 0), &c.out)
	expectLines(t, c.sent(), "lane 0 of node 2: attempt 1, record 0, whole false, term 3")
	c.TakeShard(cutLanes[0], &wire.Shard{Term: 3, Attempt: 1}, cutJob().Route, c.now)
	if c.ready() {
		t.Error("ready, and a lane is not armed")
	}
	c.armed(1)
	if !c.ready() || !c.Active() || c.RecordNumber() != 0 {
		t.Error("not ready")
	}
	c.Store(journal.Saved{Commit: 7}, 3, c.now)
	if c.ready() || c.RecordNumber() != 7 {
		t.Error("the record is made twice")
	}
	c.Arm(wire.LaneAt(2, 0), &c.out)
	expectLines(t, c.sent())
	refs := slices.Collect(cutJob().Route.Each())
	for i, ref := range refs {
		if a := c.store(ref, 6); a.Confirmed != 0 || a.Done != nil {
			t.Error("a partition of another record is stored")
		}
		if c.Stored(7) {
			t.Error("stored, and partitions are missing")
		}
		a := c.store(ref, 7)
		if a.Confirmed != 7 || (a.Done != nil) != (i+1 == len(refs)) {
			t.Errorf("%v: %+v", ref, a)
		}
		if a.Done != nil && (a.Done.Saved.Commit != 7 || len(a.Done.Shards) != 3 || a.Done.Shards[2].Ref != ref) {
			t.Errorf("%+v", a.Done)
		}
	}
	if !c.Stored(7) || c.Stored(6) {
		t.Error("the cut is not stored")
	}
	c.Finish(cutLanes, &c.out)
	expectLines(t, c.sent(), "lane 0 of node 0: attempt 1, record 7, whole true, term 3",
		"lane 0 of node 1: attempt 1, record 7, whole true, term 3")
	if c.Active() || c.RecordNumber() != 0 {
		t.Error("the cut goes on")
	}
	c.begin(t)
	if got := c.sent(); got[0] != "lane 0 of node 0: attempt 2, record 0, whole false, term 3" {
		t.Errorf("%q", got)
	}
}

// TestACutThatStallsIsGivenUp looks at a cut in each of its steps, when too much time has passed.
func TestACutThatStallsIsGivenUp(t *testing.T) {
	c := newCutting()
	overdue := func(at int64, want string) {
		t.Helper()
		if got := c.Overdue(at); got != want {
			t.Errorf("at %d: %q, want %q", at, got, want)
		}
	}
	overdue(99_000, "")
	if _, active := c.GiveUp("x"); active {
		t.Error("gave up what was not under way")
	}
	c.begin(t)
	overdue(5100, "")
	overdue(5101, "lane 0 of node 0 has had a lease from before for 5.0 s")
	c.Skip(100)
	overdue(5200, "")
	c.armed(1)
	overdue(5201, "no task has been out for 5.0 s")
	c.Store(journal.Saved{Commit: 7}, 3, 3000)
	c.now = 4000
	c.store(bellows.PartitionRef{}, 7)
	overdue(9000, "")
	overdue(9001, "nothing has been stored for 5.0 s, and partitions are missing, number 1 the first")
	c.store(bellows.PartitionRef{Partition: 1}, 7)
	c.store(bellows.PartitionRef{Table: 1}, 7)
	overdue(9001, "it has not been written down for 5.0 s")
	done, _ := c.GiveUp("no room")
	const want = "the cut at record 7 was given up, and the next is tried at its time: no room"
	if done.Reason != want || done.Saved.Commit != 7 {
		t.Errorf("%+v", done)
	}
	c.sent()
	c.Cancel(cutLanes[:1], &c.out)
	expectLines(t, c.sent(), "lane 0 of node 0: attempt 0, record 0, whole false, term 3")
}

// TestReportsOfAnotherAttemptAreIgnored gives a cutter reports that are late, or of another controller.
func TestReportsOfAnotherAttemptAreIgnored(t *testing.T) {
	c := newCutting()
	take := func(term bellows.Term, attempt uint64) string {
		m := &wire.Shard{Term: term, Attempt: attempt, Reason: "no room"}
		return c.TakeShard(cutLanes[1], m, cutJob().Route, 0).GiveUp
	}
	if take(3, 0) != "" {
		t.Error("a report counts without a cut")
	}
	c.begin(t)
	if take(2, 1) != "" || take(3, 2) != "" {
		t.Error("a report of another controller or attempt counts")
	}
	if got := take(3, 1); got != "lane 0 of node 1: no room" {
		t.Errorf("give up: %q", got)
	}
}

// TestRemoveDuringCut removes actors in each step of a cut.
func TestRemoveDuringCut(t *testing.T) {
	c := newCutting()
	c.begin(t)
	c.TakeShard(cutLanes[0], &wire.Shard{Term: 3, Attempt: 1}, cutJob().Route, c.now)
	if why := c.Remove(cutLanes[1]); why != "" || !c.ready() {
		t.Errorf("not ready without it: %q", why)
	}
	c.Store(journal.Saved{Commit: 7}, 3, c.now)
	if why := c.Remove(wire.ClientAt(1)); why != "" {
		t.Errorf("a client: %q", why)
	}
	if why := c.Remove(cutLanes[1]); why != "lane 0 of node 1 has left" {
		t.Errorf("a lane: %q", why)
	}
}
