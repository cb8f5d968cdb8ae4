package server_test

import (
	"fmt"
	"strings"
	"testing"

	"bellows"
	"bellows/core/rowstore"
	"bellows/core/server"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// TestMessagesAheadOfRouteWait lets a client that was added, and to which a split was given, be heard before the records that say so: what it says waits, in its
// order, what others say does not; then its push is held, its subscription is one, and its word at the end is waited for.
func TestMessagesAheadOfRouteWait(t *testing.T) {
	s, r := newScript(t, 0), firstRoads(routeTables)
	s.note("the pull and the push of node 4 wait, and so does what needs no route")
	s.send(addedClient, "pull t1/p0 by route 1", pullBy(1, 1, ref(1, 0)))
	s.send(addedClient, "push t0/p0 for split 1 by route 2", pushBy(2, addedClient, 1, ref(0, 0), wire.Subtree{Index: 1}, 10))
	s.send(addedClient, "pull t1/p1 by route 0", pullBy(0, 2, ref(1, 1)))
	s.pull(1, ref(1, 0), wire.Need{Clock: bellows.NoClock})
	s.change(1, r.next(r.AddClient(4)))
	s.change(2, r.next(r.MoveSplit(1, 4)))
	s.note("split 1 is not node 2's any more")
	s.send(clients[1], "push t0/p0 for split 1", pushBy(2, clients[1], 1, ref(0, 0), wire.Subtree{Index: 1}, 10))
	s.check()
}

// TestAnAddedClientIsSubscribed sends it rows unasked, and waits for its word at the end.
func TestAnAddedClientIsSubscribed(t *testing.T) {
	s, r := newScript(t, 0), firstRoads(routeTables)
	s.send(addedClient, "passes on the end, early", &wire.End{})
	s.change(1, r.next(r.AddClient(4)))
	s.change(2, r.next(r.AddClient(5)))
	s.send(addedClient, "pull t1/p0", pullBy(2, 1, ref(1, 0)))
	s.note("an update of its own comes back")
	s.send(addedClient, "push t1/p0", pushBy(2, addedClient, 1, ref(1, 0), wire.Subtree{}, 7))
	records := wire.New[wire.Records]()
	records.Append(3, &wire.Done{Flush: bellows.FlushID{Client: 4, Incarnation: 1, Seq: 1}, Results: []wire.Result{{Unit: bellows.Unit{Items: bellows.Range{End: 1}}}}})
	s.send(controller, "commit 3 is flush 1 of node 4", records)
	s.end(controller)
	s.endClients()
	s.note("node 4 has passed it on before it was known; node 5 has not")
	s.end(wire.ClientAt(5))
	s.check()
}

// beginner returns a lane that its job's first route does not have.
func beginner(t *testing.T) (*script, *roads) {
	return newScriptOf(t, jobOf(routeTables...), addedLane, server.Options{}), firstRoads(routeTables)
}

func (r *roads) begin(commit bellows.CommitNumber, complete ...bellows.Clock) *wire.Route {
	return &wire.Route{Version: r.Version(), Changes: r.Whole(), Begin: &wire.Begin{Commit: commit, Complete: complete, Staleness: []int32{0, int32(table.Async)},
		Recorded: []wire.Recorded{{Client: 1, Incarnation: 1, UpTo: 3}, {Client: 2, Incarnation: 1, UpTo: 2, Above: []uint64{4}}}}}
}

// TestALaneBeginsAtARecord takes the record after the one that added it, and no other. It knows the earlier clocks
// and flushes, and serves clients that wrote to it too early.
func TestALaneBeginsAtARecord(t *testing.T) {
	s, r := beginner(t)
	r.next(r.AddLane(addedLane))
	s.send(clients[0], "pull t1/p0 by route 2, of who is ahead", pullBy(2, 9, wire.Pair{Ref: ref(1, 0).Ref, Generation: 2}))
	s.send(controller, "begin behind record 17", r.begin(17, 2, 1))
	if s.lane.Applied() != 17 || s.lane.Progress().Complete() != 1 || s.lane.Progress().Split(0) != 2 {
		t.Errorf("it begins at record %d and clock %d", s.lane.Applied(), s.lane.Progress().Complete())
	}
	s.note("node 1 gives it a partition, which waits for its state")
	s.change(18, r.next(r.MovePartition(ref(1, 0).Ref, addedLane)))
	require.NoError(t, s.lane.Load(ref(1, 0).Ref, &rowstore.Image{Values: []float32{5, 6}}))
	s.send(clients[1], "nothing in particular", &wire.Release{Pair: ref(1, 1)})
	s.note("a flush that has a number is known, though its record came before the lane")
	moved := wire.Pair{Ref: ref(1, 0).Ref, Generation: 2}
	s.send(clients[1], "push flush 4, again", again(pushBy(2, clients[1], 4, moved, wire.Subtree{}, 1)))
	s.send(clients[1], "push flush 3, again", again(pushBy(2, clients[1], 3, moved, wire.Subtree{}, 1)))
	s.record(19, 2, 3, 2)
	s.note("it begins once")
	s.send(controller, "begin behind record 17", r.begin(17, 2, 1))
	s.check()
}

// TestNewLaneRefusesImpossibleRoutes refuses routes without it, of another job, or with no beginning.
func TestNewLaneRefusesImpossibleRoutes(t *testing.T) {
	for what, change := range map[string]func(m *wire.Route){
		"no beginning":    func(m *wire.Route) { m.Begin = nil },
		"a part of it":    func(m *wire.Route) { m.Changes = m.Changes[:3] },
		"too many splits": func(m *wire.Route) { m.Begin.Complete = append(m.Begin.Complete, 0) },
		"without it":      func(m *wire.Route) { *m = *firstRoads(routeTables).begin(17, 2, 1) },
	} {
		s, r := beginner(t)
		r.next(r.AddLane(addedLane))
		m := r.begin(17, 2, 1)
		change(m)
		if got := s.said(controller, m); !strings.Contains(got, "breach by node 0") {
			t.Errorf("%s: %q", what, got)
		}
	}
}

// TestClientsWithOldRouteAreAnswered moves a partition for which something is held, asked and waiting. Clients that
// have asked are answered at once, later ones when they ask. The parts of other partitions of the same flush stay,
// and what was recorded before is still applied.
func TestClientsWithOldRouteAreAnswered(t *testing.T) {
	s, r := newGrown(t, 0)
	s.push(1, 1, 0, ref(0, 0), 3)
	s.record(2, 1, 1, 0)
	s.note("held, and asked for")
	both := pushBy(1, clients[0], 2, ref(0, 0), wire.Subtree{}, 1)
	both.Pairs = append(both.Pairs, ref(1, 1))
	both.Chunks = append(both.Chunks, wire.Chunk{Pair: ref(1, 1), Rows: []uint32{0}, Values: []float32{8}})
	both.Clock = 1
	s.send(clients[0], "push flush 2: t0/p0 and t1/p1", both)
	s.pull(1, ref(0, 0), wire.Need{Clock: 7})
	s.pull(2, ref(1, 1), wire.Need{Clock: 7})
	s.note("it goes")
	s.change(3, r.next(r.MovePartition(ref(0, 0).Ref, addedLane)))
	s.push(1, 3, 2, ref(0, 0), 4)
	s.pull(2, ref(0, 0), wire.Need{Clock: bellows.NoClock})
	s.acquire(2, ref(0, 0), wire.Shared)
	s.note("what was recorded before is applied with its clock, and its client learns that it counts")
	s.record(4, 2, 1, 0)
	s.note("the rest of flush 2 counts with its record")
	s.record(5, 1, 2, 1)
	if _, err := s.lane.Partition(ref(0, 0).Ref); err == nil {
		t.Error("its state is still asked for here")
	}
	s.end(controller, 1, 2)
	s.check()
}

// TestBacklogOfSlowLaneIsBounded refuses what is ahead of it beyond some bytes, once it has caught up, and holds all of it when it comes again.
func TestBacklogOfSlowLaneIsBounded(t *testing.T) {
	s, r := newScript(t, 0), firstRoads(routeTables)
	for seq := 1; seq <= 3; seq++ {
		m := pushBy(1, clients[0], seq, ref(1, 0), wire.Subtree{}, 1)
		for range 3 {
			m.Chunks = append(m.Chunks, wire.Chunk{Pair: ref(1, 0), Rows: make([]uint32, 1<<20), Values: make([]float32, 1<<20)})
		}
		s.send(clients[0], fmt.Sprintf("24 MiB of flush %d by route 1", seq), m)
	}
	s.change(1, r.next(r.AddLane(addedLane)))
	s.check()
}

// TestEmptyFlushCountsWhereItIsResent lets an empty flush come from a lane that has left, which had taken its Done
// and not its record. The record is here before it: the client learns that the flush counts, though nothing of it was
// ever held here, and waits for no lane.
func TestEmptyFlushCountsWhereItIsResent(t *testing.T) {
	s := newScript(t, 0)
	s.record(1, 1, 1, 0)
	at := s.text.Len()
	m := wire.New[wire.Push]()
	m.Flush, m.Again = bellows.FlushID{Client: 1, Incarnation: 1, Seq: 1}, true
	s.send(clients[0], "nothing, again", m)
	if said := s.saidSince(at); !strings.Contains(said, "to node 1: flush 1 of node 1 is commit 1") {
		t.Error(said)
	}
}

// TestAFlushOfNothingIsNotRefused leaves no room for messages ahead of the route: an empty flush still waits, since
// no pair would name it.
func TestAFlushOfNothingIsNotRefused(t *testing.T) {
	s, r := newScript(t, 0), firstRoads(routeTables)
	m := pushBy(1, clients[0], 1, ref(1, 0), wire.Subtree{}, 1)
	for range 5 {
		m.Chunks = append(m.Chunks, wire.Chunk{Pair: ref(1, 0), Rows: make([]uint32, 1<<20), Values: make([]float32, 1<<20)})
	}
	s.send(clients[0], "40 MiB by route 1", m)
	m = wire.New[wire.Push]()
	m.Flush, m.Route, m.Done = bellows.FlushID{Client: 1, Incarnation: 1, Seq: 2}, 1, wire.New[wire.Done]()
	m.Done.Flush = m.Flush
	s.send(clients[0], "nothing by route 1", m)
	s.change(1, r.next(r.AddLane(addedLane)))
	if said := s.text.String(); strings.Contains(said, "stale") || !strings.Contains(said, "done flush 2 of node 1") {
		t.Error(said)
	}
}
