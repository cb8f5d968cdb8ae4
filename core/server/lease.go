package server

import (
	"bellows/core/gate"
	"bellows/core/planted"
	"bellows/link/wire"
)

// A lease is asked for as a read is, waits for the gate as a read does, and then for its turn (package lease has the rule). It is given with the partition's
// values: the slab itself where its holder is in this process, else a copy (docs/decisions/0004). A shared one ends by wire.Release, an exclusive one when the
// flush that ends it has its number: the end of the lease is the commit. What is recorded meanwhile is deferred, and applied by catchUp when the last lease has
// ended.

// request is a lease that somebody has asked for and does not have yet.
type request struct {
	from    wire.Address
	acquire *wire.Acquire
}

// takeAcquire queues a request for a lease.
func (l *Lane) takeAcquire(from wire.Address, m *wire.Acquire, out *wire.Outbox) {
	p, err := l.find(m.Pair)
	if err != nil {
		l.refuse(from, m.Request, err, out)
		wire.Free(m)
		return
	}
	if len(p.queue) == l.cfg.Limits.Parked {
		l.breach(from, out, "%d requests for leases on %v wait already", l.cfg.Limits.Parked, p.ref)
		return
	}
	p.queue = append(p.queue, request{from, m})
}

// grantQueued serves the queue of leases, in order: a request that must wait makes those behind it wait, so that a stream of shared leases does not starve an
// exclusive one (TestAnExclusiveRequestIsNotPassed). It does not where the gate alone holds it back, or its node does not read: the clock for which it waits may
// need those behind it.
func (p *partition) grantQueued(l *Lane, out *wire.Outbox) {
	rest := p.queue[:0]
	blocked := p.held
	for _, r := range p.queue {
		v := p.visible(l)
		switch {
		case !gate.Admits(r.acquire.Need, v.Commit, v.Clock) || l.credits.Choked(r.from.Node):
			rest = append(rest, r)
		case blocked || len(p.deferred) > 0 || !p.leases.Free(r.acquire.Mode):
			blocked = true
			rest = append(rest, r)
		case r.acquire == holdMark:
			p.held, blocked = true, true
		default:
			p.grant(r, l, out)
		}
	}
	p.queue = rest
}

// grant gives a lease, which counts against its node's credit as the answer to a read does.
func (p *partition) grant(r request, l *Lane, out *wire.Outbox) {
	p.leases.Grant(r.acquire.Mode, r.from)
	if r.acquire.Mode == wire.Exclusive && p.streams() {
		p.out.Torn()
	}
	if p.remote = r.from.Node != l.cfg.Self.Node; r.acquire.Mode == wire.Exclusive && !p.remote {
		l.cuts.InPlace(&p.cut, p.store)
	}
	g := wire.New[wire.Granted]()
	v := p.visible(l)
	g.Request, g.Pair, g.Mode, g.Commit, g.Complete = r.acquire.Request, p.pair(), r.acquire.Mode, v.Commit, v.Clock
	if p.remote {
		g.Copy(p.store.Values())
	} else {
		g.Values = p.store.Values()
	}
	n := len(g.Values)
	out.Send(l.cfg.Self, r.from, g)
	l.charge(r.from, n, out)
	wire.Free(r.acquire)
}

// release ends a shared lease.
func (p *partition) release(from wire.Address, l *Lane, out *wire.Outbox) {
	if !p.leases.Release(from) {
		l.breach(from, out, "it releases a lease on %v that it does not have", p.ref)
		return
	}
	if !p.leases.Out() {
		p.catchUp(l, out)
	}
}

// endExclusive ends an exclusive lease with the commit of its flush: the values of a copy are taken over, those of the slab are there.
func (p *partition) endExclusive(f *flush, lease int, l *Lane, out *wire.Outbox) {
	p.cut.Write(nil)
	p.cut.Ended()
	if !p.remote || !planted.On("copy-forgotten") {
		p.store.Adopt(f.push.Leases[lease].Values)
	}
	if planted.On("slab-changed") && !p.remote && p.store.Rows() > 0 {
		p.store.Values()[0]++
	}
	p.taken += p.slabBits(p.store.Values(), f.push.Clock)
	p.wrote(nil)
	p.leases.End()
	if !planted.On("lease-end-unversioned") {
		p.ended = f.number
	}
	l.finish(f)
	if !p.leases.Out() {
		p.catchUp(l, out)
	}
}

// torn reports whether the partition's values are neither before nor after a lease: its holder works on the slab itself, and is gone or goes on. Such a partition
// has no state to collect (TestAFencedExclusiveLeaseTearsItsPartition).
func (p *partition) torn() bool { return p.leases.Exclusive() && !p.remote }
