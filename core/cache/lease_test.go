package cache_test

import (
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/cache"
	"bellows/core/pending"
	"bellows/link/wire"
)

func ref(t bellows.TableID, p bellows.PartitionID) bellows.PartitionRef {
	return bellows.PartitionRef{Table: t, Partition: p}
}

// lease lets a split ask for a lease that it does not have.
func (b *bench) lease(s bellows.SplitID, t bellows.TableID, p bellows.PartitionID, mode wire.Mode) {
	b.t.Helper()
	if there, err := b.Lease(&b.readers[s], ref(t, p), mode); there || err != nil {
		b.t.Fatalf("split %d has the lease: %v, %v", s, there, err)
	}
	b.Acquire(&b.readers[s], &b.out)
}

// grant gives a lease that was asked for.
func (b *bench) grant(request uint64, t bellows.TableID, p bellows.PartitionID, mode wire.Mode, n bellows.CommitNumber,
	c bellows.Clock) {
	b.t.Helper()
	if err := b.granted(request, t, p, mode, n, c, 1); err != nil {
		b.t.Error(err)
	}
}

// TestLeases takes a shared and an exclusive lease: the shared one ends with the task, the exclusive one is left to
// its flush.
func TestLeases(t *testing.T) {
	b := newBench(t, twoTables())
	b.begin(1, 3, 0)
	b.lease(0, 1, 0, wire.Shared)
	b.expect("lane 0: acquire 1 1/0 after 3, clock -1")
	if b.Waiting() != 1 || !b.readers[0].Waits() {
		t.Error("the reader does not wait")
	}
	b.grant(1, 1, 0, wire.Shared, 4, 2)
	b.expect("wake 0")
	b.lease(0, 1, 1, wire.Exclusive)
	b.expect("lane 1: acquire 2 1/1 after 3, clock -1, exclusive")
	b.grant(2, 1, 1, wire.Exclusive, 5, 0)
	b.expect("wake 0")
	for n, c := range map[bellows.PartitionID]bellows.CommitNumber{0: 4, 1: 5} {
		if there, err := b.Lease(&b.readers[0], ref(1, n), wire.Exclusive); !there || err != nil {
			t.Errorf("the lease on partition %d is there: %v, %v", n, there, err)
		}
		if v := b.readers[0].Version(2 + int(n)); v.Commit != c {
			t.Errorf("partition %d is of %v", n, v)
		}
		if got := b.readers[0].Leased(2 + int(n)); !slices.Equal(got, []float32{1, 2, 3, 4}) {
			t.Errorf("partition %d is leased as %v", n, got)
		}
	}
	if b.readers[0].Leased(0) != nil {
		t.Error("a partition is leased that was not asked for")
	}
	b.end(0)
	b.expect("lane 0: release 1/0")
	l := b.readers[0].Leases()
	if len(l) != 1 || l[0].Number != 3 || l[0].Lane != 1 || l[0].Granted.Commit != 5 {
		t.Errorf("leaves leases %v", l)
	}
	b.readers[0].ForgetLeases()
	if len(b.readers[0].Leases()) != 0 || b.readers[0].Leased(3) != nil || b.readers[0].Leased(2) != nil {
		t.Error("a lease that has ended is there")
	}
}

