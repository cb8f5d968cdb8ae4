package partition

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/core/rowstore"
	"bellows/link/wire"
)

// Subscribers are the clients that are sent rows of a partition, unasked, when these have changed: a
// reader of its log. Of each row they have the number of its last change (rowstore.Changes), which is
// compared with positions in the log. So no change is kept, and slow subscribers take no more memory:
// a number for each row. For keys a rowstore.Watch of each subscriber
// has the same. After a change of everything a subscriber is sent all its rows.
//
// Turned down: subscribing at the first read, since most rows of sparse data are read once
// (docs/decisions/0022); a list of changed rows for each subscription, which is written as often as
// there are subscribers.
type Subscribers struct {
	log     *Log
	list    []Subscription
	keysMax int              // keys to which a client may be subscribed
	changes rowstore.Changes // of a dense table, since there are subscribers
	width   int
	store   *rowstore.Store
}

// Subscriber is one process of a client.
type Subscriber struct {
	Address     wire.Address
	Incarnation uint32
}

// Subscription is what a client is sent of a partition.
//
// It is sent, for a table with a barrier, each time that a clock has become visible; for another, each
// time that a flush of the client's own has been recorded that has deltas for such tables here, since
// the client's next task must see it. A client may rely on that and wait instead of asking. What
// leases keep out of the partition is waited for.
type Subscription struct {
	To   Subscriber
	Owed bool
	rows []uint32        // ascending; nil: all, or those of keys. A list is only replaced: messages borrow it
	keys *rowstore.Watch // of a sparse table, in place of rows
	seen uint64          // position in the log when the client was last sent what had changed
}

// Before ignores the change: subscribers get the new values.
func (s *Subscribers) Before(*Change) {}

// After notes which rows have changed.
func (s *Subscribers) After(c *Change) {
	switch {
	case c.Kind != Delta && c.Kind != Sum && c.Kind != LeaseEnd:
	case !s.store.Keyed():
		s.changes.Wrote(c.Number, c.Rows, s.store.Rows())
	default:
		for i := range s.list {
			for _, r := range c.Rows {
				s.list[i].keys.Mark(s.store.Key(r))
			}
		}
	}
}

// List returns the subscriptions. They stay in their place until the next call that changes them.
func (s *Subscribers) List() []Subscription { return s.list }

// Find returns the subscription of a client, or nil.
func (s *Subscribers) Find(who Subscriber) *Subscription {
	if i := slices.IndexFunc(s.list, func(o Subscription) bool { return o.To == who }); i >= 0 {
		return &s.list[i]
	}
	return nil
}

// Forget ends the subscriptions of processes that are gone.
func (s *Subscribers) Forget(gone func(Subscriber) bool) {
	s.list = slices.DeleteFunc(s.list, func(o Subscription) bool { return gone(o.To) })
	if len(s.list) == 0 {
		s.log.Detach(s)
	}
}

// add adds a subscription that has seen the state as it is now.
func (s *Subscribers) add(one Subscription) *Subscription {
	if len(s.list) == 0 {
		s.log.Attach(s)
	}
	one.seen = s.log.Last()
	s.list = append(s.list, one)
	return &s.list[len(s.list)-1]
}

// Subscribe adds rows (nil: all) to what a client is sent. owed: leases keep something out, which is
// recorded, and what the client has read does not have it.
func (s *Subscribers) Subscribe(who Subscriber, rows []uint32, owed bool) {
	one := s.Find(who)
	switch {
	case one == nil:
		s.add(Subscription{To: who, rows: slices.Clone(rows), Owed: owed})
	case rows == nil:
		one.rows = nil
	case one.rows != nil:
		both := slices.Concat(one.rows, rows)
		slices.Sort(both)
		one.rows = slices.Compact(both)
	}
}

// SubscribeKeys adds keys to what a client is sent. It refuses more than a client may be subscribed to, in a
// partition of that name.
func (s *Subscribers) SubscribeKeys(who Subscriber, list []bellows.Key, of bellows.PartitionRef) error {
	one := s.Find(who)
	if one == nil {
		one = s.add(Subscription{To: who, keys: s.store.Watch()})
	} else if planted.On("union-forgotten") {
		return nil
	}
	w := one.keys
	switch more := w.Lacks(list); {
	case more == 0:
	case w.Len()+more > s.keysMax:
		return fmt.Errorf("it would be subscribed to %d keys of %v, and may be to %d", w.Len()+more, of, s.keysMax)
	default:
		w.Add(list)
	}
	return nil
}

// Words returns how many words a subscription takes in a message if all of it has changed.
func (s *Subscribers) Words(one *Subscription) int {
	switch {
	case one.keys != nil:
		return one.keys.Len() * (2 + s.width)
	case one.rows != nil:
		return len(one.rows) * (1 + s.width)
	}
	return s.store.Rows() * (1 + s.width)
}

// Fill writes to a part of a message what has changed of a subscription, which has seen it then. A
// change of everything, as by the end of a lease, is sent as the subscription's own list, without
// comparing.
func (s *Subscribers) Fill(to *wire.RowsPart, one *Subscription) {
	since := one.seen
	one.Owed, one.seen = false, s.log.Last()
	switch {
	case one.keys != nil:
		to.SetKeys(one.keys.Take(to.ScratchKeys()))
		if planted.On("relay-without-rows") {
			to.SetKeys(to.ScratchKeys())
		}
		to.Values = s.store.ReadKeys(to.Keys, to.Values)
		return
	case s.changes.AllSince(since):
		to.Rows = one.rows
	default:
		to.SetRows(s.changes.Since(since, one.rows, to.Scratch()))
	}
	if !planted.On("relay-without-rows") || to.Rows == nil {
		to.Values = s.store.Read(to.Rows, to.Values)
	} else {
		to.SetRows(to.Scratch())
	}
}
