//go:build !race

package cache_test

import (
	"slices"
	"testing"

	"bellows"
	"bellows/link/wire"
)

// TestReadsAllocateNothing lets splits read what is cached, wait for rows that come unasked, and ask for keys, clock
// after clock. (The race detector makes pools forget at random.)
func TestReadsAllocateNothing(t *testing.T) {
	b := newBench(t, append(twoTables(), keyTables()[1]))
	keep(t, b, 0)
	clock, keys := bellows.Clock(1), []bellows.Key{3, 7, 9}
	changed, values := []uint32{1, 2}, make([]float32, 4)
	come := func(request uint64, whole, keyed bool) {
		m := wire.New[wire.Rows]()
		m.Request = request
		p := m.Extend()
		p.Pair, p.Commit, p.Complete = wire.Pair{Generation: 1}, bellows.CommitNumber(clock), clock-1
		switch {
		case keyed:
			p.Ref.Table = 2
			p.Values = append(p.Values, values[:3]...)
		case whole:
			p.Values = append(p.Values, values...)
		default:
			p.Rows, p.Values = changed, append(p.Values, values[:2]...)
		}
		a := b.Open(m)
		if err := b.Take(a, 0, false, &b.fx); err != nil {
			t.Fatal(err)
		}
		b.Close(a)
		b.fx.Woken = b.fx.Woken[:0]
	}
	n := testing.AllocsPerRun(300, func() {
		clock++
		b.begin(clock, 0, 0, 1)
		b.read(0, 0, 0, 4)
		come(0, clock%2 == 0, false)
		if !b.read(0, 0, 0, 4) || !b.read(1, 0, 1, 3) {
			t.Fatal("rows that have come are not there")
		}
		come(0, false, false) // while tasks look, so that the block is copied
		b.begin(clock, bellows.CommitNumber(clock), 0)
		if b.readKeys(0, 2, keys...) {
			t.Fatal("keys of an older version are shown")
		}
		pull := b.out.Envelopes[0].Message.(*wire.Pull)
		request := pull.Request
		wire.Free(pull)
		b.out.Envelopes = b.out.Envelopes[:0]
		come(request, false, true)
		b.end(0, 1)
	})
	if n > 1 { // the rows of a block that is copied
		t.Errorf("%v allocations a clock", n)
	}
	if !slices.IsSorted(keys) {
		t.Error("the keys have changed")
	}
}
