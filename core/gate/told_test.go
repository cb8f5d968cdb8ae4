package gate

import (
	"math/rand/v2"
	"testing"

	"bellows"
	"bellows/link/wire"
)

// TestWhoIsToldKnowsTheSameFlushes counts flushes of some clients out of order, tells another of them, and lets both go on.
func TestWhoIsToldKnowsTheSameFlushes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var one, other Counted
	some := func() bellows.FlushID {
		return bellows.FlushID{Client: bellows.NodeID(rng.IntN(4)), Incarnation: 1 + rng.Uint32N(2), Seq: 1 + rng.Uint64N(40)}
	}
	other.Load([]wire.Recorded{{Client: 3, Incarnation: 1, UpTo: 100}}) // which it forgets
	for range 3 {
		for range 60 {
			one.Add(some())
		}
		other.Load(one.List())
		for range 10 {
			id := some()
			one.Add(id)
			other.Add(id)
		}
		for range 1000 {
			if id := some(); one.Has(id) != other.Has(id) {
				t.Fatalf("%v is known to one, %v, and to the other, %v", id, one.Has(id), other.Has(id))
			}
		}
	}
}
