package membership_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/audit"
	"bellows/core/journal"
	"bellows/core/liveness"
	"bellows/core/membership"
	"bellows/core/route"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

var (
	self    = wire.Address{Role: wire.Controller}
	lanes   = []wire.Address{wire.LaneAt(1, 0), wire.LaneAt(2, 0)}
	clients = []wire.Address{wire.ClientAt(1), wire.ClientAt(2), wire.ClientAt(3)}
	first   = bellows.PartitionRef{}
)

// list is a Group and the messages that it has sent.
type list struct {
	*membership.Group
	out wire.Outbox
}

// jobOf returns a job of six splits and one table on two lanes, of nodes 1 to 3 that run tasks; node 3 has no lane.
func jobOf() core.Job {
	tables := []table.Schema{{Name: "w", Rows: 4, Width: 1, Partitions: 2}}
	return core.Job{Controller: self, Lanes: lanes, Clients: clients, Tables: tables,
		Times: liveness.Times{Lease: 1000},
		Route: route.Spread(tables, 6, lanes, []bellows.NodeID{1, 2, 3})}
}

func newList() *list { return &list{Group: membership.New(jobOf(), membership.Options{Term: 3})} }

// sent returns the messages since the last call, a line each.
func (l *list) sent() (lines []string) {
	for _, e := range l.out.Envelopes {
		line := fmt.Sprintf("%v: %T", e.To, e.Message)
		switch m := e.Message.(type) {
		case *wire.Route:
			line = fmt.Sprintf("%v: route %d by %d changes, term %d", e.To, m.Version, len(m.Changes), m.Term)
		case *wire.Handoff:
			line = order(&membership.Order{To: e.To, Handoff: m})
		}
		if e.From != self {
			line += " from another"
		}
		lines = append(lines, line)
	}
	l.out.Envelopes = nil
	return lines
}

