package coord_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/coord"
	"bellows/internal/require"
	"bellows/link/wire"
)

// adopted lets a lane report which actors' counts it has.
func (d *desk) adopted(from wire.Address, list ...bellows.Control) {
	d.deliver(from, &wire.Adopted{List: list})
}

// removals returns those among the changes that leave.
func (d *desk) removals() (list []bellows.Control) {
	for _, e := range d.fx.Envelopes {
		if m, ok := e.Message.(*wire.Records); ok {
			for _, r := range m.List {
				if k := r.Control.Kind; (k == bellows.RemoveLane || k == bellows.RemoveClient) && !slices.Contains(list, r.Control) {
					list = append(list, r.Control)
				}
			}
		}
	}
	d.fx.Reset()
	return list
}

// TestNodeLeavesOnceSuccessorHasItsCounts lets a node with a client and a lane join and leave. It may go when the
// counts of both are with a lane that stays, and is watched until then.
func TestNodeLeavesOnceSuccessorHasItsCounts(t *testing.T) {
	d := newBegun(&rounds{want: 3}, 10_000)
	require.NoError(t, errors.Join(d.AddLane(freshLane, &d.fx), d.AddClient(3, &d.fx)))
	d.fx.Reset()
	expectError(t, d.Remove(lanes[0], &d.fx), "holds a partition")
	expectError(t, d.Remove(wire.ClientAt(2), &d.fx), "runs a split")
	require.NoError(t, d.MoveSplit(1, 3, &d.fx))
	expectError(t, d.Remove(wire.ClientAt(3), &d.fx), "on its way")
	require.NoError(t, d.MoveSplit(1, 2, &d.fx))
	d.fx.Reset()
	require.NoError(t, errors.Join(d.Remove(freshLane, &d.fx), d.Remove(wire.ClientAt(3), &d.fx)))
	gone := d.removals()
	if len(gone) != 2 {
		t.Fatalf("recorded %+v", gone)
	}
	for _, err := range []error{d.Remove(freshLane, &d.fx), d.AddLane(freshLane, &d.fx), d.AddClient(3, &d.fx)} {
		if err == nil {
			t.Error("a removed actor is removed, or takes part, again")
		}
	}
	d.adopted(lanes[0], gone[1])
	if len(d.fx.Left) > 0 {
		t.Error("the node goes before its lane has been heard")
	}
	d.adopted(lanes[0], gone[1], gone[0])
	if !slices.Equal(d.fx.Left, []bellows.NodeID{3}) {
		t.Errorf("%v may go", d.fx.Left)
	}
	d.fx.Reset()
	d.adopted(lanes[0], gone...)
	d.Lost(3, "node 3 died", &d.fx)
	d.Broken(3, "its connection ended")
	d.ticks(500, 30_000, clients...)
	if len(d.fx.Losses) > 0 || len(d.fx.Left) > 0 {
		t.Errorf("lost %q, and %v go once more", d.fx.Losses, d.fx.Left)
	}
	d.fx.Reset()
	expectError(t, d.AddClient(3, &d.fx), "let it join as another")
	if err := d.AddClient(4, &d.fx); err != nil {
		t.Errorf("it does not come as another: %v", err)
	}
}

// TestTheLastDoNotLeave keeps the last lane, because no other lane could take over its counts.
func TestTheLastDoNotLeave(t *testing.T) {
	d := newDesk(&rounds{want: 3}, 0)
	d.Start(&d.fx)
	expectError(t, d.Remove(lanes[0], &d.fx), "last lane")
}

// TestCountsOfWhoLeavesCountOnce ends a job while a node leaves. Its counts, which it and its successor both send,
// count once, and the controller does not wait for nodes that have left.
func TestCountsOfWhoLeavesCountOnce(t *testing.T) {
	for _, inherits := range []bool{false, true} {
		d := newDesk(&rounds{want: 1}, 0)
		d.Start(&d.fx)
		require.NoError(t, d.AddClient(3, &d.fx))
		require.NoError(t, d.Remove(wire.ClientAt(3), &d.fx))
		gone := d.removals()
		d.doneBoth(0)
		said := &wire.Closed{}
		said.Counts.Sent = 5
		if inherits {
			said.Adopted = gone
		}
		d.closed(clients[0], 0, 0)
		d.closed(clients[1], 0, 0)
		d.closed(freshClient, 5, 0)
		d.fx.Outcome = nil
		d.deliver(lanes[0], said)
		want := int64(10)
		if inherits {
			want = 5
		}
		if d.fx.Outcome == nil || d.fx.Outcome.Counts.Sent != want {
			t.Errorf("the outcome is %+v; want %d sent", d.fx.Outcome, want)
		}
	}
}

