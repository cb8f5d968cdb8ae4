package fabric

import (
	"fmt"
	"testing"

	"bellows/link/wire"
)

// TestBusCarriesMessagesBetweenAnyTwoRoles sends one message from each role to each, of one process, and over a mesh.
func TestBusCarriesMessagesBetweenAnyTwoRoles(t *testing.T) {
	t.Parallel()
	var posted []wire.Envelope
	b := newBus(1, func(e wire.Envelope) { posted = append(posted, e) }, func() {})
	defer b.Close()
	got := map[string]int{}
	for role := range wire.Controller + 1 {
		a := wire.Address{Node: 1, Role: role}
		b.Add(a, func(batch []wire.Envelope, _ *wire.Outbox) {
			for _, e := range batch {
				got[fmt.Sprintf("%v to %v", e.From, a)]++
			}
		})
	}
	for from := range wire.Controller + 1 {
		for to := range wire.Controller + 1 {
			b.Send(wire.Address{Node: 1, Role: from}, wire.Address{Node: 1, Role: to}, &wire.Beat{})
			b.Send(wire.Address{Node: 1, Role: from}, wire.Address{Node: 2, Role: to}, &wire.Beat{})
		}
	}
	if ways := int(wire.Controller+1) * int(wire.Controller+1); len(got) != ways || len(posted) != ways {
		t.Errorf("%d ways within the process, %d to another node; want %d", len(got), len(posted), ways)
	}
}
