package server

import (
	"bellows/core/partition"
	"bellows/link/wire"
)

// takeAcquire queues a request for a lease (package partition grants it).
func (l *Lane) takeAcquire(from wire.Address, m *wire.Acquire, out *wire.Outbox) {
	p, err := l.shard.Find(m.Pair)
	if err != nil {
		l.refuse(from, m.Request, err, out)
		wire.Free(m)
		return
	}
	if !p.Leases.Request(from, m, l.cfg.Limits.Parked) {
		l.breach(from, out, "%d requests for leases on %v wait already", l.cfg.Limits.Parked, p.Ref)
	}
}

// grant sends the leases on a partition that may be granted. They count against their nodes' credit
// as answers to reads do.
func (l *Lane) grant(p *partition.Partition, out *wire.Outbox) {
	for s := range p.Grants(l.shard.Frontier(), l.cfg.Self.Node, l.credits.Choked) {
		n := len(s.Message.(*wire.Granted).Values)
		out.Send(l.cfg.Self, s.To, s.Message)
		l.charge(s.To, n, out)
	}
}

// takeRelease ends a shared lease. One that an owner of the past has given ended with its ownership.
func (l *Lane) takeRelease(from wire.Address, m *wire.Release, out *wire.Outbox) {
	p, err := l.shard.Find(m.Pair)
	if err != nil {
		return
	}
	released, err := p.Release(from, &l.fx)
	if !released {
		l.breach(from, out, "it releases a lease on %v that it does not have", p.Ref)
	}
	l.carry(from, err, out)
}