// TestAnotherControllerKnowsWhoHasLeft lets a controller follow one that let a first node of the job leave, which the
// new one does not know. The node is not ready, silent, and reported dead. No node is judged before the lanes have
// been asked, and the lane that has its counts reports that it left.
func TestAnotherControllerKnowsWhoHasLeft(t *testing.T) {
	f := newFollow(t, &rounds{want: 3})
	f.commit(0)
	require.NoError(t, f.MoveSplit(1, 1, &f.fx))
	f.hear()
	if err := f.Remove(wire.ClientAt(2), &f.fx); err == nil { // a task of its split is out
		t.Fatal("a client whose split has not gone is removed")
	}
	f.commit(1)
	require.NoError(t, f.Remove(wire.ClientAt(2), &f.fx))
	var gone bellows.Control
	for _, e := range f.fx.Envelopes {
		if m, ok := e.Message.(*wire.Records); ok {
			gone = m.List[len(m.List)-1].Control
		}
	}
	f.hear()
	newest := f.tail[len(f.tail)-1].List
	for _, late := range []bool{false, true} { // the successor has its counts when it is asked, or later
		d := recovered(t, f.job, coord.Options{Driver: &rounds{want: 3}, Term: 2}, coord.Saved{})
		d.ready(clients[0])
		expect(t, d.said())
		d.Tick(100, nil, &d.fx)
		d.Tick(200, nil, &d.fx)
		if got := d.said(); !slices.Contains(got, "lane 0 of node 0: *wire.Query") || !slices.Contains(got, "lane 1 of node 0: *wire.Query") {
			t.Errorf("said %q", got)
		}
		d.Lost(2, "node 2 died", &d.fx)
		d.Broken(2, "its connection ended")
		d.ticks(500, 15_000, clients[0])
		if len(d.fx.Losses) > 0 {
			t.Fatalf("lost %q", d.fx.Losses)
		}
		d.fx.Reset()
		holds := func(lane int, adopted ...bellows.Control) {
			d.deliver(twoLanes[lane], &wire.Holding{Term: 2, Last: newest[len(newest)-1].Number, Tail: 1, Adopted: adopted})
		}
		if !late {
			holds(0, gone)
			holds(1)
		} else {
			holds(0)
			d.adopted(twoLanes[0], gone)
			holds(1)
		}
		f.sendTail(d, 0)
		if !slices.Equal(d.fx.Left, []bellows.NodeID{2}) || len(d.fx.Losses) > 0 {
			t.Errorf("%v may go; lost %q", d.fx.Left, d.fx.Losses)
		}
		d.fx.Reset()
		d.ticks(15_500, 40_000, clients[0])
		if len(d.fx.Losses) > 0 {
			t.Errorf("lost %q", d.fx.Losses)
		}
		if err := d.AddClient(2, &d.fx); err == nil {
			t.Error("its address is given again")
		}
	}
}

// followed returns a controller that follows, before any of its lanes has sent its final counts.
func followed(t *testing.T, lanes ...wire.Address) *desk {
	f := newFollow(t, &rounds{want: 3})
	job := f.job
	job.Lanes = lanes
	d := recovered(t, job, coord.Options{Driver: &rounds{want: 3}, Term: 2}, coord.Saved{})
	d.ready(clients...)
	return d
}

// expectLoss tells the time until a node is lost, and wants the reason to contain a text.
func (d *desk) expectLoss(t *testing.T, text string) {
	t.Helper()
	for now := int64(0); now < 20_000 && len(d.fx.Losses) == 0; now += 500 {
		d.Tick(now, nil, &d.fx)
	}
	if len(d.fx.Losses) == 0 || !strings.Contains(d.fx.Losses[0], text) {
		t.Errorf("lost %q, want %q", d.fx.Losses, text)
	}
}

// TestSilentNodesDoNotExcuseEachOther lets a controller follow, and lanes' nodes silent: they are lost, and
// not spared since another might say that they have left.
func TestSilentNodesDoNotExcuseEachOther(t *testing.T) {
	d := followed(t, wire.LaneAt(1, 0), wire.LaneAt(2, 0))
	d.expectLoss(t, "silent")
}

// TestSilentSuccessorIsLostNotTheLeaver lets a controller follow while the lanes' node is silent. That node is lost,
// and not the one with the connection that ended before, which may have left.
func TestSilentSuccessorIsLostNotTheLeaver(t *testing.T) {
	d := followed(t, wire.LaneAt(1, 0))
	d.Broken(2, "its connection ended")
	d.expectLoss(t, "node 1 has been silent")
}

// TestSlowLeaverIsNamed removes a silent client. It is named once, and so is a node that is removed then.
func TestSlowLeaverIsNamed(t *testing.T) {
	d := newBegun(&rounds{want: 3}, 10_000)
	require.NoError(t, errors.Join(d.AddLane(freshLane, &d.fx), d.AddClient(3, &d.fx), d.Remove(wire.ClientAt(3), &d.fx), d.Remove(freshLane, &d.fx)))
	gone := d.removals()
	named := func() (list []string) {
		for _, s := range d.fx.Notices {
			if strings.Contains(s, "has been leaving for") {
				list = append(list, s)
			}
		}
		d.fx.Reset()
		return list
	}
	d.ticks(500, 2000, append(clients, freshClient)...)
	if got := named(); len(got) > 0 {
		t.Errorf("named %q", got)
	}
	d.ticks(2500, 20_000, append(clients, freshClient)...)
	if got := named(); len(got) != 1 || !strings.HasPrefix(got[0], "node 3 has been leaving for 2.5 s: what it has counted is not with lane 0 of node 0 yet") {
		t.Errorf("named %q", got)
	}
	d.adopted(lanes[0], gone[0])
	d.ticks(20_500, 30_000, append(clients, freshClient)...)
	if got := named(); len(got) != 1 || !strings.HasPrefix(got[0], "lane 0 of node 3 has been leaving") {
		t.Errorf("named %q", got)
	}
}

