package laneend_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/audit"
	"bellows/core/laneend"
	"bellows/core/route"
	"bellows/core/rowstore"
	"bellows/link/wire"
	"bellows/table"
)

var (
	self       = wire.LaneAt(0, 0)
	other      = wire.LaneAt(3, 0)
	controller = wire.ControllerAt()
	one        = wire.ClientAt(1)
	two        = wire.ClientAt(2)
)

// desk is the end of a lane of a job with two clients, two tables and another lane.
type desk struct {
	*laneend.Ending
	t     *testing.T
	route *route.Route
	out   wire.Outbox
}

func newDesk(t *testing.T, at wire.Address) *desk {
	tables := []table.Schema{{Name: "a", Rows: 4, Width: 1, Partitions: 2},
		{Name: "b", Rows: 4, Width: 1, Partitions: 2}}
	d := &desk{t: t, route: route.Spread(tables, 2, []wire.Address{self, other}, []bellows.NodeID{1, 2})}
	d.Ending = laneend.New(at, controller, len(tables), 0)
	d.AddClient(one)
	d.AddClient(two)
	return d
}

// change follows the route by one change.
func (d *desk) change(c bellows.Control) bellows.Control {
	d.t.Helper()
	next, err := d.route.Next(c)
	if err != nil {
		d.t.Fatal(err)
	}
	d.route = next
	return c
}

// said returns the messages since the last call, in words.
func (d *desk) said() string {
	var list []string
	for _, e := range d.out.Envelopes {
		switch m := e.Message.(type) {
		case *wire.Closed:
			l := audit.Ledger{}
			for i := range m.Counts.Ledgers {
				l.Add(&m.Counts.Ledgers[i])
			}
			list = append(list, fmt.Sprintf("%v: closed, sent %d applied %d dropped %d bits %d", e.To,
				m.Counts.Sent, m.Counts.Applied, m.Counts.Dropped, l.Dropped),
				fmt.Sprintf("by route %d, adopted %v, missed %d", m.Route, versions(m.Adopted), len(m.Missed)))
		case *wire.Adopted:
			list = append(list, fmt.Sprintf("%v: adopted %v", e.To, versions(m.List)))
		default:
			list = append(list, fmt.Sprintf("%v: %T", e.To, m))
		}
	}
	d.out.Envelopes = nil
	return strings.Join(list, "; ")
}

func versions(list []bellows.Control) (v []bellows.RouteVersion) {
	for _, c := range list {
		v = append(v, c.Route)
	}
	return v
}

