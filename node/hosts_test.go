package node

import (
	"testing"

	"bellows"
	"bellows/link/wire"
)

// TestAnExchangeTakesWhatIsForItsActors judges headers at node 1, which has a client and two lanes: one passes if it says whence it came, and
// for whom it is that there is.
func TestAnExchangeTakesWhatIsForItsActors(t *testing.T) {
	t.Parallel()
	b := newBus(1, func(wire.Envelope) {}, func() {})
	defer b.close()
	for _, a := range []wire.Address{wire.ClientAt(1), wire.LaneAt(1, 0), wire.LaneAt(1, 1)} {
		b.add(a, func([]wire.Envelope, *wire.Outbox) {})
	}
	for _, c := range []struct {
		peer     bellows.NodeID
		from, to wire.Address
		passes   bool
	}{
		{0, wire.ClientAt(0), wire.LaneAt(1, 1), true},
		{0, wire.LaneAt(0, 7), wire.ClientAt(1), true},
		{2, wire.ClientAt(0), wire.LaneAt(1, 1), false},
		{0, wire.ClientAt(0), wire.LaneAt(2, 1), false},
		{0, wire.ClientAt(0), wire.LaneAt(1, 2), false},
		{0, wire.LaneAt(0, 0), wire.Address{Node: 1, Index: 1}, false},
		{0, wire.ClientAt(0), wire.Address{Node: 1, Role: wire.Controller}, false},
		{0, wire.ClientAt(0), wire.Address{Node: 1, Role: wire.Controller + 1}, false},
	} {
		if err := (hosts{b}).Header(c.peer, wire.Header{From: c.from, To: c.to}); (err == nil) != c.passes {
			t.Errorf("from %v, by way of node %d, to %v: %v", c.from, c.peer, c.to, err)
		}
	}
}
