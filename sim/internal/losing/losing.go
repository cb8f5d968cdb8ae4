// Package losing is the message that a schedule loses, if it does. No transport loses one, so this is a bug of ours that is made up: the job must find it and end by name, where it would otherwise wait for
// ever. Whoever waits asks (Inquiry), and the answer is what tells a lane that is slow from one that was never asked; where the questions are lost, too, the silence itself must end the wait.
//
// Ask it of every message that an actor posts, in their order.
package losing

import (
	"slices"
	"strings"

	"bellows/link/wire"
	"bellows/sim/internal/schedule"
)

// Loss is what has been lost. The zero Loss is nothing.
type Loss struct {
	Done bool
	Push bool          // it was a push: what it had is in nobody's account
	mute wire.Envelope // whose questions to whom are lost, too; zero: nobody's
}

// Loses reports whether a message is lost, and whether it is the one of which the schedule says so.
func (l *Loss) Loses(e wire.Envelope, plan *schedule.Loss) (lost, first bool) {
	if m := &l.mute; m.Message != nil && e.From == m.From && e.To == m.To {
		_, asks := e.Message.(*wire.Inquiry)
		return asks, false
	}
	if l.Done || plan.Skip < 0 || !plan.Of.Takes(e.Message) {
		return false, false
	}
	if plan.Skip--; plan.Skip >= 0 {
		return false, false
	}
	l.Done = true
	if _, l.Push = e.Message.(*wire.Push); plan.Of == schedule.LostSpeech {
		l.mute = e
	}
	return true, true
}

// Found are the sentences with which a job ends for it.
var Found = []string{"a message is lost", "has said nothing for"}

// Ended reports whether a job has ended for it, by its reason.
func (l *Loss) Ended(reason string) bool {
	return l.Done && slices.ContainsFunc(Found, func(s string) bool { return strings.Contains(reason, s) })
}
