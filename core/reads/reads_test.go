package reads_test

import (
	"testing"

	"bellows"
	"bellows/core/checkpoint"
	"bellows/core/fence"
	"bellows/core/lanestate"
	"bellows/core/partition"
	"bellows/core/pending"
	"bellows/core/prepare"
	"bellows/core/reads"
	"bellows/core/route"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// desk is the reads of a lane with one partition of a BSP table, one of a table without a barrier, and two of a table
// of keys.
type desk struct {
	t       *testing.T
	reads   *reads.Reads
	state   *lanestate.State
	clients fence.Clients
	out     wire.Outbox
	fx      partition.Effects
}

// client reads in the tests.
var client = partition.Subscriber{Address: wire.ClientAt(1), Incarnation: 1}

func newDesk(t *testing.T, c reads.Config) *desk {
	t.Helper()
	self := wire.LaneAt(0, 0)
	tables := []table.Schema{
		{Name: "barrier", Rows: 4, Width: 1, Partitions: 1},
		{Name: "free", Rows: 4, Width: 1, Partitions: 1, Consistency: table.Async},
		{Name: "keys", Rows: 4, Width: 1, Partitions: 2, Sparse: true, Consistency: table.Async},
	}
	r := route.Spread(tables, 2, []wire.Address{self}, []bellows.NodeID{1, 2})
	c.Self = self
	d := &desk{t: t, reads: reads.New(c)}
	d.state = lanestate.New(lanestate.Config{Self: self, Tables: tables, Route: r, Cuts: &checkpoint.Giver{},
		Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 1} }})
	for ref := range r.Each() {
		require.NoError(t, d.state.Create(ref))
	}
	d.clients.Add(client.Address, 1)
	return d
}

// pull returns a read of a whole table.
func (d *desk) pull(request uint64, of bellows.TableID, need bellows.Clock) *wire.Pull {
	m := wire.New[wire.Pull]()
	m.Incarnation, m.Request, m.Need = 1, request, wire.Need{Clock: need}
	m.Parts = append(m.Parts, wire.PullPart{Pair: d.state.Lookup(bellows.PartitionRef{Table: of}).Pair()})
	return m
}

// park queues a read, and wants it to have room.
func (d *desk) park(m *wire.Pull) {
	d.t.Helper()
	if !d.reads.Park(client.Address, m) {
		d.t.Fatal("a read finds no room")
	}
}

// serve sends the answers that may leave, and returns the requests that they are to.
func (d *desk) serve() (requests []uint64) {
	for a := range d.reads.Answers(d.state, &d.clients) {
		require.NoError(d.t, a.Err)
		requests = append(requests, a.Rows.Request)
		d.reads.Send(a, &d.out)
	}
	return requests
}

// clock completes clock 0 by record n.
func (d *desk) clock(n bellows.CommitNumber) {
	d.t.Helper()
	d.state.Number(n)
	for split := range bellows.SplitID(2) {
		u := bellows.Unit{Split: split, Items: bellows.Range{End: 1}}
		_, err := d.state.CountUnits([]wire.Result{{Unit: u}})
		require.NoError(d.t, err)
	}
	require.NoError(d.t, d.state.Reach(&d.fx))
}

// write changes row 0 of a table by record n.
func (d *desk) write(n bellows.CommitNumber, of bellows.TableID) {
	d.state.Number(n)
	p := d.state.Lookup(bellows.PartitionRef{Table: of})
	p.Accept(partition.Entry{Flush: flush{}, Chunk: &wire.Chunk{Pair: p.Pair(), Rows: []uint32{0},
		Values: []float32{1}}, Number: n}, &d.fx)
}

// flush is a flush of a name, which is empty where it does not matter.
type flush bellows.FlushID

func (f flush) ID() bellows.FlushID { return bellows.FlushID(f) }

