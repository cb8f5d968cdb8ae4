package shell_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/coord"
	"bellows/core/liveness"
	"bellows/core/members"
	"bellows/core/route"
	"bellows/core/server"
	"bellows/core/shell"
	"bellows/link/wire"
	"bellows/table"
	"bellows/train"
)

// job has lanes at nodes 0 and 2, two each, and a client at node 1.
func job() core.Job {
	tables := []table.Schema{{Name: "t", Rows: 4, Width: 1}}
	lanes := route.Lanes([]int{2, 0, 2})
	return core.Job{Controller: wire.ControllerAt(), Nodes: 3, Lanes: lanes, Clients: []wire.Address{wire.ClientAt(1)}, Tables: tables,
		Route: route.Spread(tables, 1, lanes, []bellows.NodeID{1}), Times: liveness.Times{Lease: 10_000}.Or(),
		Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 1} }}
}

// said is a line for each message.
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

// TestAMemberTellsItsLanes the time and the end of tasks, and nobody else's.
func TestAMemberTellsItsLanes(t *testing.T) {
	var fx members.Effects
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

// TestALaneThatBeginsLaterIsToldWhatTheOthersAre hosts one when no task runs any more, at every node.
func TestALaneThatBeginsLaterIsToldWhatTheOthersAre(t *testing.T) {
	var fx members.Effects
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
	if err != nil {
		t.Fatal(err)
	}
	lead.Host(wire.LaneAt(0, 2), &at)
	expect(t, said(&at.Outbox))
	lead.TasksEnded(&at)
	lead.Host(wire.LaneAt(0, 3), &at)
	expect(t, said(&at.Outbox), "lane 0 of node 0 to lane 0 of node 0: *server.TasksEnded", "lane 1 of node 0 to lane 1 of node 0: *server.TasksEnded",
		"lane 2 of node 0 to lane 2 of node 0: *server.TasksEnded", "lane 3 of node 0 to lane 3 of node 0: *server.TasksEnded")
}

// TestTheEndOfNodeZeroIsPeaceForWhoKnowsThatTheJobIsOver, and a loss for others.
func TestTheEndOfNodeZeroIsPeaceForWhoKnowsThatTheJobIsOver(t *testing.T) {
	for _, c := range []struct {
		tick, cut bool // what it knows then
		want      string
	}{{false, false, "node 0 is gone: EOF"}, {false, true, ""}, {true, true, ""}, {true, false, ""}} {
		var fx members.Effects
		m := shell.NewMember(job(), 1)
		m.TasksEnded(&fx)
		m.Tick(250, 7, c.tick, nil, &fx)
		m.Disconnected(0, "EOF", false, c.cut, &fx)
		if fx.Leave == nil || fx.Leave.Reason != c.want {
			t.Errorf("it knows %v, then %v: %+v", c.tick, c.cut, fx.Leave)
		}
	}
}

// TestTasksThatGoOnAreGivenUp when the job is over, at every node, and not those that have ended.
func TestTasksThatGoOnAreGivenUp(t *testing.T) {
	unit := []bellows.Unit{{Split: 3}}
	lead, err := shell.NewLead(job(), coord.Options{Driver: &train.Clocks{Splits: 1, Count: 1}})
	if err != nil {
		t.Fatal(err)
	}
	member := shell.NewMember(job(), 1)
	var at coord.Effects
	var fx members.Effects
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
	if gaveUp != 61_500 || left != 61_500 { // what is told with a tick may have come about since the one before
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

// TestABreachIsALossAtOnce, and the end of a connection only when no better reason comes.
func TestABreachIsALossAtOnce(t *testing.T) {
	for breach, want := range map[bool][2][]string{
		true:  {{"node 2 is not heard any more: EOF"}, {"node 2 is not heard any more: EOF"}},
		false: {nil, {"node 2 is gone: EOF"}},
	} {
		lead, err := shell.NewLead(job(), coord.Options{Driver: &train.Clocks{Splits: 1, Count: 1}})
		if err != nil {
			t.Fatal(err)
		}
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

// idle is a driver that dispatches a task which nobody runs.
type idle struct{ train.Driver }

func (idle) DispatchInitialTasks(to *train.Dispatcher) { to.DispatchTask(0) }
func (idle) Save() []float64                           { return nil }

// leading is a job that has begun, with a guest on its way.
func leading(t *testing.T) (*shell.Lead, *coord.Effects, bellows.NodeID) {
	t.Helper()
	j := job()
	j.NodesMost = 9
	l, err := shell.NewLead(j, coord.Options{Driver: idle{}, Fingerprint: bellows.Fingerprint{Data: 1}})
	if err != nil {
		t.Fatal(err)
	}
	fx := &coord.Effects{}
	l.Start(fx)
	who, err := l.Invite(1, 2)
	if err != nil {
		t.Fatal(err)
	}
	return l, fx, who.Node
}

// begins says for the others that they are ready.
func begins(l *shell.Lead, fx *coord.Effects) {
	for _, n := range []bellows.NodeID{1, 2} {
		l.Step([]wire.Envelope{{From: wire.ClientAt(n), To: wire.ControllerAt(), Message: &wire.Ready{Fingerprint: bellows.Fingerprint{Data: 1}}}}, fx)
	}
}

func from(n bellows.NodeID, m wire.Message) []wire.Envelope {
	return []wire.Envelope{{From: wire.ClientAt(n), To: wire.ControllerAt(), Message: m}}
}

// TestAGuestThatIsLostHarmsNobody loses a guest in each way that there is, before and after it is ready, and lets it say what it
// likes: it is turned away by name, and the job goes on.
func TestAGuestThatIsLostHarmsNobody(t *testing.T) {
	for want, lose := range map[string]func(l *shell.Lead, n bellows.NodeID, fx *coord.Effects){
		"its process died": func(l *shell.Lead, n bellows.NodeID, fx *coord.Effects) { l.Lost(n, "its process died", fx) },
		"EOF":              func(l *shell.Lead, n bellows.NodeID, fx *coord.Effects) { l.Disconnected(n, "EOF", false, fx) },
		"a frame that cannot be": func(l *shell.Lead, n bellows.NodeID, fx *coord.Effects) {
			l.Disconnected(n, "a frame that cannot be", true, fx)
		},
		"node 2 lost it": func(l *shell.Lead, n bellows.NodeID, fx *coord.Effects) {
			l.Step(from(2, &wire.Complaint{Node: n, Reason: "node 2 lost it"}), fx)
		},
		"it lost node 2": func(l *shell.Lead, n bellows.NodeID, fx *coord.Effects) {
			l.Step(from(n, &wire.Complaint{Node: 2, Breach: true, Reason: "it lost node 2"}), fx)
		},
		"what differs is data": func(l *shell.Lead, n bellows.NodeID, fx *coord.Effects) {
			l.Step(from(n, &wire.Ready{}), fx)
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
		l.Step(from(n, &wire.Ready{Fingerprint: bellows.Fingerprint{Data: 1}}), fx)
		l.Step(from(2, &wire.Complaint{Node: n, Reason: "late"}), fx)
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

// TestAGuestTakesPartWhenTheJobHasBegun with all its actors; its loss is the job's from then on.
func TestAGuestTakesPartWhenTheJobHasBegun(t *testing.T) {
	l, fx, n := leading(t)
	l.Step(from(n, &wire.Ready{Fingerprint: bellows.Fingerprint{Data: 1}}), fx)
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
