package shell_test

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"bellows"
	"bellows/core"
	"bellows/core/coord"
	"bellows/core/heartbeat"
	"bellows/core/liveness"
	"bellows/core/route"
	"bellows/core/server"
	"bellows/core/shell"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
	"bellows/train"
)

// job returns a job with lanes at nodes 0 and 2, two each, and a client at node 1.
func job() core.Job {
	tables := []table.Schema{{Name: "t", Rows: 4, Width: 1}}
	lanes := route.Lanes([]int{2, 0, 2})
	return core.Job{Controller: wire.ControllerAt(), Nodes: 3, Lanes: lanes, Clients: []wire.Address{wire.ClientAt(1)}, Tables: tables,
		Route: route.Spread(tables, 1, lanes, []bellows.NodeID{1}), Times: liveness.Times{Lease: 10_000}.Or(),
		Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 1} }}
}

// said returns a line for each message.
func said(out *wire.Outbox) (lines []string) {
	for _, e := range out.Envelopes {
		line := fmt.Sprintf("%T", e.Message)
		switch m := e.Message.(type) {
		case *server.Tick:
			line = fmt.Sprintf("tick %d heard %d", m.NowMillis, m.Heard)
		case *wire.Notice:
			line = m.Sentence
		}
		lines = append(lines, fmt.Sprintf("%v to %v: %s", e.From, e.To, line))
	}
	*out = wire.Outbox{}
	return lines
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nnot\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// TestAMemberTellsItsLanes checks that a member sends its own lanes, and no others, the time and the end of tasks.
func TestAMemberTellsItsLanes(t *testing.T) {
	var fx heartbeat.Effects
	m := shell.NewMember(job(), 2)
	m.Start(bellows.Fingerprint{}, &fx)
	expect(t, said(&fx.Outbox), "node 2 to the controller: *wire.Ready")
	m.Tick(250, 7, false, nil, &fx)
	expect(t, said(&fx.Outbox), "lane 0 of node 2 to lane 0 of node 2: tick 250 heard 7", "lane 1 of node 2 to lane 1 of node 2: tick 250 heard 7",
		"node 2 to the controller: *wire.Beat")
	m.TasksEnded(&fx)
	expect(t, said(&fx.Outbox), "lane 0 of node 2 to lane 0 of node 2: *server.TasksEnded", "lane 1 of node 2 to lane 1 of node 2: *server.TasksEnded")
	m = shell.NewMember(job(), 1)
	m.Tick(250, 7, false, nil, &fx)
	expect(t, said(&fx.Outbox), "node 1 to the controller: *wire.Beat")
}

// TestLateLaneLearnsWhatOthersKnow hosts a lane when no task runs any more, at every node.
func TestLateLaneLearnsWhatOthersKnow(t *testing.T) {
	var fx heartbeat.Effects
	m := shell.NewMember(job(), 1)
	m.TasksEnded(&fx)
	late := wire.LaneAt(1, 0)
	m.Host(late, &fx)
	expect(t, said(&fx.Outbox), "lane 0 of node 1 to lane 0 of node 1: *server.TasksEnded")
	m.Tick(250, 7, false, nil, &fx)
	expect(t, said(&fx.Outbox), "lane 0 of node 1 to lane 0 of node 1: tick 250 heard 7", "node 1 to the controller: *wire.Beat")
	m = shell.NewMember(job(), 1)
	m.Host(late, &fx)
	expect(t, said(&fx.Outbox))

	var at coord.Effects
	lead, err := shell.NewLead(job(), coord.Options{Driver: &train.Clocks{Splits: 1, Count: 1}})
	require.NoError(t, err)
	lead.Host(wire.LaneAt(0, 2), &at)
	expect(t, said(&at.Outbox))
	lead.TasksEnded(&at)
	lead.Host(wire.LaneAt(0, 3), &at)
	expect(t, said(&at.Outbox), "lane 0 of node 0 to lane 0 of node 0: *server.TasksEnded", "lane 1 of node 0 to lane 1 of node 0: *server.TasksEnded",
		"lane 2 of node 0 to lane 2 of node 0: *server.TasksEnded", "lane 3 of node 0 to lane 3 of node 0: *server.TasksEnded")
}

// TestLeaderDisconnectAfterEndIsNoLoss disconnects node 0: before the node knows that the job is over, that is a loss.
func TestLeaderDisconnectAfterEndIsNoLoss(t *testing.T) {
	for _, c := range []struct {
		tick, cut bool // what it knows then
		want      string
	}{{false, false, "node 0 is gone: EOF"}, {false, true, ""}, {true, true, ""}, {true, false, ""}} {
		var fx heartbeat.Effects
		m := shell.NewMember(job(), 1)
		m.TasksEnded(&fx)
		m.Tick(250, 7, c.tick, nil, &fx)
		m.Disconnected(0, "EOF", false, c.cut, &fx)
		if fx.Leave == nil || fx.Leave.Reason != c.want {
			t.Errorf("it knows %v, then %v: %+v", c.tick, c.cut, fx.Leave)
		}
	}
}

// TestTasksThatGoOnAreGivenUp checks at every node that tasks which still run long after the job's end are given up.
func TestTasksThatGoOnAreGivenUp(t *testing.T) {
	unit := []bellows.Unit{{Split: 3}}
	lead, err := shell.NewLead(job(), coord.Options{Driver: &train.Clocks{Splits: 1, Count: 1}})
	require.NoError(t, err)
	member := shell.NewMember(job(), 1)
	var at coord.Effects
	var fx heartbeat.Effects
	var gaveUp, left int64 // when
	for now := int64(250); now < 70_000; now += 250 {
		if why := lead.Tick(now, nil, now > 1000, unit, &at); why != "" && gaveUp == 0 {
			gaveUp = now
			if want := "node 0 waits no longer: its tasks have not returned 60.0 s after the job's end: split 3 clock 0 items [0,0)"; why != want {
				t.Errorf("%q, not %q", why, want)
			}
		}
		if member.Tick(now, uint64(now), now > 1000, unit, &fx); fx.Leave != nil && left == 0 {
			left = now
		}
	}
	if gaveUp != 61_500 || left != 61_500 { // a tick may report what came about since the previous tick
		t.Errorf("node 0 gave its tasks up after %d ms, and node 1 after %d", gaveUp, left)
	}
	const name = "has waited 2.2 s for split 3 clock 0 items [0,0) to return; the job is over, and this is given up after 60.0 s"
	if !slices.Contains(at.Notices, "node 0 "+name) {
		t.Errorf("notices %q", at.Notices)
	}
	if lines := said(&fx.Outbox); !slices.Contains(lines, "node 1 to the controller: node 1 "+name) {
		t.Errorf("node 1 says %q", lines[:12])
	}
	lead, _ = shell.NewLead(job(), coord.Options{Driver: &train.Clocks{Splits: 1, Count: 1}})
	at = coord.Effects{}
	lead.TasksEnded(&at)
	expect(t, said(&at.Outbox), "lane 0 of node 0 to lane 0 of node 0: *server.TasksEnded", "lane 1 of node 0 to lane 1 of node 0: *server.TasksEnded")
	for now := int64(250); now < 70_000; now += 250 {
		if lead.Tick(now, nil, true, unit, &at) != "" {
			t.Fatal("node 0 gives tasks up that have ended")
		}
	}
}

// TestABreachIsALossAtOnce also checks that the end of a connection is a loss only if no better reason comes.
func TestABreachIsALossAtOnce(t *testing.T) {
	for breach, want := range map[bool][2][]string{
		true:  {{"node 2 is not heard any more: EOF"}, {"node 2 is not heard any more: EOF"}},
		false: {nil, {"node 2 is gone: EOF"}},
	} {
		lead, err := shell.NewLead(job(), coord.Options{Driver: &train.Clocks{Splits: 1, Count: 1}})
		require.NoError(t, err)
		var fx coord.Effects
		lead.Start(&fx)
		lead.Disconnected(2, "EOF", breach, &fx)
		expect(t, fx.Losses, want[0]...)
		for now := int64(250); now <= 1500; now += 250 {
			lead.Tick(now, nil, false, nil, &fx)
		}
		expect(t, fx.Losses, want[1]...)
	}
}

// idle is a driver that dispatches a task which no node runs.
type idle struct{ train.Driver }

func (idle) DispatchInitialTasks(to *train.Dispatcher) { to.DispatchTask(0) }
func (idle) Save() []float64                           { return nil }

// leading returns the Lead of a job that has begun, with a joiner on its way.
func leading(t *testing.T) (*shell.Lead, *coord.Effects, bellows.NodeID) {
	t.Helper()
	j := job()
	j.NodesMost = 9
	l, err := shell.NewLead(j, coord.Options{Driver: idle{}, Fingerprint: bellows.Fingerprint{Data: 1}})
	require.NoError(t, err)
	fx := &coord.Effects{}
	l.Start(fx)
	who, err := l.Invite(1, 2)
	if err != nil || len(l.Calls) != 1 || l.Calls[0].Newcomer != who {
		t.Fatalf("%+v is invited, and it is the turn of %+v: %v", who, l.Calls, err)
	}
	l.Calls = nil
	return l, fx, who.Node
}

// calls returns the newcomer that was asked to call since the last call.
func calls(t *testing.T, l *shell.Lead) (c shell.Call) {
	t.Helper()
	if len(l.Calls) == 1 {
		c = l.Calls[0]
	} else {
		t.Errorf("it is the turn of %+v", l.Calls)
	}
	l.Calls = nil
	return c
}

// begins sends the readiness of the other nodes.
func begins(l *shell.Lead, fx *coord.Effects) {
	for _, n := range []bellows.NodeID{1, 2} {
		l.Step([]wire.Envelope{{From: wire.ClientAt(n), To: wire.ControllerAt(), Message: &wire.Ready{Fingerprint: bellows.Fingerprint{Data: 1}}}}, fx)
	}
}

func envelope(n bellows.NodeID, m wire.Message) []wire.Envelope {
	return []wire.Envelope{{From: wire.ClientAt(n), To: wire.ControllerAt(), Message: m}}
}

// TestLostJoinerHarmsNoNode loses a joiner in each possible way, before and after it is ready, and lets it send
// complaints. It is turned away by name, and the job continues.
func TestLostJoinerHarmsNoNode(t *testing.T) {
	for want, lose := range map[string]func(l *shell.Lead, n bellows.NodeID, fx *coord.Effects){
		"its process died": func(l *shell.Lead, n bellows.NodeID, fx *coord.Effects) { l.Lost(n, "its process died", fx) },
		"EOF":              func(l *shell.Lead, n bellows.NodeID, fx *coord.Effects) { l.Disconnected(n, "EOF", false, fx) },
		"a frame that cannot be": func(l *shell.Lead, n bellows.NodeID, fx *coord.Effects) {
			l.Disconnected(n, "a frame that cannot be", true, fx)
		},
		"node 2 lost it": func(l *shell.Lead, n bellows.NodeID, fx *coord.Effects) {
			l.Step(envelope(2, &wire.Complaint{Node: n, Reason: "node 2 lost it"}), fx)
		},
		"it lost node 2": func(l *shell.Lead, n bellows.NodeID, fx *coord.Effects) {
			l.Step(envelope(n, &wire.Complaint{Node: 2, Breach: true, Reason: "it lost node 2"}), fx)
		},
		"what differs is data": func(l *shell.Lead, n bellows.NodeID, fx *coord.Effects) {
			l.Step(envelope(n, &wire.Ready{}), fx)
		},
		"nobody wants it": func(l *shell.Lead, n bellows.NodeID, fx *coord.Effects) { l.Uninvite(n, fmt.Errorf("nobody wants it")) },
		"waited for 600.0 s": func(l *shell.Lead, n bellows.NodeID, fx *coord.Effects) {
			for at := int64(250); at <= 600_250; at += 250 {
				l.Tick(at, []uint64{0, uint64(at), uint64(at)}, false, nil, fx)
			}
		},
	} {
		l, fx, n := leading(t)
		begins(l, fx)
		fx.Reset()
		lose(l, n, fx)
		l.Tick(2000, []uint64{0, 1, 1}, false, nil, fx)
		l.Lost(n, "once more", fx)
		l.Step(envelope(n, &wire.Ready{Fingerprint: bellows.Fingerprint{Data: 1}}), fx)
		l.Step(envelope(2, &wire.Complaint{Node: n, Reason: "late"}), fx)
		if len(l.Joins) != 1 || l.Joins[0].Node != n || l.Joins[0].Err == nil || !strings.Contains(l.Joins[0].Err.Error(), want) {
			t.Errorf("%s: %+v", want, l.Joins)
		}
		for _, e := range fx.Envelopes {
			if _, end := e.Message.(*wire.End); end || e.To.Node == n {
				t.Errorf("%s: %T is said to %v", want, e.Message, e.To)
			}
		}
		if fx.Route != nil || len(fx.Losses) > 0 {
			t.Errorf("%s: the job has lost %v, and has another route: %v", want, fx.Losses, fx.Route != nil)
		}
	}
}

// TestJoinerTakesPartOnceJobHasBegun admits a joiner with all its actors. From then on its loss is the job's loss.
func TestJoinerTakesPartOnceJobHasBegun(t *testing.T) {
	l, fx, n := leading(t)
	l.Step(envelope(n, &wire.Ready{Fingerprint: bellows.Fingerprint{Data: 1}}), fx)
	if len(l.Joins) > 0 || fx.Route != nil {
		t.Errorf("it takes part in a job that has not begun: %+v", l.Joins)
	}
	begins(l, fx)
	if len(l.Joins) != 1 || l.Joins[0].Err != nil || fx.Route == nil ||
		!slices.Contains(fx.Route.Lanes(), wire.LaneAt(n, 0)) || !slices.Contains(fx.Route.Lanes(), wire.LaneAt(n, 1)) || !slices.Contains(fx.Route.Clients(), wire.ClientAt(n)) {
		t.Fatalf("%+v, route %+v", l.Joins, fx.Route)
	}
	l.Lost(n, "its process died", fx)
	if !slices.Contains(fx.Losses, "its process died") {
		t.Errorf("the job has lost %v", fx.Losses)
	}
}

// TestNodeStaysWhileJoinerCallsIt removes nodes while a joiner calls them, and again after it was turned away. A node
// that owns something stays, and node 0 stays.
func TestNodeStaysWhileJoinerCallsIt(t *testing.T) {
	l, fx, n := leading(t)
	begins(l, fx)
	lane := wire.LaneAt(2, 1)
	for _, err := range []error{l.RemoveLane(lane, fx), l.RemoveClient(1, fx)} {
		if bellows.KindOf(err) != bellows.Unavailable || !strings.Contains(err.Error(), "node 3 is about to join") {
			t.Errorf("it leaves while it is called: %v", err)
		}
	}
	l.Uninvite(n, fmt.Errorf("nobody wants it"))
	for who, want := range map[bellows.NodeID]string{0: "it leads the job", 1: "it has splits [0] and partitions []", 7: "it takes no part", n: "it takes no part"} {
		if err := l.Remove(who, fx); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("node %d leaves: %v", who, err)
		}
	}
	if err := l.Remove(2, fx); err != nil {
		t.Errorf("nobody calls it any more, and it does not leave: %v", err)
	}
	moved, fx := job(), &coord.Effects{}
	moved.Tables[0].Partitions = 4
	moved.Route = route.Spread(moved.Tables, 1, moved.Lanes, []bellows.NodeID{1})
	if l, err := shell.NewLead(moved, coord.Options{Driver: idle{}}); err != nil {
		t.Fatal(err)
	} else if err := l.Remove(2, fx); err == nil || !strings.Contains(err.Error(), "it has splits [] and partitions [t0/p") {
		t.Errorf("it leaves with what it owns: %v", err)
	}
}

