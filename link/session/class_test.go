package session_test

import (
	"math/rand/v2"
	"testing"

	"bellows/link/session"
	"bellows/link/traffic"
	"bellows/link/wire"
)

// TestClassIsOfKindAndRoles: what the controller sends or receives is control, and of other actors nothing is.
func TestClassIsOfKindAndRoles(t *testing.T) {
	t.Parallel()
	client, lane, controller := wire.ClientAt(1), wire.LaneAt(2, 0), wire.ControllerAt()
	for _, c := range []struct {
		from, to wire.Address
		message  wire.Message
		want     traffic.Class
	}{
		{controller, lane, &wire.Records{}, traffic.Control},
		{lane, controller, &wire.Done{}, traffic.Control},
		{lane, controller, &wire.Slab{}, traffic.Migration},
		{lane, controller, &wire.Collected{}, traffic.Migration},
		{client, lane, &wire.End{}, traffic.Flushes}, // which follows all pushes
		{lane, client, &wire.Stale{}, traffic.Flushes},
		{lane, controller, &wire.Mark{}, traffic.Control},
		{lane, lane, &wire.Mark{}, traffic.Flushes},
		{client, lane, &wire.Push{}, traffic.Flushes},
		{client, lane, &wire.Pull{}, traffic.Pulls},
		{lane, client, &wire.Rows{}, traffic.Rows},
		{lane, lane, &wire.Piece{}, traffic.Migration},
		{client, client, &wire.Rows{}, traffic.Rows},
	} {
		e := wire.Envelope{From: c.from, To: c.to, Message: c.message}
		if got := session.ClassOf(&e); got != c.want {
			t.Errorf("%T from %v to %v is of the class %v, not %v", c.message, c.from, c.to, got, c.want)
		}
		if urgent := session.StreamOf(e) == session.Urgent; urgent != (c.want == traffic.Control) {
			t.Errorf("%T from %v to %v is urgent: %v", c.message, c.from, c.to, urgent)
		}
	}
}

// TestHigherRankWaits gives pieces a rank below that of pushes: they leave when no push may, and keep the order of two
// lanes.
func TestHigherRankWaits(t *testing.T) {
	t.Parallel()
	e := talk(t)
	ranks := traffic.Default
	ranks[traffic.Migration] = 2
	e.SetRanks(&ranks)
	piece := func(lane int, n uint64) wire.Envelope {
		return wire.Envelope{From: wire.LaneAt(1, lane), To: wire.LaneAt(9, 0), Message: &wire.Piece{Number: n}}
	}
	held := wire.Envelope{From: wire.LaneAt(1, 0), To: wire.LaneAt(9, 0), Message: &wire.Taken{}}
	e.Post(piece(0, 1))
	e.Post(message("a0", true, 1))
	e.Post(held) // of the pair of the first piece: it stays after that
	e.Post(piece(1, 2))
	e.Post(message("a0", false, 2))
	e.Post(message("b0", false, 3))
	want := []wire.Message{&wire.Push{}, &wire.Push{}, &wire.Push{}, &wire.Piece{}, &wire.Taken{}, &wire.Piece{}}
	var got []wire.Envelope
	for list := e.Take(session.Ordinary, 9, nil); len(list) > 0; list = e.Take(session.Ordinary, 9, nil) {
		got = append(got, list...)
	}
	if len(got) != len(want) {
		t.Fatalf("%d messages left", len(got))
	}
	for i := range got {
		if got[i].Kind() != (wire.Envelope{Message: want[i]}).Kind() {
			t.Errorf("message %d is %T, not %T", i, got[i].Message, want[i])
		}
	}
}

// TestRanksKeepThePairsInOrder posts messages of all classes at random, over connections that break, and wants all of
// them once, those of two
// actors in order.
func TestRanksKeepThePairsInOrder(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		e := talk(t)
		var ranks traffic.Ranks
		for c := range ranks {
			ranks[c] = uint8(rng.IntN(3))
		}
		e.SetRanks(&ranks)
		type pair struct{ from, to wire.Address }
		posted, left := map[pair][]wire.Message{}, map[pair][]wire.Message{}
		messages := []func() wire.Message{
			func() wire.Message { return &wire.Push{Chunks: []wire.Chunk{{Values: make([]float32, rng.IntN(300))}}} },
			func() wire.Message { return &wire.Pull{} }, func() wire.Message { return &wire.Rows{} }, func() wire.Message { return &wire.Piece{} },
		}
		acked := uint64(0)
		for range 100 {
			switch rng.IntN(8) {
			case 0:
				e.Connected()
				if _, err := e.Resume(&wire.Resume{Process: 1, Received: session.Counts{session.Ordinary: acked}}, nil); err != nil {
					t.Fatal(err)
				}
			case 1, 2, 3:
				for _, m := range e.Take(session.Ordinary, 1+rng.IntN(3), nil) {
					p := pair{m.From, m.To}
					left[p] = append(left[p], m.Message)
					acked++
				}
				for _, m := range e.Between(nil) {
					p := pair{m.From, m.To}
					left[p] = append(left[p], m.Message)
					acked++
				}
				if _, err := e.Acknowledge(&wire.Ack{Received: session.Counts{session.Ordinary: acked}}, nil); err != nil {
					t.Fatal(err)
				}
			default:
				m := wire.Envelope{From: wire.ClientAt(1), To: wire.LaneAt(9, rng.IntN(3)), Message: messages[rng.IntN(len(messages))]()}
				e.Post(m)
				p := pair{m.From, m.To}
				posted[p] = append(posted[p], m.Message)
			}
		}
		for list := e.Take(session.Ordinary, 9, nil); len(list) > 0; list = e.Take(session.Ordinary, 9, nil) {
			for _, m := range list {
				p := pair{m.From, m.To}
				left[p] = append(left[p], m.Message)
			}
		}
		for p, list := range posted {
			if len(left[p]) != len(list) {
				t.Fatalf("of %d messages %d left", len(list), len(left[p]))
			}
			for i := range list {
				if left[p][i] != list[i] {
					t.Fatalf("message %d of %v overtook another of its pair", i, p)
				}
			}
		}
	}
}
