package session_test

import (
	"math/rand/v2"
	"testing"

	"bellows"
	"bellows/session"
	"bellows/wire"
)

func numbered(n int) wire.Envelope {
	return wire.Envelope{Message: &wire.Keep{Commit: bellows.CommitNumber(n)}}
}

// TestExactlyOnceInOrder sends both ways over links that drop, repeat and reorder.
func TestExactlyOnceInOrder(t *testing.T) {
	const messages = 60
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 3))
		var ends [2]session.End
		var links [2][]session.Packet // towards each end
		var sent, got [2]int
		transmit := func(to int, p session.Packet) {
			for range random.IntN(3) { // dropped, sent, or sent twice
				links[to] = append(links[to], p)
			}
		}
		var buffer []wire.Envelope
		for steps := 0; got[0] < messages || got[1] < messages || !ends[0].Idle() || !ends[1].Idle(); steps++ {
			if steps > 100000 {
				t.Fatalf("seed %d: no progress at %v", seed, got)
			}
			side := random.IntN(2)
			switch random.IntN(4) {
			case 0:
				if sent[side] < messages {
					sent[side]++
					transmit(1-side, ends[side].Send(numbered(sent[side])))
				}
			case 1:
				for _, p := range ends[side].Tick(nil) {
					transmit(1-side, p)
				}
			default:
				if n := len(links[side]); n > 0 {
					i := random.IntN(n)
					p := links[side][i]
					links[side] = append(links[side][:i], links[side][i+1:]...)
					buffer = ends[side].Receive(p, buffer[:0])
					for _, e := range buffer {
						got[side]++
						if n := int(e.Message.(*wire.Keep).Commit); n != got[side] {
							t.Fatalf("seed %d: message %d came as number %d", seed, n, got[side])
						}
					}
				}
			}
		}
	}
}

func TestAnIdleLinkIsSilent(t *testing.T) {
	var a, b session.End
	p := a.Send(numbered(1))
	if got := b.Receive(p, nil); len(got) != 1 {
		t.Fatalf("%d messages", len(got))
	}
	ack := b.Tick(nil)
	if len(ack) != 1 || ack[0].Sequence != 0 {
		t.Fatalf("want one bare acknowledgement, got %+v", ack)
	}
	a.Receive(ack[0], nil)
	for range 100 {
		if n := len(a.Tick(nil)) + len(b.Tick(nil)); n != 0 {
			t.Fatalf("%d packets on an idle link", n)
		}
	}
}
