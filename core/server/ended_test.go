package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/handoff"
	"bellows/core/server"
	"bellows/internal/require"
	"bellows/link/wire"
)

// halfMoved is two lanes. The newest record moves a partition: it has reached the lane that gets it, and not its
// former owner.
type halfMoved struct {
	t        *testing.T
	lanes    [2]*server.Lane
	said     []wire.Message // to the controller
	ref      bellows.PartitionRef
	record   bellows.Control
	from, to int
}

func newHalfMoved(t *testing.T) *halfMoved {
	job := ferryJob(ferryLanes)
	m := &halfMoved{t: t, ref: bellows.PartitionRef{Table: 1}}
	for i, a := range ferryLanes {
		l, err := server.NewLane(job, a, server.Options{})
		require.NoError(t, err)
		m.lanes[i] = l
	}
	owner := job.Route.Owner(m.ref)
	m.from = slices.Index(ferryLanes, owner.Lane)
	m.to = 1 - m.from
	m.give(m.from, controller, &wire.Handoff{Term: 1, Number: 1, Pair: wire.Pair{Ref: m.ref, Generation: owner.Generation}, Node: ferryLanes[m.to].Node})
	if !slices.ContainsFunc(m.said, func(m wire.Message) bool { p, ok := m.(*wire.Prepared); return ok && p.Whole }) {
		t.Fatalf("the owner says %+v", m.said)
	}
	m.record = job.Route.MovePartition(m.ref, ferryLanes[m.to])
	m.learns(m.to)
	return m
}

// learns lets a lane take the record of the move.
func (m *halfMoved) learns(lane int) {
	records := wire.New[wire.Records]()
	records.Term = 1
	records.AppendControl(1, m.record)
	m.give(lane, controller, records)
}

// give lets a lane take a message, and the other one what it is sent upon that.
func (m *halfMoved) give(lane int, from wire.Address, message wire.Message) {
	m.step(lane, wire.Envelope{From: from, To: ferryLanes[lane], Message: message})
}

// step gives a lane messages in one step, and the other lane what the first one sends it.
func (m *halfMoved) step(lane int, batch ...wire.Envelope) {
	var out wire.Outbox
	m.lanes[lane].Step(batch, &out)
	for _, e := range out.Envelopes {
		if to := slices.Index(ferryLanes, e.To); to >= 0 {
			m.give(to, e.From, e.Message)
		} else {
			m.said = append(m.said, e.Message)
		}
	}
}

// closed returns how many of the lanes have said their last word.
func (m *halfMoved) closed() (n int) {
	for _, said := range m.said {
		if _, ok := said.(*wire.Closed); ok {
			n++
		}
	}
	return n
}

// misses sees that the lane that got the partition says why it does not have it.
func (m *halfMoved) misses(why string) {
	m.t.Helper()
	if _, err := m.lanes[m.to].Partition(m.ref); err == nil || !strings.Contains(err.Error(), why) {
		m.t.Errorf("the partition that has not come: %v; want %q", err, why)
	}
}

// TestACopyEndsWithTheJob ends a job whose newest record, which moves a partition, has reached the lane that gets it
// and never comes to the former owner, as when a controller cannot recover. The lane that waits for the last piece
// learns that none comes, and closes.
func TestACopyEndsWithTheJob(t *testing.T) {
	m := newHalfMoved(t)
	end := &wire.End{Term: 1, Commit: 1, Reason: "the job cannot be recovered", Kind: bellows.Lost, Gone: []bellows.NodeID{3, 4}}
	m.give(m.to, controller, end)
	if m.closed() != 0 {
		t.Fatal("who waits for the last piece has closed")
	}
	m.give(m.from, controller, end)
	if m.closed() != 2 {
		t.Errorf("%d of two lanes have closed", m.closed())
	}
	m.misses(fmt.Sprintf("the job ended at %v before that lane knew", ferryLanes[m.from]))
}

// TestLossOfIncomingPartitionIsNamed loses the former owner of a partition before it has heard of the move: the
// collector of the state learns which loss that was.
func TestLossOfIncomingPartitionIsNamed(t *testing.T) {
	m := newHalfMoved(t)
	lost := ferryLanes[m.from].Node
	m.give(m.to, controller, &wire.End{Term: 1, Commit: 1, Reason: "interrupted", Kind: bellows.Interrupted, Gone: []bellows.NodeID{3, 4, lost}})
	if m.closed() != 1 {
		t.Fatalf("%d lanes have closed", m.closed())
	}
	m.misses(fmt.Sprintf("node %d is gone", lost))
}

// TestStateInTransitIsCollected asks a lane for its state by a controller that no longer waits for the former owner's
// final counts. The former owner hears of the record after all, and the state that it sends is collected.
func TestStateInTransitIsCollected(t *testing.T) {
	m := newHalfMoved(t)
	m.give(m.to, controller, &wire.End{Term: 1, Commit: 1, Reason: "interrupted", Kind: bellows.Interrupted})
	m.give(m.to, ferryLanes[m.to], &server.TasksEnded{})
	m.give(m.to, controller, &wire.Collect{Term: 1, Slabs: 100})
	collected := func(n int) {
		t.Helper()
		if i := slices.IndexFunc(m.said, func(said wire.Message) bool { _, ok := said.(*wire.Collected); return ok }); i < 0 && n > 0 || i >= 0 && (n == 0 || m.said[i].(*wire.Collected).Reason != "") {
			t.Fatalf("the lane that is asked for its state says %+v", m.said)
		}
	}
	collected(0)
	m.learns(m.from)
	collected(1)
	if !slices.ContainsFunc(m.said, func(said wire.Message) bool { s, ok := said.(*wire.Slab); return ok && s.Ref == m.ref }) {
		t.Errorf("nothing has come of %v", m.ref)
	}
}