// TestAnswersWaitForTheGate makes reads wait for a clock and for an exclusive lease.
func TestAnswersWaitForTheGate(t *testing.T) {
	t.Parallel()
	d := newDesk(t, reads.Config{Max: 9, Unread: 1000})
	d.park(d.pull(1, 0, 0))
	d.park(d.pull(2, 1, bellows.NoClock))
	if got := d.serve(); len(got) != 1 || got[0] != 2 {
		t.Errorf("before the clock it answers %v", got)
	}
	why := d.reads.ExplainRequest(d.state, client, 1, false)
	if why.Behind != pending.Clock {
		t.Errorf("the read waits for %v", why)
	}
	lease := &wire.Acquire{Request: 7, Pair: d.state.Owned()[0].Pair(), Mode: wire.Exclusive,
		Need: wire.Need{Clock: bellows.NoClock}}
	if !d.state.Owned()[0].Leases.Request(wire.ClientAt(2), lease, 9) {
		t.Fatal("a request finds no room")
	}
	d.reads.GrantAll(d.state, &d.out)
	d.clock(1)
	if got := d.serve(); len(got) != 0 {
		t.Errorf("under a lease it answers %v", got)
	}
	if why := d.reads.ExplainRequest(d.state, client, 1, false); why != (reads.Cause{Behind: pending.Lease, Who: 2}) {
		t.Errorf("the read waits for %v", why)
	}
	var fx partition.Effects
	require.NoError(t, d.state.Owned()[0].EndExclusive(flush{}, make([]float32, 4), 0, 2, &fx))
	if why := d.reads.ExplainRequest(d.state, client, 1, true); why.Behind != pending.Silence {
		t.Errorf("a lane that is cut keeps the read for %v", why)
	}
	if got := d.serve(); len(got) != 1 || got[0] != 1 {
		t.Errorf("after the lease it answers %v", got)
	}
	if why := d.reads.ExplainRequest(d.state, client, 1, false); why.Behind != pending.Nothing {
		t.Errorf("an answered read waits for %v", why)
	}
}

// TestParkIsBounded parks as many reads as may wait, and forgets those of a process that is gone.
func TestParkIsBounded(t *testing.T) {
	t.Parallel()
	d := newDesk(t, reads.Config{Max: 2, Unread: 1000})
	d.park(d.pull(1, 0, 0))
	d.park(d.pull(2, 0, 0))
	if d.reads.Park(client.Address, d.pull(3, 0, 0)) {
		t.Error("a third read waits")
	}
	d.reads.Forget(d.state, func(s partition.Subscriber) bool { return s.Incarnation > 1 })
	if d.reads.Park(client.Address, d.pull(3, 0, 0)) {
		t.Error("reads of a live process were forgotten")
	}
	d.reads.Forget(d.state, func(s partition.Subscriber) bool { return s == client })
	d.park(d.pull(3, 0, 0))
	d.reads.Leave(bellows.PartitionRef{Table: 1}, 5, &d.out)
	if len(d.out.Envelopes) > 0 {
		t.Error("a read of another partition left with one")
	}
	d.reads.Leave(bellows.PartitionRef{}, 5, &d.out)
	m, stale := d.out.Envelopes[0].Message.(*wire.Stale)
	if !stale || m.Request != 3 || m.Route != 5 || d.out.Envelopes[0].To != client.Address {
		t.Errorf("it answers %+v", d.out.Envelopes)
	}
	d.clock(1)
	if got := d.serve(); len(got) != 0 {
		t.Errorf("it answers %v, which has left", got)
	}
}

// TestAnswersWaitForCredit sends a node its credit and one message, and more when it has read.
func TestAnswersWaitForCredit(t *testing.T) {
	t.Parallel()
	d := newDesk(t, reads.Config{Max: 9, Unread: 3})
	for request := range uint64(3) {
		d.park(d.pull(request, 1, bellows.NoClock))
	}
	if got := d.serve(); len(got) != 1 {
		t.Fatalf("it answers %v", got)
	}
	if why := d.reads.ExplainRequest(d.state, client, 1, false); why.Behind != pending.Room {
		t.Errorf("the read waits for %v", why)
	}
	for _, e := range d.out.Envelopes {
		if m, mark := e.Message.(*wire.Mark); mark {
			d.reads.Mark(1, m)
		}
	}
	if got := d.serve(); len(got) != 1 {
		t.Errorf("with new credit it answers %v", got)
	}
	d.reads.Renew(partition.Subscriber{Address: client.Address, Incarnation: 2}, d.state)
	if got := d.serve(); len(got) != 0 {
		t.Errorf("it answers %v of a process that is gone", got)
	}
}

