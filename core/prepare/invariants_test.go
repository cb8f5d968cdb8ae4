package prepare

import (
	"math/rand/v2"
	"slices"
	"testing"

	"bellows"
	"bellows/core/fence"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/table"
)

// owner is a lane that owns some partitions of one table, at their newest generations.
type owner []bellows.Generation

// Owns compares a pair with the newest generation.
func (o owner) Owns(p wire.Pair) error {
	if p.Generation < o[p.Ref.Partition] {
		return route.ErrStale
	}
	return nil
}

// Barrier reports that no table has one.
func (o owner) Barrier(bellows.PartitionRef) bool { return false }

// MayEnd reports that there are no leases.
func (o owner) MayEnd(bellows.PartitionRef, wire.Address) bool { return false }

// Reserve gives keys no rows.
func (o owner) Reserve(*wire.Push) ([]uint32, error) { return nil, nil }

// Hold notes nothing.
func (o owner) Hold(*wire.Push) {}

// TestFlushesInvariants plays random pushes, records, moves and fences, and checks the
// invariants of Flushes after each.
func TestFlushesInvariants(t *testing.T) {
	tables := []table.Schema{{Name: "free", Rows: 4, Width: 1, Partitions: 4, Consistency: table.Async}}
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		r := route.Spread(tables, 2, []wire.Address{wire.LaneAt(0, 0)}, []bellows.NodeID{1, 2})
		f := New(Config{Tables: tables, Route: r, HeldBytesMax: 40, WaitingMax: 1 << 10})
		own := owner{1, 1, 1, 1}
		var out wire.Outbox
		newest := []uint32{0, 1, 1}
		some := func() bellows.FlushID {
			client := 1 + rng.IntN(2)
			return bellows.FlushID{Client: bellows.NodeID(client), Incarnation: newest[client], Seq: 1 + rng.Uint64N(6)}
		}
		for step := range 400 {
			switch rng.IntN(12) {
			case 0:
				id := some()
				f.Count(id)
				f.Take(id)
				f.Admit(&out)
			case 1:
				p := bellows.PartitionID(rng.IntN(4))
				pair := wire.Pair{Ref: bellows.PartitionRef{Partition: p}, Generation: own[p]}
				own[p]++
				f.Leave(pair, &out)
				f.Admit(&out)
			case 2:
				if client := 1 + rng.IntN(2); step%8 == 0 {
					f.Fence(fence.Process{Node: bellows.NodeID(client), Incarnation: newest[client]})
					newest[client]++
					f.Admit(&out)
				}
			default:
				pushSome(f, some(), rng, own, &out)
			}
			out.Envelopes = out.Envelopes[:0]
			if checkInvariants(t, f); t.Failed() {
				t.Fatalf("seed %d, step %d", seed, step)
			}
		}
	}
}

// pushSome pushes some parts of a flush, most of them at the newest generation.
func pushSome(f *Flushes, id bellows.FlushID, rng *rand.Rand, own owner, out *wire.Outbox) {
	m := &wire.Push{Flush: id, Clock: bellows.Clock(id.Seq / 2), Again: rng.IntN(3) == 0}
	for p := range own {
		if rng.IntN(2) == 0 {
			continue
		}
		g := own[p]
		if g > 1 && rng.IntN(8) == 0 {
			g--
		}
		pair := wire.Pair{Ref: bellows.PartitionRef{Partition: bellows.PartitionID(p)}, Generation: g}
		m.Pairs = append(m.Pairs, pair)
		m.Chunks = append(m.Chunks, wire.Chunk{Pair: pair, Rows: []uint32{0}, Values: []float32{1}})
	}
	from := wire.ClientAt(id.Client)
	f.Prepare(from, m, 1, own, out)
}

// checkInvariants compares the lists with each other.
func checkInvariants(t *testing.T, f *Flushes) {
	type part struct {
		id  bellows.FlushID
		ref bellows.PartitionRef
	}
	here, bytes := map[part]bool{}, 0
	for i := range f.held {
		h := &f.held[i]
		bytes += h.bytes
		if h.bytes != Bytes(h.Push) {
			t.Errorf("%v takes %d bytes of the cap, and has %d", h.Push.Flush, h.bytes, Bytes(h.Push))
		}
		for _, p := range f.PairsOf(h.Push) {
			if one := (part{h.Push.Flush, p.Ref}); here[one] {
				t.Errorf("%v of %v is held twice", one.ref, one.id)
			} else {
				here[one] = true
			}
		}
		if f.counted.Contains(h.Push.Flush) {
			t.Errorf("%v is held and has a number", h.Push.Flush)
		}
	}
	if bytes != f.heldBytes {
		t.Errorf("%d bytes are held, and %d are counted", bytes, f.heldBytes)
	}
	for _, w := range f.waiting {
		for _, p := range w.pairs {
			if here[part{w.flush, p.Ref}] {
				t.Errorf("%v of %v is held and waits", p.Ref, w.flush)
			}
		}
		if len(w.pairs) == 0 || w.first != f.least(w.pairs) || f.counted.Contains(w.flush) {
			t.Errorf("%v waits at place %d with %v", w.flush, w.first, w.pairs)
		}
	}
	if !slices.IsSortedFunc(f.waiting, func(a, b waiter) int { return a.rank(b.place) }) {
		t.Error("the flushes that wait are out of order")
	}
	for i, one := range f.missed {
		if f.counted.Contains(one.Flush) || slices.ContainsFunc(f.missed[:i], func(o wire.Missed) bool {
			return o.Flush == one.Flush && o.Ref == one.Ref
		}) {
			t.Errorf("missed twice, or counted: %v", one)
		}
	}
}
