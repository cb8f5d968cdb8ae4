package sim

import (
	"fmt"
	"slices"

	"bellows/link/wire"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/schedule"
)

// loss is the message that a schedule has lost, if it has. No transport loses one, so this is a bug of ours that is made up: the job must find it and end
// by name, where it would otherwise wait for ever. Whoever waits asks (Inquiry), and the answer is what tells a lane that is slow
// from one that was never asked; where the questions are lost, too, the silence itself must end the wait.
type loss struct {
	done bool
	push bool          // it was a push: what it had is in nobody's account
	mute wire.Envelope // whose questions to whom are lost, too; zero: nobody's
}

// loses reports whether a message that an actor posts is lost.
func (w *world) loses(e wire.Envelope) bool {
	if m := &w.loss.mute; m.Message != nil && e.From == m.From && e.To == m.To {
		_, asks := e.Message.(*wire.Inquiry)
		return asks
	}
	if w.loss.done || w.Loss.Skip < 0 || !w.Loss.Of.Takes(e.Message) {
		return false
	}
	if w.Loss.Skip--; w.Loss.Skip >= 0 {
		return false
	}
	w.note("%T from %v to %v is lost", e.Message, e.From, e.To)
	w.coverage.Hit(coverage.LossInjected)
	w.loss.done = true
	w.faults.ends.May("a message is lost")
	w.faults.ends.May("has said nothing for")
	if _, w.loss.push = e.Message.(*wire.Push); w.Loss.Of == schedule.LostSpeech {
		w.loss.mute = e
	}
	return true
}

// checkLoss takes note of jobs that have ended for a message that was lost, or for a node that was never ready.
func (w *world) checkLoss() {
	w.coverage.HitIf(coverage.NeverReady, w.outcome != nil && w.ended(fmt.Sprintf("node %d has not been ready after", w.Unready)))
	w.coverage.HitIf(coverage.LossFound, w.loss.done && w.outcome != nil && slices.ContainsFunc([]string{"a message is lost", "has said nothing for"}, w.ended))
}
