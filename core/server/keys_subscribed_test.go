package server_test

import (
	"fmt"
	"slices"
	"testing"

	"bellows"
	"bellows/core/server"
	"bellows/link/wire"
	"bellows/table"
)

// subscribeKeys asks for the rows of keys, and for them again when they have changed.
func (s *script) subscribeKeys(client int, of wire.Pair, list ...bellows.Key) {
	m := wire.New[wire.Pull]()
	m.Incarnation = 1
	m.Request, m.Need = 1, wire.Need{Clock: bellows.NoClock}
	m.Parts = append(m.Parts, wire.PullPart{Pair: of, Keys: list, Subscribe: true})
	what := fmt.Sprintf("keys %v", list)
	if len(list) > 10 {
		what = fmt.Sprintf("%d keys", len(list))
	}
	s.send(clients[client-1], fmt.Sprintf("pull %v %s, and subscribe", of.Ref, what), m)
}

// keysClock lets both clients finish a clock, in which they add to keys of a partition.
func (s *script) keysClock(c bellows.Clock, of wire.Pair, one, other []bellows.Key) {
	s.pushKeys(1, int(c)+1, c, of, 2, one...)
	s.pushKeys(2, int(c)+1, c, of, 30, other...)
	s.record(2*int(c)+1, 1, int(c)+1, c)
	s.record(2*int(c)+2, 2, int(c)+1, c)
}

func TestSubscribedKeysBarrier(t *testing.T) {
	s := newKeysScript(t)
	keys := func(list ...bellows.Key) []bellows.Key { return list }
	s.note("9 and 12 have no row yet; with each clock comes what has changed of the keys, ascending")
	s.subscribeKeys(1, ref(2, 0), 5, 9, 12)
	s.subscribeKeys(2, ref(2, 0), 7)
	s.keysClock(0, ref(2, 0), keys(9, 5), keys(7, 5))
	s.note("nothing of it changes: the version is lifted, without keys")
	s.keysClock(1, ref(2, 0), keys(100), keys(7))
	s.note("keys are added, among them some that are subscribed to; what a flush has created and no record showed is as before")
	s.pushKeys(1, 3, 2, ref(2, 0), 4, 6, 12)
	s.subscribeKeys(1, ref(2, 0), 4, 6, 9)
	s.pushKeys(2, 3, 2, ref(2, 0), 5, 4)
	s.record(5, 1, 3, 2)
	s.record(6, 2, 3, 2)
	s.send(clients[0], "unsubscribe t2/p0", &wire.Unsubscribe{Incarnation: 1, Pair: ref(2, 0)})
	s.keysClock(3, ref(2, 0), keys(5, 6), keys(7))
	s.check()
}

func TestSubscribedKeysAsync(t *testing.T) {
	s := newKeysScript(t)
	s.note("what others commit waits for the client's own next commit, also while keys are added")
	s.subscribeKeys(1, ref(3, 0), 5, 9)
	s.pushKeys(2, 1, 0, ref(3, 0), 30, 9, 6)
	s.record(1, 2, 1, 0)
	s.subscribeKeys(1, ref(3, 0), 6, 7)
	s.pushKeys(1, 1, 0, ref(3, 0), 2, 5, 7)
	s.record(2, 1, 1, 0)
	s.note("what is held and never recorded changes nothing")
	s.pushKeys(1, 2, 1, ref(3, 0), 2, 8)
	s.subscribeKeys(1, ref(3, 0), 8)
	s.check()
}

func TestSubscribedKeysHaveABound(t *testing.T) {
	s := newKeysScript(t)
	s.note("of a partition of 137 rows a client may be subscribed to 137 keys")
	var all []bellows.Key
	for k := range bellows.Key(136) {
		all = append(all, k)
	}
	s.subscribeKeys(1, ref(3, 0), all...)
	s.subscribeKeys(1, ref(3, 0), 130, 131, 500)
	s.subscribeKeys(2, ref(3, 0), 600, 601)
	s.subscribeKeys(1, ref(3, 0), 135, 501)
	s.check()
}

// TestMuchThatChangedComesInSeveralMessages lets all of three partitions change, of which a message takes two.
func TestMuchThatChangedComesInSeveralMessages(t *testing.T) {
	one := table.Schema{Name: "free", Rows: 3 << 19, Width: 3, Partitions: 3, Consistency: table.Async}
	l := newLane(t, jobOf(one), laneAt, server.Options{})
	pull, push, deltas := wire.New[wire.Pull](), wire.New[wire.Push](), make([]float32, 3<<19)
	pull.Incarnation = 1
	push.Flush = bellows.FlushID{Client: 1, Incarnation: 1, Seq: 1}
	pull.Request, pull.Need = 1, wire.Need{Clock: bellows.NoClock}
	for p := range bellows.PartitionID(3) {
		pull.Parts = append(pull.Parts, wire.PullPart{Pair: ref(0, p), Subscribe: true})
		push.Chunks = append(push.Chunks, wire.Chunk{Pair: ref(0, p), Values: deltas})
	}
	records := wire.New[wire.Records]()
	records.Append(1, &wire.Done{Flush: push.Flush, Results: []wire.Result{{Unit: bellows.Unit{Items: bellows.Range{Begin: 0, End: 1}}}}})
	var out wire.Outbox
	for _, e := range []wire.Envelope{{From: clients[0], Message: pull}, {From: clients[0], Message: push}, {From: controller, Message: records}} {
		l.Step([]wire.Envelope{e}, &out)
	}
	var parts []int
	for _, e := range out.Envelopes {
		if m, ok := e.Message.(*wire.Rows); ok {
			parts = append(parts, len(m.Parts))
		}
	}
	if !slices.Equal(parts, []int{3, 2, 1}) { // the answer first
		t.Errorf("messages of %v partitions", parts)
	}
}
