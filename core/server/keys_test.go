package server_test

import (
	"fmt"
	"testing"

	"bellows"
	"bellows/link/wire"
	"bellows/table"
)

// newKeysScript returns a script with two more sparse tables, of one partition: t2 is BSP, t3 async. Rows start at 1.
func newKeysScript(t *testing.T) *script {
	start := table.Init{Kind: table.Fixed, Low: 1}
	return newScript(t, 0, table.Schema{Name: "words", Sparse: true, Rows: 8, Width: 1, Partitions: 1, Init: start},
		table.Schema{Name: "pairs", Sparse: true, Rows: 8, Width: 1, Partitions: 1, Init: start, Consistency: table.Async})
}

// pushKeys sends a flush of one client: the same delta for keys of a partition.
func (s *script) pushKeys(client, seq int, clock bellows.Clock, to wire.Pair, v float32, list ...bellows.Key) {
	m := wire.New[wire.Push]()
	m.Flush, m.Clock = bellows.FlushID{Client: bellows.NodeID(client), Incarnation: 1, Seq: uint64(seq)}, clock
	values := make([]float32, len(list))
	for i := range values {
		values[i] = v
	}
	m.Chunks = append(m.Chunks, wire.Chunk{Pair: to, Subtree: wire.Subtree{Index: uint32(client - 1)}, Keys: list, Values: values})
	what := fmt.Sprintf("keys %v", list)
	if len(list) > 10 {
		what = fmt.Sprintf("%d keys", len(list))
	}
	s.send(clients[client-1], fmt.Sprintf("push %v clock %d: %v %s += %v", m.Flush, clock, to.Ref, what, v), m)
}

func (s *script) pullKeys(client int, of wire.Pair, need wire.Need, list ...bellows.Key) {
	m := wire.New[wire.Pull]()
	m.Incarnation = 1
	m.Need, m.Parts = need, append(m.Parts, wire.PullPart{Pair: of, Keys: list})
	s.send(clients[client-1], fmt.Sprintf("pull %v keys %v, needs commit %d and clock %d", of.Ref, list, need.Commit, need.Clock), m)
}

func (s *script) state(of wire.Pair) {
	im, err := s.lane.Partition(of.Ref)
	fmt.Fprintf(&s.text, "%v: %v %v %v\n", of.Ref, im.Keys, im.Values, err)
}

func TestKeysBarrier(t *testing.T) {
	s := newKeysScript(t)
	s.note("keys of two flushes that create the same row are summed, and shown with the clock")
	s.pushKeys(2, 1, 0, ref(2, 0), 30, 5, 1<<63)
	s.pushKeys(1, 1, 0, ref(2, 0), 2, 9, 5)
	s.pullKeys(1, ref(2, 0), wire.Need{Clock: 0}, 5, 7, 9, 1<<63)
	s.record(1, 2, 1, 0)
	s.pullKeys(2, ref(2, 0), wire.Need{Clock: bellows.NoClock}, 5, 7)
	s.record(2, 1, 1, 0)
	s.note("reads have created nothing")
	s.state(ref(2, 0))
	s.check()
}

func TestKeysAsync(t *testing.T) {
	s := newKeysScript(t)
	s.note("a key is there from its first commit on; what is never recorded leaves none")
	s.pushKeys(1, 1, 0, ref(3, 0), 2, 5)
	s.pushKeys(2, 1, 0, ref(3, 0), 4, 6, 5)
	s.pullKeys(1, ref(3, 0), wire.Need{Clock: bellows.NoClock}, 5, 6)
	s.record(1, 1, 1, 0)
	s.pullKeys(1, ref(3, 0), wire.Need{Commit: 1, Clock: bellows.NoClock}, 5, 6)
	s.keep(2)
	s.pushKeys(1, 2, 1, ref(3, 0), 8, 4)
	s.record(3, 1, 2, 1)
	s.end(controller)
	s.endClients()
	s.state(ref(3, 0))
	kept := s.lane.Kept(ref(3, 0).Ref)
	fmt.Fprintf(&s.text, "kept: &{%v %v %v}\n", kept.Keys, kept.Values, kept.Slots)
	s.check()
}

func TestKeysRefused(t *testing.T) {
	s := newKeysScript(t)
	s.note("a table of 8 rows in one partition takes 8, an eighth more, and 128: 137")
	var all []bellows.Key
	for k := range bellows.Key(137) {
		all = append(all, k)
	}
	s.pushKeys(1, 1, 0, ref(3, 0), 1, all...)
	s.pushKeys(2, 1, 0, ref(3, 0), 1, 5, 500)
	s.end(controller)
	s.endClients()
	s.check()
}

// TestTooManyKeysAreRefusedByKind refuses keys by the kind of error that the store names, not as what is lost.
func TestTooManyKeysAreRefusedByKind(t *testing.T) {
	s := newKeysScript(t)
	m := pushBy(0, clients[0], 1, ref(3, 0), wire.Subtree{}, 0)
	c := &m.Chunks[0]
	c.Rows, c.Keys, c.Values = nil, make([]bellows.Key, 200), make([]float32, 200)
	for i := range c.Keys {
		c.Keys[i] = bellows.Key(i)
	}
	s.lane.Step([]wire.Envelope{{From: clients[0], To: laneAt, Message: m}}, &s.out)
	if r, ok := s.out.Envelopes[0].Message.(*wire.Refused); !ok || r.Kind != bellows.Refused || r.Flush != m.Flush {
		t.Errorf("says %+v", s.out.Envelopes[0].Message)
	}
}
