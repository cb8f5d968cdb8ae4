package validate_test

import (
	"strings"
	"sync"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/route"
	"bellows/core/validate"
	"bellows/link/wire"
)

// newLane is a lane of node 0 that takes part later.
var newLane = wire.Address{Role: wire.Lane, Index: 1}

// first returns the route that newChecker goes by.
func first() *route.Route {
	return route.Spread(tables, 4, []wire.Address{lane0, lane1, lane2}, []bellows.NodeID{1})
}

// after returns a route after some changes, each made by the previous route.
func after(r *route.Route, changes ...func(*route.Route) bellows.Control) (*route.Route, []bellows.Control) {
	var list []bellows.Control
	for _, change := range changes {
		c := change(r)
		next, err := r.Next(c)
		if err != nil {
			panic(err)
		}
		r, list = next, append(list, c)
	}
	return r, list
}

func addLane(r *route.Route) bellows.Control   { return r.AddLane(newLane) }
func addClient(r *route.Route) bellows.Control { return r.AddClient(0) }
func giveSplit(r *route.Route) bellows.Control { return r.MoveSplit(3, 0) }
func givePart(r *route.Route) bellows.Control  { return r.MovePartition(ref(0, 0), lane1) }

// asked gives a checker one message after the other.
func asked(ck *validate.Checker, list ...attempt) (refused string) {
	for _, c := range list {
		if err := ck.Message(wire.Header{From: c.from, To: c.to, Kind: wire.Envelope{Message: c.message}.Kind()}, wire.Envelope{From: c.from, To: c.to, Message: c.message}); err != nil {
			return err.Error()
		}
	}
	return ""
}

func controls(changes []bellows.Control) *wire.Records {
	m := &wire.Records{}
	for i, c := range changes {
		m.AppendControl(bellows.CommitNumber(i+1), c)
	}
	return m
}

// TestCheckerGoesByRouteThatPassedIt lets each message pass that the changed route allows and the first did not, once
// the change has passed in any way. It refuses those that only the first route allowed.
func TestCheckerGoesByRouteThatPassedIt(t *testing.T) {
	t.Parallel()
	next, changes := after(first(), addLane, addClient, giveSplit, givePart)
	begin := &wire.Begin{Complete: make([]bellows.Clock, 4), Staleness: make([]int32, 3)}
	moved := func(p *wire.RowsPart) { p.Generation = 2 }
	for name, tell := range map[string]func(ck *validate.Checker) string{
		"by records": func(ck *validate.Checker) string { return asked(ck, attempt{controller, lane1, controls(changes), ""}) },
		"by changes": func(ck *validate.Checker) string {
			return asked(ck, attempt{controller, worker, &wire.Route{Version: 4, Changes: changes}, ""})
		},
		"as a whole": func(ck *validate.Checker) string {
			return asked(ck, attempt{controller, lane1, &wire.Route{Version: 4, Changes: next.Whole(), Begin: begin}, ""})
		},
		"by all of them": func(ck *validate.Checker) string {
			return asked(ck, attempt{controller, lane1, controls(changes[:2]), ""}, attempt{controller, worker, &wire.Route{Version: 3, Changes: changes[:3]}, ""},
				attempt{controller, lane1, controls(changes[2:]), ""}, attempt{controller, worker, &wire.Route{Version: 4, Changes: changes[3:]}, ""})
		},
		"by its shell": func(ck *validate.Checker) string { ck.Learn(next); return "" },
	} {
		ck := newChecker(1)
		if asked(ck, attempt{wire.Address{}, lane1, &wire.Pull{Incarnation: 1}, ""}) == "" || ck.Header(0, wire.Header{Kind: 2, From: newLane, To: worker}) == nil ||
			asked(ck, attempt{controller, worker, dispatch(unit(3, 7, 5, 15)), ""}) != "" {
			t.Fatal("the first route is not what the test thinks it is")
		}
		if refused := tell(ck); refused != "" {
			t.Errorf("%s: refused: %s", name, refused)
		}
		if err := ck.Header(0, wire.Header{Kind: 2, From: newLane, To: worker}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if refused := asked(ck, attempt{wire.Address{}, lane1, &wire.Pull{Incarnation: 1}, ""}, attempt{lane1, worker, rows(moved), ""}); refused != "" {
			t.Errorf("%s: %s", name, refused)
		}
		for what, a := range map[string]attempt{
			"a dispatch of a split that another runs":          {controller, worker, dispatch(unit(3, 7, 5, 15)), ""},
			"rows of another lane than the generation's owner": {lane0, worker, rows(moved), ""},
		} {
			if asked(ck, a) == "" {
				t.Errorf("%s: %s passes", name, what)
			}
		}
	}
}

// TestNewerRouteIsLeftToTheLane sends from a client that heard of a route first.
func TestNewerRouteIsLeftToTheLane(t *testing.T) {
	t.Parallel()
	done := &wire.Done{Flush: other, Results: []wire.Result{{Unit: unit(3, 0, 5, 15)}}}
	for _, c := range []struct {
		message wire.Message
		want    string
	}{
		{&wire.Pull{Incarnation: 1, Route: 1}, ""},
		{&wire.Pull{Incarnation: 1}, "the sender is node 0, not a node that runs tasks"},
		{&wire.Acquire{Pair: pair(0, 0), Route: 2}, ""},
		{&wire.Acquire{Pair: pair(0, 0)}, "the sender is node 0"},
		{&wire.Push{Flush: other, Route: 1, Done: done}, ""},
		{&wire.Push{Flush: other, Done: done}, "the sender is node 0"},
		{&wire.End{}, ""},
		{&wire.Release{Pair: pair(0, 0)}, "the sender is node 0"},
	} {
		if got := asked(newChecker(1), attempt{wire.Address{}, lane1, c.message, ""}); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%T %+v: %q, want %q", c.message, c.message, got, c.want)
		}
	}
}

