package reads_test

import (
	"testing"

	"bellows"
	"bellows/core/partition"
	"bellows/core/pending"
	"bellows/core/prepare"
	"bellows/core/reads"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

// finish completes the next clock of a split by record n.
func (d *desk) finish(n bellows.CommitNumber, split bellows.SplitID) {
	d.t.Helper()
	d.state.Number(n)
	u := bellows.Unit{Split: split, Clock: d.state.Progress().Split(split) + 1, Items: bellows.Range{End: 1}}
	_, err := d.state.CountUnits([]wire.Result{{Unit: u}})
	require.NoError(d.t, err)
	require.NoError(d.t, d.state.Reach(&d.fx))
}

// lease queues a request for a lease on a table, and grants what may be granted.
func (d *desk) lease(from bellows.NodeID, request uint64, of bellows.TableID, mode wire.Mode, need bellows.Clock) {
	d.t.Helper()
	p := d.state.Lookup(bellows.PartitionRef{Table: of})
	m := &wire.Acquire{Request: request, Pair: p.Pair(), Mode: mode, Need: wire.Need{Clock: need}}
	if !p.Leases.Request(wire.ClientAt(from), m, 9) {
		d.t.Fatal("a request finds no room")
	}
	d.reads.GrantAll(d.state, &d.out)
}

// subscribe answers a read of a whole table that subscribes its client.
func (d *desk) subscribe(request uint64, of bellows.TableID) {
	d.t.Helper()
	m := d.pull(request, of, bellows.NoClock)
	m.Parts[0].Subscribe = true
	d.park(m)
	if got := d.serve(); len(got) != 1 || got[0] != request {
		d.t.Fatalf("it answers %v", got)
	}
}

// TestExplainNamesTheSlowestSplit lets one split and then the other be behind: a read that waits for a clock waits for
// the split that has completed the fewest.
func TestExplainNamesTheSlowestSplit(t *testing.T) {
	t.Parallel()
	for first := range bellows.SplitID(2) {
		d := newDesk(t, reads.Config{Max: 9, Unread: 1000})
		d.park(d.pull(1, 0, 1))
		n := bellows.CommitNumber(0)
		for _, c := range []struct{ finishes, slowest bellows.SplitID }{
			{first, 1 - first}, {1 - first, 0}, {first, 1 - first},
		} {
			n++
			d.finish(n, c.finishes)
			want := reads.Cause{Behind: pending.Clock, Who: uint32(c.slowest)}
			if got := d.reads.ExplainRequest(d.state, client, 1, false); got != want {
				t.Errorf("after split %d has finished first, record %d: %v, want %v", first, n, got, want)
			}
		}
	}
}

// TestExplainOfLeases names what a request for an exclusive lease waits for: its clock, even if a shared lease is out;
// then the holder of that; and, as soon as it could be granted, its client's credit.
func TestExplainOfLeases(t *testing.T) {
	t.Parallel()
	d := newDesk(t, reads.Config{Max: 9, Unread: 3})
	expect := func(when string, want reads.Cause) {
		t.Helper()
		if got := d.reads.ExplainRequest(d.state, client, 5, false); got != want {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	d.lease(2, 1, 0, wire.Shared, bellows.NoClock)
	d.lease(1, 5, 0, wire.Exclusive, 0)
	expect("before its clock", reads.Cause{Behind: pending.Clock})
	d.clock(1)
	expect("while a shared lease is out", reads.Cause{Behind: pending.Lease, Who: 2})
	d.subscribe(6, 1) // it takes more than the credit of its client
	_, err := d.state.Lookup(bellows.PartitionRef{}).Release(wire.ClientAt(2), &d.fx)
	require.NoError(t, err)
	expect("when it can be granted", reads.Cause{Behind: pending.Room})
	d.reads.GrantAll(d.state, &d.out)
	expect("while its client does not read", reads.Cause{Behind: pending.Room})
}

// TestExplainRelayOfABarrier asks why rows of a BSP table do not come: those of a complete clock were sent, unless they
// are owed still; those of the next wait for it, and so does a client that nothing is sure to be sent to.
func TestExplainRelayOfABarrier(t *testing.T) {
	t.Parallel()
	d := newDesk(t, reads.Config{Max: 9, Unread: 1000, RelayWords: 100})
	d.subscribe(1, 0)
	expect := func(number uint64, want pending.Behind) {
		t.Helper()
		w := &pending.Wait{Of: pending.Clocks, Number: number, Generation: 1}
		if got := d.reads.ExplainRelay(d.state, client, w); got.Behind != want {
			t.Errorf("rows %d wait for %v, want %v", number, got, want)
		}
	}
	expect(1, pending.Clock)
	d.clock(1)
	expect(1, pending.Nothing)
	expect(2, pending.Clock)
	expect(0, pending.Clock)
	d.reads.Owe(d.state, nil, ofTable(0))
	expect(1, pending.Clock)
	d.lease(2, 7, 0, wire.Exclusive, bellows.NoClock)
	expect(1, pending.Lease)
}

// TestExplainAnswersEachWait fills in a list of waits of every kind, each by what it is about.
func TestExplainAnswersEachWait(t *testing.T) {
	t.Parallel()
	d := newDesk(t, reads.Config{Max: 9, Unread: 1000, RelayWords: 100})
	flushes := prepare.New(prepare.Config{Route: d.state.Route(), Tables: make([]table.Schema, 3)})
	d.subscribe(1, 0)
	d.subscribe(2, 1)
	d.park(d.pull(3, 0, 0))
	d.finish(1, 0)
	d.state.Number(2)
	p := d.state.Lookup(bellows.PartitionRef{})
	own := flush{Client: 1, Incarnation: 1, Seq: 4}
	p.Accept(partition.Entry{Flush: own, Chunk: &wire.Chunk{Pair: p.Pair(), Rows: []uint32{0}, Values: []float32{1}},
		Number: 2}, &d.fx)
	list := []pending.Wait{
		{Of: pending.Answer, Number: 3},
		{Of: pending.Clocks, Number: 1, Generation: 1},
		{Of: pending.Relay, Number: 9, Ref: bellows.PartitionRef{Table: 1}, Generation: 1},
		{Of: pending.Flush, Number: 4, Generation: 1},
		{Of: pending.Answer, Number: 8},
	}
	want := []reads.Cause{
		{Behind: pending.Clock, Who: 1}, {Behind: pending.Clock, Who: 1}, {Behind: pending.Record},
		{Behind: pending.Clock, Who: 1}, {},
	}
	d.reads.Explain(d.state, flushes, client, list, false)
	for i, w := range list {
		if got := (reads.Cause{Behind: w.Behind, Who: w.Who}); got != want[i] {
			t.Errorf("wait %d of kind %d: %v, want %v", i, w.Of, got, want[i])
		}
	}
}
