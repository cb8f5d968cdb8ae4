package server

import (
	"slices"

	"bellows"
	"bellows/core/partition"
	"bellows/core/planted"
	"bellows/core/route"
	"bellows/core/waitlist"
	"bellows/link/wire"
)

// A lane goes by the route as its records make it. A client may have a newer one: what it asks or pushes by that waits
// (package waitlist; TestMessagesAheadOfRouteWait). A message that names a partition at an older
// generation is refused by wire.Stale: nothing of it is taken, and the client makes it again (TestClientsWithOldRouteAreAnswered). A pair
// that no route of the job has had is a breach of the protocol.
//
// A lane that is not in the first route begins with a message of the controller, after the record that adds it
// (TestALaneBeginsAtARecord). A partition that another lane gets is not served from that record on; what was recorded of
// it before is still applied here. One that this lane gets is served when its state has come (handoff.go; Load).

// keepAhead keeps a message that must wait, if there is room, and refuses it otherwise.
func (l *Lane) keepAhead(e wire.Envelope, out *wire.Outbox) {
	verdict := l.ahead.Keep(e)
	if verdict == waitlist.Kept {
		return
	}
	switch m := e.Message.(type) {
	case *wire.Push:
		refused := l.flushes.StaleOf(m)
		if err := l.flushes.Drop(m); err != nil {
			l.fault.breach(e.From, out, "%v", err)
			return
		}
		if verdict == waitlist.Full {
			l.flushes.SayStale(e.From, refused, out)
			return
		}
		l.ahead.Refuse(e.From, refused)
	case *wire.Pull:
		l.refuse(e.From, m.Request, route.ErrStale, out)
	case *wire.Acquire:
		l.refuse(e.From, m.Request, route.ErrStale, out)
	}
}

// begin takes part behind a record: all before it is no business of this lane, which has no partition and no flush from before. It takes over how far each split
// is and which flushes have a number, so that it judges what comes as the others do.
func (l *Lane) begin(from wire.Address, m *wire.Route, out *wire.Outbox) {
	r, err := l.state.Route().Rebuilt(m.Version, m.Changes)
	switch {
	case l.begun || m.Begin == nil || err != nil || !slices.Contains(r.Lanes(), l.cfg.Self) && removal(r, l.cfg.Self, m.Changes) == nil:
		l.fault.breach(from, out, "route %d, with which it does not begin", m.Version)
		return
	}
	if err := l.state.Begin(m.Begin); err != nil {
		l.fault.breach(from, out, "%v", err)
		return
	}
	first := l.state.Route()
	l.begun = true
	l.state.SetRoute(r)
	l.flushes.SetRoute(r)
	l.flushes.LoadCounted(m.Begin.Recorded)
	l.state.LoadStaleness(m.Begin.Staleness)
	for _, a := range l.cfg.Clients {
		if !slices.Contains(r.Clients(), a) {
			l.part(a, out) // before this lane began
		}
	}
	for _, a := range r.Clients() {
		l.admit(a)
	}
	for ref := range r.Each() {
		if r.Owner(ref).Lane == l.cfg.Self {
			l.gain(from, ref, out)
		}
	}
	for _, c := range m.Changes {
		if c.Kind == bellows.AddLane && !slices.Contains(first.Lanes(), wire.LaneAt(c.Node, int(c.Lane))) || c.Kind == bellows.AddClient && !slices.Contains(first.Clients(), wire.ClientAt(c.Node)) {
			l.added = append(l.added, c)
		}
		l.ending.Expect(c, r)
		if c.Kind == bellows.LoseClient {
			l.loseClient(&c, out)
		}
	}
	if c := removal(r, l.cfg.Self, m.Changes); c != nil {
		l.ending.Leave(*c)
		l.closeWhenAll(out)
	}
	for _, f := range l.ending.TakeAhead() { // the newest route is here
		l.takeCounts(f, out)
	}
}

