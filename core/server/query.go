package server

import (
	"slices"

	"bellows"
	"bellows/link/wire"
)

// Oldest returns the number of the oldest record that the lane keeps, or of the next record if it keeps none.
func (l *Lane) Oldest() bellows.CommitNumber { return l.log.Oldest(l.state.Applied()) }

// takeQuery answers with what the lane holds. The lane has already adopted the term of the query (take): it accepts no
// record of an earlier term, so that only the controller that asks can add to what the lane reports here. The answer
// has everything that a controller cannot learn from records: flushes that are held, with their finished units; added
// and fenced actors; and the end, if the lane knows it.
func (l *Lane) takeQuery(from wire.Address, m *wire.Query, out *wire.Outbox) {
	h := &wire.Holding{Term: l.terms.Highest(), Last: l.state.Applied(), Tail: l.Oldest(),
		Flushes: l.flushes.Holding(), Owned: l.state.Whole()}
	h.Added = slices.Clone(l.added) // a message is its receiver's
	h.Adopted = l.ending.Adopted()
	h.Gone = l.clients.Fences()
	h.End = l.ending.End()
	out.Send(l.cfg.Self, from, h)
	l.fault.complain(out)
	if m.From > 0 {
		l.log.Since(m.From, l.terms.Highest(), func(r *wire.Records) { out.Send(l.cfg.Self, from, r) })
	}
}
