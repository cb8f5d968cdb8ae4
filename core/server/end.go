package server

import (
	"slices"

	"bellows/core/planted"
	"bellows/link/wire"
)

// How a lane ends. The controller says End to everybody; each client passes it on to every lane
// behind all that it sent. The lane closes when it has both, so that each push that was sent was
// taken and can be counted: a lane that closed at the controller's word missed those under way, and
// the audit did not add up (docs/decisions/0006). The End names clients that are gone, for whom
// nobody waits. Then the lane says its counts, once to each controller, the same each time.
//
// Turned down: to count as sent only what was acknowledged; the acknowledgement may be under way
// too.

// takeEnd waits for the end from the controller and from every client that can still send it.
func (l *Lane) takeEnd(from wire.Address, m *wire.End, out *wire.Outbox) {
	l.noteEnd(from)
	l.over = l.over || !m.Parts
	if from == l.cfg.Controller {
		l.abandon()
	}
	for _, n := range m.Gone {
		l.noteEnd(wire.ClientAt(n))
		l.forsake(n)
	}
	if from == l.cfg.Controller {
		l.closing, l.told = true, m
		l.cuts.End(false)
	}
	l.closeWhenAll(out)
}

// noteEnd notes that nothing more comes from a client. One that is not known yet may be so later, by a record that is under way: it is not waited for then.
func (l *Lane) noteEnd(from wire.Address) {
	switch i := slices.Index(l.cfg.Clients, from); {
	case i < 0 && from.Role == wire.Client && !slices.Contains(l.left, from):
		l.left = append(l.left, from)
	case i >= 0 && !l.ended[i]:
		l.ended[i] = true
		l.open--
	}
}

// end closes the lane: what is held and not recorded never counts, nor what found no room, nor what waits for a clock that will not complete.
func (l *Lane) end(out *wire.Outbox) {
	l.closed = true
	l.endCopies(out)
	held := l.flushes.Release()
	for i := range held {
		switch f := &held[i]; {
		case planted.On("held-applied-at-end"):
			l.applyFlush(l.opened(f), out)
		case planted.On("held-counted-applied"):
			l.counts.Applied += l.flushes.Rows(f.Push)
		default:
			l.flushes.Miss(f.Push)
		}
	}
	if !planted.On("full-uncounted") {
		l.flushes.DropWaiting()
	}
	if !planted.On("missed-uncounted") && l.removal == nil {
		l.countMissed()
	}
	l.count()
	l.final = l.counts
	l.final.Ledgers = slices.Clone(l.counts.Ledgers)
	if l.removal != nil && l.told == nil {
		l.bequeath(out)
		return
	}
	l.lastWord(out)
}

// lastWord tells the controller that nothing more comes that counts. What those push who were
// declared gone, and wake, is no part of it: to each controller it is the same.
func (l *Lane) lastWord(out *wire.Outbox) {
	counts := l.final
	counts.Ledgers = slices.Clone(counts.Ledgers) // a message is its receiver's
	out.Send(l.cfg.Self, l.cfg.Controller, &wire.Closed{Counts: counts, Adopted: slices.Clone(l.adopted), Missed: l.bequest()})
}

// closeAgain says the last word to a controller that follows another, which ends the job once more.
func (l *Lane) closeAgain(e wire.Envelope, out *wire.Outbox) {
	m, end := e.Message.(*wire.End)
	l.over = l.over || end && !m.Parts
	if end && e.From == l.cfg.Controller && (l.told == nil || m.Term > l.told.Term) && !planted.On("last-word-not-repeated") {
		l.told = m
		l.lastWord(out)
	}
}

// Ending reports whether the controller, or a client, has told the lane that the job is over: so a node without a client knows.
func (l *Lane) Ending() bool {
	return l.over
}

// Removed reports whether the lane takes part no more: its last word is its heir's, or will be.
func (l *Lane) Removed() bool { return l.removal != nil }
