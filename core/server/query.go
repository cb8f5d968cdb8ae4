package server

import (
	"slices"

	"bellows/link/wire"
)

// takeQuery answers what the lane holds. The term of the one that asks has been taken note of
// (take): the lane hears none below it any more, so that no record comes behind those of which it
// speaks here but by that controller. It says everything that a controller cannot know from
// records: flushes that are held, with what they have finished; who was added and fenced; and what
// it was told of the end.
func (l *Lane) takeQuery(from wire.Address, m *wire.Query, out *wire.Outbox) {
	h := &wire.Holding{Term: l.terms.Highest(), Last: l.shard.Applied(), Tail: l.tail.Oldest(l.shard.Applied()),
		Flushes: l.flushes.Holding(), Owned: l.shard.Whole()}
	h.Added = slices.Clone(l.added) // a message is its receiver's
	h.Adopted = l.ending.Adopted()
	h.Gone = l.clients.Fences()
	h.End = l.ending.End()
	out.Send(l.cfg.Self, from, h)
	l.fault.complain(out)
	if m.From > 0 {
		l.tail.Since(m.From, l.terms.Highest(), func(r *wire.Records) { out.Send(l.cfg.Self, from, r) })
	}
}
