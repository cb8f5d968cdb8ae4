package server

import (
	"bellows/core/partition"
	"bellows/core/planted"
	"bellows/core/prepare"
	"bellows/link/wire"
)

// takePush takes the first phase of a commit: package prepare judges a push and holds it until its record, or answers why
// not. The keys of a push get rows before the vote, so that sums along the tree and rules work on rows as those of any
// table.
func (l *Lane) takePush(from wire.Address, m *wire.Push, out *wire.Outbox) {
	who := partition.Subscriber{Address: from, Incarnation: m.Flush.Incarnation}
	if l.outlived(who) && !planted.On("incarnation-ignored") {
		wire.Free(m)
		return
	}
	switch j := l.flushes.Judge(from, m, l.shard.Applied(), l.shard, out); j.Verdict {
	case prepare.Stale:
		if err := l.flushes.Refuse(from, m, out); err != nil {
			l.fault.breach(from, out, "%v", err)
		}
		l.flushes.Admit(out)
	case prepare.Refused:
		out.Send(l.cfg.Self, from, refusal(m.Flush, j.Err))
	case prepare.Breach:
		l.fault.breach(from, out, "%v", j.Err)
	case prepare.Fits:
		rows, err := l.commits.Reserve(m, l.shard)
		if err != nil {
			l.flushes.Miss(m)
			out.Send(l.cfg.Self, from, refusal(m.Flush, err))
			return
		}
		l.shard.Hold(m)
		l.flushes.Hold(from, m, j, rows, out)
	}
}
