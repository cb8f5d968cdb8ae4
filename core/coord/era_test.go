package coord_test

import (
	"testing"

	"bellows"
	"bellows/link/wire"
)

// TestOtherErasAreNothing gives a controller of era 0 a done of era 1: it numbers nothing, and the one of its own era afterwards.
func TestOtherErasAreNothing(t *testing.T) {
	d := newRunning(&rounds{want: 2})
	m := wire.New[wire.Done]()
	m.Flush = flushID(2, 1)
	m.Append(bellows.Unit{Split: 1, Items: bellows.Range{End: 1}}, nil)
	d.step(wire.Envelope{From: clients[1], To: self, Message: m, Era: 1})
	expect(t, d.said())
	d.done(2, 0)
	expect(t, d.said(), "lane 0 of node 0: record 1 [split 1 clock 0 items [0,1)]")
}
