package server

import (
	"slices"

	"bellows"
	"bellows/core/partition"
	"bellows/core/planted"
	"bellows/core/prepare"
	"bellows/core/route"
	"bellows/link/wire"
)

// A lane goes by the route as its records make it. A client may be ahead of it, or behind:
//
// What a client asks or pushes by a newer route waits until the lane has taken the records that
// make that route, and so does all that this client says behind it
// (TestWhatIsAheadOfTheRouteWaits). What names a partition at an older generation than that of now
// is refused by wire.Stale: nothing of it is taken, and the client makes it again
// (TestWhoIsBehindTheRouteIsTold). A pair that no route of the job has had is a breach of the
// protocol.
//
// A lane that the job's route does not have begins when the controller says so, behind the record
// that adds it (TestALaneBeginsAtARecord). A partition that another lane gets is not served from
// that record on; what was recorded of it before is still applied here. One that this lane gets is
// served when its state has come (handoff.go; Load).

// ahead is a message by a route that the lane does not know yet, or about a partition that is not here yet; or, of a push for which there was no room, what is
// said of it when the lane has caught up. Turned down: to say so at once, upon which the client, whose route is newer, sends it again at once.
type ahead struct {
	envelope wire.Envelope
	bytes    int
	refused  *wire.Stale // nil: the message is here
}

// isAhead reports whether a message of a client must wait: by itself, or since something of the same client waits. So a client's messages are taken in the order
// in which it sent them, as if it had sent them later.
func (l *Lane) isAhead(e *wire.Envelope) bool {
	if e.From.Role != wire.Client || l.ending.Closing() {
		return false
	}
	if !l.begun || len(l.ahead) > 0 && slices.ContainsFunc(l.ahead, func(a ahead) bool { return a.envelope.From == e.From }) {
		return true
	}
	return l.mustWait(e)
}

// mustWait reports whether a message is by a newer route, or about a partition that is not here yet. What is of a process that is no more waits for nothing.
func (l *Lane) mustWait(e *wire.Envelope) bool {
	v := l.shard.Route().Version()
	if planted.On("route-version-ignored") {
		return false
	}
	switch m := e.Message.(type) {
	case *wire.Pull:
		return m.Route > v || l.shard.Awaiting() && slices.ContainsFunc(m.Parts, func(p wire.PullPart) bool { return l.shard.Awaits(p.Pair) })
	case *wire.Acquire:
		return m.Route > v || l.shard.Awaiting() && l.shard.Awaits(m.Pair)
	case *wire.Push:
		return m.Route > v && !l.clients.Outlived(e.From, m.Flush.Incarnation) || l.shard.Awaiting() && slices.ContainsFunc(prepare.Pairs(m), l.shard.Awaits)
	}
	return false
}

func (l *Lane) awaits(p wire.Pair) bool {
	t := l.shard.Lookup(p.Ref)
	return t != nil && t.Awaited() && t.Generation == p.Generation
}

// keepAhead keeps a message, if there is room. Else a push is refused as stale, though it is not, so that its client sends it again. That is said when the lane
// has moved on (takeAhead), and not at once: the client, whose route is newer, would send it at once. Only where even the list of what is to be said is full there
// is no other way.
func (l *Lane) keepAhead(e wire.Envelope, out *wire.Outbox) {
	one, all, full := ahead{envelope: e}, 0, len(l.ahead) >= l.cfg.Limits.Parked
	for _, a := range l.ahead {
		all += a.bytes
	}
	switch m := e.Message.(type) {
	case *wire.Push:
		one.bytes = prepare.Bytes(m)
		for i := range m.Leases {
			one.bytes += 4 * len(m.Leases[i].Values)
		}
		nothing := len(m.Chunks)+len(m.Leases) == 0 && !planted.On("nothing-refused") // it has no pairs to be refused by, and takes no memory to speak of
		above := all > 0 && all+one.bytes > l.cfg.Limits.Ahead && !nothing
		if !above && !full {
			break
		}
		refused := l.flushes.StaleOf(m)
		if err := l.flushes.Drop(m); err != nil {
			l.breach(e.From, out, "%v", err)
			return
		}
		if full {
			l.flushes.SayStale(e.From, refused, out)
			return
		}
		one = ahead{envelope: wire.Envelope{From: e.From}, refused: refused}
	case *wire.Pull:
		if full {
			l.refuse(e.From, m.Request, route.ErrStale, out)
			return
		}
	case *wire.Acquire:
		if full {
			l.refuse(e.From, m.Request, route.ErrStale, out)
			return
		}
	}
	l.ahead = append(l.ahead, one)
}

