package server

import (
	"bellows"
	"bellows/link/wire"
)

// TasksEnded is the shell's word to a lane that no task of its node runs any more: from then on nobody works in place on what it
// leased, so that the state may be looked at.
type TasksEnded struct{ wire.Local }

// takeCollect notes who wants the state. It comes when the job is over, again and again: each asks for more. Who has not passed the end
// on by then is waited for no more.
func (l *Lane) takeCollect(from wire.Address, m *wire.Collect, out *wire.Outbox) {
	if l.closing && !l.closed {
		l.end(out)
	}
	refs := make([]bellows.PartitionRef, 0, len(l.owned))
	for _, p := range l.owned {
		if !p.gone {
			refs = append(refs, p.ref)
		}
	}
	l.collector = from
	l.state.Ask(m, refs)
}

// surrender sends what has been asked for of the state, when it may be looked at.
func (l *Lane) surrender(out *wire.Outbox) {
	if l.closed && l.tasksEnded && l.state.Asked() {
		l.state.Send(l, l.cfg.Self, l.collector, out)
	}
}

// Ending reports whether the controller, or a client, has told the lane that the job is over: so a node without a client knows.
func (l *Lane) Ending() bool { return l.closing || l.open < len(l.ended) }
