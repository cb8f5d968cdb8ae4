package server_test

import (
	"testing"

	"bellows"
	"bellows/link/wire"
)

// lifePush is the first flush of a life of client 1.
func lifePush(incarnation uint32, to wire.Pair, v float32) *wire.Push {
	m := wire.New[wire.Push]()
	m.Flush = bellows.FlushID{Client: 1, Incarnation: incarnation, Seq: 1}
	m.Pairs = append(m.Pairs, to)
	m.Chunks = append(m.Chunks, wire.Chunk{Pair: to, Rows: []uint32{0}, Values: []float32{v}})
	return m
}

// TestAWorkerStartedAgainIsNotKnown numbers the first flush of a client's second process as that of its first: it is held and counts. What the
// first process sends after that is nothing, and its subscriptions have ended.
func TestAWorkerStartedAgainIsNotKnown(t *testing.T) {
	s := newScript(t, 0)
	s.subscribe(1, ref(1, 0))
	s.push(1, 1, 0, ref(1, 0), 1)
	s.record(1, 1, 1, 0)
	if got := s.said(clients[0], lifePush(2, ref(1, 0), 10)); got != "to node 1: held flush 1 of node 1, incarnation 2" {
		t.Errorf("the first push of the second process: %q", got)
	}
	if got := s.said(clients[0], lifePush(1, ref(1, 1), 5)); got != "" {
		t.Errorf("a late push of the first process: %q", got)
	}
	r := wire.New[wire.Records]()
	r.Append(2, &wire.Done{Flush: bellows.FlushID{Client: 1, Incarnation: 2, Seq: 1}})
	if got := s.said(controller, r); got != "to node 1: flush 1 of node 1, incarnation 2 is commit 2" {
		t.Errorf("the record: %q", got)
	}
	late := wire.New[wire.Pull]()
	late.Incarnation = 1
	late.Request, late.Need, late.Parts = 9, wire.Need{Clock: bellows.NoClock}, append(late.Parts, wire.PullPart{Pair: ref(1, 0)})
	if got := s.said(clients[0], late); got != "" {
		t.Errorf("a late pull of the first process: %q", got)
	}
}
