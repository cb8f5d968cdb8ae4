package reads_test

import (
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/partition"
	"bellows/core/reads"
	"bellows/internal/require"
	"bellows/link/wire"
)

// ofTable returns a test for the partitions of a table.
func ofTable(of bellows.TableID) func(*partition.Partition) bool {
	return func(p *partition.Partition) bool { return p.Ref.Table == of }
}

// rows returns the messages of rows that were sent since the last call.
func (d *desk) rows() (list []*wire.Rows) {
	for _, e := range d.out.Envelopes {
		if m, ok := e.Message.(*wire.Rows); ok {
			list = append(list, m)
		}
	}
	d.out.Envelopes = nil
	return list
}

// relayed sends subscribers what they are owed, and returns the tables of the rows.
func (d *desk) relayed() (tables []bellows.TableID) {
	d.out.Envelopes = nil
	d.reads.Relay(d.state, &d.out)
	for _, m := range d.rows() {
		for i := range m.Parts {
			tables = append(tables, m.Parts[i].Ref.Table)
		}
	}
	return tables
}

// TestAnswersAreSent answers a read of rows: the message goes to its client, with the rows and the version that it
// shows. It subscribes no client.
func TestAnswersAreSent(t *testing.T) {
	t.Parallel()
	d := newDesk(t, reads.Config{Max: 9, Unread: 1000})
	d.write(3, 1)
	m := d.pull(4, 1, bellows.NoClock)
	m.Parts[0].Rows = []uint32{0, 2}
	d.park(m)
	d.serve()
	if len(d.out.Envelopes) != 1 || d.out.Envelopes[0].To != client.Address {
		t.Fatalf("it sends %+v", d.out.Envelopes)
	}
	got := d.rows()[0]
	p := &got.Parts[0]
	if got.Request != 4 || got.Incarnation != 1 || p.Commit != 3 || !slices.Equal(p.Rows, []uint32{0, 2}) ||
		!slices.Equal(p.Values, []float32{1, 0}) {
		t.Errorf("it answers %+v", got)
	}
	if subs := d.state.Owned()[1].Subscribers.List(); len(subs) > 0 {
		t.Errorf("a read without a subscription has subscribed %v", subs[0].To)
	}
}

// TestLendBSPTables reads tables that may be lent. A lane lends the memory of a BSP table to a client of the same
// node on request, and copies everything else.
func TestLendBSPTables(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		node   bellows.NodeID
		of     bellows.TableID
		borrow bool
		lent   bool
	}{
		{"a BSP table", 0, 0, true, true},
		{"a BSP table, and it does not ask", 0, 0, false, false},
		{"a table without a barrier", 0, 1, true, false},
		{"from another node", 2, 0, true, false},
	} {
		d := newDesk(t, reads.Config{Max: 9, Unread: 1000})
		m := d.pull(1, c.of, bellows.NoClock)
		if c.borrow {
			m.Parts[0].Borrow()
		}
		if !d.reads.Park(wire.ClientAt(c.node), m) {
			t.Fatal("a read finds no room")
		}
		d.serve()
		p := &d.rows()[0].Parts[0]
		if p.Lent() != c.lent || len(p.Values) != 4 {
			t.Errorf("%s: %d values, lent is %v", c.name, len(p.Values), p.Lent())
		}
	}
}

// TestAnswersKeepTheRowsOfTheirPull answers a read that came from another process. Its list of rows is in the memory
// that it was decoded from, which must not be used for other messages before the answer is freed.
func TestAnswersKeepTheRowsOfTheirPull(t *testing.T) {
	t.Parallel()
	d := newDesk(t, reads.Config{Max: 9, Unread: 1000})
	m := d.pull(1, 1, bellows.NoClock)
	m.Parts[0].Rows = []uint32{1, 3}
	var b wire.Batch
	require.NoError(t, b.Add(wire.Envelope{From: client.Address, To: wire.LaneAt(0, 0), Message: m}))
	frame := slices.Concat(b.Buffers()...)
	h, err := wire.ParseHeader(frame)
	require.NoError(t, err)
	payload := h.Payload()
	copy(payload, frame[wire.HeaderSize:])
	e, err := wire.Decode(h, payload)
	require.NoError(t, err)
	d.park(e.Message.(*wire.Pull))
	d.serve()
	for range 8 {
		other := h.Payload()
		for i := range other {
			other[i] = 0xff
		}
	}
	if p := &d.rows()[0].Parts[0]; !slices.Equal(p.Rows, []uint32{1, 3}) {
		t.Errorf("its rows are %v now", p.Rows)
	}
}

