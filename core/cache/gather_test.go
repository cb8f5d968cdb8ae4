package cache_test

import (
	"testing"

	"bellows"
	"bellows/link/wire"
	"bellows/table"
)

// TestGatherRows copies named rows of a partition that does not begin with row 0, after a read of the whole partition
// and after a read of some rows.
func TestGatherRows(t *testing.T) {
	b := newBench(t, []table.Schema{{Name: "f", Rows: 80, Width: 2, Partitions: 2, Consistency: table.Async}})
	all := make([]float32, 80)
	for i := range all {
		all[i] = float32(100 + i)
	}
	b.begin(0, 0, 0, 1)
	b.read(0, 0, 40, 80)
	b.must(1, rows(0, 1, nil, 1, 0, all...))
	got := make([]float32, 4)
	b.readers[0].Gather(1, []bellows.RowID{41, 79}, 40, 2, got)
	b.equal("of all rows", got, 102, 103, 178, 179)

	b = newBench(t, b.tables)
	b.begin(0, 0, 0)
	b.readRows(0, 0, 43, 50, 61)
	b.must(1, rows(0, 1, []uint32{3, 10, 21}, 1, 0, 6, 7, 20, 21, 42, 43))
	got = make([]float32, 6)
	b.readers[0].Gather(1, []bellows.RowID{43, 50, 61}, 40, 2, got)
	b.equal("of some rows", got, 6, 7, 20, 21, 42, 43)
	b.readers[0].Gather(1, []bellows.RowID{50, 61}, 40, 2, got[:4])
	b.equal("of fewer", got[:4], 20, 21, 42, 43)
}

// TestJoinLargerAnswers joins a cached block with an answer that has more rows, and one that has more keys, than it.
func TestJoinLargerAnswers(t *testing.T) {
	b := newBench(t, wide())
	b.begin(0, 0, 0, 1)
	b.readRows(0, 0, 3)
	b.must(1, rows(0, 0, []uint32{3}, 4, 0, 30))
	b.readRows(1, 0, 2, 5, 7)
	b.must(2, rows(0, 0, []uint32{2, 5, 7}, 6, 0, 20, 50, 70))
	b.end(0, 1)
	b.begin(1, 0, 0)
	if !b.readRows(0, 0, 2, 3, 5, 7) {
		t.Fatal("the rows are not joined")
	}
	got := make([]float32, 4)
	b.readers[0].Gather(0, []bellows.RowID{2, 3, 5, 7}, 0, 1, got)
	b.equal("rows", got, 20, 30, 50, 70)

	b = newBench(t, keyTables())
	b.begin(0, 0, 0, 1)
	b.readKeys(0, 1, 3)
	b.must(1, rows(1, 0, nil, 4, 0, 30))
	b.readKeys(1, 1, 2, 5, 7)
	b.must(2, rows(1, 0, nil, 6, 0, 20, 50, 70))
	b.end(0, 1)
	b.begin(1, 0, 0)
	if !b.readKeys(0, 1, 2, 3, 5, 7) {
		t.Fatal("the keys are not joined")
	}
	b.equal("keys", b.seesKeys(0, 1, 2, 3, 5, 7), 20, 30, 50, 70)
}

// TestOverlayLaterUpdates pins rows of a version before the commit of an update of its split: the update is laid over
// them. It is not laid over rows of that version or a later one.
func TestOverlayLaterUpdates(t *testing.T) {
	for commit, want := range map[bellows.CommitNumber]float32{0: 11, 3: 1, 5: 1, 6: 11} {
		b := newBench(t, twoTables())
		b.retain(0, 1, 1, 10).Commit = commit
		b.begin(0, 0, 0)
		b.read(0, 1, 0, 4)
		b.must(1, rows(1, 0, nil, 5, 0, 0, 1, 2, 3))
		if got := b.sees(0, 1, 0, 4)[1]; got != want {
			t.Errorf("an update of commit %d over rows of 5: %v, want %v", commit, got, want)
		}
	}
}

// TestLeaseOfOtherRules asks for a lease on a table with a rule that does not add. The lease waits for no update of its
// split, since these are not laid over reads.
func TestLeaseOfOtherRules(t *testing.T) {
	tables := twoTables()
	tables[1].Rule = table.Rule{Name: "adagrad", Step: 1, Epsilon: 1}
	b := newBench(t, tables)
	b.retain(0, 1, 0, 1)
	b.begin(1, 0, 0)
	b.lease(0, 1, 0, wire.Exclusive)
	b.expect("lane 0: acquire 1 1/0 after 0, clock -1, exclusive")
}

// TestNextWaitBeginsAnew names a wait that lasts. The next wait of the same split begins anew.
func TestNextWaitBeginsAnew(t *testing.T) {
	b := newBench(t, twoTables())
	late := func(now int64, want int) {
		t.Helper()
		if _, n := b.NameLate(now, 5); n != want {
			t.Errorf("at %d it names %d, want %d", now, n, want)
		}
	}
	for request, begin := range []int64{10, 100} {
		b.begin(bellows.Clock(request), bellows.CommitNumber(2*request), 0)
		b.read(0, 1, 0, 4)
		late(begin, 0)
		late(begin+5, 0)
		late(begin+6, 1)
		late(begin+7, 0)
		b.must(uint64(request+1), rows(1, 0, nil, bellows.CommitNumber(2*request+1), 0, 0, 1, 2, 3))
		late(begin+50, 0)
		b.end(0)
	}
}
