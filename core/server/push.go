package server

import (
	"bellows/core/commits"
	"bellows/core/lanestate"
	"bellows/core/partition"
	"bellows/core/planted"
	"bellows/link/wire"
)

// takePush takes the first phase of a commit: package prepare holds a push until its record, or answers why not.
func (l *Lane) takePush(from wire.Address, m *wire.Push, out *wire.Outbox) {
	who := partition.Subscriber{Address: from, Incarnation: m.Flush.Incarnation}
	if l.outlived(who) && !planted.On("incarnation-ignored") {
		wire.Free(m)
		return
	}
	refused, breach := l.flushes.Prepare(from, m, l.state.Applied(), &l.parts, out)
	if refused != nil {
		out.Send(l.cfg.Self, from, refusal(m.Flush, refused))
	}
	if breach != nil {
		l.fault.breach(from, out, "%v", breach)
	}
}

// parts are the partitions of the lane as package prepare asks for them, with the rows that keys of pushes get.
type parts struct {
	*lanestate.State
	commits *commits.Commits
}

// Reserve gives a row to every key of a push.
func (p *parts) Reserve(m *wire.Push) ([]uint32, error) { return p.commits.Reserve(m, p.State) }