// takeAhead takes what need not wait any more, in the order in which it came. What still must is kept again by take.
func (l *Lane) takeAhead(out *wire.Outbox) {
	if len(l.ahead) == 0 || !l.begun || l.broken {
		return
	}
	list := l.ahead
	l.ahead = nil
	for _, a := range list {
		switch {
		case a.refused == nil:
			l.take(a.envelope, out)
			l.tell(out)
		case len(l.ahead) > 0 && a.refused.Route == l.shard.Route().Version():
			l.ahead = append(l.ahead, a) // it is no further
		default:
			a.refused.Route = l.shard.Route().Version()
			l.flushes.SayStale(a.envelope.From, a.refused, out)
		}
	}
}

// abandon gives up what is ahead, since the job is over: the records that it waits for do not come.
func (l *Lane) abandon() {
	list := l.ahead
	l.ahead = nil
	for _, a := range list {
		switch m := a.envelope.Message.(type) {
		case *wire.Push:
			l.flushes.Miss(m)
		case *wire.End:
			l.ending.EndClient(a.envelope.From)
		}
	}
}

// begin takes part behind a record: all before it is no business of this lane, which has no partition and no flush from before. It takes over how far each split
// is and which flushes have a number, so that it judges what comes as the others do.
func (l *Lane) begin(from wire.Address, m *wire.Route, out *wire.Outbox) {
	r, err := l.shard.Route().Rebuilt(m.Version, m.Changes)
	switch {
	case l.begun || m.Begin == nil || err != nil || !slices.Contains(r.Lanes(), l.cfg.Self) && l.removedBy(m.Changes) == nil:
		l.breach(from, out, "route %d, with which it does not begin", m.Version)
		return
	}
	if err := l.shard.Begin(m.Begin); err != nil {
		l.breach(from, out, "%v", err)
		return
	}
	first := l.shard.Route()
	l.begun = true
	l.setRoute(r)
	l.flushes.LoadCounted(m.Begin.Recorded)
	l.shard.LoadStaleness(m.Begin.Staleness)
	for _, a := range l.cfg.Clients {
		if !slices.Contains(r.Clients(), a) {
			l.part(a, out) // before this lane began
		}
	}
	for _, a := range r.Clients() {
		l.admit(a)
	}
	for ref := range r.All() {
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
	if c := l.removedBy(m.Changes); c != nil {
		l.leave(c, out)
	}
	l.takeCountsAhead(out)
}

// setRoute replaces the route.
func (l *Lane) setRoute(r *route.Route) {
	l.shard.SetRoute(r)
	l.flushes.SetRoute(r)
}

// reroute takes the next route.
func (l *Lane) reroute(from wire.Address, c *bellows.Control, out *wire.Outbox) {
	next, err := l.shard.Route().Next(*c)
	if err != nil {
		l.breach(from, out, "%v", err)
		return
	}
	l.setRoute(next)
	l.ending.Expect(*c, next)
	switch c.Kind {
	case bellows.AddLane:
		l.added = append(l.added, *c)
	case bellows.AddClient:
		l.added = append(l.added, *c)
		l.admit(wire.ClientAt(c.Node))
	case bellows.MovePartition:
		ref := bellows.PartitionRef{Table: c.Table, Partition: c.Partition}
		if t := l.shard.Lookup(ref); t != nil && !t.Gone() {
			l.lose(from, t, next.Owner(ref).Lane, out)
		}
		if next.Owner(ref).Lane == l.cfg.Self && !l.broken {
			l.gain(from, ref, out)
		}
	case bellows.RemoveClient:
		l.part(wire.ClientAt(c.Node), out)
	case bellows.LoseClient:
		l.loseClient(c, out)
	case bellows.RemoveLane:
		if who, _ := l.shard.Route().Removed(*c); who == l.cfg.Self {
			l.leave(c, out)
		}
	}
	l.takeCountsAhead(out)
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
	p := l.moves.shadow(ref)
	if p == nil {
		if err := l.shard.Await(ref); err != nil {
			l.breach(from, out, "%v", err)
		}
		return
	}
	l.shard.Gain(p)
	if p.In.Target.Last() != nil || planted.On("handoff-adopted-early") {
		l.adopt(p, out)
	}
}

// lose takes leave of a partition: what waits here for it is to be asked again of its owner, and so is what is held of it and not recorded. It is not leased.
// Recorded entries stay until they are applied: they count here.
func (l *Lane) lose(from wire.Address, p *partition.Partition, to wire.Address, out *wire.Outbox) {
	if p.Out.Source() != nil {
		if l.handOver(from, p, to, out); l.broken {
			return
		}
	}
	for _, r := range l.shard.Leave(p) {
		l.refuse(r.From, r.Acquire.Request, route.ErrStale, out)
		wire.Free(r.Acquire)
	}
	l.reads.Leave(p.Ref, l.shard.Route().Version(), out)
	l.flushes.Leave(p.Pair(), out)
	l.flushes.Admit(out) // what is held of it no more has no record here, which would make room
}