// TestRemoveTakesAllOrNothing removes a node of two lanes while a partition is on its way to the second. The node
// keeps its client and both lanes, and leaves with all of them when the move is called off.
func TestRemoveTakesAllOrNothing(t *testing.T) {
	l, fx, n := leading(t)
	begins(l, fx)
	l.Step(envelope(n, &wire.Ready{Fingerprint: bellows.Fingerprint{Data: 1}}), fx)
	before := len(actors(l.Route()))
	require.NoError(t, l.MovePartition(bellows.PartitionRef{}, wire.LaneAt(n, 1), false, fx))
	if err := l.Remove(n, fx); err == nil || !strings.Contains(err.Error(), "a partition is on its way") {
		t.Errorf("it leaves: %v", err)
	}
	if after := len(actors(l.Route())); after != before {
		t.Errorf("of %d actors %d are left", before, after)
	}
	l.CancelMove(bellows.PartitionRef{}, fx)
	if err := l.Remove(n, fx); err != nil || len(actors(l.Route())) != before-3 {
		t.Errorf("%v, and of %d actors %d are left", err, before, len(actors(l.Route())))
	}
}

func actors(r *route.Route) []wire.Address { return slices.Concat(r.Lanes(), r.Clients()) }

// TestJoinerIsRefusedWhenCalleeIsLost loses a node that only runs tasks while a joiner calls it. No controller that
// follows admits the lost node again.
func TestJoinerIsRefusedWhenCalleeIsLost(t *testing.T) {
	some := job()
	some.Clients = route.Clients([]bellows.NodeID{1, 2, 3})
	some.Nodes = 4
	some.Route = route.Spread(some.Tables, 2, some.Lanes, []bellows.NodeID{1, 2, 3})
	fx := &coord.Effects{}
	l, err := shell.NewLead(some, coord.Options{Driver: &train.Clocks{Splits: 1, Count: 2}})
	require.NoError(t, err)
	l.Start(fx)
	for n := range bellows.NodeID(3) {
		l.Step(envelope(n+1, &wire.Ready{}), fx)
	}
	who, err := l.Invite(1, 0)
	require.NoError(t, err)
	calls(t, l)
	l.Lost(1, "node 1 died", fx)
	if len(fx.Buried) != 1 || len(l.Joins) != 1 || l.Joins[0].Node != who.Node || l.Joins[0].Err == nil || !strings.Contains(l.Joins[0].Err.Error(), "node 1, which it is to call, is lost") {
		t.Fatalf("lost %+v, and of guests %+v", fx.Buried, l.Joins)
	}
	if next, err := l.Invite(1, 0); err != nil || !slices.Contains(calls(t, l).Gone, 1) {
		t.Errorf("node %d calls the lost: %v", next.Node, err)
	}
}