// TestHostedActorIsReachedBeforeItsRoute checks that frames reach an actor of this node before the route has it, if
// the shell hosts it.
func TestHostedActorIsReachedBeforeItsRoute(t *testing.T) {
	t.Parallel()
	ck := newChecker(0)
	for _, a := range []wire.Address{newLane, {}} {
		h := wire.Header{Kind: 87, From: controller, To: a}
		h.From.Node = 0
		if ck.Header(0, h) == nil {
			t.Errorf("%v is reached, and is not there", a)
		}
		ck.Host(a)
		if err := ck.Header(0, h); err != nil {
			t.Error(err)
		}
	}
	next, _ := after(first(), addLane)
	ck.Learn(next)
	if err := ck.Header(0, wire.Header{Kind: 87, From: controller, To: wire.Address{}}); err != nil {
		t.Errorf("with another route: %v", err)
	}
}

// openUnits returns a whole route with units of clocks that are not complete.
func openUnits(r *route.Route, open ...bellows.Unit) *wire.Route {
	return &wire.Route{Version: 2, Changes: r.Whole(), Begin: &wire.Begin{Complete: make([]bellows.Clock, 4), Staleness: make([]int32, 3), Open: open}}
}

func TestARouteThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	next, changes := after(first(), addLane, addClient)
	begin := wire.Begin{Complete: make([]bellows.Clock, 4), Staleness: make([]int32, 3)}
	for want, m := range map[string]wire.Message{
		"the change of the route is route 2 does not follow": &wire.Route{Version: 2, Changes: changes[1:]},
		"the change of the route of part 0 is route 2":       controls(changes[1:]),
		"the node of the route of part 0 is 5":               controls([]bellows.Control{{Kind: bellows.AddClient, Route: 1, Node: 5}}),
		"the table of part 0 is 9":                           controls([]bellows.Control{{Kind: bellows.MovePartition, Route: 1, Table: 9, Generation: 2}}),
		"there is no partition t0/p9":                        controls([]bellows.Control{{Kind: bellows.MovePartition, Route: 1, Partition: 9, Generation: 2}}),
		"does not say of all partitions":                     &wire.Route{Version: 2, Changes: next.Whole()[:6], Begin: &begin},
		"the number of splits is 3, not 4":                   &wire.Route{Version: 2, Changes: next.Whole(), Begin: &wire.Begin{Complete: make([]bellows.Clock, 3), Staleness: make([]int32, 3)}},
		"the number of tables is 2, not 3":                   &wire.Route{Version: 2, Changes: next.Whole(), Begin: &wire.Begin{Complete: make([]bellows.Clock, 4), Staleness: make([]int32, 2)}},
		"the staleness of part 1 is -1":                      &wire.Route{Version: 2, Changes: next.Whole(), Begin: &wire.Begin{Complete: make([]bellows.Clock, 4), Staleness: []int32{0, -1, 0}}},
		"the client of part 0 is 7":                          &wire.Route{Version: 2, Changes: next.Whole(), Begin: &wire.Begin{Complete: make([]bellows.Clock, 4), Staleness: make([]int32, 3), Recorded: []wire.Recorded{{Client: 7}}}},
		"the split of part 0 is 4":                           openUnits(next, bellows.Unit{Split: 4}),
		"the end of the items of part 1 is 500":              openUnits(next, unit(1, 0, 5, 7), unit(0, 0, 5, 500)),
	} {
		if got := asked(newChecker(1), attempt{controller, lane1, m, ""}); !strings.Contains(got, strings.Replace(want, "route is route", "route of part 0 is route", 1)) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestReadersAskWhileTheRouteChanges gives the race detector readers and a writer.
func TestReadersAskWhileTheRouteChanges(t *testing.T) {
	t.Parallel()
	ck := validate.New(core.Job{Nodes: 2, Tables: tables, Route: first(), Clients: []wire.Address{worker}}, 1)
	_, changes := after(first(), addLane, addClient, giveSplit, givePart)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for i := range changes {
				if refused := asked(ck, attempt{controller, lane1, controls(changes[i : i+1]), ""}, attempt{worker, lane1, &wire.Pull{Incarnation: 1, Route: 9}, ""}); refused != "" {
					t.Error(refused)
				}
			}
		})
	}
	readers.Wait()
}

