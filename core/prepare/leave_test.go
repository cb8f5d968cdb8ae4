package prepare_test

import (
	"testing"

	"bellows"
	"bellows/core/audit"
	"bellows/link/wire"
)

// TestLeaveSendsBackHeldParts moves a partition while a flush with a part for it is held and passed on as
// done. Its client gets that part back, and the vote for the rest.
func TestLeaveSendsBackHeldParts(t *testing.T) {
	d, f := newDesk(t, 36, 8), id(1, 1)
	d.push(withDone(pushOf(f, 0, pair(1, 0), pair(1, 1))))
	d.push(pushOf(id(2, 1), 0, pair(1, 0)))
	d.push(pushOf(id(2, 2), 1, pair(1, 1))) // waits
	d.said()
	d.Leave(pair(1, 0), &d.out)
	d.expect("it moves", d.said(), "node 1: stale flush 1 of node 1 by route 0 [{t1/p0 1}]; "+
		"node 1: held flush 1 of node 1 [{t1/p1 1}]; node 2: stale flush 1 of node 2 by route 0 [{t1/p0 1}]")
	if d.Holds(id(2, 1), wire.Pair{}) || d.Holds(f, pair(1, 0)) || !d.Holds(f, pair(1, 1)) {
		t.Error("what is held is something else")
	}
	list := d.Missed()
	if len(list) != 2 || list[0].Flush != f || list[0].Ref != pair(1, 0).Ref || list[1].Flush != id(2, 1) {
		t.Errorf("missed %v", list)
	}
	d.Admit(&d.out)
	d.expect("there is room", d.said(), "node 2: room flush 2 of node 2")
	d.expect("for 24 bytes", d.push(pushOf(id(2, 2), 1, pair(1, 1), pair(0, 0))),
		"breach: flush 2 of node 2 has a sum over subtree 0 of level 0, which has splits of others")
	d.expect("for 12 bytes", d.push(pushOf(id(2, 2), 1, pair(1, 1))), "node 2: held flush 2 of node 2")
	d.expect("and 12 more", d.push(pushOf(id(2, 3), 1, pair(1, 1))), "node 2: held flush 3 of node 2")
	d.expect("and none", d.push(pushOf(id(2, 4), 1, pair(1, 1))), "node 2: full flush 4 of node 2")
	if list := d.Take(f); len(list) != 1 || !list[0].Named || len(list[0].Push.Chunks) != 1 {
		t.Errorf("taken %v", list)
	}
}

// TestLeaveSendsBackWaitingParts lets parts for two partitions wait in one push. The rest of the
// push waits on, and has its place by what is left.
func TestLeaveSendsBackWaitingParts(t *testing.T) {
	d, f := newDesk(t, 1, 8), id(1, 1)
	d.push(pushOf(id(2, 1), 0, pair(1, 0)))
	d.push(pushOf(f, 1, pair(1, 0), pair(2, 1)))
	d.push(again(pushOf(f, 1, pair(1, 1))))
	d.push(pushOf(id(2, 2), 1, pair(1, 0)))
	d.said()
	d.Leave(pair(1, 0), &d.out)
	d.expect("it moves", d.said(), "node 2: stale flush 1 of node 2 by route 0 [{t1/p0 1}]; "+
		"node 1: stale flush 1 of node 1 by route 0 [{t1/p0 1}]; "+
		"node 2: stale flush 2 of node 2 by route 0 [{t1/p0 1}]")
	if list := d.Missed(); len(list) != 3 {
		t.Errorf("missed %v", list)
	}
	if waits, _ := d.Waits(id(2, 2), wire.Pair{}); waits {
		t.Error("a push without parts waits")
	}
	d.Admit(&d.out)
	d.expect("the rest is asked for", d.said(), "node 1: room flush 1 of node 1 [{t1/p1 1} {t2/p1 1}]")
}

// TestLeaveNamesWaitingParts lets one push wait with parts for two partitions. The first moves. When there is room, the
// client is asked for the second part alone.
func TestLeaveNamesWaitingParts(t *testing.T) {
	d, f := newDesk(t, 1, 8), id(2, 1)
	d.push(pushOf(id(1, 1), 0, pair(1, 1)))
	d.push(pushOf(f, 1, pair(1, 0), pair(2, 1)))
	d.said()
	d.Leave(pair(1, 0), &d.out)
	d.expect("it moves", d.said(), "node 2: stale flush 1 of node 2 by route 0 [{t1/p0 1}]")
	said, _ := d.record(id(1, 1))
	d.expect("there is room", said, "node 2: room flush 1 of node 2 [{t2/p1 1}]")
}

