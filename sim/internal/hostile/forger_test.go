package hostile

import (
	"math/rand/v2"
	"testing"

	"bellows"
	"bellows/link/wire"
	"bellows/sim/internal/blame"
	"bellows/sim/internal/coverage"
)

// newForger returns the forger of a job in which one done and one vote were sent, and the forged messages.
func newForger(seed uint64) (*Forger, *[]wire.Envelope) {
	rng, sent := rand.New(rand.NewPCG(seed, 1)), new([]wire.Envelope)
	f := &Forger{Coverage: new(coverage.Coverage), Past: new(Past), Earlier: new(Past), Rng: rng, Chances: rng, Ends: new(blame.Reasons),
		Send: func(e wire.Envelope) { *sent = append(*sent, e) }, Job: View{
			Heard: func() []wire.Address { return nil }, Done: func(bellows.FlushID) bool { return true }, Counts: func(bellows.FlushID) bool { return true }}}
	r := Recorder{Past: f.Past, Rng: rng}
	id := bellows.FlushID{Client: 1, Seq: 4}
	r.Posted(wire.Envelope{From: wire.ClientAt(1), To: wire.ControllerAt(), Message: &wire.Done{Flush: id, Pairs: []wire.Pair{{Generation: 3}}}})
	r.Posted(wire.Envelope{From: wire.LaneAt(1, 0), To: wire.ClientAt(1), Message: &wire.Held{Flush: id}})
	r.Posted(wire.Envelope{From: wire.ClientAt(1), To: wire.LaneAt(1, 0), Message: &wire.Push{Flush: id}}) // not yet: it is on its way
	return f, sent
}

func TestForgedDoneDiffersOrRepeats(t *testing.T) {
	t.Parallel()
	kinds := map[string]bool{}
	for seed := range uint64(50) {
		f, sent := newForger(seed)
		f.ForgeDone()
		m := (*sent)[0].Message.(*wire.Done)
		switch {
		case m.Flush.Seq != 4:
			kinds["another flush"] = true
		case m.Pairs[0].Generation != 3:
			kinds["another generation"] = true
		default:
			kinds["again"] = true
		}
		if !f.Ends.Allow("a done was refused") {
			t.Errorf("seed %d: the job may not end for it", seed)
		}
	}
	if len(kinds) != 3 {
		t.Errorf("only %v", kinds)
	}
}

func TestReplayNeedsSomethingThatWasSent(t *testing.T) {
	t.Parallel()
	votes := 0
	for seed := range uint64(50) {
		f, sent := newForger(seed)
		f.Replay()
		for _, e := range *sent {
			if _, vote := e.Message.(*wire.Held); !vote {
				t.Errorf("seed %d: %T was sent again", seed, e.Message)
			}
			votes++
		}
	}
	if votes == 0 {
		t.Error("nothing was replayed")
	}
}