// TestReadsDoNotGoBack reads what is cached after a lease has shown a newer version, after its end has, and after
// rows that were not kept: older rows are not shown to that split, but to another.
func TestReadsDoNotGoBack(t *testing.T) {
	cached := func() *bench {
		b := newBench(t, twoTables())
		b.begin(0, 0, 1)
		b.read(1, 1, 0, 4)
		b.must(1, rows(1, 0, nil, 1, 0, 1, 1, 1, 1))
		b.end(1)
		b.begin(0, 0, 0, 1)
		b.fx.Woken, b.out.Envelopes = nil, nil
		return b
	}
	b := cached()
	b.lease(0, 1, 0, wire.Shared)
	b.grant(2, 1, 0, wire.Shared, 4, 2)
	b.end(0)
	b.begin(0, 0, 0)
	b.out.Envelopes, b.fx.Woken = nil, nil
	if b.read(0, 1, 0, 4) || !b.read(1, 1, 0, 4) {
		t.Error("a split sees what was before its lease, or another does not")
	}
	b.must(3, rows(1, 0, nil, 4, 1, 1, 1, 1, 1)) // the lane answers with rows as they are

	b = cached()
	b.Saw(b.readers[0].ID(), 2, 2)
	b.Saw(99, 2, 9)
	if b.read(0, 1, 0, 4) || !b.read(1, 1, 0, 4) {
		t.Error("a split sees what was before the end of its lease, or another does not")
	}
	b.must(2, rows(1, 0, nil, 2, 0, 1, 1, 1, 1))
	if !b.read(0, 1, 0, 4) {
		t.Error("the commit of the lease is not enough")
	}

	b = newBenchWithin(t, keyTables(), cache.Limits{Subscribed: 2, Unread: 4})
	for i, c := range []bellows.Clock{0, 1} {
		b.begin(c, 0, 0)
		b.readKeys(0, 0, 1, 2)
		b.must(uint64(i)+1, answer(0, 2, bellows.CommitNumber(i), c-1, 1))
		b.end(0)
	}
	b.begin(1, 0, 0)
	b.readKeys(0, 0, 2, 9) // 9 is one too many to be subscribed to
	b.must(3, answer(0, 2, 7, 3, 3))
	b.equal("not kept", b.seesKeys(0, 0, 2, 9), 3, 3)
	b.end(0)
	b.begin(1, 0, 0, 1)
	if b.readKeys(0, 0, 2) || !b.readKeys(1, 0, 2) {
		t.Error("a split sees what was before rows that were not kept, or another does not")
	}
}

// TestALeaseWaitsForOwnCommits asks for a lease on what the split has changed: when that is committed, and for that
// version.
func TestALeaseWaitsForOwnCommits(t *testing.T) {
	b := newBench(t, twoTables())
	own := b.retain(0, 1, 0, 1)
	b.retain(0, 1, 4, 1)
	b.retain(0, 0, 0, 1) // under BSP it is visible or not needed
	b.begin(1, 0, 0)
	b.lease(0, 1, 0, wire.Exclusive)
	b.AcquireDelayed(&b.out)
	b.expect()
	if late, n := b.NameLate(1, 0); n != 0 {
		t.Errorf("names %v at once", late)
	}
	const until = "until its split's own updates of it are committed"
	late, n := b.NameLate(9, 5)
	if n != 1 || !strings.Contains(late.For, until) || late.Lane != 0 || late.Millis != 8 ||
		!late.At.Known || late.At.Behind != pending.Record {
		t.Errorf("names %d: %v", n, late)
	}
	own.Commit = 7
	b.AcquireDelayed(&b.out)
	b.expect("lane 0: acquire 1 1/0 after 7, clock -1, exclusive")
	b.AcquireDelayed(&b.out)
	b.expect()
	b.grant(1, 1, 0, wire.Exclusive, 7, 0)
	b.expect("wake 0")
	b.begin(1, 0, 1)
	b.lease(1, 0, 0, wire.Exclusive)
	b.expect("lane 0: acquire 2 0/0 after 0, clock 0, exclusive")
}