// TestRelaySendsWhatHasChanged subscribes a client, and sends it rows when it is owed some and no lease keeps them.
func TestRelaySendsWhatHasChanged(t *testing.T) {
	t.Parallel()
	d := newDesk(t, reads.Config{Max: 9, Unread: 1000, RelayWords: 100})
	m := d.pull(1, 1, bellows.NoClock)
	m.Parts[0].Subscribe = true
	d.park(m)
	d.serve()
	relayed := func() (rows []*wire.Rows) {
		d.out.Envelopes = nil
		d.reads.Relay(d.state, &d.out)
		for _, e := range d.out.Envelopes {
			if m, ok := e.Message.(*wire.Rows); ok {
				rows = append(rows, m)
			}
		}
		if d.reads.Filling() != 0 {
			t.Error("a message is left")
		}
		return rows
	}
	d.write(1, 1)
	if got := relayed(); len(got) != 0 {
		t.Errorf("a client that is owed nothing is sent %v", got)
	}
	of := func(p *partition.Partition) bool { return p.Ref.Table == 1 }
	d.reads.Owe(d.state, &partition.Subscriber{Address: client.Address, Incarnation: 2}, of)
	if got := relayed(); len(got) != 0 {
		t.Errorf("another process is sent %v", got)
	}
	waits := &pending.Wait{Of: pending.Relay, Ref: bellows.PartitionRef{Table: 1}, Generation: 1, Number: 1}
	d.reads.Owe(d.state, nil, of)
	if why := d.reads.ExplainRelay(d.state, client, waits); why.Behind != pending.Record {
		t.Errorf("what is owed waits for %v", why)
	}
	got := relayed()
	if len(got) != 1 || len(got[0].Parts) != 1 || len(got[0].Parts[0].Values) != 1 || got[0].Parts[0].Commit != 1 {
		t.Errorf("it is sent %+v", got)
	}
	if why := d.reads.ExplainRelay(d.state, client, waits); why.Behind != pending.Nothing {
		t.Errorf("what was sent waits for %v", why)
	}
	d.reads.Unsubscribe(d.state, client, d.state.Owned()[1].Pair())
	d.write(2, 1)
	d.reads.Owe(d.state, nil, of)
	if got := relayed(); len(got) != 0 {
		t.Errorf("without a subscription it is sent %v", got)
	}
}

// TestAnswersDoNotSubscribeStrangers answers a read of a client that does not take part.
func TestAnswersDoNotSubscribeStrangers(t *testing.T) {
	t.Parallel()
	d := newDesk(t, reads.Config{Max: 9, Unread: 1000, RelayWords: 100})
	m := d.pull(1, 1, bellows.NoClock)
	m.Parts[0].Subscribe = true
	if !d.reads.Park(wire.ClientAt(5), m) {
		t.Fatal("a read finds no room")
	}
	if got := d.serve(); len(got) != 1 || len(d.state.Owned()[1].Subscribers.List()) != 0 {
		t.Errorf("it answers %v, and has %d subscribers", got, len(d.state.Owned()[1].Subscribers.List()))
	}
}

// TestExplainFlush says for which clock a recorded chunk waits.
func TestExplainFlush(t *testing.T) {
	t.Parallel()
	d := newDesk(t, reads.Config{Max: 9, Unread: 1000})
	flushes := prepare.New(prepare.Config{Route: d.state.Route(), Tables: make([]table.Schema, 3)})
	d.write(1, 0)
	if why := d.reads.ExplainFlush(d.state, flushes, bellows.FlushID{}, wire.Pair{}); why.Behind != pending.Clock {
		t.Errorf("it waits for %v", why)
	}
	d.clock(2)
	if why := d.reads.ExplainFlush(d.state, flushes, bellows.FlushID{}, wire.Pair{}); why.Behind != pending.Nothing {
		t.Errorf("after its clock it waits for %v", why)
	}
}
