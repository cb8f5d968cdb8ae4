package schedule

import (
	"slices"
	"strings"

	"bellows/link/wire"
)

// Loss is a message between a client and a lane that is lost, which no link loses: a bug that is made up. The job must find
// it and end by name, where it would otherwise wait forever. Whoever waits asks (wire.Inquiry), and the answer tells a lane
// that is slow from one that was never asked; if the questions are lost too, the silence itself must end the wait.
type Loss struct {
	Skip int           // messages of its kind before it; negative: there is no loss
	Done bool          // it is lost
	Push bool          // it was a push: what it had is in no account
	of   string        // its kind, of those in losable
	mute wire.Envelope // whose questions to whom are lost, too; zero: none are
}

// losable are the kinds of messages that may be lost, those at which somebody waits for them. A "speech" is a pull, and
// from then on all that its client asks its lane about it.
var losable = [...]string{"pull", "rows", "acquire", "granted", "push", "held", "room", "speech"}

// takes reports whether the loss is of that kind of message.
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

// LossFound are the sentences with which a job ends for a loss.
var LossFound = []string{"a message is lost", "has said nothing for"}

// Ended reports whether a job has ended for the loss, by its reason.
func (l *Loss) Ended(reason string) bool {
	return l.Done && slices.ContainsFunc(LossFound, func(s string) bool { return strings.Contains(reason, s) })
}