// TestFormerOwnerMayReportItsSplit lets a client report a flush that counts already by another way after its split
// has moved, and refuses the same report from any other client.
func TestFormerOwnerMayReportItsSplit(t *testing.T) {
	t.Parallel()
	ck := newChecker(0)
	of := func(n bellows.NodeID) attempt {
		m := &wire.Done{Flush: bellows.FlushID{Client: n, Incarnation: 1, Seq: 1}, Clock: 7, Results: []wire.Result{{Unit: unit(3, 7, 5, 15)}}}
		return attempt{wire.ClientAt(n), controller, m, ""}
	}
	const another = "the split's node of part 0 is"
	if refused := asked(ck, of(1)); refused != "" {
		t.Errorf("before the split moves, of its node: %s", refused)
	}
	next, _ := after(first(), addClient, giveSplit)
	if ck.Learn(next); asked(ck, of(1), of(0)) != "" {
		t.Errorf("when it has moved: %s", asked(ck, of(1), of(0)))
	}
	ck = newChecker(0)
	next, _ = after(first(), addClient)
	if ck.Learn(next); !strings.Contains(asked(ck, of(0)), another) {
		t.Error("a node that never ran it sends about it")
	}
}

// TestAFlushOfNothingNamesNoRoute lets a client that runs a split by a route unknown to this node finish a unit that
// changes nothing. A unit that changes something names the route.
func TestAFlushOfNothingNamesNoRoute(t *testing.T) {
	t.Parallel()
	ck := newChecker(0)
	next, _ := after(first(), addClient)
	ck.Learn(next)
	of := func(pairs []wire.Pair, at bellows.RouteVersion) attempt {
		flush := bellows.FlushID{Client: 0, Incarnation: 1, Seq: 1}
		return attempt{wire.ClientAt(0), lane1, &wire.Push{Flush: flush, Clock: 7, Pairs: pairs, Route: at,
			Done: &wire.Done{Flush: flush, Clock: 7, Pairs: pairs, Results: []wire.Result{{Unit: unit(3, 7, 5, 15)}}}}, ""}
	}
	pairs := []wire.Pair{{Ref: bellows.PartitionRef{}}}
	for name, c := range map[string]struct {
		of      attempt
		refused bool
	}{"of nothing": {of(nil, 0), false}, "of something, by a route that is to come": {of(pairs, 9), false}, "of something, by the one of now": {of(pairs, 1), true}} {
		if refused := asked(ck, c.of); strings.Contains(refused, "the split's node") != c.refused {
			t.Errorf("%s: %q", name, refused)
		}
	}
}

