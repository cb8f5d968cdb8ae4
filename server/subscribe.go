package server

import (
	"slices"

	"bellows"
	"bellows/planted"
	"bellows/wire"
)

// subscription is a client that is sent rows of a partition, unasked, when they have changed.
//
// When: for a table with a barrier, each time that a clock has become visible; for another, each time that a
// flush of the client's own has been recorded that has deltas for such tables here, since the client's next
// task must see it. A client may rely on that and wait instead of asking. What leases keep out of the partition is
// waited for.
type subscription struct {
	client int      // in Config.Clients
	rows   []uint32 // ascending; nil: all. A list is never changed, only replaced: messages borrow it
	seen   uint64   // part.writes when the client was last sent what had changed
	owed   bool
}

// relayMost is about how many values go into one message, so that none comes near the limit of a frame.
const relayMost = 4 << 20

// wrote notes that rows (nil: all) have changed.
func (p *part) wrote(rows []uint32) {
	if len(p.subs) == 0 {
		return
	}
	p.writes++
	if rows == nil {
		p.all = p.writes
		return
	}
	if p.changed == nil {
		p.changed = make([]uint64, p.store.Rows())
	}
	for _, r := range rows {
		p.changed[r] = p.writes
	}
}

// subscribe adds rows to what a client is sent of a partition.
func (p *part) subscribe(client int, rows []uint32) {
	if client < 0 {
		return // nobody who pushes here
	}
	i := slices.IndexFunc(p.subs, func(s subscription) bool { return s.client == client })
	switch {
	case i < 0:
		p.subs = append(p.subs, subscription{client: client, rows: slices.Clone(rows), seen: p.writes, owed: len(p.deferred) > 0})
	case rows == nil:
		p.subs[i].rows = nil
	case p.subs[i].rows != nil:
		p.subs[i].rows = union(p.subs[i].rows, rows)
	}
}

// union is the rows of two ascending lists.
func union(a, b []uint32) []uint32 {
	u := slices.Concat(a, b)
	slices.Sort(u)
	return slices.Compact(u)
}

func (l *Lane) takeUnsubscribe(from wire.Address, ref bellows.PartitionRef) {
	p := l.byNumber[l.cfg.Route.Number(ref)]
	if p == nil {
		return
	}
	client := slices.Index(l.cfg.Clients, from)
	p.subs = slices.DeleteFunc(p.subs, func(s subscription) bool { return s.client == client })
}

// owe notes who is to be sent what has changed: all subscribers of the partitions that a test names, or one.
func (l *Lane) owe(client int, which func(*part) bool) {
	for _, p := range l.owned {
		if len(p.subs) == 0 || !which(p) {
			continue
		}
		for i := range p.subs {
			if s := &p.subs[i]; client < 0 || s.client == client {
				s.owed, l.owing = true, true
			}
		}
	}
}

func hasBarrier(p *part) bool { return p.barrier }
func noBarrier(p *part) bool  { return !p.barrier }

// relay sends subscribers what they are owed, one message a client.
func (l *Lane) relay(out *wire.Outbox) {
	if !l.owing {
		return
	}
	l.owing = false
	for _, p := range l.owned {
		for i := range p.subs {
			s := &p.subs[i]
			switch {
			case !s.owed:
			case p.exclusive || len(p.deferred) > 0:
				l.owing = true
			default:
				l.relayPart(p, s, out)
			}
		}
	}
	for client, m := range l.unasked {
		l.sendUnasked(client, m, out)
	}
}

// relayPart adds what has changed of a partition to its subscriber's message.
func (l *Lane) relayPart(p *part, s *subscription, out *wire.Outbox) {
	if l.unasked == nil {
		l.unasked = make([]*wire.Rows, len(l.cfg.Clients))
	}
	m := l.unasked[s.client]
	if m == nil {
		m = wire.New[wire.Rows]()
		l.unasked[s.client] = m
	}
	v := p.visible(l)
	to := m.Extend()
	to.Ref, to.Commit, to.Complete = p.ref, v.Commit, v.Clock
	if p.all > s.seen {
		to.Rows = s.rows
	} else {
		to.Own(p.changedSince(s, to.Scratch()))
	}
	if !planted.On(planted.RelayWithoutRows) || to.Rows == nil {
		to.Values = p.store.Read(to.Rows, to.Values)
	} else {
		to.Own(to.Scratch())
	}
	s.owed, s.seen = false, p.writes
	if len(to.Values) > relayMost {
		l.sendUnasked(s.client, m, out)
	}
}

// changedSince appends the subscribed rows that have changed since the client was sent any.
func (p *part) changedSince(s *subscription, list []uint32) []uint32 {
	if p.changed == nil {
		return list
	}
	if s.rows == nil {
		for r, w := range p.changed {
			if w > s.seen {
				list = append(list, uint32(r))
			}
		}
		return list
	}
	for _, r := range s.rows {
		if p.changed[r] > s.seen {
			list = append(list, r)
		}
	}
	return list
}

func (l *Lane) sendUnasked(client int, m *wire.Rows, out *wire.Outbox) {
	if m != nil {
		out.Send(l.cfg.Self, l.cfg.Clients[client], m)
		l.unasked[client] = nil
	}
}
