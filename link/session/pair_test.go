package session_test

import (
	"testing"

	"bellows/link/session"
	"bellows/link/wire"
)

// TestActorsUseOneConnection checks that messages of the controller take the first connection, and those between a
// client and a lane one of the others, the same one both ways.
func TestActorsUseOneConnection(t *testing.T) {
	lane := func(i int) wire.Address { return wire.LaneAt(2, i) }
	client := wire.ClientAt(1)
	for _, c := range []struct {
		a, b wire.Address
		want [4]int // by how many connections there are, less one
	}{
		{client, wire.ControllerAt(), [4]int{}},
		{lane(1), wire.ControllerAt(), [4]int{}},
		{client, wire.ClientAt(2), [4]int{}},
		{client, lane(0), [4]int{0, 1, 1, 1}},
		{client, lane(1), [4]int{0, 1, 2, 2}},
		{client, lane(2), [4]int{0, 1, 1, 3}},
		{client, lane(3), [4]int{0, 1, 2, 1}},
	} {
		for i, want := range c.want {
			there := session.ConnectionOf(wire.Envelope{From: c.a, To: c.b}, i+1)
			back := session.ConnectionOf(wire.Envelope{From: c.b, To: c.a}, i+1)
			if there != want || back != want {
				t.Errorf("%v to %v takes connection %d of %d, and %d back; want %d", c.a, c.b, there, i+1, back, want)
			}
		}
	}
}

// TestAPairIsLostOnce: with the first connection that ends without a word, or with the last, if all end in peace.
func TestAPairIsLostOnce(t *testing.T) {
	for name, c := range map[string]struct {
		peace []bool
		lost  int // with which of these
	}{
		"one in peace":            {[]bool{true}, 0},
		"one without a word":      {[]bool{false}, 0},
		"all in peace":            {[]bool{true, true, true}, 2},
		"the first without":       {[]bool{false, true, true}, 0},
		"the second without":      {[]bool{true, false, true}, 1},
		"the last without":        {[]bool{true, true, false}, 2},
		"several without a word":  {[]bool{true, false, false}, 1},
		"the others in peace too": {[]bool{false, false, true}, 0},
	} {
		p := session.NewPair(len(c.peace))
		for i, peace := range c.peace {
			if lost := p.Ended(peace); lost != (i == c.lost) {
				t.Errorf("%s: with connection %d, lost: %v", name, i, lost)
			}
		}
	}
}