// TestLeaveKeepsEndsOfLeases moves a partition while a flush is held that also has a chunk for another partition and
// the end of a lease: the vote for both is sent.
func TestLeaveKeepsEndsOfLeases(t *testing.T) {
	d, f := newDesk(t, 0, 8), id(1, 1)
	d.holder[pair(1, 1).Ref] = one
	m := pushOf(f, 0, pair(1, 0), pair(2, 1))
	m.Leases = []wire.LeaseEnd{{Pair: pair(1, 1), Values: make([]float32, 8)}}
	m.Pairs = append(m.Pairs, pair(1, 1))
	d.expect("the push", d.push(m), "node 1: held flush 1 of node 1")
	d.Leave(pair(1, 0), &d.out)
	d.expect("it moves", d.said(), "node 1: stale flush 1 of node 1 by route 0 [{t1/p0 1}]; "+
		"node 1: held flush 1 of node 1 [{t2/p1 1} {t1/p1 1}]")
}

// TestRecordForgetsMissedParts misses parts of two flushes, which then get numbers one by one.
func TestRecordForgetsMissedParts(t *testing.T) {
	d := newDesk(t, 0, 8)
	for seq := range uint64(2) {
		d.Miss(pushOf(id(1, seq+1), 0, pair(1, 0)))
	}
	for seq := range uint64(2) {
		d.record(id(1, seq+1))
		if got := len(d.Missed()); got != 1-int(seq) {
			t.Errorf("after flush %d has a number, %d parts are missed", seq+1, got)
		}
	}
}

// TestRefuseKeepsNewerParts lets a part wait at the newest generation. A copy of it comes that
// names an older one. The copy is refused, and the part waits on.
func TestRefuseKeepsNewerParts(t *testing.T) {
	d, f := newDesk(t, 1, 8), id(2, 1)
	d.push(pushOf(id(1, 1), 0, pair(1, 1)))
	old, back := pair(1, 0), wire.Pair{Ref: pair(1, 0).Ref, Generation: 3}
	d.expect("it waits at generation 1", d.push(pushOf(f, 1, old)), "node 2: full flush 1 of node 2")
	d.generation[old.Ref] = 3
	d.expect("a copy at generation 1", d.push(pushOf(f, 1, old)),
		"node 2: stale flush 1 of node 2 by route 0 [{t1/p0 1}]")
	if waits, _ := d.Waits(f, wire.Pair{}); waits {
		t.Error("it waits at the old generation")
	}
	d.expect("it waits at generation 3", d.push(again(pushOf(f, 1, back))),
		"node 2: full flush 1 of node 2 [{t1/p0 3}]")
	d.expect("another copy", d.push(pushOf(f, 1, old)), "node 2: stale flush 1 of node 2 by route 0 [{t1/p0 1}]")
	said, _ := d.record(id(1, 1))
	d.expect("the record", said, "node 2: room flush 1 of node 2 [{t1/p0 3}]")
	if list := d.Missed(); len(list) != 1 {
		t.Errorf("missed %v", list)
	}
}

// TestLatePushIsDropped counts what a process pushes after its fence, if a route has had its pairs.
func TestLatePushIsDropped(t *testing.T) {
	d := newDesk(t, 0, 8)
	d.generation[pair(1, 1).Ref] = 2
	d.DropLate(pushOf(id(1, 1), 0, pair(1, 0)), d)
	d.DropLate(pushOf(id(1, 2), 0, pair(1, 1)), d)
	d.DropLate(pushOf(id(1, 3), 0, wire.Pair{Ref: pair(1, 0).Ref, Generation: 9}), d)
	if list := d.Missed(); len(list) != 2 || list[0].Flush != id(1, 1) || list[1].Flush != id(1, 2) {
		t.Errorf("missed %v", list)
	}
}