// TestLeasesThatAreRefused answers for an owner of the past, and grants leases that were not asked for.
func TestLeasesThatAreRefused(t *testing.T) {
	b := newBench(t, twoTables())
	b.begin(1, 0, 0)
	b.lease(0, 1, 0, wire.Exclusive)
	for name, err := range map[string]error{
		"another request":   b.granted(2, 1, 0, wire.Exclusive, 1, 0, 1),
		"another mode":      b.granted(1, 1, 0, wire.Shared, 1, 0, 1),
		"another partition": b.granted(1, 1, 1, wire.Exclusive, 1, 0, 1),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "a lease on t1/p") ||
			!strings.HasSuffix(err.Error(), "was not asked for") {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.expect("lane 0: acquire 1 1/0 after 0, clock -1, exclusive")
	b.Move(2, 1, 2, &b.out)
	b.grant(1, 1, 0, wire.Exclusive, 1, 0)
	b.expect("lane 1: acquire 2 1/0 after 0, clock -1, exclusive")
	if err := b.granted(2, 1, 0, wire.Exclusive, 1, 0, 2); err != nil {
		t.Error(err)
	}
	b.expect("wake 0")
	b.begin(0, 0, 1)
	b.read(1, 1, 0, 4)
	if err := b.granted(3, 1, 0, wire.Shared, 1, 0, 2); err == nil {
		t.Error("a read is answered by a lease")
	}
	_, err := newBench(t, keyTables()).Lease(&b.readers[1], ref(0, 0), wire.Shared)
	if err == nil || !strings.Contains(err.Error(), "sparse") {
		t.Errorf("a sparse table is leased: %v", err)
	}
}

// TestTasksThatWouldDeadlock lets tasks with leases ask for what may wait for them.
func TestTasksThatWouldDeadlock(t *testing.T) {
	leased := func(mode wire.Mode, clock bellows.Clock) *bench {
		b := newBench(t, twoTables())
		b.begin(3, 0, 0)
		b.lease(0, 0, 1, mode)
		b.grant(1, 0, 1, mode, 9, clock)
		return b
	}
	want := func(what string, err error, sentence string) {
		t.Helper()
		if (err == nil) != (sentence == "") || err != nil && !strings.Contains(err.Error(), sentence) {
			t.Errorf("%s: %v; want %q", what, err, sentence)
		}
	}
	for _, mode := range []wire.Mode{wire.Shared, wire.Exclusive} {
		b := leased(mode, 2)
		_, err := b.Lease(&b.readers[0], ref(0, 0), wire.Shared)
		want("a lease before", err, "asked after a lease on t0/p1; take leases in ascending order")
		_, err = b.Lease(&b.readers[0], ref(1, 0), wire.Shared)
		want("a lease behind", err, "")
		b = leased(mode, -1)
		_, err = b.Lease(&b.readers[0], ref(1, 0), wire.Shared)
		want("a lease of no clock", err, "")
	}
	b := leased(wire.Exclusive, 2)
	b.read(0, 1, 0, 4)
	want("a read under an exclusive lease", b.MayWait(&b.readers[0]), "while the task holds an exclusive lease")
	b = leased(wire.Shared, 2)
	want("nothing", b.MayWait(&b.readers[0]), "")
	b.read(0, 1, 0, 4)
	want("a read behind", b.MayWait(&b.readers[0]), "")
	b = leased(wire.Shared, 2)
	b.begin(3, 0, 1)
	b.read(1, 0, 0, 4)
	want("the read of another", b.MayWait(&b.readers[0]), "")
	b.read(0, 0, 0, 4)
	want("a read before", b.MayWait(&b.readers[0]), "a read on t0/p0 asked after a lease on t0/p1")
	want("a read without leases", b.MayWait(&b.readers[1]), "")
	b = newBench(t, twoTables())
	b.begin(3, 0, 0)
	b.lease(0, 0, 0, wire.Shared)
	b.grant(1, 0, 0, wire.Shared, 9, 1)
	b.read(0, 0, 4, 8)
	want("a newer clock", b.MayWait(&b.readers[0]), "would wait for clock 2 of other splits, which may wait for")
}

// TestOverdue lists what readers wait for at a lane for long, and takes the lane's word about it.
func TestOverdue(t *testing.T) {
	b := newBench(t, twoTables())
	keep(t, b, 0)
	b.begin(2, 3, 0, 1)
	b.read(0, 1, 0, 8)
	b.Prefetch(&b.readers[1], 1, 4, 8, &b.out)
	b.read(1, 0, 0, 4)
	b.Tick(10)
	overdue := func(lane int, now int64) []pending.Wait { return slices.Collect(b.Overdue(lane, now, 5)) }
	if got := overdue(0, 15); len(got) != 0 {
		t.Errorf("asks about %v, which has lasted 5 ms", got)
	}
	rowsOf := pending.Wait{Of: pending.Answer, Number: 3, Ref: ref(1, 0), Generation: 1}
	clocks := pending.Wait{Of: pending.Clocks, Number: 2, Ref: ref(0, 0), Generation: 1}
	if got := overdue(0, 16); !slices.Equal(got, []pending.Wait{rowsOf, clocks}) {
		t.Errorf("asks about %v", got)
	}
	for range b.Overdue(0, 16, 5) {
		break
	}
	b.Refuse(4, 2)
	if got := overdue(1, 99); len(got) != 0 {
		t.Errorf("asks about %v, which waits for a route", got)
	}
	wait := func(of pending.Of, number uint64, g bellows.Generation) pending.Wait {
		return pending.Wait{Of: of, Number: number, Ref: ref(0, 0), Generation: g}
	}
	late, n := b.NameLate(1, 5)
	if n != 0 {
		t.Errorf("names %v at once", late)
	}
	for _, c := range []struct {
		name   string
		lane   int
		wait   pending.Wait
		behind pending.Behind
		lost   string
	}{
		{"a clock", 0, rowsOf, pending.Clock, ""},
		{"nothing, by another lane", 1, rowsOf, pending.Nothing, ""},
		{"nothing, of another question", 0, pending.Wait{Number: 9}, pending.Nothing, ""},
		{"nothing, of what is refused", 1, pending.Wait{Number: 4, Ref: ref(1, 1), Generation: 1}, pending.Nothing, ""},
		{"nothing, of a clock before", 0, wait(pending.Clocks, 1, 1), pending.Nothing, ""},
		{"nothing, of a commit", 0, wait(pending.Relay, 2, 1), pending.Nothing, ""},
		{"nothing, of an owner before", 0, wait(pending.Clocks, 2, 0), pending.Nothing, ""},
		{"nothing of the clock", 0, clocks, pending.Nothing,
			"waits for table w, t0/p0 at lane 0 of node 0, after clock 1 of every split, after commit 0"},
		{"nothing", 0, rowsOf, pending.Nothing, "waits for table f, "},
	} {
		c.wait.Behind = c.behind
		if got := b.Stands(c.lane, &c.wait); (got == "") != (c.lost == "") || !strings.Contains(got, c.lost) {
			t.Errorf("%s: lost is %q", c.name, got)
		}
	}
	late, n = b.NameLate(9, 5)
	if n != 2 || late.Unit.Split != 0 || late.Millis != 8 || late.Lane != 1 || late.At.Known {
		t.Errorf("names %d, the first is %+v", n, late)
	}
	if late, n = b.NameLate(99, 5); n != 0 {
		t.Errorf("names %v once more", late)
	}
}

// TestOverdueRelays lists rows that an async table sends unasked: those of a commit, or of one that is not known.
func TestOverdueRelays(t *testing.T) {
	b := newBench(t, twoTables())
	keep(t, b, 1)
	b.Expect(0)
	b.begin(2, 3, 0)
	b.read(0, 1, 0, 4)
	b.Tick(10)
	for _, want := range []uint64{0, 8} {
		w := pending.Wait{Of: pending.Relay, Number: want, Ref: ref(1, 0), Generation: 1}
		if got := slices.Collect(b.Overdue(0, 99, 5)); !slices.Equal(got, []pending.Wait{w}) {
			t.Errorf("asks about %v; want %v", got, w)
		}
		w.Behind = pending.Record
		if lost := b.Stands(0, &w); lost != "" {
			t.Error(lost)
		}
		w.Number, w.Behind = 77, pending.Nothing
		if lost := b.Stands(0, &w); lost != "" {
			t.Errorf("of another commit, %s", lost)
		}
		b.Recorded(0, 8)
	}
	if lost := b.Stands(0, &pending.Wait{Of: pending.Relay, Ref: ref(1, 0), Generation: 1}); lost == "" {
		t.Error("a commit that was not known is not lost")
	}
}
