package server

import (
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// bury parts from a client that is lost while the job goes on, by a record, so that every lane does so at the same point of the log
// (docs/decisions/0060). What it has sent and is not recorded is in nobody's account: its records are its last word (audit.Sent).
func (l *Lane) bury(c *bellows.Control, out *wire.Outbox) {
	a := wire.ClientAt(c.Node)
	if !planted.On("lost-not-fenced") {
		l.takeFence(&wire.Fence{Node: c.Node, Incarnation: max(l.cfg.Incarnation(a), l.clients.Newest(a))}, out)
	}
	for _, p := range l.owned {
		if p.leases.Exclusive() && p.leases.Owner() == a && p.remote && !planted.On("lease-of-the-lost-kept") { // it worked on a copy
			p.leases.End()
			p.catchUp(l, out)
		}
	}
	l.adopted = append(l.adopted, *c) // so another controller does not wait for it
	if !planted.On("lost-awaited") {
		l.part(a, out)
	}
}

// buried reports whether a flush is of a client that is lost while the job goes on.
func (l *Lane) buried(id bellows.FlushID) bool {
	return slices.ContainsFunc(l.adopted, func(c bellows.Control) bool { return c.Kind == bellows.LoseClient && c.Node == id.Client })
}
