//go:build !race

package wire

import (
	"slices"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/vec"
)

// TestAllocs wants no allocation in a steady state, on either side, for kinds with a pool. (The race
// detector makes pools forget at random.)
func TestAllocs(t *testing.T) {
	values := make([]float32, 5000)
	pair := Pair{bellows.PartitionRef{Table: 1, Partition: 2}, 3}
	narrow := Pair{bellows.PartitionRef{Table: 2}, 3}
	unit := bellows.Unit{Split: 200, Clock: 5}
	rows := []uint32{4, 7}
	for _, c := range []steady{
		{"pull of all", func() Message { m := New[Pull](); m.Parts = append(m.Parts, PullPart{Pair: pair}); return m }},
		{"pull of some", func() Message {
			m := New[Pull]()
			m.Parts = append(m.Parts, PullPart{Pair: pair, Rows: rows})
			return m
		}},
		{"rows", func() Message {
			m := New[Rows]()
			p := m.Extend()
			p.Rows, p.Values = rows, append(p.Values, values[:200]...)
			return m
		}},
		{"many rows", func() Message { m := New[Rows](); p := m.Extend(); p.Values = append(p.Values, values...); return m }},
		{"push", func() Message {
			m := New[Push]()
			m.Pairs = append(m.Pairs, pair, pair)
			m.Chunks = append(m.Chunks, Chunk{Pair: pair, Rows: rows, Values: values[:20]}, Chunk{Pair: pair, Values: values})
			return m
		}},
		{"acquire", func() Message { return New[Acquire]() }},
		{"release", func() Message { return New[Release]() }},
		{"held", func() Message { return New[Held]() }},
		{"committed", func() Message { m := New[Committed](); m.List = append(m.List, Commitment{Commit: 1}); return m }},
		{"done", func() Message {
			m := New[Done]()
			m.Pairs = append(m.Pairs, pair)
			m.Append(unit, []float64{1, 2})
			m.Append(unit, []float64{3})
			return m
		}},
		{"records", func() Message {
			m := New[Records]()
			m.Append(1, &Done{Flush: bellows.FlushID{Client: 1, Incarnation: 1, Seq: 2}, Results: []Result{{Unit: unit}, {Unit: unit}}})
			return m
		}},
		{"dispatch", func() Message { m := New[Dispatch](); m.Append(unit, []float64{1}); return m }},
		{"narrow push", func() Message {
			m := New[Push]()
			m.Chunks = append(m.Chunks, Chunk{Pair: narrow, Rows: rows, Values: values[:20]}, Chunk{Pair: narrow, Values: values})
			return m
		}},
		{"narrow rows", func() Message {
			m := New[Rows]()
			for range 2 {
				p := m.Extend()
				p.Ref, p.Values = narrow.Ref, append(p.Values, values...)
			}
			return m
		}},
	} {
		c.check(t)
	}
	// Rows that were requested one by one are also used in place.
	f := frame(t, Envelope{Message: &Pull{Parts: []PullPart{{Pair: pair, Rows: rows}}}})
	if e, _ := read(t, f); !slices.Equal(e.Message.(*Pull).Parts[0].Rows, rows) {
		t.Error("rows of a pull")
	}
}

// steady is a message that is made, sent, read and freed again and again.
type steady struct {
	name string
	make func() Message
}

func (c steady) check(t *testing.T) {
	t.Helper()
	var b Batch
	b.Narrow([]vec.Format{2: vec.Float16})
	var j Joiner
	stream := make([]byte, 0, 64<<10)
	if n := testing.AllocsPerRun(100, func() {
		m := c.make()
		require.NoError(t, b.Add(Envelope{Message: m}))
		stream = stream[:0]
		for turn := b.Next(); len(turn) > 0; turn = b.Next() {
			for _, p := range turn {
				stream = append(stream, p...)
			}
		}
		b.Reset()
		if push, ok := m.(*Push); ok {
			Free(push)
		}
		h := header(t, stream)
		payload := h.Payload()
		copy(payload, stream[HeaderSize:])
		e, err := j.Decode(h, payload)
		require.NoError(t, err)
		Free(e.Message)
	}); n != 0 {
		t.Errorf("%s: %v allocations", c.name, n)
	}
}

// TestAllocsOfKeys checks allocations for messages about sparse tables.
func TestAllocsOfKeys(t *testing.T) {
	pair := Pair{bellows.PartitionRef{Table: 1, Partition: 2}, 3}
	values, keys := make([]float32, 5000), make([]bellows.Key, 2500)
	for _, c := range []steady{
		{"pull of keys", func() Message {
			m := New[Pull]()
			m.Parts = append(m.Parts, PullPart{Pair: pair, Keys: keys[:2]}, PullPart{Pair: pair, Keys: keys})
			return m
		}},
		{"push of keys", func() Message {
			m := New[Push]()
			m.Chunks = append(m.Chunks, Chunk{Pair: pair, Keys: keys[:1], Values: values[:1]}, Chunk{Pair: pair, Keys: keys, Values: values})
			return m
		}},
	} {
		c.check(t)
	}
}