// TestJoinerLearnsWhichNodesNotToCall lets a node join and leave. The next joiner does not call it, nor a node that has
// nothing in the job. When the job is over no node is invited, and those on their way are turned away.
func TestJoinerLearnsWhichNodesNotToCall(t *testing.T) {
	l, fx, n := leading(t)
	begins(l, fx)
	l.Step(envelope(n, &wire.Ready{Fingerprint: bellows.Fingerprint{Data: 1}}), fx)
	who, err := l.Invite(1, 0)
	if c := calls(t, l); err != nil || who.Node != n+1 || c.Newcomer != who || len(c.Gone) > 0 {
		t.Fatalf("%+v; the turn is %+v: %v", who, c, err)
	}
	l.Uninvite(who.Node, fmt.Errorf("nobody wants it"))
	require.NoError(t, l.Remove(n, fx))
	who, err = l.Invite(1, 0)
	if c := calls(t, l); err != nil || c.Newcomer != who || !slices.Equal(c.Gone, []bellows.NodeID{n, n + 1}) {
		t.Fatalf("%+v; the turn is %+v: %v", who, c, err)
	}
	second, err := l.Invite(1, 0) // it is next in the queue when the job is over
	require.NoError(t, err)
	l.Joins = nil
	fx.Outcome = &coord.Outcome{}
	l.Tick(250, nil, false, nil, fx)
	if len(l.Joins) != 2 || l.Joins[0].Node != who.Node || l.Joins[1].Node != second.Node || bellows.KindOf(l.Joins[0].Err) != bellows.Interrupted || len(l.Calls) > 0 {
		t.Errorf("behind the outcome: %+v; it is the turn of %+v", l.Joins, l.Calls)
	}
	if _, err := l.Invite(1, 0); bellows.KindOf(err) != bellows.Interrupted {
		t.Errorf("a node is invited to a job that is over: %v", err)
	}
}

