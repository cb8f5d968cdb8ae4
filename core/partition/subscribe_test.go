package partition_test

import (
	"slices"
	"testing"

	"bellows"
	"bellows/core/partition"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// TestWordsOfASubscription changes all of a partition, row by row: rows, all rows, and
// keys then take as many words in a message as relay reckons with.
func TestWordsOfASubscription(t *testing.T) {
	t.Parallel()
	for i, subscribe := range []func(s *partition.Subscribers, who partition.Subscriber) error{
		func(s *partition.Subscribers, who partition.Subscriber) error {
			s.Subscribe(who, nil, false)
			return nil
		},
		func(s *partition.Subscribers, who partition.Subscriber) error {
			s.Subscribe(who, []uint32{0, 2, 5}, false)
			return nil
		},
		func(s *partition.Subscribers, who partition.Subscriber) error {
			return s.SubscribeKeys(who, []bellows.Key{104, 109}, bellows.PartitionRef{})
		},
	} {
		r := newRig(t, 1, i == 2, table.Async, 0)
		who := partition.Subscriber{Address: near, Incarnation: 1}
		s := &r.p.Subscribers
		require.NoError(t, subscribe(s, who))
		if i == 2 {
			r.add(4, 1)
			r.add(9, 1)
		} else {
			for row := range uint32(rows) {
				r.add(row, 1)
			}
		}
		var m wire.Rows
		part, one := m.Extend(), s.Find(who)
		want := s.Words(one)
		s.Fill(part, one)
		if got := len(part.Rows) + 2*len(part.Keys) + len(part.Values); got != want || got == 0 {
			t.Errorf("subscription %d takes %d words, and was said to take %d", i, got, want)
		}
	}
}

// TestSubscriberGetsChangedRows fills message after message.
func TestSubscriberGetsChangedRows(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, false, table.Async, 0)
	s, a, b := &r.p.Subscribers, partition.Subscriber{Address: near}, partition.Subscriber{Address: far}
	sent := func(who partition.Subscriber, want ...uint32) {
		t.Helper()
		var m wire.Rows
		part := m.Extend()
		s.Fill(part, s.Find(who))
		if !slices.Equal(part.Rows, want) || len(part.Values) != len(want) && want != nil {
			t.Errorf("%v is sent %v with %v, want rows %v", who, part.Rows, part.Values, want)
		}
	}
	r.add(1, 1)
	s.Subscribe(a, []uint32{1, 2, 3}, false)
	r.add(2, 1)
	r.add(7, 1)
	s.Subscribe(b, nil, true)
	if s.Find(a).Owed || !s.Find(b).Owed {
		t.Error("the wrong subscriber is owed rows from the beginning")
	}
	r.add(1, 1)
	sent(a, 1, 2)
	sent(a, []uint32{}...)
	s.Subscribe(a, []uint32{7}, false)
	r.add(7, 1)
	sent(a, 7)
	sent(b, 1, 7)
	if s.Find(b).Owed {
		t.Error("what was sent is owed still")
	}
	r.p.Leases.Request(far, &wire.Acquire{Mode: wire.Exclusive, Need: wire.Need{Clock: bellows.NoClock}}, 1)
	r.grant()
	if !r.p.Withholds() {
		t.Error("rows under an exclusive lease are sent")
	}
	r.release()
	sent(a, 1, 2, 3, 7) // everything has changed at once
	sent(b)
	s.Forget(func(o partition.Subscriber) bool { return o == a })
	if s.Find(a) != nil || len(s.List()) != 1 {
		t.Error("a subscription does not end")
	}
	r.add(9, 1)
	sent(b, 9)
	s.Subscribe(b, nil, false)
}

// TestKeysOfASubscriptionAreBounded subscribes to more keys than a client may.
func TestKeysOfASubscriptionAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, true, table.Async, 0)
	who := partition.Subscriber{Address: near}
	list := make([]bellows.Key, rows)
	for i := range list {
		list[i] = bellows.Key(i)
	}
	most := r.schema.Cut().SubscribedMost(1)
	require.NoError(t, r.p.Subscribers.SubscribeKeys(who, list[:min(most, rows)], r.p.Ref))
	more := make([]bellows.Key, most)
	for i := range more {
		more[i] = bellows.Key(1000 + i)
	}
	if err := r.p.Subscribers.SubscribeKeys(who, more, r.p.Ref); err == nil {
		t.Errorf("subscribed to %d keys, of %d", most+rows, most)
	}
}
