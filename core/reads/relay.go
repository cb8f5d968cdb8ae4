package reads

import (
	"bellows/core/lanestate"
	"bellows/core/partition"
	"bellows/link/wire"
)

// unasked is the message to a subscriber that Relay is filling.
type unasked struct {
	to    partition.Subscriber
	rows  *wire.Rows // nil: it has none yet
	words int        // in it
}

// subscribe adds rows or keys to what a client is sent of a partition.
func subscribe(p *partition.Partition, who partition.Subscriber, q *wire.PullPart) error {
	if q.Keys != nil {
		return p.Subscribers.SubscribeKeys(who, q.Keys, p.Ref)
	}
	p.Subscribers.Subscribe(who, q.Rows, p.Deferred())
	return nil
}

// Unsubscribe ends a subscription. One with an earlier owner of the partition has ended.
func (r *Reads) Unsubscribe(at *lanestate.State, who partition.Subscriber, of wire.Pair) {
	if p, err := at.Find(of); err == nil {
		p.Subscribers.Forget(func(s partition.Subscriber) bool { return s == who })
	}
}

// Owe notes which clients are to be sent what has changed: all subscribers of the partitions that a test names,
// or one of them. A client that is owed nothing new is sent a message all the same, because it waits for the clock
// that the message shows.
func (r *Reads) Owe(at *lanestate.State, who *partition.Subscriber, which func(*partition.Partition) bool) {
	for _, p := range at.Owned() {
		subs := p.Subscribers.List()
		if len(subs) == 0 || !which(p) {
			continue
		}
		for i := range subs {
			if s := &subs[i]; who == nil || s.To == *who {
				s.Owed, r.owing = true, true
			}
		}
	}
}

// Relay sends subscribers what they are owed, in one message for each client.
func (r *Reads) Relay(at *lanestate.State, out *wire.Outbox) {
	if !r.owing {
		return
	}
	r.owing = false
	for _, p := range at.Owned() {
		subs := p.Subscribers.List()
		for i := range subs {
			s := &subs[i]
			switch {
			case !s.Owed:
			case p.Withholds() || r.credits.Choked(s.To.Address.Node):
				r.owing = true
			default:
				r.relayPart(p, at.Frontier(), s, out)
			}
		}
	}
	for i := range r.unasked {
		r.sendUnasked(&r.unasked[i], out)
	}
	r.unasked = r.unasked[:0]
}

// relayPart adds what has changed of a partition to its subscriber's message.
func (r *Reads) relayPart(p *partition.Partition, at partition.Frontier, s *partition.Subscription, out *wire.Outbox) {
	u := r.unaskedTo(s.To)
	if u.words > 0 && u.words+p.Subscribers.Words(s) > r.relayWords {
		r.sendUnasked(u, out)
	}
	if u.rows == nil {
		u.rows = wire.New[wire.Rows]()
		u.rows.Incarnation = s.To.Incarnation
	}
	to := u.rows.Extend()
	v := p.Visible(at)
	to.Pair, to.Commit, to.Complete = p.Pair(), v.Commit, v.Clock
	p.Subscribers.Fill(to, s)
	u.words += words(to)
}

// unaskedTo returns the message to a subscriber that is being filled.
func (r *Reads) unaskedTo(who partition.Subscriber) *unasked {
	for i := range r.unasked {
		if r.unasked[i].to == who {
			return &r.unasked[i]
		}
	}
	r.unasked = append(r.unasked, unasked{to: who})
	return &r.unasked[len(r.unasked)-1]
}

// sendUnasked sends what has been filled.
func (r *Reads) sendUnasked(u *unasked, out *wire.Outbox) {
	if u.rows != nil {
		out.Send(r.self, u.to.Address, u.rows)
		r.charge(u.to.Address, u.words, out)
		u.rows, u.words = nil, 0
	}
}

// Filling returns how many messages are being filled: none between two calls of Relay.
func (r *Reads) Filling() int { return len(r.unasked) }

// words returns about how many words a part of a message of rows has.
func words(p *wire.RowsPart) int {
	if p.Lent() {
		return 0
	}
	return len(p.Rows) + 2*len(p.Keys) + len(p.Values)
}

// charge notes that so many words were sent to a client.
func (r *Reads) charge(to wire.Address, words int, out *wire.Outbox) {
	if m := r.credits.Charge(to.Node, words); m != nil {
		out.Send(r.self, to, m)
	}
}