// TestSubscriptionsOfKeysAreBounded subscribes a client to more keys than it may be, of both partitions of a table. The
// error is about the first; a read of fewer keys has none.
func TestSubscriptionsOfKeysAreBounded(t *testing.T) {
	t.Parallel()
	d := newDesk(t, reads.Config{Max: 9, Unread: 1 << 20})
	read := func(request uint64, keys ...int) (err error) {
		m := d.pull(request, 2, bellows.NoClock)
		m.Parts = m.Parts[:0]
		for part, n := range keys {
			ref := bellows.PartitionRef{Table: 2, Partition: bellows.PartitionID(part)}
			list := make([]bellows.Key, n)
			for i := range list {
				list[i] = bellows.Key(i)
			}
			m.Parts = append(m.Parts, wire.PullPart{Pair: d.state.Lookup(ref).Pair(), Keys: list, Subscribe: true})
		}
		d.park(m)
		for a := range d.reads.Answers(d.state, &d.clients) {
			err = a.Err
		}
		return err
	}
	if err := read(1, 3, 3); err != nil {
		t.Errorf("three keys: %v", err)
	}
	const many = 5000
	err := read(2, many, many)
	if err == nil || !strings.Contains(err.Error(), "it would be subscribed to") {
		t.Fatalf("%d keys: %v", many, err)
	}
	first := d.state.Lookup(bellows.PartitionRef{Table: 2}).Ref.String()
	if !strings.Contains(err.Error(), first+",") {
		t.Errorf("the error is not about %v, the first: %v", first, err)
	}
	if err := read(3, many, 3); err == nil || !strings.Contains(err.Error(), first+",") {
		t.Errorf("with one part that is too large: %v", err)
	}
}

// TestOwedRowsOfOneTable owes subscribers the rows of one table, and sends no others.
func TestOwedRowsOfOneTable(t *testing.T) {
	t.Parallel()
	d := newDesk(t, reads.Config{Max: 9, Unread: 1000, RelayWords: 100})
	d.subscribe(1, 0)
	d.subscribe(2, 1)
	d.write(1, 1)
	d.reads.Owe(d.state, nil, ofTable(1))
	if got := d.relayed(); !slices.Equal(got, []bellows.TableID{1}) {
		t.Errorf("it sends rows of tables %v, want 1", got)
	}
}

// TestOwedRowsWaitForTheLease owes a subscriber rows that an exclusive lease keeps back. They leave when it has ended,
// though nothing more is owed.
func TestOwedRowsWaitForTheLease(t *testing.T) {
	t.Parallel()
	d := newDesk(t, reads.Config{Max: 9, Unread: 1000, RelayWords: 100})
	d.subscribe(1, 1)
	d.lease(2, 7, 1, wire.Exclusive, bellows.NoClock)
	d.reads.Owe(d.state, nil, ofTable(1))
	if got := d.relayed(); len(got) > 0 {
		t.Errorf("under a lease it sends rows of tables %v", got)
	}
	require.NoError(t, d.state.Owned()[1].EndExclusive(flush{}, make([]float32, 4), 0, 1, &d.fx))
	if got := d.relayed(); !slices.Equal(got, []bellows.TableID{1}) {
		t.Errorf("after the lease it sends rows of tables %v, want 1", got)
	}
	if got := d.relayed(); len(got) > 0 {
		t.Errorf("it sends rows of tables %v once more", got)
	}
}

// TestDeferredRowsAreOwed subscribes a client while a shared lease keeps a recorded update out. The answer lacks that
// update, which is sent unasked when the lease has ended.
func TestDeferredRowsAreOwed(t *testing.T) {
	t.Parallel()
	d := newDesk(t, reads.Config{Max: 9, Unread: 1000, RelayWords: 100})
	d.lease(2, 7, 1, wire.Shared, bellows.NoClock)
	d.write(1, 1)
	d.subscribe(1, 1)
	if got := d.relayed(); len(got) > 0 {
		t.Errorf("under the lease it sends rows of tables %v", got)
	}
	_, err := d.state.Owned()[1].Release(wire.ClientAt(2), &d.fx)
	require.NoError(t, err)
	d.reads.Relay(d.state, &d.out)
	got := d.rows()
	if len(got) != 1 || got[0].Parts[0].Commit != 1 || !slices.Equal(got[0].Parts[0].Values, []float32{1}) {
		t.Errorf("after the lease it sends %+v", got)
	}
}
