//go:build !race

package server_test

import (
	"testing"

	"bellows"
	"bellows/core/server"
	"bellows/link/wire"
	"bellows/table"
)

// TestRelayingKeysAllocatesNothing lets two clients change keys that both are subscribed to, clock after clock, while the lane keeps
// a tail of their records. (The race detector makes pools forget at random.)
func TestRelayingKeysAllocatesNothing(t *testing.T) {
	for _, c := range []table.Consistency{table.BSP, table.Async} {
		one := table.Schema{Name: "k", Sparse: true, Rows: 500, Width: 2, Partitions: 1, Consistency: c}
		l := newLane(t, jobOf(one), laneAt, server.Options{Limits: server.Limits{Tail: 4 << 10}})
		list, deltas := make([]bellows.Key, 100), make([]float32, 200)
		for i := range list {
			list[i] = bellows.Key(i * i)
		}
		var out wire.Outbox
		batch := make([]wire.Envelope, 1)
		step := func(from wire.Address, m wire.Message) {
			batch[0] = wire.Envelope{From: from, To: laneAt, Message: m}
			l.Step(batch, &out)
		}
		for _, at := range clients {
			m := wire.New[wire.Pull]()
			m.Incarnation = 1
			m.Request, m.Need = 1, wire.Need{Clock: bellows.NoClock}
			m.Parts = append(m.Parts, wire.PullPart{Pair: ref(0, 0), Keys: list, Subscribe: true})
			step(at, m)
		}
		out.Envelopes = nil
		clock, relayed := bellows.Clock(0), 0
		results := []wire.Result{{}}
		n := testing.AllocsPerRun(200, func() {
			for i, at := range clients {
				m := wire.New[wire.Push]()
				m.Flush, m.Clock = bellows.FlushID{Client: at.Node, Incarnation: 1, Seq: uint64(clock) + 1}, clock
				m.Chunks = append(m.Chunks, wire.Chunk{Pair: ref(0, 0), Subtree: wire.Subtree{Index: uint32(i)}, Keys: list[30*i:], Values: deltas[60*i:]})
				step(at, m)
			}
			for i, at := range clients {
				m := wire.New[wire.Records]()
				results[0].Unit = bellows.Unit{Split: bellows.SplitID(i), Clock: clock, Items: bellows.Range{Begin: 0, End: 1}}
				m.Append(bellows.CommitNumber(2*int(clock)+i+1), &wire.Done{Flush: bellows.FlushID{Client: at.Node, Incarnation: 1, Seq: uint64(clock) + 1}, Results: results})
				step(controller, m)
			}
			for _, e := range out.Envelopes {
				if m, ok := e.Message.(*wire.Rows); ok {
					relayed += len(m.Parts[0].Keys)
				}
				wire.Free(e.Message)
			}
			out.Envelopes = out.Envelopes[:0]
			clock++
		})
		if n != 0 || relayed < 200*170 {
			t.Errorf("%v: %v allocations a clock, %d keys were sent", c, n, relayed)
		}
	}
}

// TestAnsweringAllocatesNothing lets a client read a table again and again, so that the lane marks what it has sent, and the marks come back.
func TestAnsweringAllocatesNothing(t *testing.T) {
	one := table.Schema{Name: "w", Rows: 100, Width: 4, Partitions: 1, Consistency: table.Async}
	l := newLane(t, jobOf(one), laneAt, server.Options{Limits: server.Limits{Unread: 1000}})
	var out wire.Outbox
	batch := make([]wire.Envelope, 1)
	marks := 0
	n := testing.AllocsPerRun(200, func() {
		m := wire.New[wire.Pull]()
		m.Incarnation, m.Request, m.Need = 1, 1, wire.Need{Clock: bellows.NoClock}
		m.Parts = append(m.Parts, wire.PullPart{Pair: ref(0, 0)})
		batch[0] = wire.Envelope{From: clients[0], To: laneAt, Message: m}
		l.Step(batch, &out)
		for _, e := range out.Envelopes {
			if _, mark := e.Message.(*wire.Mark); mark {
				marks++
				batch[0] = wire.Envelope{From: e.To, To: e.From, Message: e.Message}
				l.Step(batch, &out)
				continue
			}
			wire.Free(e.Message)
		}
		out.Envelopes = out.Envelopes[:0]
	})
	if n != 0 || marks < 100 {
		t.Errorf("%v allocations a read, %d marks", n, marks)
	}
}