// TestAdmittedNodeTakesPartAfterFailover loses a controller with all that it sent about an admitted joiner, while
// another joiner is on its way. Under the next controller the first takes part, and the second is awaited as before.
// No node is invited until the next controller knows what was recorded.
func TestAdmittedNodeTakesPartAfterFailover(t *testing.T) {
	before, fx, n := leading(t)
	begins(before, fx)
	ready := &wire.Ready{Fingerprint: bellows.Fingerprint{Data: 1}}
	before.Step(envelope(n, ready), fx)
	second, err := before.Invite(2, 0)
	third, other := before.Invite(1, 0)
	if err := errors.Join(err, other); err != nil || calls(t, before).Newcomer != second {
		t.Fatal(err)
	}
	l, fx := follows(t, before)
	if len(l.Joins) != 1 || l.Joins[0].Node != n {
		t.Errorf("of what has become of guests it tells %+v", l.Joins)
	}
	if r := l.Route(); !l.Begun() || !slices.Contains(r.Lanes(), wire.LaneAt(n, 0)) || !slices.Contains(r.Lanes(), wire.LaneAt(n, 1)) || !slices.Contains(r.Clients(), wire.ClientAt(n)) {
		t.Fatalf("begun: %v; lanes %v, clients %v", l.Begun(), r.Lanes(), r.Clients())
	}
	l.Joins = nil
	l.Step(envelope(second.Node, ready), fx)
	if len(l.Joins) != 1 || l.Joins[0].Newcomer != second || l.Joins[0].Err != nil {
		t.Errorf("of the second it tells %+v", l.Joins)
	}
	if c := calls(t, l); c.Newcomer != third || len(c.Gone) > 0 {
		t.Errorf("then it is the turn of %+v", c)
	}
}

