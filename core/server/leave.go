package server

import (
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// How a lane leaves while the job goes on, and what becomes of what it has counted.
//
// A record removes it, when it owns nothing (bellows.RemoveLane). It takes no record behind that one.
// Clients may be behind: what they still ask it is answered as stale. Each says End to it when it
// hears of the removal, so that the lane knows when nothing more comes; then it is closed, as at the
// job's end. Its last word goes to its heir, a lane that the record names, which adds the counts to
// its own and says so (wire.Adopted): then the node may go. One that is to leave itself waits for
// what it inherits, and leaves that with its own. So the audit of the job counts who has
// left, and no controller has to remember it: the heir is asked like any lane, and has the record,
// too, and those before it. If the job ends first, the last word goes to the controller, which
// leaves it out where an heir has it (coord.words).
//
// A client that is removed runs no split: all that it sent has a number, so that nobody waits for its
// End. It is its own last word that goes to the heir.
//
// Turned down: the counts in the controller, or in a record, which every lane then keeps, for a
// word that one needs once; and to wait for the End of a removed client at all lanes, since one whose
// connection breaks while its node goes would hold up the job's end.

// bequest is the last word of somebody who was removed, and whose heir this lane is.
type bequest struct {
	from   wire.Address
	closed *wire.Closed
}

// part waits no more for the End of a client that was removed.
func (l *Lane) part(a wire.Address, out *wire.Outbox) {
	i := slices.Index(l.cfg.Clients, a)
	if i < 0 || planted.On("parted-awaited") {
		return
	}
	if !l.ended[i] {
		l.ended[i] = true
		l.open--
	}
	l.disregard(func(s subscriber) bool { return s.address == a })
	l.closeWhenAll(out)
}

// leave begins the lane's end by its removal.
func (l *Lane) leave(c *bellows.Control, out *wire.Outbox) {
	change := *c
	l.removal, l.closing = &change, true
	l.closeWhenAll(out)
}

// closeWhenAll closes a lane that is closing, when nothing more can come. One that leaves takes over
// first what others leave to it (TestAnHeirThatLeavesWaitsForItsInheritance), and stays until what it has handed over is there.
func (l *Lane) closeWhenAll(out *wire.Outbox) {
	if l.closing && !l.closed && l.open == 0 && !l.expects() && (l.told != nil || !l.Handing() && len(l.heirOf) == 0) {
		l.end(out)
	}
}

// expectBequest notes that somebody is removed whose heir this lane is.
func (l *Lane) expectBequest(c *bellows.Control) {
	if who, removed := l.cfg.Route.Removed(*c); removed && c.Kind != bellows.LoseClient && l.cfg.Route.Heir(*c) == l.cfg.Self && who != l.cfg.Self && !slices.Contains(l.adopted, *c) {
		l.heirOf = append(l.heirOf, *c)
	}
}

// removedBy is this lane's removal among changes of the route, if it is there.
func (l *Lane) removedBy(changes []bellows.Control) *bellows.Control {
	for i := range changes {
		if who, removed := l.cfg.Route.Removed(changes[i]); removed && who == l.cfg.Self {
			return &changes[i]
		}
	}
	return nil
}

// bequeath gives the lane's last word to its heir.
func (l *Lane) bequeath(out *wire.Outbox) {
	counts := l.final
	counts.Ledgers = slices.Clone(counts.Ledgers)
	out.Send(l.cfg.Self, l.cfg.Route.Heir(*l.removal), &wire.Closed{Counts: counts, Route: l.removal.Route, Adopted: slices.Clone(l.adopted), Missed: l.bequest()})
}

// bequest is what was not held here of flushes that may get a number behind this lane's removal: whoever
// takes over its counts knows whether they have (TestWhatALeaverHasMissedIsItsHeirs).
func (l *Lane) bequest() []wire.Missed {
	if l.removal == nil {
		return nil
	}
	return slices.Clone(l.flushes.Missed())
}

// takeBequest takes over the counts of somebody who was removed, when this lane has the record that
// says so: from then on another controller can learn of the removal here.
func (l *Lane) takeBequest(b bequest, out *wire.Outbox) {
	if b.closed.Route > l.cfg.Route.Version() {
		l.bequests = append(l.bequests, b)
		return
	}
	one := l.cfg.Route.RemoveClient(b.from.Node, l.cfg.Self)
	if b.from.Role == wire.Lane {
		one = l.cfg.Route.RemoveLane(b.from, l.cfg.Self)
	}
	one.Route = b.closed.Route
	if slices.Contains(l.adopted, one) {
		return
	}
	l.heirOf = slices.DeleteFunc(l.heirOf, func(c bellows.Control) bool { return c == one })
	list := append(b.closed.Adopted, one)
	l.adopted = append(l.adopted, list...)
	if !planted.On("bequest-lost") {
		l.counts.Add(&b.closed.Counts)
		l.flushes.Adopt(b.closed.Missed)
	}
	out.Send(l.cfg.Self, l.cfg.Controller, &wire.Adopted{List: slices.Clone(list)})
	l.closeWhenAll(out)
}

// inherit takes the last words that waited for the route of now.
func (l *Lane) inherit(out *wire.Outbox) {
	list := l.bequests
	l.bequests = nil
	for _, b := range list {
		l.takeBequest(b, out)
	}
}

// TakesPart reports whether the lane is one of the job's by the records that it has.
func (l *Lane) TakesPart() bool { return l.begun && l.removal == nil }