// TestFollowerDoesNotKnowFormerOwners makes a process lead a job that ran without it. A split may have moved twice
// since the route that it knows, so the controller judges what clients report of it. Senders are still checked, and so
// is what controllers send about splits.
func TestFollowerDoesNotKnowFormerOwners(t *testing.T) {
	t.Parallel()
	ck := newChecker(0)
	next, _ := after(first(), addClient)
	ck.Learn(next)
	ck.Follow()
	of := func(client, said bellows.NodeID) attempt {
		m := &wire.Done{Flush: bellows.FlushID{Client: said, Incarnation: 1, Seq: 1}, Clock: 7, Results: []wire.Result{{Unit: unit(3, 7, 5, 15)}}}
		return attempt{wire.ClientAt(client), controller, m, ""}
	}
	if refused := asked(ck, of(0, 0), of(1, 1)); refused != "" {
		t.Errorf("before the controller knows the route: %s", refused)
	}
	ck.Learn(must(after(next, giveSplit)))
	if refused := asked(ck, of(0, 0), of(1, 1)); refused != "" {
		t.Errorf("when it does: %s", refused)
	}
	if asked(ck, of(0, 1)) == "" {
		t.Error("one speaks for another")
	}
}

// TestPartedNodeIsKnown loses a client while the job continues. It is parted, and no node is that takes part, never
// came, or still has a lane.
func TestPartedNodeIsKnown(t *testing.T) {
	t.Parallel()
	ck := newChecker(0)
	ck.Learn(must(after(first(), func(r *route.Route) bellows.Control { return r.AddClient(7) })))
	if ck.Parted(7) || ck.Parted(1) || ck.Parted(9) {
		t.Error("nodes that take part, or never came, are parted from")
	}
	ck.Learn(must(after(first(), func(r *route.Route) bellows.Control { return r.AddClient(7) }, func(r *route.Route) bellows.Control { return r.LoseClient(7) })))
	if !ck.Parted(7) {
		t.Error("who is lost is not")
	}
	ck.Learn(must(after(first(), addClient, func(r *route.Route) bellows.Control { return r.LoseClient(0) })))
	if ck.Parted(0) {
		t.Error("a node with lanes is parted from")
	}
}

// must returns a route without the changes that made it.
func must(r *route.Route, _ []bellows.Control) *route.Route { return r }

// TestCheckerReturnsToRecordedRoute follows a controller that made a route and sent it to no node.
func TestCheckerReturnsToRecordedRoute(t *testing.T) {
	t.Parallel()
	ck := newChecker(0)
	never, _ := after(first(), addLane)
	ck.Learn(never)
	ck.Learn(first())
	if ck.Header(0, wire.Header{Kind: 87, From: controller, To: newLane}) == nil {
		t.Error("it goes by a route that there is not")
	}
}

// TestRemovedLaneIsHeardAfterReturn removes a lane. A controller then adds another one, and is followed before any node
// has that route. The removed lane may still send, and the other one never took part.
func TestRemovedLaneIsHeardAfterReturn(t *testing.T) {
	t.Parallel()
	ck := newChecker(0)
	owns := bellows.PartitionRef{}
	removed := wire.LaneAt(1, 5)
	recorded, _ := after(first(), func(r *route.Route) bellows.Control { return r.AddLane(removed) },
		func(r *route.Route) bellows.Control { return r.RemoveLane(removed, r.Owner(owns).Lane) })
	with, _ := after(first(), func(r *route.Route) bellows.Control { return r.AddLane(removed) })
	never, _ := after(recorded, func(r *route.Route) bellows.Control { return r.AddLane(wire.LaneAt(1, 6)) })
	for _, r := range []*route.Route{with, recorded, never, recorded} {
		ck.Learn(r)
	}
	for index, want := range map[int]bool{5: true, 6: false} {
		last := wire.Envelope{Message: &wire.Closed{}}
		if err := ck.Header(1, wire.Header{Kind: last.Kind(), From: wire.LaneAt(1, index), To: controller}); (err == nil) != want {
			t.Errorf("lane %d of node 1: %v", index, err)
		}
	}
}