// TestJoinersCallOneAfterTheOther invites three nodes at a time. Each is to call the nodes that take part when the
// previous joiner was admitted or turned away.
func TestJoinersCallOneAfterTheOther(t *testing.T) {
	l, fx, first := leading(t)
	begins(l, fx)
	second, err := l.Invite(1, 1)
	third, other := l.Invite(1, 0)
	if err := errors.Join(err, other); err != nil || len(l.Calls) > 0 {
		t.Fatalf("it is the turn of %+v: %v", l.Calls, err)
	}
	l.Step(envelope(first, &wire.Ready{Fingerprint: bellows.Fingerprint{Data: 1}}), fx)
	if c := calls(t, l); c.Newcomer != second || len(c.Gone) > 0 || len(l.Joins) != 1 {
		t.Errorf("when the first takes part it is the turn of %+v", c)
	}
	if err := l.RemoveLane(wire.LaneAt(2, 1), fx); bellows.KindOf(err) != bellows.Unavailable {
		t.Errorf("it leaves while it is called: %v", err)
	}
	l.Lost(third.Node, "its process died", fx)
	if len(l.Calls) > 0 || len(l.Joins) != 2 || l.Joins[1].Newcomer != third {
		t.Errorf("who waits and dies: %+v, and it is the turn of %+v", l.Joins, l.Calls)
	}
	if third, err = l.Invite(1, 0); err != nil {
		t.Fatal(err)
	}
	l.Lost(second.Node, "its process died", fx)
	if c := calls(t, l); c.Newcomer != third || !slices.Equal(c.Gone, []bellows.NodeID{second.Node, second.Node + 1}) {
		t.Errorf("when those before it were turned away it is the turn of %+v", c)
	}
	l.Step(envelope(third.Node, &wire.Ready{Fingerprint: bellows.Fingerprint{Data: 1}}), fx)
	if len(l.Joins) != 4 || l.Joins[3].Newcomer != third || l.Joins[3].Err != nil || len(l.Calls) > 0 {
		t.Errorf("of the third it tells %+v", l.Joins)
	}
}

