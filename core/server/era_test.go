package server_test

import (
	"testing"

	"bellows"
	"bellows/link/wire"
)

// TestOtherErasAreNothing gives a lane of era 0, whose answers say so, a push of era 1; nothing comes of it, and the push of its own era is not taken
// for a second one.
func TestOtherErasAreNothing(t *testing.T) {
	s := newScript(t, 0)
	for era, want := range []string{1: "", 0: "held flush 1 of node 1"} {
		e := wire.Envelope{From: clients[0], To: laneAt, Message: lifePush(1, ref(1, 0), 1), Era: bellows.Era(era)}
		s.lane.Step([]wire.Envelope{e}, &s.out)
		got := ""
		for _, e := range s.out.Envelopes {
			got += describe(e.Message)
		}
		s.out.Envelopes = s.out.Envelopes[:0]
		if got != want {
			t.Errorf("a push of era %d: says %q, want %q", era, got, want)
		}
	}
}