// TestDueCopyCanBeCanceled asks a lane to copy a partition before the partition's state has arrived there. The copy begins when the
// state arrives, unless its move, or all moves, were given up by then.
func TestDueCopyCanBeCanceled(t *testing.T) {
	for name, c := range map[string]struct {
		then   *wire.Handoff
		copied bool
	}{
		"nothing else":                 {nil, true},
		"its move is given up":         {&wire.Handoff{Term: 1, Number: 2, Cancel: true}, false},
		"an older move is given up":    {&wire.Handoff{Term: 1, Number: 1, Cancel: true}, true},
		"a controller voids all":       {&wire.Handoff{Term: 2}, false},
		"it is asked for once more":    {&wire.Handoff{Term: 1, Number: 2}, true},
		"a newer move takes its place": {&wire.Handoff{Term: 1, Number: 3}, false},
	} {
		m := newHalfMoved(t)
		ask := func(h *wire.Handoff) {
			if h.Number > 0 {
				h.Pair, h.Node = wire.Pair{Ref: m.ref, Generation: 2}, ferryLanes[m.from].Node
			}
			m.give(m.to, controller, h)
		}
		ask(&wire.Handoff{Term: 1, Number: 2})
		if c.then != nil {
			ask(c.then)
		}
		m.said = nil
		m.learns(m.from)
		if copied := slices.ContainsFunc(m.said, func(said wire.Message) bool { p, ok := said.(*wire.Prepared); return ok && p.Number == 2 }); copied != c.copied {
			t.Errorf("%s: the lane copied the partition: %v", name, copied)
		}
	}
}

// TestLaneRejectsStaleOffer offers copies of a partition by a lane that owned it, lost it and owns it again. Only the offer of
// the current generation is taken.
func TestLaneRejectsStaleOffer(t *testing.T) {
	third, of := wire.LaneAt(5, 0), ref(1, 0).Ref
	for generation, refused := range map[bellows.Generation]bool{2: true, 3: true, 4: false} {
		s, r := newScript(t, 0), firstRoads(routeTables)
		s.change(1, r.next(r.AddLane(addedLane)))
		s.change(2, r.next(r.AddLane(third)))
		for i, to := range []wire.Address{addedLane, third, addedLane} {
			s.change(3+i, r.next(r.MovePartition(of, to)))
		}
		offer := wire.New[wire.Piece]()
		offer.Copy, offer.Pair, offer.Kind, offer.Route = 1, wire.Pair{Ref: of, Generation: generation}, handoff.Offer, r.Version()
		s.lane.Step([]wire.Envelope{{From: addedLane, To: laneAt, Message: offer}}, &s.out)
		var taken []bool
		for _, e := range s.out.Envelopes {
			if m, ok := e.Message.(*wire.Taken); ok && e.To == addedLane {
				taken = append(taken, !m.Refused)
			}
		}
		if !slices.Equal(taken, []bool{!refused}) {
			t.Errorf("generation %d: answers %v, want taken %v", generation, taken, !refused)
		}
	}
}

// TestLateEndAfterCollect passes a client's end on after the controller has asked for the state, and before a partition has arrived. The
// lane no longer waits for that client, and closes when the partition arrives.
func TestLateEndAfterCollect(t *testing.T) {
	m := newHalfMoved(t)
	m.give(m.to, controller, &wire.End{Term: 1, Commit: 1, Reason: "interrupted", Kind: bellows.Interrupted})
	m.give(m.to, controller, &wire.Collect{Term: 1, Slabs: 100})
	m.give(m.to, ferryClients[0], &wire.End{})
	m.learns(m.from)
	if m.closed() != 1 {
		t.Errorf("%d lanes have closed, want 1", m.closed())
	}
}

// TestClosedLaneAnswersNoReads parks a read and gives the lane, in one step, the record that admits it and all messages
// that close the lane: the lane closes, and the read has no answer.
func TestClosedLaneAnswersNoReads(t *testing.T) {
	s := newScript(t, 0)
	s.pull(1, wire.Pair{Ref: bellows.PartitionRef{Table: 1}, Generation: 1}, wire.Need{Commit: 1, Clock: bellows.NoClock})
	records := wire.New[wire.Records]()
	records.AppendControl(1, bellows.Control{Kind: bellows.KeepTables})
	batch := []wire.Envelope{{From: controller, To: laneAt, Message: records}}
	for _, from := range append(slices.Clone(clients), controller) {
		batch = append(batch, wire.Envelope{From: from, To: laneAt, Message: &wire.End{}})
	}
	var out wire.Outbox
	s.lane.Step(batch, &out)
	closed := false
	for _, e := range out.Envelopes {
		switch e.Message.(type) {
		case *wire.Rows:
			t.Errorf("the closed lane sends %s to %v", describe(e.Message), e.To)
		case *wire.Closed:
			closed = true
		}
	}
	if !closed {
		t.Error("the lane has not closed")
	}
}