// TestLeavingLaneLearnsWhichNodesHaveLeft ends a job while a lane is leaving, and a node has left behind its removal:
// the lane takes no record of that, and would wait for the node's client to say that nothing more comes.
func TestLeavingLaneLearnsWhichNodesHaveLeft(t *testing.T) {
	d := newBegun(&rounds{want: 3}, 10_000)
	require.NoError(t, errors.Join(d.AddLane(freshLane, &d.fx), d.AddClient(4, &d.fx), d.Remove(freshLane, &d.fx), d.Remove(wire.ClientAt(4), &d.fx)))
	gone := d.removals()
	d.adopted(lanes[0], gone[1])
	if !slices.Equal(d.fx.Left, []bellows.NodeID{4}) {
		t.Fatalf("%v may go", d.fx.Left)
	}
	d.fx.Reset()
	d.deliver(clients[0], &wire.Failed{Reason: "no more"})
	told := map[wire.Address][]bellows.NodeID{}
	for _, e := range d.fx.Envelopes {
		if m, ok := e.Message.(*wire.End); ok {
			told[e.To] = m.Gone
		}
	}
	if got := told[freshLane]; !slices.Equal(got, []bellows.NodeID{4}) {
		t.Errorf("the lane that leaves learns that %v are gone", got)
	}
	if got := told[lanes[0]]; len(got) > 0 {
		t.Errorf("a lane that stays learns that %v are gone", got)
	}
}

// TestEndNamesLanesUnknownToClients lets a job fail just after an added lane was removed, under the first controller.
// The end names that lane to clients, since a client that stops takes no route, and the lane waits for its End.
func TestEndNamesLanesUnknownToClients(t *testing.T) {
	d := newBegun(&rounds{want: 3}, 10_000)
	require.NoError(t, errors.Join(d.AddLane(freshLane, &d.fx), d.Remove(freshLane, &d.fx)))
	d.fx.Reset()
	d.deliver(clients[0], &wire.Failed{Reason: "it cannot go on", Kind: bellows.Lost})
	told := 0
	for _, e := range d.fx.Envelopes {
		m, end := e.Message.(*wire.End)
		if !end || e.To.Role != wire.Client {
			continue
		}
		if told++; !slices.Equal(m.Added(), []wire.Address{freshLane}) {
			t.Errorf("%v is told of %v", e.To, m.Added())
		}
	}
	if told != len(clients) {
		t.Errorf("%d clients are told", told)
	}
}

// TestMissedPartsAreDropped ends a job in which a lane missed parts of two flushes. The one that has no number is
// counted as dropped, in rows and in bits.
func TestMissedPartsAreDropped(t *testing.T) {
	d := newDesk(&rounds{want: 1}, 0)
	d.Start(&d.fx)
	d.doneBoth(0)
	d.closed(clients[0], 0, 0)
	d.closed(clients[1], 0, 0)
	missed := []wire.Missed{{Flush: flushID(1, 1), Rows: 5, Bits: 50}, {Flush: flushID(1, 9), Rows: 3, Bits: 7}}
	d.deliver(lanes[0], &wire.Closed{Missed: missed})
	if o := d.fx.Outcome; o == nil || o.Counts.Dropped != 3 || o.Counts.Ledgers[0].Dropped != 7 {
		t.Errorf("the outcome is %+v; want 3 rows and 7 dropped", o)
	}
}

// TestLeaverMayBeSuccessor lets a lane leave and then its successor, before either's counts are with another lane. A
// node that receives the route from another controller can build it: a successor takes part in it until it has left.
func TestLeaverMayBeSuccessor(t *testing.T) {
	list := []wire.Address{{Node: 1, Role: wire.Lane}, {Node: 2, Role: wire.Lane}, {Role: wire.Lane}}
	job := jobOf(0, list[:1], oneTable)
	job.Lanes = list
	for _, a := range list[1:] {
		next, err := job.Route.Next(job.Route.AddLane(a))
		require.NoError(t, err)
		job.Route = next
	}
	d := newDeskOf(job, coord.Options{Driver: &rounds{want: 3}})
	d.ready(clients...)
	d.ready(list[0], list[1])
	d.Start(&d.fx)
	for _, a := range list[1:] { // the successor of node 2's is at node 0
		require.NoError(t, d.Remove(a, &d.fx))
	}
	if gone := d.removals(); len(gone) != 2 || gone[0].Heir != list[2].Node {
		t.Fatalf("the removals are %+v", gone)
	}
	told, err := job.Route.Rebuilt(9, d.Whole())
	if err != nil || len(told.Lanes()) != 1 || told.Lanes()[0] != list[0] {
		t.Errorf("the lanes are %v: %v", told.Lanes(), err)
	}
}
