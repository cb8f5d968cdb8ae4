package server

import (
	"slices"

	"bellows"
	"bellows/core/gate"
	"bellows/core/partition"
	"bellows/core/pending"
	"bellows/core/planted"
	"bellows/core/route"
	"bellows/link/wire"
)

// No wait at a lane is silent: a client that has waited for long asks what the lane has of it, and
// is told what that is behind (package pending has the words), or that the lane knows nothing of
// it. Then the question or its answer is lost, and the client ends the job by name, as its own
// story of waits says (client/enquire.go). So each answer here must be sure: Nothing is said only
// of what the lane has answered, and answers leave in order
// (TestALaneSaysWhatKeepsAQuestionWaiting, TestALaneSaysWhatKeepsAFlushWaiting).
//
// What is named is the nearest cause and one that somebody can look at: the node that has a lease,
// the split that is furthest behind, the room that others take.

// takeInquiry says what the lane has of that for which a client has waited for long. It comes
// behind all that the lane has answered, so that the client knows what is lost.
func (l *Lane) takeInquiry(from wire.Address, m *wire.Inquiry, out *wire.Outbox) {
	who := subscriber{from, m.Incarnation}
	if l.outlived(who) || planted.On("inquiry-ignored") {
		return
	}
	if l.ending.EndedByController() { // what was ahead is given up, and nothing of it is lost: the end is on its way to that client, too
		return
	}
	a := &wire.Standing{Incarnation: m.Incarnation, List: slices.Clone(m.List)}
	for i := range a.List {
		w := &a.List[i]
		switch w.Of {
		case pending.Answer:
			w.Behind, w.Who = l.answerBehind(who, w.Number)
		case pending.Relay, pending.Clocks:
			w.Behind, w.Who = l.relayBehind(who, w)
		case pending.Flush:
			w.Behind, w.Who = l.flushBehind(bellows.FlushID{Client: from.Node, Incarnation: m.Incarnation, Seq: w.Number}, wire.Pair{Ref: w.Ref, Generation: w.Generation})
		}
	}
	out.Send(l.cfg.Self, from, a)
}

// answerBehind is what keeps a question of a client waiting.
func (l *Lane) answerBehind(who subscriber, request uint64) (pending.Behind, uint32) {
	for _, r := range l.pulls {
		if r.from != who.address || r.pull.Request != request || r.pull.Incarnation != who.incarnation {
			continue
		}
		for i := range r.pull.Parts {
			p := l.shard.At(r.pull.Parts[i].Ref)
			if v := p.Visible(l.shard.Frontier()); p.Leases.Exclusive() || !gate.Admits(r.pull.Need, v.Commit, v.Clock) {
				return l.partBehind(p, r.pull.Need)
			}
		}
		return l.readyBehind()
	}
	for _, p := range l.shard.Owned() {
		a := p.Leases.Find(who.address, request)
		if a == nil {
			continue
		}
		if v := p.Visible(l.shard.Frontier()); p.Leases.Out() || !gate.Admits(a.Need, v.Commit, v.Clock) {
			return l.partBehind(p, a.Need)
		}
		if p.Out.Source() != nil { // it goes to another lane by the next
			return pending.Record, 0
		}
		return l.readyBehind()
	}
	return pending.Nothing, 0
}

// readyBehind is what keeps an answer back that could be given.
func (l *Lane) readyBehind() (pending.Behind, uint32) {
	if l.silence.Cut {
		return pending.Silence, 0
	}
	return pending.Room, 0
}

// partBehind is what keeps a partition from meeting a need.
func (l *Lane) partBehind(p *partition.Partition, need wire.Need) (pending.Behind, uint32) {
	v := p.Visible(l.shard.Frontier())
	switch admitted := gate.Admits(need, v.Commit, v.Clock); {
	case p.Leases.Exclusive():
		return pending.Lease, uint32(p.Leases.Owner().Node)
	case len(p.Leases.Shared()) > 0 && (admitted || p.Deferred()):
		return pending.Lease, uint32(p.Leases.Shared()[0].Node)
	case need.Clock > v.Clock:
		return pending.Clock, l.slowest()
	}
	return pending.Record, 0
}

// slowest is the split that has completed the fewest clocks.
func (l *Lane) slowest() uint32 {
	slow := bellows.SplitID(0)
	for s := range bellows.SplitID(l.shard.Route().Splits()) {
		if l.shard.Progress().Split(s) < l.shard.Progress().Split(slow) {
			slow = s
		}
	}
	return uint32(slow)
}

// relayBehind is what keeps a client from the rows to which it has subscribed. Those that are sure
// to be sent have been, where nothing is owed.
func (l *Lane) relayBehind(who subscriber, w *pending.Wait) (pending.Behind, uint32) {
	p, err := l.shard.Find(wire.Pair{Ref: w.Ref, Generation: w.Generation})
	switch {
	case err == route.ErrStale: // the client asks another when it hears of the route
		return pending.Record, 0
	case err != nil:
		return pending.Nothing, 0
	}
	sub, v := p.Subscribers.Find(who.subscription()), p.Visible(l.shard.Frontier())
	sent := uint64(l.shard.Applied())
	if p.Barrier() {
		sent = uint64(v.Clock + 1)
	}
	switch {
	case sub == nil:
		return pending.Nothing, 0
	case (w.Of == pending.Clocks) != p.Barrier() && !planted.On("clock-taken-for-commit"): // the record that changes the table's consistency is to come
		return pending.Record, 0
	case w.Number > 0 && w.Number <= sent && !sub.Owed:
		return pending.Nothing, 0
	case p.Withholds():
		return l.partBehind(p, v)
	case p.Barrier():
		return pending.Clock, l.slowest()
	}
	return pending.Record, 0
}

// flushBehind is what keeps the part of a flush that came with a pair from being visible here;
// where that is visible, what keeps the rest of it. A flush that came in several pushes may have
// room for one and not for the other. Of one of nothing there is no pair.
func (l *Lane) flushBehind(id bellows.FlushID, of wire.Pair) (pending.Behind, uint32) {
	if waits, asked := l.flushes.Waits(id, of); waits {
		if asked {
			return pending.Room, 1
		}
		return pending.Room, 0
	}
	if l.flushes.Holds(id, of) {
		return pending.Record, 0
	}
	for _, p := range l.shard.Owned() {
		switch leases, clock := p.WaitsFor(id); {
		case leases:
			return l.partBehind(p, p.Visible(l.shard.Frontier()))
		case clock:
			return pending.Clock, l.slowest()
		}
	}
	return pending.Nothing, 0
}
