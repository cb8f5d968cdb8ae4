package server

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/core/store"
	"bellows/link/wire"
)

// Server push (Bösen §4.2): rows that a client reads again and again come to it unasked, when they
// have changed, so that a clock costs it neither a question nor the wait for an answer. A client
// subscribes with a read, whose answer is the first version; from then on it is owed what has
// changed (owe), and sent that at the end of the step (relay), one message for each client. Debts
// stay while a lease keeps the partition's newest out, or the client's node does not read: nothing
// is lost by that, since what is sent is what has changed since the last time, and not each change.
//
// Which rows those are is known by numbers of writes (store.Changes), of which a subscription has that
// of its last message. For keys a store.Watch says the same.
//
// Turned down: subscribing at the first read, since most rows of sparse data are read once
// (docs/decisions/0022); a list of changed rows for each subscription, which is written as often as
// there are subscribers.

// subscription is a client that is sent rows of a partition, unasked, when they have changed.
//
// When: for a table with a barrier, each time that a clock has become visible; for another, each
// time that a flush of the client's own has been recorded that has deltas for such tables here,
// since the client's next task must see it. A client may rely on that and wait instead of asking.
// What leases keep out of the partition is waited for.
type subscription struct {
	to   subscriber
	rows []uint32     // ascending; nil: all, or those of keys. A list is never changed, only replaced: messages borrow it
	keys *store.Watch // of a sparse table, in place of rows
	seen uint64       // changes.Now() when the client was last sent what had changed
	owed bool
}

// subscriber is one life of a client.
type subscriber struct {
	address     wire.Address
	incarnation uint32
}

// unasked is the message to a subscriber that relay is filling.
type unasked struct {
	to    subscriber
	rows  *wire.Rows // nil: there is none yet
	words int        // in it
}

// wrote notes that rows (nil: all) have changed. Where nobody has subscribed it costs nothing.
func (p *partition) wrote(rows []uint32) {
	if len(p.subs) == 0 {
		return
	}
	if p.store.Keyed() {
		for i := range p.subs {
			for _, r := range rows {
				p.subs[i].keys.Mark(p.store.Key(r))
			}
		}
		return
	}
	p.changes.Wrote(rows, p.store.Rows())
}

// subscribe adds rows to what a client is sent of a partition.
func (l *Lane) subscribe(p *partition, who subscriber, rows []uint32) {
	if !l.clients.Knows(who.address) {
		return // nobody who pushes here
	}
	i := p.subscriber(who)
	switch {
	case i < 0:
		p.subs = append(p.subs, subscription{to: who, rows: slices.Clone(rows), seen: p.changes.Now(), owed: len(p.deferred) > 0})
	case rows == nil:
		p.subs[i].rows = nil
	case p.subs[i].rows != nil:
		both := slices.Concat(p.subs[i].rows, rows)
		slices.Sort(both)
		p.subs[i].rows = slices.Compact(both)
	}
}

// subscriber is the place of a client among the subscribers, or -1.
func (p *partition) subscriber(who subscriber) int {
	return slices.IndexFunc(p.subs, func(s subscription) bool { return s.to == who })
}

// subscribeKeys is subscribe for keys. It refuses more than a client may be subscribed to.
func (l *Lane) subscribeKeys(p *partition, who subscriber, list []bellows.Key) error {
	if !l.clients.Knows(who.address) {
		return nil
	}
	i := p.subscriber(who)
	if i < 0 {
		i = len(p.subs)
		p.subs = append(p.subs, subscription{to: who, keys: p.store.Watch(), seen: p.changes.Now()})
	} else if planted.On("union-forgotten") {
		return nil
	}
	w := p.subs[i].keys
	switch more := w.Lacks(list); {
	case more == 0:
	case w.Len()+more > p.subscribedMost:
		return fmt.Errorf("it would be subscribed to %d keys of %v, and may be to %d", w.Len()+more, p.ref, p.subscribedMost)
	default:
		w.Add(list)
	}
	return nil
}

