//go:build !race

package flush_test

import (
	"testing"

	"bellows"
	"bellows/core/flush"
	"bellows/link/wire"
)

// TestFlushesAllocateNothing sends flushes to two lanes, each time when the one before is committed: after a vote of
// both, and before it, as another controller may number them. (The race detector makes pools forget at random.)
func TestFlushesAllocateNothing(t *testing.T) {
	for name, votes := range map[string]bool{"votes": true, "no votes": false} {
		b := newBench(t, twoTables(), 1, flush.Limits{})
		barrier, stream := b.pools.NewSet(), b.pools.NewSet()
		one, seq := []float32{1}, uint64(0)
		held, committed := &wire.Held{}, &wire.Commitment{}
		var left []wire.Envelope
		n := testing.AllocsPerRun(300, func() {
			seq++
			b.Dispatched(0)
			stream.Buffer(2).AddRow(1, one)
			stream.Buffer(3).AddRow(1, one)
			b.Finished(0)
			kept := b.pools.Bundle(&stream)
			kept.Keep()
			b.Add(&flush.Work{Result: one64, Summed: true, Barrier: &barrier, Stream: kept}, b.route, &b.fx)
			kept.Drop() // by the split
			b.leave(false)
			held.Flush, committed.Flush, committed.Commit = id(seq), id(seq), bellows.CommitNumber(seq)
			for lane := range 2 {
				if votes {
					b.no(b.TakeHeld(held, lanes[lane], &b.fx))
				}
			}
			for lane := range 2 {
				b.no(b.TakeCommitted(committed, lanes[lane], &b.fx))
			}
			left = append(left[:0], b.out.Envelopes...)
			for _, e := range left {
				switch m := e.Message.(type) {
				case *wire.Done:
					wire.Free(m)
				case *wire.Push:
					if m.Done != nil { // which its receiver frees
						wire.Free(m.Done)
						m.Done = nil
					}
				}
			}
			b.out.Envelopes, b.fx.Relays, b.fx.Seen = b.out.Envelopes[:0], b.fx.Relays[:0], b.fx.Seen[:0]
		})
		if n != 0 {
			t.Errorf("%s: %v allocations a flush", name, n)
		}
	}
}

var one64 = []float64{1}
