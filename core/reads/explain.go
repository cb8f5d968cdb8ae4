package reads

import (
	"bellows"
	"bellows/core/gate"
	"bellows/core/lanestate"
	"bellows/core/partition"
	"bellows/core/pending"
	"bellows/core/planted"
	"bellows/core/prepare"
	"bellows/core/route"
	"bellows/link/wire"
)

// Cause is what something waits for, and the node or split that it depends on.
type Cause struct {
	Behind pending.Behind
	Who    uint32
}

// Explain fills in what keeps each thing waiting that a client waits for. silent: the lane has not heard the controller
// for a lease, and answers nothing.
func (r *Reads) Explain(
	at *lanestate.State, flushes *prepare.Flushes, who partition.Subscriber, list []pending.Wait, silent bool,
) {
	for i := range list {
		w, why := &list[i], Cause{}
		switch w.Of {
		case pending.Answer:
			why = r.ExplainRequest(at, who, w.Number, silent)
		case pending.Relay, pending.Clocks:
			why = r.ExplainRelay(at, who, w)
		case pending.Flush:
			id := bellows.FlushID{Client: who.Address.Node, Incarnation: who.Incarnation, Seq: w.Number}
			why = r.ExplainFlush(at, flushes, id, wire.Pair{Ref: w.Ref, Generation: w.Generation})
		}
		w.Behind, w.Who = why.Behind, why.Who
	}
}

// ExplainRequest returns what keeps a request of a client waiting.
func (r *Reads) ExplainRequest(at *lanestate.State, who partition.Subscriber, request uint64, silent bool) Cause {
	ready := Cause{Behind: pending.Room} // what keeps an answer back that could be given
	if silent {
		ready.Behind = pending.Silence
	}
	for i := range r.pulls {
		one := &r.pulls[i]
		if one.process() != who || one.pull.Request != request {
			continue
		}
		for k := range one.pull.Parts {
			p := at.Lookup(one.pull.Parts[k].Ref)
			if v := p.Visible(at.Frontier()); p.Leases.Exclusive() || !gate.Admits(one.pull.Need, v.Commit, v.Clock) {
				return explainNeed(at, p, one.pull.Need)
			}
		}
		return ready
	}
	for _, p := range at.Owned() {
		a := p.Leases.Find(who.Address, request)
		if a == nil {
			continue
		}
		if v := p.Visible(at.Frontier()); p.Leases.Active() || !gate.Admits(a.Need, v.Commit, v.Clock) {
			return explainNeed(at, p, a.Need)
		}
		if p.Out.Source() != nil { // it goes to another lane by the next
			return Cause{Behind: pending.Record}
		}
		return ready
	}
	return Cause{}
}

// explainNeed returns what keeps a partition from meeting a need.
func explainNeed(at *lanestate.State, p *partition.Partition, need wire.Need) Cause {
	v := p.Visible(at.Frontier())
	switch admitted := gate.Admits(need, v.Commit, v.Clock); {
	case p.Leases.Exclusive():
		return Cause{pending.Lease, uint32(p.Leases.Owner().Node)}
	case len(p.Leases.Shared()) > 0 && (admitted || p.Deferred()):
		return Cause{pending.Lease, uint32(p.Leases.Shared()[0].Node)}
	case need.Clock > v.Clock:
		return Cause{pending.Clock, slowest(at)}
	}
	return Cause{Behind: pending.Record}
}

// slowest returns the split that has completed the fewest clocks.
func slowest(at *lanestate.State) uint32 {
	slow := bellows.SplitID(0)
	for s := range bellows.SplitID(at.Route().Splits()) {
		if at.Progress().Split(s) < at.Progress().Split(slow) {
			slow = s
		}
	}
	return uint32(slow)
}

// ExplainRelay returns what keeps a client from the rows to which it has subscribed. If nothing is owed, those that
// are sure to be sent have been.
func (r *Reads) ExplainRelay(at *lanestate.State, who partition.Subscriber, w *pending.Wait) Cause {
	p, err := at.Find(wire.Pair{Ref: w.Ref, Generation: w.Generation})
	switch {
	case err == route.ErrStale: // the client asks another when it hears of the route
		return Cause{Behind: pending.Record}
	case err != nil:
		return Cause{}
	}
	sub, v := p.Subscribers.Find(who), p.Visible(at.Frontier())
	sent := uint64(at.Applied())
	if p.Barrier() {
		sent = uint64(v.Clock + 1)
	}
	// A client waits for a clock where its table has a barrier. Otherwise the record that changes that is to come.
	other := (w.Of == pending.Clocks) != p.Barrier() && !planted.On("clock-taken-for-commit")
	switch {
	case sub == nil:
		return Cause{}
	case other:
		return Cause{Behind: pending.Record}
	case w.Number > 0 && w.Number <= sent && !sub.Owed:
		return Cause{}
	case p.Withholds():
		return explainNeed(at, p, v)
	case p.Barrier():
		return Cause{pending.Clock, slowest(at)}
	}
	return Cause{Behind: pending.Record}
}

// ExplainFlush returns what keeps the part of a flush that came with a pair from being visible here; if it is visible,
// what keeps the rest of the flush. A flush that came in several pushes may have room for one and not for the other. A
// flush of nothing has no pair.
func (r *Reads) ExplainFlush(at *lanestate.State, flushes *prepare.Flushes, id bellows.FlushID, of wire.Pair) Cause {
	if waits, asked := flushes.Waits(id, of); waits {
		if asked {
			return Cause{pending.Room, 1}
		}
		return Cause{Behind: pending.Room}
	}
	if flushes.Holds(id, of) {
		return Cause{Behind: pending.Record}
	}
	for _, p := range at.Owned() {
		switch leases, clock := p.WaitsFor(id); {
		case leases:
			return explainNeed(at, p, p.Visible(at.Frontier()))
		case clock:
			return Cause{pending.Clock, slowest(at)}
		}
	}
	return Cause{}
}
