package server_test

import (
	"testing"

	"bellows"
	"bellows/link/wire"
)

// partsPush returns parts of flush 1 of client 1, each a delta for the first row of a partition of the free table.
func partsPush(again bool, clock bellows.Clock, partitions ...bellows.PartitionID) *wire.Push {
	m := wire.New[wire.Push]()
	m.Flush, m.Clock, m.Again = bellows.FlushID{Client: 1, Incarnation: 1, Seq: 1}, clock, again
	m.Pairs = append(m.Pairs, ref(1, 0), ref(1, 1))
	for _, p := range partitions {
		m.Chunks = append(m.Chunks, wire.Chunk{Pair: ref(1, p), Rows: []uint32{0}, Values: []float32{float32(p) + 1}})
	}
	return m
}

// TestFlushPartsComeOneByOne sends a lane two parts of one flush in two pushes, as happens when a partition comes from another lane: neither
// vanishes for the other, and what comes again is answered once more.
func TestFlushPartsComeOneByOne(t *testing.T) {
	s := newScript(t, 0)
	for i, c := range []struct {
		m    *wire.Push
		want string
	}{
		{partsPush(false, 0, 0), "to node 1: held flush 1 of node 1"},
		{partsPush(false, 0, 0), ""},
		{partsPush(true, 0, 1), "to node 1: held flush 1 of node 1 [{t1/p0 1} {t1/p1 1}]"},
		{partsPush(true, 0, 0, 1), "to node 1: held flush 1 of node 1 [{t1/p0 1} {t1/p1 1}]"},
	} {
		if got := s.said(clients[0], c.m); got != c.want {
			t.Errorf("push %d: says %q, want %q", i, got, c.want)
		}
	}
	r := wire.New[wire.Records]()
	r.Append(1, &wire.Done{Flush: bellows.FlushID{Client: 1, Incarnation: 1, Seq: 1}})
	if got, want := s.said(controller, r), "to node 1: flush 1 of node 1 is commit 1; flush 1 of node 1 is commit 1 [{t1/p1 1}]"; got != want {
		t.Errorf("the record: says %q, want %q", got, want)
	}
	for p, want := range []string{"[1 0]", "[2 0]"} {
		if got := s.said(clients[0], pullOf(bellows.PartitionID(p))); got != "to node 1: rows for request 2 t1/p"+string(rune('0'+p))+" all "+want+" after commit 1, clock -1" {
			t.Errorf("partition %d: %s", p, got)
		}
	}
	if got := s.said(clients[0], partsPush(true, 0, 0, 1)); got != "" {
		t.Errorf("what was recorded comes again: says %q", got)
	}
}

func pullOf(p bellows.PartitionID) *wire.Pull {
	m := wire.New[wire.Pull]()
	m.Incarnation, m.Request, m.Need, m.Parts = 1, 2, wire.Need{Clock: bellows.NoClock}, append(m.Parts, wire.PullPart{Pair: ref(1, p)})
	return m
}

// TestFlushPartsWaitOneByOne leaves no room for two parts of one flush that come in two pushes, above a held flush.
// Each waits, both are asked for together, and the Done that came with one of them stays: its client decides when to
// send it again.
func TestFlushPartsWaitOneByOne(t *testing.T) {
	s := newScript(t, 1)
	s.push(2, 1, 0, ref(1, 0), 8)
	second := func() *wire.Push {
		m := partsPush(true, 3, 1)
		m.Done = wire.New[wire.Done]()
		m.Done.Flush = m.Flush
		return m
	}
	steps := []struct {
		from wire.Address
		m    wire.Message
		want string
	}{
		{clients[0], partsPush(true, 3, 0), "to node 1: full, flush 1 of node 1 must wait [{t1/p0 1}]"},
		{clients[0], second(), "to node 1: full, flush 1 of node 1 must wait [{t1/p1 1}]"},
		{controller, record(1, 2), "to node 1: room for flush 1 of node 1 [{t1/p0 1} {t1/p1 1}]\n    to node 2: flush 1 of node 2 is commit 1"},
		{clients[0], second(), "to node 1: held flush 1 of node 1 [{t1/p1 1}]"},
		{clients[0], partsPush(true, 3, 0), "to node 1: held flush 1 of node 1 [{t1/p1 1} {t1/p0 1}]"},
	}
	for i, c := range steps {
		if got := s.said(c.from, c.m); got != c.want {
			t.Errorf("step %d: says %q, want %q", i, got, c.want)
		}
	}
}

func record(n bellows.CommitNumber, client bellows.NodeID) *wire.Records {
	r := wire.New[wire.Records]()
	r.Append(n, &wire.Done{Flush: bellows.FlushID{Client: client, Incarnation: 1, Seq: 1}})
	return r
}