// takeUnsubscribe ends a subscription. One with an owner of the past has ended.
func (l *Lane) takeUnsubscribe(who subscriber, of wire.Pair) {
	p, err := l.find(of)
	if err != nil {
		return
	}
	p.subs = slices.DeleteFunc(p.subs, func(s subscription) bool { return s.to == who })
}

// owe notes who is to be sent what has changed: all subscribers of the partitions that a test
// names, or one. Who is owed nothing new is sent a message all the same: the clock that it shows is
// what the client waits for.
func (l *Lane) owe(who *subscriber, which func(*partition) bool) {
	for _, p := range l.owned {
		if len(p.subs) == 0 || !which(p) {
			continue
		}
		for i := range p.subs {
			if s := &p.subs[i]; who == nil || s.to == *who {
				s.owed, l.owing = true, true
			}
		}
	}
}

func hasBarrier(p *partition) bool { return p.barrier }
func noBarrier(p *partition) bool  { return !p.barrier }

// relay sends subscribers what they are owed, one message a client.
func (l *Lane) relay(out *wire.Outbox) {
	// Who was declared gone after its last word a lane has not heard: from then on nobody reads any more.
	if !l.owing || l.ending.Closed() && !planted.On("relayed-after-end") {
		return
	}
	l.owing = false
	for _, p := range l.owned {
		for i := range p.subs {
			s := &p.subs[i]
			switch {
			case !s.owed:
			case p.leases.Exclusive() || len(p.deferred) > 0 || l.credits.Choked(s.to.address.Node):
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
func (l *Lane) relayPart(p *partition, s *subscription, out *wire.Outbox) {
	u := l.unaskedTo(s.to)
	if u.words > 0 && u.words+p.words(s) > l.cfg.Limits.RelayWords {
		u.send(l, out)
	}
	if u.rows == nil {
		u.rows = wire.New[wire.Rows]()
		u.rows.Incarnation = s.to.incarnation
	}
	v := p.visible(l)
	to := u.rows.Extend()
	to.Pair, to.Commit, to.Complete = p.pair(), v.Commit, v.Clock
	p.fill(to, s)
	s.owed, s.seen = false, p.changes.Now()
	u.words += wordsOf(to)
}

// unaskedTo is the message to a subscriber that is being filled.
func (l *Lane) unaskedTo(who subscriber) *unasked {
	for i := range l.unasked {
		if l.unasked[i].to == who {
			return &l.unasked[i]
		}
	}
	l.unasked = append(l.unasked, unasked{to: who})
	return &l.unasked[len(l.unasked)-1]
}

// words is how many words a subscription takes in a message if all of it has changed.
func (p *partition) words(s *subscription) int {
	switch {
	case s.keys != nil:
		return s.keys.Len() * (2 + p.width)
	case s.rows != nil:
		return len(s.rows) * (1 + p.width)
	}
	return p.store.Rows() * (1 + p.width)
}

// fill writes to a part what has changed of a subscription. A write of everything, as by the end of
// a lease, is sent as the subscription's own list, without comparing.
func (p *partition) fill(to *wire.RowsPart, s *subscription) {
	switch {
	case s.keys != nil:
		to.OwnKeys(s.keys.Take(to.ScratchKeys()))
		if planted.On("relay-without-rows") {
			to.OwnKeys(to.ScratchKeys())
		}
		to.Values = p.store.ReadKeys(to.Keys, to.Values)
		return
	case p.changes.AllSince(s.seen):
		to.Rows = s.rows
	default:
		to.Own(p.changes.Since(s.seen, s.rows, to.Scratch()))
	}
	if !planted.On("relay-without-rows") || to.Rows == nil {
		to.Values = p.store.Read(to.Rows, to.Values)
	} else {
		to.Own(to.Scratch())
	}
}

// send sends what has been filled.
func (u *unasked) send(l *Lane, out *wire.Outbox) {
	if u.rows != nil {
		out.Send(l.cfg.Self, u.to.address, u.rows)
		l.charge(u.to.address, u.words, out)
		u.rows, u.words = nil, 0
	}
}