// expect compares what is said with what is wanted.
func (d *desk) expect(what, want string) {
	d.t.Helper()
	if got := d.said(); got != want {
		d.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// close closes the lane, which has missed one part of a flush.
func (d *desk) close() { d.Close([]wire.Missed{{Rows: 1}}, d.route, &d.out) }

// TestLaneClosesWhenNothingMoreComes ends a job in some orders: the last of the controller and the clients
// that are not gone closes the lane.
func TestLaneClosesWhenNothingMoreComes(t *testing.T) {
	for i, list := range [][]func(d *desk){
		{end(one), end(two), end(controller)},
		{end(controller), end(one), end(two)},
		{end(one), end(one), end(controller, 2)},
		{end(two), func(d *desk) { d.RemoveClient(one) }, end(controller)},
		{end(controller), func(d *desk) { d.EndAllClients() }},
		{end(one, 2), end(controller)},
		{end(one), end(controller), hurry},
		{end(one), hurry},
	} {
		d := newDesk(t, self)
		for k, step := range list {
			if d.Ready(false, false) {
				t.Errorf("case %d is ready before step %d", i, k)
			}
			step(d)
		}
		if !d.Ready(false, true) || d.Ready(true, false) {
			t.Errorf("case %d: ready %v, and %v while state is to come", i, d.Ready(false, true), d.Ready(true, false))
		}
		if d.close(); d.Ready(false, false) || !d.Closed() || !d.Ending.Closing() {
			t.Errorf("case %d: it closes twice", i)
		}
	}
}

// end returns a step that takes the End of an actor, with nodes that are gone.
func end(from wire.Address, gone ...bellows.NodeID) func(*desk) {
	return func(d *desk) { d.TakeEnd(from, &wire.End{Gone: gone, Parts: from != controller && len(gone) == 0}) }
}

// hurry asks a lane to close without the End of clients. It knows from that alone that the job is over.
func hurry(d *desk) {
	if d.TakeEnd(controller, &wire.End{Parts: true}); !d.JobOver() {
		d.t.Error("it does not know that the job is over")
	}
}

// TestClientAddedLate adds a client whose End came before, and one whose End is still to come.
func TestClientAddedLate(t *testing.T) {
	d := newDesk(t, self)
	end(wire.ClientAt(4))(d)
	end(wire.ClientAt(4))(d)
	end(other)(d) // is no client
	d.AddClient(wire.ClientAt(4))
	d.AddClient(wire.ClientAt(5))
	for _, a := range []wire.Address{one, two, controller} {
		end(a)(d)
	}
	if d.Ready(false, false) {
		t.Error("it does not wait for node 5")
	}
	if end(wire.ClientAt(5))(d); !d.Ready(false, false) {
		t.Error("it waits for node 4")
	}
	if d.RemoveClient(wire.ClientAt(9)) || !d.RemoveClient(two) {
		t.Error("the clients that it knows are others")
	}
}

// TestEndIsRemembered asks what the lane knows of the end.
func TestEndIsRemembered(t *testing.T) {
	d := newDesk(t, self)
	if d.JobOver() || d.EndedByController() || d.End() != nil || d.Ending.Closing() {
		t.Error("it ends before anything was sent")
	}
	d.TakeEnd(one, &wire.End{Parts: true})
	if d.JobOver() {
		t.Error("a client that leaves ends the job")
	}
	d.TakeEnd(two, &wire.End{})
	if !d.JobOver() || d.EndedByController() || d.Ending.Closing() {
		t.Error("a client that passes the end on does not end the job, or closes the lane")
	}
	d.TakeEnd(controller, &wire.End{Term: 2, Commit: 7, Reason: "done", Kind: bellows.Lost, Gone: []bellows.NodeID{1}})
	m := d.End()
	if m == nil || m.Commit != 7 || m.Reason != "done" || m.Kind != bellows.Lost || m.Term != 0 || m.Gone != nil {
		t.Errorf("the end is %+v", m)
	}
	if !d.EndedByController() || !d.Ending.Closing() || d.Closed() || d.Removed() {
		t.Error("it is not closing")
	}
}

// TestFinalCountsStay counts, closes, and repeats the last message to a controller that follows.
func TestFinalCountsStay(t *testing.T) {
	d := newDesk(t, self)
	d.Count(1, 5, 2, &audit.Ledger{Dropped: 30})
	d.Drop(&wire.Missed{Ref: bellows.PartitionRef{Table: 1}, Rows: 3, Bits: 4})
	d.Drop(&wire.Missed{Ref: bellows.PartitionRef{Table: 0}, Rows: 1, Bits: 200})
	d.TakeEnd(controller, &wire.End{Term: 1})
	d.close()
	first := d.out.Envelopes[0].Message.(*wire.Closed)
	if l := first.Counts.Ledgers; len(l) != 2 || l[0].Dropped != 200 || l[1].Dropped != 34 {
		t.Errorf("the ledgers are %+v", l)
	}
	const want = "the controller: closed, sent 0 applied 5 dropped 6 bits 234; by route 0, adopted [], missed 0"
	d.expect("the last message", want)
	first.Counts.Ledgers[0].Dropped = 9 // a message is its receiver's
	d.Count(1, 50, 50, &audit.Ledger{Dropped: 1})
	for i, c := range []struct {
		from wire.Address
		term bellows.Term
		want string
	}{{controller, 1, ""}, {one, 2, ""}, {controller, 2, want}, {controller, 2, ""}, {controller, 3, want}} {
		d.TakeAgain(c.from, &wire.End{Term: c.term, Parts: true}, nil, &d.out)
		d.expect(fmt.Sprintf("end %d", i), c.want)
	}
	d = newDesk(t, self)
	d.Leave(bellows.Control{Kind: bellows.RemoveLane, Route: 4, Heir: 3})
	d.close()
	d.said()
	if d.TakeAgain(one, &wire.End{}, nil, &d.out); !d.JobOver() || d.EndedByController() {
		t.Error("a closed lane does not note that the job is over")
	}
	d.TakeAgain(controller, &wire.End{}, []wire.Missed{{}, {}}, &d.out)
	d.expect("the first end",
		"the controller: closed, sent 0 applied 0 dropped 0 bits 0; by route 0, adopted [], missed 2")
}

// TestCountsAreAdoptedOnce gives the lane the counts of a client and of a lane: before the record, after it,
// and again.
func TestCountsAreAdoptedOnce(t *testing.T) {
	d := newDesk(t, self)
	d.change(d.route.AddClient(4))
	removal := d.route.RemoveClient(4, self)
	counts := func(sent int64, by bellows.RouteVersion, adopted ...bellows.Control) *wire.Closed {
		return &wire.Closed{Counts: wire.Counts{Sent: sent}, Route: by, Adopted: adopted,
			Missed: []wire.Missed{{Rows: sent}}}
	}
	ahead := laneend.FinalCounts{From: wire.ClientAt(4), Closed: counts(5, 2)}
	if _, added := d.Adopt(ahead, d.route, &d.out); added {
		t.Error("counts are added before their record")
	}
	d.expect("ahead", "")
	d.change(removal)
	d.Expect(removal, d.route)
	list := d.TakeAhead()
	if len(list) != 1 || list[0] != ahead || len(d.TakeAhead()) != 0 {
		t.Fatalf("%v waited", list)
	}
	missed, added := d.Adopt(ahead, d.route, &d.out)
	if d.expect("after the record", "the controller: adopted [2]"); !added || len(missed) != 1 || missed[0].Rows != 5 {
		t.Errorf("added %v, missed %v", added, missed)
	}
	if _, added := d.Adopt(ahead, d.route, &d.out); added {
		t.Error("counts are added twice")
	}
	d.expect("again", "")
	leaver := d.route.RemoveLane(other, self)
	earlier := bellows.Control{Kind: bellows.RemoveClient, Node: 9, Route: 1}
	_, added = d.Adopt(laneend.FinalCounts{From: other, Closed: counts(2, 1, earlier)}, d.route, &d.out)
	if d.expect("a lane", "the controller: adopted [1 1]"); !added {
		t.Error("its counts are not added")
	}
	leaver.Route = 1
	if got := d.Adopted(); !slices.Equal(got, []bellows.Control{removal, earlier, leaver}) {
		t.Errorf("adopted %v", got)
	}
	d.Adopted()[0].Route = 99
	d.TakeEnd(controller, &wire.End{Gone: []bellows.NodeID{1, 2}})
	if !d.Ready(false, false) {
		t.Error("it waits for counts though the job is over")
	}
	d.close()
	d.expect("the end",
		"the controller: closed, sent 7 applied 0 dropped 0 bits 0; by route 0, adopted [2 1 1], missed 0")
}

// TestReadyWaitsForOwedCounts removes a lane that is the successor of a client, while a partition
// is on its way from it.
func TestReadyWaitsForOwedCounts(t *testing.T) {
	d := newDesk(t, self)
	d.change(d.route.AddClient(4))
	removal := d.change(d.route.RemoveClient(4, self))
	d.Expect(removal, d.route)
	d.Leave(bellows.Control{Kind: bellows.RemoveLane, Route: 7, Heir: bellows.NodeID(3)})
	end(one)(d)
	if !d.Removed() || !d.Ending.Closing() || d.Ready(false, false) {
		t.Error("it does not leave, or waits for nothing")
	}
	end(two)(d)
	if d.Ready(false, false) {
		t.Error("it does not wait for the counts of the client")
	}
	f := laneend.FinalCounts{From: wire.ClientAt(4), Closed: &wire.Closed{Counts: wire.Counts{Sent: 5}, Route: 2}}
	if _, added := d.Adopt(f, d.route, &d.out); !added || !d.Ready(false, false) || d.Ready(false, true) {
		t.Errorf("added %v, ready %v, and %v while handing", added, d.Ready(false, false), d.Ready(false, true))
	}
	d.Expect(removal, d.route)
	if !d.Ready(false, false) {
		t.Error("it waits for counts that it has")
	}
	d.said()
	d.close()
	d.expect("it closes",
		"lane 0 of node 3: closed, sent 5 applied 0 dropped 0 bits 0; by route 7, adopted [2], missed 1")
}

// TestJobEndsWhileALaneLeaves ends the job before the lane has closed: its counts go to the
// controller, and no successor is needed.
func TestJobEndsWhileALaneLeaves(t *testing.T) {
	d := newDesk(t, self)
	d.Leave(bellows.Control{Kind: bellows.RemoveLane, Route: 7, Heir: 3})
	d.TakeEnd(controller, &wire.End{Gone: []bellows.NodeID{1, 2}})
	if !d.Ready(false, true) {
		t.Error("it waits for what it hands over")
	}
	d.close()
	d.expect("it closes",
		"the controller: closed, sent 0 applied 0 dropped 0 bits 0; by route 0, adopted [], missed 1")
}

// TestExpectIsForTheSuccessor looks which removals a lane waits for.
func TestExpectIsForTheSuccessor(t *testing.T) {
	for i, c := range []struct {
		of   func(r *route.Route) bellows.Control
		owed bool
	}{
		{func(r *route.Route) bellows.Control { return r.RemoveClient(4, self) }, true},
		{func(r *route.Route) bellows.Control { return r.RemoveClient(4, other) }, false},
		{func(r *route.Route) bellows.Control { return r.RemoveLane(other, self) }, true},
		{func(r *route.Route) bellows.Control { return r.RemoveLane(self, self) }, false},
		{func(r *route.Route) bellows.Control { return r.LoseClient(4) }, false},
		{func(r *route.Route) bellows.Control { return r.AddClient(4) }, false},
	} {
		d := newDesk(t, self)
		d.Expect(c.of(d.route), d.route)
		d.Leave(bellows.Control{Kind: bellows.RemoveLane, Heir: 3})
		d.EndAllClients()
		if ready := d.Ready(false, false); ready == c.owed {
			t.Errorf("case %d: ready %v", i, ready)
		}
	}
}

// TestLostClientsAreNamed parts from a client that is lost.
func TestLostClientsAreNamed(t *testing.T) {
	d := newDesk(t, self)
	d.Lose(bellows.Control{Kind: bellows.LoseClient, Node: 2, Route: 5})
	if !d.Lost(2) || d.Lost(1) {
		t.Errorf("lost: node 2 %v, node 1 %v", d.Lost(2), d.Lost(1))
	}
	d.change(d.route.AddClient(4))
	removal := d.change(d.route.RemoveClient(4, self))
	d.Adopt(laneend.FinalCounts{From: wire.ClientAt(4), Closed: &wire.Closed{Route: removal.Route}}, d.route, &d.out)
	if d.Lost(4) || len(d.Adopted()) != 2 {
		t.Errorf("node 4 is lost, or the removals are %v", d.Adopted())
	}
}

// state is that of a lane with one partition.
type state struct{}

// Partition returns the state of a partition.
func (state) Partition(bellows.PartitionRef) (rowstore.Image, error) {
	return rowstore.Image{Values: []float32{1, 2}}, nil
}

// Kept returns no image.
func (state) Kept(bellows.PartitionRef) *rowstore.Image { return nil }

// TestStateLeavesAfterTheEnd asks for the state before the lane has closed, and before its tasks have ended.
func TestStateLeavesAfterTheEnd(t *testing.T) {
	d := newDesk(t, self)
	ref := bellows.PartitionRef{Table: 1}
	d.Ask(controller, &wire.Collect{Slabs: 1}, []bellows.PartitionRef{ref})
	d.EndTasks()
	d.Send(state{}, &d.out)
	d.expect("open", "")
	d.TakeEnd(controller, &wire.End{})
	d.close()
	d.said()
	d.Send(state{}, &d.out)
	d.expect("closed", "the controller: *wire.Slab; the controller: *wire.Collected")
	d.Send(state{}, &d.out)
	d.expect("not asked again", "")

	d = newDesk(t, self)
	d.close()
	d.said()
	d.Ask(one, &wire.Collect{Slabs: 1}, []bellows.PartitionRef{ref})
	d.Send(state{}, &d.out)
	d.expect("a task may run", "")
	d.EndTasks()
	d.Send(state{}, &d.out)
	toAsker := func(e wire.Envelope) bool { return e.To == one && e.From == self }
	if list := d.out.Envelopes; !slices.ContainsFunc(list, toAsker) {
		t.Errorf("sends %v", list)
	}
}
