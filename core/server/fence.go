package server

import (
	"fmt"

	"bellows/core/fence"
	"bellows/core/partition"
	"bellows/core/planted"
	"bellows/link/wire"
)

// The lane acts on what package fence finds: it reports a silence of the controller, and forgets the reads,
// subscriptions, leases and flushes of processes that are gone.

// hears reports whether a message is taken. Messages of the controller and of clients can come from
// processes that others have replaced, or that were declared gone.
func (l *Lane) hears(e *wire.Envelope) bool {
	if e.From != l.cfg.Controller {
		excluded, late := l.clients.Excludes(e)
		if late {
			l.flushes.DropLate(e.Message.(*wire.Push), &l.parts)
		}
		return !excluded
	}
	term := e.Term()
	if l.terms.Older(term) && !planted.On("old-term-heard") {
		l.terms.Drop()
		return false
	}
	if l.terms.Hear(term) != fence.SameController {
		l.cuts.Follow()
	}
	l.silence.Hears()
	return true
}

// Tick is a shell's message to a lane: the time, and how many bytes have come from the controller's node.
type Tick struct {
	wire.Local
	NowMillis int64
	Heard     uint64
}

// Tick tells the lane the time, and how many bytes have come from the controller's node. A long
// silence is reported to the controller, once.
func (l *Lane) Tick(nowMillis int64, heard uint64, out *wire.Outbox) {
	times := l.cfg.Times
	if times.Lease == 0 || l.ending.Closed() || !l.begun {
		return
	}
	if silent, name := l.silence.Tick(nowMillis, heard, times.Lease, times.Notice); name {
		out.Send(l.cfg.Self, l.cfg.Controller, &wire.Notice{Sentence: fmt.Sprintf(
			"%v has not heard the controller for %.1f s, and after %.1f s serves no reads until it does",
			l.cfg.Self, float64(silent)/1000, float64(times.Lease)/1000)})
	}
}

// outlived reports whether a newer process of a client is known. If the process itself is newer than
// the one that was known, the reads and subscriptions of that one are forgotten.
func (l *Lane) outlived(who partition.Subscriber) bool {
	switch l.clients.Meet(who.Address, who.Incarnation) {
	case fence.Outlived:
		return true
	case fence.Newer:
		l.reads.Renew(who, l.state)
	}
	return false
}

// takeFence parts the lane from a client's process that was declared gone: nothing that the process
// sends is taken any more, what it left unrecorded never counts, and nothing waits for it. The records
// of what counts of it came before, on the same link. So a flush of it that is held now has no number
// and never gets one. A process that is started later is heard.
//
// An exclusive lease of the process stays out, so that the partition is not read: if it was worked on
// in place its values are torn. A shared lease ends, because it changed nothing.
func (l *Lane) takeFence(m *wire.Fence, out *wire.Outbox) {
	gone := fence.Process{Node: m.Node, Incarnation: m.Incarnation}
	if !l.clients.Fence(gone) {
		return
	}
	l.flushes.Fence(gone)
	l.reads.Forget(l.state, func(who partition.Subscriber) bool { return gone.Covers(who.Address, who.Incarnation) })
	leaser := func(a wire.Address) bool { return gone.Covers(a, l.clients.Newest(a)) }
	for _, p := range l.state.Owned() {
		p.Leases.Forget(leaser)
		l.carry(wire.ClientAt(m.Node), p.ReleaseAll(leaser, &l.fx), out)
	}
	l.moves.Lose(m.Node)
	l.flushes.Admit(out)
}