// reroute takes the next route.
func (l *Lane) reroute(from wire.Address, c *bellows.Control, out *wire.Outbox) {
	next, err := l.state.Route().Next(*c)
	if err != nil {
		l.fault.breach(from, out, "%v", err)
		return
	}
	l.state.SetRoute(next)
	l.flushes.SetRoute(next)
	l.ending.Expect(*c, next)
	switch c.Kind {
	case bellows.AddLane:
		l.added = append(l.added, *c)
	case bellows.AddClient:
		l.added = append(l.added, *c)
		l.admit(wire.ClientAt(c.Node))
	case bellows.MovePartition:
		ref := bellows.PartitionRef{Table: c.Table, Partition: c.Partition}
		if t := l.state.Lookup(ref); t != nil && !t.Gone() {
			l.lose(from, t, next.Owner(ref).Lane, out)
		}
		if next.Owner(ref).Lane == l.cfg.Self && !l.fault.broken() {
			l.gain(from, ref, out)
		}
	case bellows.RemoveClient:
		l.part(wire.ClientAt(c.Node), out)
	case bellows.LoseClient:
		l.loseClient(c, out)
	case bellows.RemoveLane:
		if who, _ := l.state.Route().Removed(*c); who == l.cfg.Self {
			l.ending.Leave(*c)
			l.closeWhenAll(out)
		}
	}
	for _, f := range l.ending.TakeAhead() { // the newest route is here
		l.takeCounts(f, out)
	}
}

// admit takes in a client, whose pushes and subscriptions are taken from now on.
func (l *Lane) admit(a wire.Address) {
	if l.clients.Knows(a) || planted.On("added-client-unknown") {
		return
	}
	l.clients.Add(a, 1)
	l.ending.AddClient(a)
}

// gain makes a partition that this lane owns from now on, and waits for its state: for the rest of the copy that was sent here.
func (l *Lane) gain(from wire.Address, ref bellows.PartitionRef, out *wire.Outbox) {
	p := l.moves.Copy(ref)
	if p == nil {
		if err := l.state.Await(ref); err != nil {
			l.fault.breach(from, out, "%v", err)
		}
		return
	}
	l.state.Gain(p)
	if p.In.Target.Last() != nil || planted.On("handoff-adopted-early") {
		l.adopt(p, out)
	}
}

// lose takes leave of a partition: what waits here for it is to be asked again of its owner, and so is what is held of it and not recorded. It is not leased.
// Recorded entries stay until they are applied: they count here.
func (l *Lane) lose(from wire.Address, p *partition.Partition, to wire.Address, out *wire.Outbox) {
	if p.Out.Source() != nil {
		err := p.HandOver(to, l.state.Frontier(), &l.fx) // sends the last piece
		l.carry(from, err, out)
		if err == nil {
			countPartition(l.ending, p)
			l.state.Remove(p)
		}
		if l.fault.broken() {
			return
		}
	}
	for _, r := range l.state.Leave(p) {
		l.refuse(r.From, r.Acquire.Request, route.ErrStale, out)
		wire.Free(r.Acquire)
	}
	l.reads.Leave(p.Ref, l.state.Route().Version(), out)
	l.flushes.Leave(p.Pair(), out)
	l.flushes.Admit(out) // what is held of it no more has no record here, which would make room
}

// removal returns the removal of a lane among changes of the route; nil: it is not there.
func removal(r *route.Route, of wire.Address, changes []bellows.Control) *bellows.Control {
	for i := range changes {
		if who, removed := r.Removed(changes[i]); removed && who == of {
			return &changes[i]
		}
	}
	return nil
}

// refuse answers a request that is not served: it is to be asked again by another route, or can never be.
func (l *Lane) refuse(to wire.Address, request uint64, err error, out *wire.Outbox) {
	if err == route.ErrStale {
		l.reads.Stale(to, request, l.state.Route().Version(), out)
		return
	}
	out.Send(l.cfg.Self, to, refusal(bellows.FlushID{}, err))
}
