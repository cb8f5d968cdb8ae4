package schedule

import (
	"slices"
	"strings"

	"bellows/link/wire"
)

// A Loss is a planted bug: a message between a client and a lane is lost, although no link loses it. The job must
// detect the loss and end with an error that names it, instead of waiting forever. An actor that waits asks
// (wire.Inquiry), and the answer distinguishes a slow lane from one that was never asked. If the questions are lost as
// well, the silence itself must end the wait.
type Loss struct {
	Skip int           // messages of its kind before it; negative: no loss
	Done bool          // it is lost
	Push bool          // it was a push: what it had is in no account
	of   string        // its kind, of those in losable
	mute wire.Envelope // questions from its sender to its receiver are lost as well; zero: none are
}

// losable lists the kinds of messages that may be lost: an actor waits for each. A "speech" is a pull, and from then on
// all that its client asks its lane about it.
var losable = [...]string{"pull", "rows", "acquire", "granted", "push", "held", "room", "speech"}

// takes reports whether a message is of the kind that is lost.
func (l *Loss) takes(m wire.Message) bool {
	switch m := m.(type) {
	case *wire.Pull:
		return l.of == "pull" || l.of == "speech"
	case *wire.Rows:
		return l.of == "rows" && m.Request > 0
	case *wire.Acquire:
		return l.of == "acquire"
	case *wire.Granted:
		return l.of == "granted"
	case *wire.Push:
		return l.of == "push"
	case *wire.Held:
		return l.of == "held" && len(m.Pairs) == 0
	case *wire.Room:
		return l.of == "room"
	}
	return false
}

// Loses reports whether a message that an actor posts is lost, and whether it is the first. Ask it of each, in their order.
func (l *Loss) Loses(e wire.Envelope) (lost, first bool) {
	if m := &l.mute; m.Message != nil && e.From == m.From && e.To == m.To {
		_, asks := e.Message.(*wire.Inquiry)
		return asks, false
	}
	if l.Done || l.Skip < 0 || !l.takes(e.Message) {
		return false, false
	}
	if l.Skip--; l.Skip >= 0 {
		return false, false
	}
	l.Done = true
	if _, l.Push = e.Message.(*wire.Push); l.of == "speech" {
		l.mute = e
	}
	return true, true
}

// LossFound lists the sentences with which a job ends for a loss.
var LossFound = []string{"a message is lost", "has said nothing for"}

// Ended reports whether a job has ended for the loss, by its reason.
func (l *Loss) Ended(reason string) bool {
	return l.Done && slices.ContainsFunc(LossFound, func(s string) bool { return strings.Contains(reason, s) })
}