// TestMissCountsRowsAndBits drops chunks with rows and with keys, and the end of a lease.
func TestMissCountsRowsAndBits(t *testing.T) {
	d := newDesk(t, 0, 8)
	rows, values, keys := []uint32{1, 3}, []float32{1, 2, 3, 4}, []bellows.Key{7, 9, 4}
	m := &wire.Push{Flush: id(1, 1), Clock: 2}
	m.Chunks = []wire.Chunk{
		{Pair: pair(1, 0), Rows: rows, Values: values},
		{Pair: pair(1, 0), Rows: rows[:1], Values: values[:2]},
		{Pair: pair(2, 1), Keys: keys, Values: values[:3]},
	}
	m.Leases = []wire.LeaseEnd{{Pair: pair(1, 1), Values: []float32{1, 2, 3, 4, 5, 6, 7, 8}}}
	if got := d.Rows(m); got != 2+1+3+4 {
		t.Errorf("%d rows", got)
	}
	d.Miss(m)
	d.Miss(again(pushOf(id(1, 2), 2, pair(1, 0)))) // what is sent again is counted where it came first
	want := []wire.Missed{
		{Flush: id(1, 1), Ref: pair(1, 0).Ref, Rows: 3,
			Bits: audit.Rows(0, 2, rows, values) + audit.Rows(0, 2, rows[:1], values[:2])},
		{Flush: id(1, 1), Ref: pair(2, 1).Ref, Rows: 3},
		{Flush: id(1, 1), Ref: pair(1, 1).Ref, Rows: 4, Bits: audit.Rows(1, 2, nil, m.Leases[0].Values)},
	}
	if audit.SampleOf(pair(2, 1).Ref, 0).Contains(2) {
		want[1].Bits = audit.Keys(1, 1, keys, values[:3])
	}
	list := d.Missed()
	if len(list) != len(want) {
		t.Fatalf("missed %v", list)
	}
	for i := range want {
		if list[i] != want[i] {
			t.Errorf("part %d: %v, want %v", i, list[i], want[i])
		}
	}
	d.Adopt([]wire.Missed{want[0], {Flush: id(2, 5), Ref: pair(0, 0).Ref, Rows: 1}})
	if got := len(d.Missed()); got != 4 {
		t.Errorf("%d parts are missed", got)
	}
}

// TestKeyedBitsOfAllClocks misses parts of a sparse table in clocks that are in the sample, and in others.
func TestKeyedBitsOfAllClocks(t *testing.T) {
	d := newDesk(t, 0, 8)
	sampled := 0
	for clock := range bellows.Clock(64) {
		keys, values := []bellows.Key{7, 9}, []float32{1, 2}
		m := &wire.Push{Flush: id(1, uint64(clock)+1), Clock: clock}
		m.Chunks = []wire.Chunk{{Pair: pair(2, 0), Keys: keys, Values: values}}
		d.Miss(m)
		want := audit.Sum(0)
		if audit.SampleOf(pair(2, 0).Ref, 0).Contains(clock) {
			want, sampled = audit.Keys(0, 1, keys, values), sampled+1
		}
		if list := d.Missed(); list[len(list)-1].Bits != want {
			t.Errorf("clock %d: bits %v, want %v", clock, list[len(list)-1].Bits, want)
		}
	}
	if sampled != 4 {
		t.Errorf("%d clocks are in the sample", sampled)
	}
}

// TestReleaseGivesAllThatIsHeld ends the job with one flush held and one that waits.
func TestReleaseGivesAllThatIsHeld(t *testing.T) {
	d := newDesk(t, 1, 8)
	d.push(pushOf(id(1, 1), 0, pair(1, 0)))
	d.push(pushOf(id(2, 1), 0, pair(1, 1)))
	list := d.Release()
	if len(list) != 1 || list[0].Push.Flush != id(1, 1) || list[0].From != one || list[0].Named {
		t.Errorf("released %v", list)
	}
	if d.Holds(id(1, 1), wire.Pair{}) {
		t.Error("it is held")
	}
	d.DropWaiting()
	if got := d.Missed(); len(got) != 1 || got[0].Flush != id(2, 1) {
		t.Errorf("missed %v", got)
	}
	if waits, _ := d.Waits(id(2, 1), wire.Pair{}); waits {
		t.Error("it waits")
	}
}

// TestRoomAfterRouteChange moves a split: its new node may have more above the cap, and may send its sums.
func TestRoomAfterRouteChange(t *testing.T) {
	d := newDesk(t, 0, 8)
	r, err := d.route.Next(d.route.MoveSplit(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	d.SetRoute(r)
	m := pushOf(id(1, 1), 0, pair(0, 0))
	m.Chunks[0].Subtree = wire.Subtree{Level: 1}
	d.expect("a sum over both splits", d.push(m), "node 1: held flush 1 of node 1")
	d.Leave(pair(0, 0), &d.out)
	d.expect("by the new route", d.said(), "node 1: stale flush 1 of node 1 by route 1 [{t0/p0 1}]")
}

// TestLoadCounted tells a lane that begins late which flushes have numbers.
func TestLoadCounted(t *testing.T) {
	d := newDesk(t, 0, 8)
	d.LoadCounted([]wire.Recorded{{Client: 1, Incarnation: 1, UpTo: 3}})
	d.expect("an old flush", d.push(pushOf(id(1, 3), 0, pair(1, 0))), "")
	d.expect("a new one", d.push(pushOf(id(1, 4), 0, pair(1, 0))), "node 1: held flush 4 of node 1")
	d.Miss(pushOf(id(1, 2), 0, pair(1, 0)))
	if list := d.Missed(); len(list) != 0 {
		t.Errorf("missed %v", list)
	}
}
