package server

import (
	"bellows"
	"bellows/core/audit"
	"bellows/core/closing"
	"bellows/core/partition"
	"bellows/core/planted"
	"bellows/link/wire"
)

// The lane ends, or leaves, as package closing has it. The lane tells it what changes who takes part, drops
// what is of clients that are gone, and counts what is left when nothing more can come.

// takeEnd takes the End of the controller, or of a client that passes it on.
func (l *Lane) takeEnd(from wire.Address, m *wire.End, out *wire.Outbox) {
	if from == l.cfg.Controller {
		l.abandon()
		l.cuts.End(false)
	}
	l.ending.TakeEnd(from, m)
	for _, n := range m.Gone {
		l.moves.forsake(n, l.cfg.Self.Node)
	}
	l.closeWhenAll(out)
}

// part stops waiting for a client that a record has removed.
func (l *Lane) part(a wire.Address, out *wire.Outbox) {
	if l.ending.RemoveClient(a) {
		l.reads.Forget(l.shard, func(s partition.Subscriber) bool { return s.Address == a })
		l.closeWhenAll(out)
	}
}

// leave begins the lane's end by a record that removes it.
func (l *Lane) leave(c *bellows.Control, out *wire.Outbox) {
	l.ending.Leave(*c)
	l.closeWhenAll(out)
}

// loseClient parts from a client that is lost while the job continues, by a record, so that every lane does
// so at the same point of the log (docs/decisions/0060). What it has sent and is not recorded is in no account: its
// records count for it (audit.Sent).
func (l *Lane) loseClient(c *bellows.Control, out *wire.Outbox) {
	a := wire.ClientAt(c.Node)
	if !planted.On("lost-not-fenced") {
		newest := max(l.cfg.Incarnation(a), l.clients.Newest(a))
		l.takeFence(&wire.Fence{Node: c.Node, Incarnation: newest}, out)
	}
	for _, p := range l.shard.Owned() {
		if !planted.On("lease-of-the-lost-kept") {
			l.carry(a, p.Abort(a, &l.fx), out)
		}
	}
	l.ending.Lose(*c)
	if !planted.On("lost-awaited") {
		l.part(a, out)
	}
}

// removedBy returns this lane's removal among changes of the route; nil: it is not there.
func (l *Lane) removedBy(changes []bellows.Control) *bellows.Control {
	for i := range changes {
		if who, removed := l.shard.Route().Removed(changes[i]); removed && who == l.cfg.Self {
			return &changes[i]
		}
	}
	return nil
}

// takeCounts adds the final counts of a lane or client that was removed, if this lane is its successor.
func (l *Lane) takeCounts(f closing.FinalCounts, out *wire.Outbox) {
	if missed, added := l.ending.Adopt(f, l.shard.Route(), out); added {
		l.flushes.Adopt(missed)
		l.closeWhenAll(out)
	}
}

// takeCountsAhead adds final counts that waited for the newest route.
func (l *Lane) takeCountsAhead(out *wire.Outbox) {
	for _, f := range l.ending.TakeAhead() {
		l.takeCounts(f, out)
	}
}

// closeWhenAll closes a lane that is closing, when nothing more can come.
func (l *Lane) closeWhenAll(out *wire.Outbox) {
	if l.ending.Ready(l.shard.Expects(), l.Handing()) {
		l.close(out)
	}
}

// close closes the lane. Flushes that are held and not recorded never count, nor do those that wait for room or for a
// clock that will not complete.
func (l *Lane) close(out *wire.Outbox) {
	l.endCopies(out)
	held := l.flushes.Release()
	for i := range held {
		switch f := &held[i]; {
		case planted.On("held-applied-at-end"):
			l.applyFlush(l.opened(f), out)
		case planted.On("held-counted-applied"):
			l.ending.Count(0, l.flushes.Rows(f.Push), 0, &audit.Ledger{})
		default:
			l.flushes.Miss(f.Push)
		}
	}
	if !planted.On("full-uncounted") {
		l.flushes.DropWaiting()
	}
	if !planted.On("missed-uncounted") && !l.ending.Removed() {
		l.countMissed()
	}
	for _, p := range l.shard.Owned() {
		l.countPartition(p)
	}
	l.ending.Close(l.flushes.Missed(), l.shard.Route(), out)
}

// Ending reports whether the controller, or a client, has told the lane that the job is over: so a node
// without a client knows.
func (l *Lane) Ending() bool { return l.ending.JobOver() }

// Removed reports whether the lane takes part no more: its counts go to its successor.
func (l *Lane) Removed() bool { return l.ending.Removed() }

// TakesPart reports whether the lane is one of the job's by the records that it has.
func (l *Lane) TakesPart() bool { return l.begun && !l.ending.Removed() }