// TestNewProcessHearsActorsItAsked uses a checker of node 0 that knows the first route alone, as in a process that
// takes over another's job. Actors that the controller asks may answer, and no others. A lane may hold what a client
// has sent of a split that has moved.
func TestNewProcessHearsActorsItAsked(t *testing.T) {
	t.Parallel()
	ck := newChecker(0)
	hears := func(index int) bool {
		answer := wire.Envelope{Message: &wire.Holding{}}
		return ck.Header(1, wire.Header{Kind: answer.Kind(), From: wire.LaneAt(1, index), To: controller}) == nil
	}
	mine := attempt{wire.ClientAt(0), controller, &wire.Done{Flush: bellows.FlushID{Incarnation: 1, Seq: 1}}, ""}
	if hears(5) || asked(ck, mine) == "" {
		t.Fatal("the first route is not what the test thinks it is")
	}
	ck.Meet([]wire.Address{wire.LaneAt(1, 5), wire.ClientAt(0)})
	if !hears(5) || hears(4) || hears(6) {
		t.Errorf("of lanes 4 to 6 of node 1, %v, %v and %v are heard", hears(4), hears(5), hears(6))
	}
	moved := holding(bellows.FlushID{Client: 0, Incarnation: 1, Seq: 1}, unit(3, 0, 5, 15))
	if refused := asked(ck, mine, attempt{lane1, controller, moved, ""}); refused != "" {
		t.Errorf("the client that was added is not heard: %s", refused)
	}
	next, _ := after(first(), addClient)
	if ck.Learn(next); !hears(5) {
		t.Error("an actor that was asked is forgotten when the route is known, and may have been removed since")
	}
	if ck.Learn(first()); !hears(5) || hears(4) {
		t.Error("an actor that was asked is forgotten with a route that no lane has recorded, and may answer still")
	}
}

// TestLostNodeIsParted checks that nothing is left to send to a node that a job's end names as lost, and to one that
// node 0 knows to be lost.
func TestLostNodeIsParted(t *testing.T) {
	t.Parallel()
	ck := newChecker(0)
	if refused := asked(ck, attempt{controller, worker, &wire.End{Gone: []bellows.NodeID{1}}, ""}); refused != "" {
		t.Fatal(refused)
	}
	if !ck.Parted(1) || ck.Parted(0) {
		t.Errorf("of nodes 0 and 1 those are parted from: %v, %v", ck.Parted(0), ck.Parted(1))
	}
	ck.Learn(first())
	if !ck.Parted(1) {
		t.Error("with another route it is back")
	}
	ck = newChecker(0)
	if ck.Lose([]bellows.NodeID{1}); !ck.Parted(1) {
		t.Error("it is not parted from")
	}
	if ck.Lose(nil); !ck.Parted(1) {
		t.Error("it is back")
	}
}

// TestRouteAloneMakesNoActor makes checkers learn a route by which their node has another lane and, if it had none, a
// client. Nothing is delivered to these actors until the node hosts them.
func TestRouteAloneMakesNoActor(t *testing.T) {
	t.Parallel()
	for _, self := range []bellows.NodeID{0, 1} {
		ck := newChecker(self)
		more := wire.LaneAt(self, 7)
		changes := []func(r *route.Route) bellows.Control{func(r *route.Route) bellows.Control { return r.AddLane(more) }}
		made := []wire.Address{more}
		if self == 0 {
			changes = append(changes, func(r *route.Route) bellows.Control { return r.AddClient(0) })
			made = append(made, wire.ClientAt(0))
		}
		_, list := after(first(), changes...)
		if refused := asked(ck, attempt{controller, wire.LaneAt(self, 0), controls(list), ""}); refused != "" {
			t.Fatal(refused)
		}
		for _, a := range made {
			h := wire.Header{Kind: wire.Envelope{Message: &wire.Beat{}}.Kind(), From: controller, To: a}
			if ck.Header(0, h) == nil {
				t.Errorf("node %d takes what is for %v, which it does not have", self, a)
			}
			ck.Host(a)
			if err := ck.Header(0, h); err != nil {
				t.Errorf("node %d has %v: %v", self, a, err)
			}
		}
	}
}
