package server

import (
	"bellows"
	"bellows/core/audit"
	"bellows/core/laneend"
	"bellows/core/partition"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Package laneend decides when the lane ends or leaves. The lane passes on which clients and lanes have joined or
// left, drops messages of clients that are gone, and adds up its counts when nothing more can come.

// takeEnd takes the End of the controller, or of a client that passes it on.
func (l *Lane) takeEnd(from wire.Address, m *wire.End, out *wire.Outbox) {
	if from == l.cfg.Controller {
		l.abandon()
		l.cuts.End(false)
	}
	l.ending.TakeEnd(from, m)
	for _, n := range m.Gone {
		l.moves.Lose(n)
	}
	l.closeWhenAll(out)
}

// part stops waiting for a client that a record has removed. Its tasks have ended, and so have its shared leases. The
// message that gives one back may be lost with a connection that breaks as the node leaves
// (TestLeaseOfRemovedClientEnds).
func (l *Lane) part(a wire.Address, out *wire.Outbox) {
	if !l.ending.RemoveClient(a) {
		return
	}
	l.reads.Forget(l.state, func(s partition.Subscriber) bool { return s.Address == a })
	for _, p := range l.state.Owned() {
		l.carry(a, p.ReleaseAll(func(o wire.Address) bool { return o == a }, &l.fx), out)
	}
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
	for _, p := range l.state.Owned() {
		if !planted.On("lease-of-the-lost-kept") {
			l.carry(a, p.Abort(a, &l.fx), out)
		}
	}
	l.ending.Lose(*c)
	if !planted.On("lost-awaited") {
		l.part(a, out)
	}
}

// takeCounts adds the final counts of a lane or client that was removed, if this lane is its successor.
func (l *Lane) takeCounts(f laneend.FinalCounts, out *wire.Outbox) {
	if missed, added := l.ending.Adopt(f, l.state.Route(), out); added {
		l.flushes.Adopt(missed)
		l.closeWhenAll(out)
	}
}

// closeWhenAll closes a lane that is closing, when nothing more can come.
func (l *Lane) closeWhenAll(out *wire.Outbox) {
	if l.ending.Ready(l.state.Expects(), l.Handing()) {
		l.close(out)
	}
}

// close closes the lane. Flushes that are held and not recorded never count, nor do those that wait for room or for a
// clock that will not complete.
func (l *Lane) close(out *wire.Outbox) {
	l.moves.End(out)
	held := l.flushes.Release()
	for i := range held {
		switch f := &held[i]; {
		case planted.On("held-applied-at-end"):
			list := l.commits.Open(held[i:i+1], 0)
			l.carry(f.From, l.commits.Apply(list[len(list)-1], l.state, &l.fx), out)
		case planted.On("held-counted-applied"):
			l.ending.Count(0, l.flushes.Rows(f.Push), 0, &audit.Ledger{})
		default:
			l.flushes.Miss(f.Push)
		}
	}
	if !planted.On("full-uncounted") {
		l.flushes.DropWaiting()
	}
	missed := l.missed()
	if !planted.On("missed-uncounted") && !l.ending.Removed() {
		for i := range missed {
			l.ending.Drop(&missed[i])
		}
	}
	for _, p := range l.state.Owned() {
		countPartition(l.ending, p)
	}
	l.ending.Close(missed, l.state.Route(), out)
}

// TakesPart reports whether the lane is one of the job's by the records that it has.
func (l *Lane) TakesPart() bool { return l.begun && !l.ending.Removed() }

// abandon gives up what is ahead, since the job is over: the records that it waits for do not come.
func (l *Lane) abandon() {
	for _, a := range l.ahead.Take() {
		switch m := a.Envelope.Message.(type) {
		case *wire.Push:
			l.flushes.Miss(m)
		case *wire.End:
			l.ending.EndClient(a.Envelope.From)
		}
	}
}