// TestJoinerIsRefusedWithUncalledNode invites a node while another leaves, which it is not to call, and loses the
// controller with the record of that. The other node still takes part, so the joiner cannot.
func TestJoinerIsRefusedWithUncalledNode(t *testing.T) {
	before, fx, n := leading(t)
	begins(before, fx)
	before.Uninvite(n, fmt.Errorf("nobody wants it"))
	before.Joins = nil
	require.NoError(t, before.Remove(2, fx))
	who, err := before.Invite(1, 0)
	if c := calls(t, before); err != nil || !slices.Contains(c.Gone, 2) {
		t.Fatalf("%+v; the turn is %+v: %v", who, c, err)
	}
	next, err := before.Invite(1, 0)
	require.NoError(t, err)
	l, fx := follows(t, before)
	if !l.Begun() || len(l.Joins) != 1 || l.Joins[0].Newcomer != who || l.Joins[0].Err == nil || !strings.Contains(l.Joins[0].Err.Error(), "it has not called node 2") {
		t.Errorf("begun: %v; of the guest it tells %+v", l.Begun(), l.Joins)
	}
	if c := calls(t, l); c.Newcomer != next || slices.Contains(c.Gone, 2) || fx.Outcome != nil {
		t.Errorf("then it is the turn of %+v", c)
	}
}

