package server

import (
	"bellows"
	"bellows/core/partition"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Server push (Bösen §4.2): rows that a client reads again and again come to it unasked, when they
// have changed, so that a clock costs it neither a question nor the wait for an answer. A client
// subscribes with a read, whose answer is the first version; from then on it is owed what has
// changed (owe), and sent that at the end of the step (relay), one message for each client. Debts
// stay while a lease keeps the partition's newest out, or the client's node does not read: nothing
// is lost by that, since what is sent is what has changed since the last time, and not each change.
//
// Which rows those are each partition knows by positions in its log (package partition).

// subscriber is one life of a client.
type subscriber struct {
	address     wire.Address
	incarnation uint32
}

// subscription returns the name of a client's process among the subscribers of partitions.
func (s subscriber) subscription() partition.Subscriber {
	return partition.Subscriber{Address: s.address, Incarnation: s.incarnation}
}

// unasked is the message to a subscriber that relay is filling.
type unasked struct {
	to    partition.Subscriber
	rows  *wire.Rows // nil: there is none yet
	words int        // in it
}

// subscribe adds rows or keys to what a client is sent of a partition. One that does not push here is
// no client of the job.
func (l *Lane) subscribe(p *partition.Partition, who subscriber, rows []uint32, list []bellows.Key) error {
	switch {
	case !l.clients.Knows(who.address):
		return nil
	case list != nil:
		return p.Subscribers.SubscribeKeys(who.subscription(), list, p.Ref)
	}
	p.Subscribers.Subscribe(who.subscription(), rows, p.Deferred())
	return nil
}

// takeUnsubscribe ends a subscription. One with an owner of the past has ended.
func (l *Lane) takeUnsubscribe(who subscriber, of wire.Pair) {
	if p, err := l.shard.Find(of); err == nil {
		p.Subscribers.Forget(func(s partition.Subscriber) bool { return s == who.subscription() })
	}
}

// owe notes which clients are to be sent what has changed: all subscribers of the partitions that a
// test names, or one. One that is owed nothing new is sent a message all the same: the clock that it
// shows is what the client waits for.
func (l *Lane) owe(who *subscriber, which func(*partition.Partition) bool) {
	for _, p := range l.shard.Owned() {
		subs := p.Subscribers.List()
		if len(subs) == 0 || !which(p) {
			continue
		}
		for i := range subs {
			if s := &subs[i]; who == nil || s.To == who.subscription() {
				s.Owed, l.owing = true, true
			}
		}
	}
}

func noBarrier(p *partition.Partition) bool { return !p.Barrier() }

// relay sends subscribers what they are owed, one message a client.
func (l *Lane) relay(out *wire.Outbox) {
	// Who was declared gone after its last word a lane has not heard: from then on nobody reads any more.
	if !l.owing || l.ending.Closed() && !planted.On("relayed-after-end") {
		return
	}
	l.owing = false
	for _, p := range l.shard.Owned() {
		subs := p.Subscribers.List()
		for i := range subs {
			s := &subs[i]
			switch {
			case !s.Owed:
			case p.Withholds() || l.credits.Choked(s.To.Address.Node):
				l.owing = true
			default:
				l.relayPart(p, s, out)
			}
		}
	}
	for i := range l.unasked {
		l.unasked[i].send(l, out)
	}
	l.unasked = l.unasked[:0]
}

// relayPart adds what has changed of a partition to its subscriber's message.
func (l *Lane) relayPart(p *partition.Partition, s *partition.Subscription, out *wire.Outbox) {
	u := l.unaskedTo(s.To)
	if u.words > 0 && u.words+p.Subscribers.Words(s) > l.cfg.Limits.RelayWords {
		u.send(l, out)
	}
	if u.rows == nil {
		u.rows = wire.New[wire.Rows]()
		u.rows.Incarnation = s.To.Incarnation
	}
	to := u.rows.Extend()
	v := p.Visible(l.shard.Frontier())
	to.Pair, to.Commit, to.Complete = p.Pair(), v.Commit, v.Clock
	p.Subscribers.Fill(to, s)
	u.words += wordsOf(to)
}

// unaskedTo returns the message to a subscriber that is being filled.
func (l *Lane) unaskedTo(who partition.Subscriber) *unasked {
	for i := range l.unasked {
		if l.unasked[i].to == who {
			return &l.unasked[i]
		}
	}
	l.unasked = append(l.unasked, unasked{to: who})
	return &l.unasked[len(l.unasked)-1]
}

// send sends what has been filled.
func (u *unasked) send(l *Lane, out *wire.Outbox) {
	if u.rows != nil {
		out.Send(l.cfg.Self, u.to.Address, u.rows)
		l.charge(u.to.Address, u.words, out)
		u.rows, u.words = nil, 0
	}
}