// order words an order.
func order(o *membership.Order) string {
	if o == nil {
		return "none"
	}
	h := o.Handoff
	return fmt.Sprintf("%v: move %d of %v generation %d to lane %d of node %d, urgent %v, cancel %v, term %d", o.To,
		h.Number, h.Pair.Ref, h.Pair.Generation, h.Lane, h.Node, h.Urgent, h.Cancel, h.Term)
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func expectError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// TestChangesAreReturnedInOrder makes two changes and announces them once, in order.
func TestChangesAreReturnedInOrder(t *testing.T) {
	l := newList()
	l.Announce(&l.out)
	expect(t, l.sent())
	require.NoError(t, l.Change(l.Route().AddClient(4)))
	require.NoError(t, l.Change(l.Route().MoveSplit(0, 4)))
	unfit := bellows.Control{Kind: bellows.MoveSplit, Route: 9}
	if l.Change(unfit) == nil || l.Route().Version() != 2 || l.Route().Node(0) != 4 {
		t.Errorf("route %d", l.Route().Version())
	}
	l.Announce(&l.out)
	expect(t, l.sent(), "node 1: route 2 by 2 changes, term 3", "node 2: route 2 by 2 changes, term 3",
		"node 3: route 2 by 2 changes, term 3")
	l.Announce(&l.out)
	expect(t, l.sent())
}

// TestActorsJoinOnce enrols actors that are new and one that is there.
func TestActorsJoinOnce(t *testing.T) {
	l := newList()
	before := l.Lanes()
	for range 2 {
		l.Enrol(wire.LaneAt(4, 0))
		l.Enrol(wire.ClientAt(4))
		l.Enrol(lanes[0])
	}
	if len(l.Lanes()) != 3 || len(l.Clients()) != 4 || len(before) != 2 || !l.Runs(4) || l.Runs(5) {
		t.Errorf("lanes %v, clients %v", l.Lanes(), l.Clients())
	}
	if !l.IsFirst(lanes[1]) || l.IsFirst(wire.LaneAt(4, 0)) {
		t.Error("the lanes of the beginning")
	}
	l.Remove(lanes[0])
	l.Remove(clients[1])
	if !slices.Equal(l.Lanes(), []wire.Address{lanes[1], wire.LaneAt(4, 0)}) ||
		!slices.Equal(l.Clients(), []wire.Address{clients[0], clients[2], wire.ClientAt(4)}) {
		t.Errorf("lanes %v, clients %v", l.Lanes(), l.Clients())
	}
	l.Tick(0, nil)
	l.Ready(4)
	l.Tick(500, nil)
	l.Tick(1000, nil)
	l.Tick(1500, nil)
	if !l.Due(4) {
		t.Error("a node that has joined is not watched")
	}
}

// TestTheRemovedAreNotAdmitted asks for actors that are lost, removed, gone, or new.
func TestTheRemovedAreNotAdmitted(t *testing.T) {
	l := newList()
	require.NoError(t, l.Admit(wire.ClientAt(7)))
	l.Lose(2, "it is dead")
	expectError(t, l.Admit(wire.LaneAt(2, 1)), "lane 1 of node 2 cannot take part: it is dead")
	l.RemoveLost(3)
	expectError(t, l.Admit(wire.ClientAt(3)), "node 3 cannot take part: it was removed; let it join as another")
	l.Leave(3)
	expectError(t, l.Admit(wire.LaneAt(3, 0)), "its node has left; let it join as another")
	if _, err := l.RemoveActor(clients[1]); err == nil {
		t.Error("an actor of a lost node is removed")
	}
}

// giveAway gives what a lane or client has to others, so that it can leave.
func (l *list) giveAway(t *testing.T) {
	t.Helper()
	for ref := range l.Route().Each() {
		require.NoError(t, l.Change(l.Route().MovePartition(ref, lanes[0])))
	}
	for s := range bellows.SplitID(6) {
		if l.Route().Node(s) != 1 {
			require.NoError(t, l.Change(l.Route().MoveSplit(s, 1)))
		}
	}
}

// TestASuccessorIsAnotherLane removes actors: the successor is a lane of another node if possible, at best the
// controller's.
func TestASuccessorIsAnotherLane(t *testing.T) {
	for _, c := range []struct {
		name string
		more []wire.Address
		who  wire.Address
		want wire.Address
	}{
		{"the other lane", nil, lanes[1], lanes[0]},
		{"the first of another node", nil, clients[1], lanes[0]},
		{"not of its own node", []wire.Address{wire.LaneAt(2, 1)}, lanes[1], lanes[0]},
		{"not the first lane, which is at its node", []wire.Address{wire.LaneAt(1, 1)}, wire.LaneAt(1, 1), lanes[1]},
		{"the controller's", []wire.Address{wire.LaneAt(0, 0)}, lanes[1], wire.LaneAt(0, 0)},
		{"a client may have any", []wire.Address{wire.LaneAt(0, 0)}, clients[2], wire.LaneAt(0, 0)},
	} {
		l := newList()
		for _, a := range c.more {
			require.NoError(t, l.Change(l.Route().AddLane(a)))
			l.Enrol(a)
		}
		l.giveAway(t)
		removal, err := l.RemoveActor(c.who)
		require.NoError(t, err)
		if got := l.Route().Heir(removal); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if a, is := l.Route().Removed(removal); !is || a != c.who {
			t.Errorf("%s: %v is removed", c.name, a)
		}
	}
	l := newList()
	l.giveAway(t)
	_, err := l.RemoveActor(lanes[1])
	require.NoError(t, err)
	_, err = l.RemoveActor(lanes[0])
	expectError(t, err, "lane 0 of node 1 is the last lane of the job")
	if _, err = newList().RemoveActor(lanes[0]); err == nil {
		t.Error("a lane that holds a partition is removed")
	}
	l = newList() // with a second lane on the same node
	require.NoError(t, l.Change(l.Route().AddLane(wire.LaneAt(1, 1))))
	l.giveAway(t)
	_, err = l.RemoveActor(lanes[1])
	require.NoError(t, err)
	removal, err := l.RemoveActor(wire.LaneAt(1, 1))
	require.NoError(t, err)
	if l.Route().Heir(removal) != lanes[0] {
		t.Errorf("successor %v", l.Route().Heir(removal))
	}
}

// TestLeaverIsWatchedUntilAdopted removes two actors of a node, one after the other.
func TestLeaverIsWatchedUntilAdopted(t *testing.T) {
	l := newList()
	l.giveAway(t)
	var removals []bellows.Control
	for i, a := range []wire.Address{lanes[1], clients[1]} {
		removal, err := l.RemoveActor(a)
		require.NoError(t, err)
		removals = append(removals, removal)
		l.StartLeaving(removal, int64(1000*i))
		l.Remove(a)
	}
	if got := l.Leavers(); !slices.Equal(got, []wire.Address{lanes[1], clients[1]}) {
		t.Errorf("leaving %v", got)
	}
	if l.NameLeaver(1000, 1000) != "" {
		t.Error("named too soon")
	}
	l.SkipWait(500)
	if l.NameLeaver(1500, 1000) != "" {
		t.Error("named by time in which the caller slept")
	}
	const want = "lane 0 of node 2 has been leaving for 1.0 s: what it has counted is not with lane 0 of node 1 yet"
	if got := l.NameLeaver(1501, 1000); !strings.HasPrefix(got, want) {
		t.Errorf("named %q", got)
	}
	if l.NameLeaver(9000, 1000) != "" {
		t.Error("named twice")
	}
	if l.Vacate(2) || l.Needs(2) != "it was leaving, and what it has counted is with nobody else" {
		t.Errorf("its counts are with nobody: %q", l.Needs(2))
	}
	if !l.Adopt(removals[0], 9000) || l.Adopt(removals[0], 9000) || l.Vacate(2) || l.HasLeft(2) {
		t.Error("its client's counts are with nobody")
	}
	if l.NameLeaver(9900, 1000) != "" || l.NameLeaver(10_001, 1000) == "" {
		t.Error("the wait does not begin anew")
	}
	if !l.Adopt(removals[1], 9000) || !l.Vacate(2) || !l.HasLeft(2) {
		t.Error("all has been adopted, and it may not go")
	}
	if l.Vacate(0) || l.Vacate(1) {
		t.Error("the controller's node, or one that takes part, may go")
	}
	if l.NameLeaver(99_000, 1000) != "" {
		t.Error("nobody is leaving")
	}
	l.Lose(3, "dead")
	l.Remove(clients[2])
	if l.Vacate(3) {
		t.Error("a lost node leaves")
	}
}

// TestALeaverMayBeASuccessor announces a route as a whole in which two are leaving, one the successor of the other:
// both are added before either is removed.
func TestALeaverMayBeASuccessor(t *testing.T) {
	l := newList()
	l.giveAway(t)
	for _, a := range []wire.Address{clients[2], lanes[1]} {
		removal, err := l.RemoveActor(a)
		require.NoError(t, err)
		l.StartLeaving(removal, 0)
	}
	l.NoteLost(bellows.Control{Kind: bellows.LoseClient, Node: 9})
	var kinds []bellows.ControlKind
	for _, c := range l.Whole()[len(l.Route().Whole()):] {
		kinds = append(kinds, c.Kind)
	}
	want := []bellows.ControlKind{bellows.AddClient, bellows.LoseClient, bellows.AddClient, bellows.AddLane,
		bellows.RemoveClient, bellows.RemoveLane}
	if !slices.Equal(kinds, want) {
		t.Errorf("changes %v, want %v", kinds, want)
	}
}

// TestCheckRemoval lists what is on its way to an actor that is to be removed.
func TestCheckRemoval(t *testing.T) {
	l := newList()
	require.NoError(t, l.CheckRemoval([]wire.Address{lanes[0]}))
	require.NoError(t, l.CheckRemoval([]wire.Address{clients[0]}))
	_, err := l.MovePartition(first, lanes[1], false, 0)
	require.NoError(t, err)
	expectError(t, l.CheckRemoval([]wire.Address{lanes[1]}), "a partition is on its way to lane 0 of node 2")
	require.NoError(t, l.CheckRemoval([]wire.Address{lanes[0]}))
	require.NoError(t, l.CheckRemoval([]wire.Address{clients[1]}))
	expectError(t, newList().CheckRemoval(lanes), "lane 0 of node 1 is the last lane of the job")
}

// TestNeeds lists nodes without which the job ends.
func TestNeeds(t *testing.T) {
	l := newList()
	needs := func(n bellows.NodeID, want string) {
		t.Helper()
		if got := l.Needs(n); got != want {
			t.Errorf("node %d: %q, want %q", n, got, want)
		}
	}
	needs(1, "it has a part of the model")
	needs(3, "")
	needs(7, "it has left")
	l.Lose(1, "dead")
	l.Lose(2, "dead")
	needs(3, "nobody else runs tasks")
	l = &list{Group: membership.New(jobOf(), membership.Options{Stays: "they keep files"})}
	needs(3, "its splits cannot go to others: they keep files")
}

// TestALostNodeGivesItsSplitsAway removes a node that runs two splits: each goes to the node with the fewest.
func TestALostNodeGivesItsSplitsAway(t *testing.T) {
	l := newList()
	require.NoError(t, l.Change(l.Route().MoveSplit(0, 2))) // node 1 has one, node 2 three
	l.Accuse(3, 2, "node 3 cannot reach it", 0)
	l.Lose(3, "dead")
	changes := l.RemoveLost(3)
	want := []bellows.Control{
		{Kind: bellows.MoveSplit, Route: 2, Split: 4, Node: 1},
		{Kind: bellows.MoveSplit, Route: 3, Split: 5, Node: 1},
		{Kind: bellows.LoseClient, Route: 4, Node: 3},
	}
	if !slices.Equal(changes, want) || l.Route().Version() != 4 {
		t.Errorf("%+v", changes)
	}
	if l.Runs(3) || !l.IsRemoved(3) || l.IsRemoved(2) || !slices.Equal(l.Removed(), []bellows.NodeID{3}) {
		t.Errorf("removed %v", l.Removed())
	}
	if l.Due(2) {
		t.Error("an accusation of the lost node stands")
	}
	l = newList()
	l.Lose(1, "dead")
	for _, c := range l.RemoveLost(3)[:2] {
		if c.Node != 2 {
			t.Errorf("a split goes to node %d, which is lost", c.Node)
		}
	}
}

// TestLeastLoadedNodeGetsSplits loses a node while another has no split: that gets the first, though nodes with one
// split come after it.
func TestLeastLoadedNodeGetsSplits(t *testing.T) {
	l := newList()
	for s := range bellows.SplitID(3) {
		require.NoError(t, l.Change(l.Route().MoveSplit(s, 3)))
	}
	l.Lose(3, "dead")
	var to []bellows.NodeID
	for _, c := range l.RemoveLost(3)[:5] {
		to = append(to, c.Node)
	}
	if !slices.Equal(to, []bellows.NodeID{1, 1, 2, 1, 2}) {
		t.Errorf("splits are given to nodes %v", to)
	}
}

// TestStale compares the parts of a flush with the current owners: those at earlier generations are stale, and no
// flush can be held by a later owner.
func TestStale(t *testing.T) {
	l := newList()
	require.NoError(t, l.Change(l.Route().MovePartition(first, lanes[1])))
	second := bellows.PartitionRef{Partition: 1}
	old, now, other := wire.Pair{Ref: first, Generation: 1}, wire.Pair{Ref: first, Generation: 2},
		wire.Pair{Ref: second, Generation: 1}
	for _, c := range []struct{ held, stale []wire.Pair }{
		{[]wire.Pair{now, other}, nil}, {[]wire.Pair{old, other}, []wire.Pair{old}}, {nil, nil},
	} {
		if got, err := l.Stale(c.held); err != nil || !slices.Equal(got, c.stale) {
			t.Errorf("of %v stale are %v, %v", c.held, got, err)
		}
	}
	_, err := l.Stale([]wire.Pair{old, {Ref: second, Generation: 2}})
	if err == nil {
		t.Error("a later owner holds a part")
	}
}

// TestAddLostCounts adds up what records have of clients; one is lost.
func TestAddLostCounts(t *testing.T) {
	l := newList()
	l.AddSent(3, []audit.Sent{{Table: 0, Rows: 2, Bits: 5}})
	l.AddSent(3, []audit.Sent{{Table: 0, Rows: 3, Bits: 7}})
	l.AddSent(1, []audit.Sent{{Table: 0, Rows: 100, Bits: 100}})
	var counts wire.Counts
	l.AddLostCounts(&counts)
	if counts.Sent != 0 {
		t.Errorf("nobody is lost: %+v", counts)
	}
	l.RemoveLost(3)
	l.NoteLost(bellows.Control{Kind: bellows.LoseClient, Node: 9}) // no record has anything of it
	l.AddLostCounts(&counts)
	if counts.Sent != 5 || len(counts.Ledgers) != 1 || counts.Ledgers[0].Sent != 12 {
		t.Errorf("%+v", counts)
	}
}

// TestGroupIsRestored saves a Group in which one actor is leaving and one is lost, and restores it.
func TestGroupIsRestored(t *testing.T) {
	l := newList()
	var s journal.Saved
	l.Save(&s)
	if s.Route != 0 || s.Whole != nil {
		t.Errorf("the first route is saved: %+v", s)
	}
	l.giveAway(t)
	l.AddSent(3, []audit.Sent{{Rows: 2, Bits: 5}})
	removal, err := l.RemoveActor(lanes[1])
	require.NoError(t, err)
	l.StartLeaving(removal, 0)
	l.Remove(lanes[1])
	l.Lose(3, "dead")
	l.RemoveLost(3)
	s = journal.Saved{}
	l.Save(&s)
	l.AddSent(3, []audit.Sent{{Rows: 1}})
	after := newList()
	require.NoError(t, after.Restore(&s, 0))
	if after.Route().Version() != l.Route().Version() || !slices.Equal(after.Leavers(), l.Leavers()) ||
		!after.IsRemoved(3) || !after.HasLeft(3) {
		t.Errorf("route %d, leaving %v, removed %v", after.Route().Version(), after.Leavers(), after.Removed())
	}
	if !slices.Contains(after.Lanes(), lanes[1]) {
		t.Error("one that is leaving is not asked")
	}
	var counts wire.Counts
	if after.AddLostCounts(&counts); counts.Sent != 2 {
		t.Errorf("%+v", counts)
	}
	s.Whole = s.Whole[:1]
	if newList().Restore(&s, 0) == nil {
		t.Error("a route with partitions of nobody is restored")
	}
}

// TestAReplayEndsWithThoseWhoStay replays removals of another controller.
func TestAReplayEndsWithThoseWhoStay(t *testing.T) {
	l, after := newList(), newList()
	l.giveAway(t)
	removal, err := l.RemoveActor(lanes[1])
	require.NoError(t, err)
	other, err := l.RemoveActor(clients[1])
	require.NoError(t, err)
	l.Lose(3, "dead")
	lost := l.RemoveLost(3)
	for ref := range after.Route().Each() {
		require.NoError(t, after.Replay(after.Route().MovePartition(ref, lanes[0]), 0))
	}
	for s := range bellows.SplitID(6) {
		if after.Route().Node(s) != 1 {
			require.NoError(t, after.Replay(after.Route().MoveSplit(s, 1), 0))
		}
	}
	for _, c := range append([]bellows.Control{removal, other}, lost...) {
		require.NoError(t, after.Replay(c, 0))
	}
	if after.Replay(bellows.Control{Kind: bellows.MoveSplit}, 0) == nil {
		t.Error("a change that does not fit is replayed")
	}
	if len(after.Leavers()) != 2 || !after.IsRemoved(3) || !after.HasLeft(3) || after.HasLeft(1) {
		t.Errorf("leaving %v, removed %v", after.Leavers(), after.Removed())
	}
	known := []bellows.Control{removal, {Kind: bellows.RemoveClient, Node: 8, Heir: removal.Heir}}
	gone := after.SettleRemoved(known, 5000)
	if !slices.Equal(gone, []wire.Address{lanes[1], clients[1], clients[2]}) || len(after.Lanes()) != 1 ||
		len(after.Clients()) != 1 {
		t.Errorf("gone %v, lanes %v, clients %v", gone, after.Lanes(), after.Clients())
	}
	if !slices.Equal(after.Leavers(), []wire.Address{clients[1]}) {
		t.Errorf("leaving %v", after.Leavers())
	}
	if after.NameLeaver(6000, 1000) != "" || after.NameLeaver(6001, 1000) == "" {
		t.Error("the wait does not begin with the end of the replay")
	}
	expectError(t, after.Admit(wire.ClientAt(8)), "it was removed")
	expectError(t, after.Admit(lanes[1]), "it was removed")
	after.Announce(&after.out)
	expect(t, after.sent())
}
