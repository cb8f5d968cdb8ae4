package waitlist_test

import (
	"testing"

	"bellows"
	"bellows/core/checkpoint"
	"bellows/core/fence"
	"bellows/core/lanestate"
	"bellows/core/route"
	"bellows/core/waitlist"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

func pushOf(values int) *wire.Push {
	m := wire.New[wire.Push]()
	if values > 0 {
		m.Chunks = append(m.Chunks, wire.Chunk{Values: make([]float32, values)})
	}
	return m
}

func envelope(client bellows.NodeID, m wire.Message) wire.Envelope {
	return wire.Envelope{From: wire.ClientAt(client), Message: m}
}

// TestMessagesOfAClientStayInOrder keeps messages of two clients, and gives them back in their order.
func TestMessagesOfAClientStayInOrder(t *testing.T) {
	t.Parallel()
	l := waitlist.New(9, 100)
	list := []wire.Envelope{
		envelope(1, pushOf(1)), envelope(2, &wire.Pull{}), envelope(1, &wire.Acquire{}), envelope(1, &wire.End{}),
	}
	for _, e := range list {
		if got := l.Keep(e); got != waitlist.Kept {
			t.Errorf("%T: %v", e.Message, got)
		}
	}
	if !l.Includes(wire.ClientAt(2)) || l.Includes(wire.ClientAt(3)) {
		t.Error("it does not know which messages wait")
	}
	for i, a := range l.Take() {
		if a.Envelope.Message != list[i].Message || a.Refused != nil {
			t.Errorf("message %d is %+v", i, a)
		}
	}
	if !l.Empty() || l.Includes(wire.ClientAt(1)) {
		t.Error("something is left")
	}
}

// TestPushesAreBounded keeps pushes up to the bytes that they may take, of which a single one may take more, and a
// number of messages. A push of nothing always waits, and so does a message without an answer.
func TestPushesAreBounded(t *testing.T) {
	t.Parallel()
	l := waitlist.New(4, 100)
	lease := pushOf(0)
	lease.Leases = append(lease.Leases, wire.LeaseEnd{Values: make([]float32, 5)})
	for i, c := range []struct {
		m    wire.Message
		want waitlist.Verdict
	}{
		{pushOf(26), waitlist.Kept}, {pushOf(1), waitlist.NoRoom}, {lease, waitlist.NoRoom}, {pushOf(0), waitlist.Kept},
		{&wire.Pull{}, waitlist.Kept}, {&wire.Acquire{}, waitlist.Kept}, {&wire.Pull{}, waitlist.Full},
		{&wire.Acquire{}, waitlist.Full}, {pushOf(0), waitlist.Full}, {&wire.End{}, waitlist.Kept},
	} {
		if got := l.Keep(envelope(1, c.m)); got != c.want {
			t.Errorf("message %d: %v, want %v", i, got, c.want)
		}
	}
	l.Take()
	l.Keep(envelope(1, pushOf(20)))
	if got := l.Keep(envelope(1, lease)); got != waitlist.Kept {
		t.Errorf("with 100 bytes: %v", got)
	}
	if got := l.Keep(envelope(1, pushOf(1))); got != waitlist.NoRoom {
		t.Errorf("with 104 bytes: %v", got)
	}
	both := pushOf(1)
	both.Leases = lease.Leases
	if got := l.Keep(envelope(1, both)); got != waitlist.NoRoom {
		t.Errorf("with a chunk and a lease: %v", got)
	}
}

// TestARefusalWaitsForTheRoute keeps a refusal as long as the lane is no further and something waits before it.
func TestARefusalWaitsForTheRoute(t *testing.T) {
	t.Parallel()
	l := waitlist.New(4, 100)
	l.Keep(envelope(1, &wire.Pull{}))
	l.Refuse(wire.ClientAt(1), &wire.Stale{Route: 3})
	list := l.Take()
	if l.Again(list[1], 3) {
		t.Error("it waits for nothing")
	}
	l.Keep(list[0].Envelope)
	if !l.Again(list[1], 3) || len(l.Take()) != 2 {
		t.Error("it does not wait, and the lane is no further")
	}
	l.Keep(list[0].Envelope)
	if l.Again(list[1], 4) || list[1].Refused.Route != 4 {
		t.Errorf("it waits by route 4, or is sent by route %d", list[1].Refused.Route)
	}
}

// TestMustWait judges messages by a newer route, and about a partition that is on its way here.
func TestMustWait(t *testing.T) {
	t.Parallel()
	self, other := wire.LaneAt(0, 0), wire.LaneAt(1, 0)
	tables := []table.Schema{{Name: "rows", Rows: 4, Width: 1, Partitions: 2}}
	r := route.Spread(tables, 1, []wire.Address{self, other}, []bellows.NodeID{1})
	s := lanestate.New(lanestate.Config{Self: self, Tables: tables, Route: r, Cuts: &checkpoint.Giver{},
		Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 1} }})
	ref := bellows.PartitionRef{Partition: 1}
	if r.Owner(ref).Lane == self {
		ref.Partition = 0
	}
	r, err := r.Next(r.MovePartition(ref, self))
	require.NoError(t, err)
	s.SetRoute(r)
	require.NoError(t, s.Await(ref))
	coming := wire.Pair{Ref: ref, Generation: 2}
	here := wire.Pair{Ref: bellows.PartitionRef{Partition: 1 - ref.Partition}, Generation: 1}
	messages := func(v bellows.RouteVersion, p wire.Pair) []wire.Message {
		return []wire.Message{
			&wire.Pull{Route: v, Parts: []wire.PullPart{{Pair: p}}},
			&wire.Acquire{Route: v, Pair: p},
			&wire.Push{Route: v, Chunks: []wire.Chunk{{Pair: p}}},
		}
	}
	var clients fence.Clients
	clients.Add(wire.ClientAt(1), 0)
	for _, c := range []struct {
		version bellows.RouteVersion
		pair    wire.Pair
		want    bool
	}{{1, here, false}, {2, here, true}, {1, coming, true}, {1, wire.Pair{Ref: ref, Generation: 1}, false}} {
		for _, m := range messages(c.version, c.pair) {
			e := envelope(1, m)
			if got := waitlist.MustWait(&e, s, &clients); got != c.want {
				t.Errorf("%T by route %d of %v: %v", m, c.version, c.pair, got)
			}
		}
	}
	e := envelope(1, messages(2, here)[2])
	clients.Meet(wire.ClientAt(1), 1)
	if waitlist.MustWait(&e, s, &clients) {
		t.Error("a push of a process that was replaced waits")
	}
	e = envelope(1, &wire.End{})
	if waitlist.MustWait(&e, s, &clients) {
		t.Error("an end waits by itself")
	}
}
