package gate

import (
	"math/rand/v2"
	"testing"

	"bellows"
	"bellows/link/wire"
)

// TestGapsClose counts the flushes of a client out of order: what is remembered one by one shrinks to what has a gap before it.
func TestGapsClose(t *testing.T) {
	var l incarnation
	for i, c := range []struct {
		seq  uint64
		upTo uint64
		gaps int
	}{{3, 0, 1}, {2, 0, 2}, {5, 0, 3}, {1, 3, 1}, {6, 3, 2}, {4, 6, 0}, {7, 7, 0}} {
		if l.add(c.seq); l.upTo != c.upTo || len(l.above) != c.gaps {
			t.Errorf("after %d flushes: all up to %d, and %v; want %d and %d more", i+1, l.upTo, l.above, c.upTo, c.gaps)
		}
	}
}

// TestAFlushIsKnownByItsIncarnation asks for flushes of two clients. One of the clients was started again.
func TestAFlushIsKnownByItsIncarnation(t *testing.T) {
	var f Counted
	id := func(client bellows.NodeID, incarnation uint32, seq uint64) bellows.FlushID {
		return bellows.FlushID{Client: client, Incarnation: incarnation, Seq: seq}
	}
	f.Add(id(3, 1, 1))
	f.Add(id(3, 1, 5))
	f.Add(id(3, 2, 2))
	was := f.Clone()
	f.Add(id(3, 1, 2))
	f.Add(id(3, 2, 1))
	f.Add(id(1, 1, 1))
	for _, c := range []struct {
		id         bellows.FlushID
		then, ever bool
	}{
		{id(3, 1, 1), true, true}, {id(3, 1, 5), true, true}, {id(3, 1, 2), false, true}, {id(3, 1, 3), false, false},
		{id(3, 2, 2), true, true}, {id(3, 2, 1), false, true}, {id(3, 2, 5), false, false}, {id(1, 1, 1), false, true}, {id(0, 1, 1), false, false},
	} {
		if was.Contains(c.id) != c.then || f.Contains(c.id) != c.ever {
			t.Errorf("%v: known %v to the copy, %v to the original; want %v, %v", c.id, was.Contains(c.id), f.Contains(c.id), c.then, c.ever)
		}
	}
}

// TestListTellsTheSameFlushes counts flushes of some clients out of order, passes the list to another Counted, and
// continues with both.
func TestListTellsTheSameFlushes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var one, other Counted
	some := func() bellows.FlushID {
		return bellows.FlushID{Client: bellows.NodeID(rng.IntN(4)), Incarnation: 1 + rng.Uint32N(2), Seq: 1 + rng.Uint64N(40)}
	}
	other.Load([]wire.Recorded{{Client: 3, Incarnation: 1, UpTo: 100}}) // it forgets this
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
			if id := some(); one.Contains(id) != other.Contains(id) {
				t.Fatalf("%v is known to one, %v, and to the other, %v", id, one.Contains(id), other.Contains(id))
			}
		}
	}
}