// follows returns a Lead that follows another and finds no record.
func follows(t *testing.T, before *shell.Lead) (*shell.Lead, *coord.Effects) {
	t.Helper()
	j := job()
	j.NodesMost = 9
	l, err := shell.RecoverLead(before, j, coord.Options{Term: 2, Driver: idle{}, Fingerprint: bellows.Fingerprint{Data: 1}}, coord.Saved{})
	require.NoError(t, err)
	fx := &coord.Effects{}
	l.Start(fx)
	begins(l, fx)
	if _, err := l.Invite(1, 0); bellows.KindOf(err) != bellows.Unavailable {
		t.Errorf("a node is invited and it is not known who takes part: %v", err)
	}
	for _, a := range j.Lanes {
		l.Step([]wire.Envelope{{From: a, To: wire.ControllerAt(), Message: &wire.Holding{Term: 2, Tail: 1}}}, fx)
	}
	return l, fx
}

// timesPage has the table of times.
const timesPage = "../../docs/reliability.md"

var timeRow = regexp.MustCompile("(?m)^\\| `([A-Z][a-z]+)` \\| ([^|]+) \\| ")

// TestTimesInDocsMatchCode compares the table of times in the documents with the defaults, in both directions.
func TestTimesInDocsMatchCode(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(timesPage)
	require.NoError(t, err)
	told := map[string]string{}
	for _, row := range timeRow.FindAllStringSubmatch(string(text), -1) {
		told[row[1]] = row[2]
	}
	times := reflect.ValueOf(liveness.Times{}.Or())
	want := map[string]time.Duration{"Tick": shell.TickMillis * time.Millisecond}
	for i := range times.NumField() {
		want[times.Type().Field(i).Name] = time.Duration(times.Field(i).Int()) * time.Millisecond
	}
	for name, d := range want {
		if got, err := time.ParseDuration(told[name]); err != nil || got != d {
			t.Errorf("%s says of %s: %q, and it is %v", timesPage, name, told[name], d)
		}
		delete(told, name)
	}
	for name := range told {
		t.Errorf("%s has a time %s, and the code has none", timesPage, name)
	}
}

// TestDefaultTimesFindSilenceWithinThreeSeconds sends heartbeats from one node and ticks another, at every offset,
// until the first stops at any moment between two heartbeats. It is declared gone within 3 s if it stops for good, and
// never if it stops for 2.5 s and its next heartbeat is 100 ms late.
func TestDefaultTimesFindSilenceWithinThreeSeconds(t *testing.T) {
	nobody := func(bellows.NodeID) bool { return false }
	const tick, begin = shell.TickMillis, 10 * shell.TickMillis
	for phase := int64(0); phase < tick; phase += 3 {
		for stops := int64(begin); stops < begin+tick; stops += 7 {
			for _, sleeps := range []int64{2500, 1 << 20} {
				r := heartbeat.NewMonitor(0, []wire.Address{wire.ClientAt(1)}, liveness.Times{}.Or())
				r.Ready(1)
				wakes, heard, lost := stops+sleeps+100, uint64(0), int64(0)
				for now := int64(0); now <= stops+5000 && lost == 0; now++ {
					if now%tick == 0 && (now < stops || now >= wakes) || now == wakes {
						heard++
					}
					if now%tick == phase {
						r.Tick(now, []uint64{0, heard})
						if _, gone := r.Verdict(nobody, nobody); gone {
							lost = now
						}
					}
				}
				switch {
				case sleeps == 2500 && lost > 0:
					t.Fatalf("a stop of 2.5 s at %d ms: it is given up after %d ms", stops, lost-stops)
				case sleeps > 2500 && (lost == 0 || lost-stops > 3000):
					t.Fatalf("a stop for good at %d ms is noticed after %d ms", stops, lost-stops)
				}
			}
		}
	}
}
