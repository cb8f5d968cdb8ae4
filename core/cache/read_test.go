package cache_test

import (
	"strings"
	"testing"

	"bellows"
	"bellows/link/wire"
	"bellows/table"
)

// TestReadersShareAQuestion lets two splits read the same rows: one question is asked, its answer wakes both, and
// both see it.
func TestReadersShareAQuestion(t *testing.T) {
	b := newBench(t, twoTables())
	b.begin(2, 5, 0, 1)
	if b.read(0, 1, 2, 6) || b.read(1, 1, 0, 4) {
		t.Fatal("rows are there that were not sent")
	}
	b.expect("lane 0: pull 1 1/0 after 5, clock -1", "lane 1: pull 2 1/1 after 5, clock -1")
	if b.Waiting() != 2 || !b.Expects(0) || !b.Expects(1) {
		t.Errorf("%d readers wait", b.Waiting())
	}
	b.must(1, rows(1, 0, nil, 5, 1, 1, 2, 3, 4))
	b.expect("wake 1")
	b.must(2, rows(1, 1, nil, 6, 0, 5, 6, 7, 8))
	b.expect("wake 0")
	if !b.read(0, 1, 2, 6) || !b.read(1, 1, 0, 4) || b.Waiting() != 0 || b.Expects(0) {
		t.Fatal("rows that have come are not there")
	}
	b.equal("split 0", b.sees(0, 1, 2, 4), 3, 4)
	b.equal("split 0", b.sees(0, 1, 4, 6), 5, 6)
	if v := b.readers[0].Version(3); v != (wire.Need{Commit: 6, Clock: 0}) {
		t.Errorf("sees version %v", v)
	}
	if s := b.Staleness(); s[0] != 2 || s[1] != 1 {
		t.Errorf("staleness is %v", s)
	}
	b.end(0, 1)
	b.begin(3, 6, 0)
	if b.read(0, 1, 0, 4) || !b.read(1, 1, 4, 8) {
		t.Error("a block is shown by another version than its own")
	}
	b.expect("lane 0: pull 3 1/0+ after 6, clock -1")
}

// TestEmptyPartitionsAreNotRead reads a table that has fewer rows than partitions.
func TestEmptyPartitionsAreNotRead(t *testing.T) {
	b := newBench(t, []table.Schema{{Name: "f", Rows: 3, Width: 1, Partitions: 4, Consistency: table.Async}})
	b.begin(0, 0, 0)
	b.read(0, 0, 0, 3)
	for _, e := range b.out.Envelopes {
		for _, p := range e.Message.(*wire.Pull).Parts {
			if lo, hi := b.route.Cut(0).Rows(p.Ref.Partition); lo == hi {
				t.Errorf("asks for %v, which has no rows", p.Ref)
			}
		}
	}
}

// TestALaterClockIsAskedForApart lets a split read in a later clock than another that waits: neither waits for the
// clock of the other.
func TestALaterClockIsAskedForApart(t *testing.T) {
	b := newBench(t, twoTables())
	b.begin(3, 0, 0)
	b.begin(2, 0, 1)
	b.read(0, 0, 0, 4)
	b.read(1, 0, 0, 4)
	b.expect("lane 0: pull 1 0/0 after 0, clock 2", "lane 0: pull 2 0/0 after 0, clock 1")
	b.must(2, rows(0, 0, nil, 3, 1, 1, 1, 1, 1))
	b.expect("wake 1")
	b.must(1, rows(0, 0, nil, 5, 2, 2, 2, 2, 2))
	b.expect("wake 0")
	if !b.read(0, 0, 0, 4) || !b.read(1, 0, 0, 4) {
		t.Error("rows are not there")
	}
	b.equal("the fast split", b.sees(0, 0, 0, 4), 2, 2, 2, 2)
	b.equal("the slow split", b.sees(1, 0, 0, 4), 1, 1, 1, 1)
}

// wide returns a table that is large enough for a few of its rows to be fetched alone.
func wide() []table.Schema {
	return []table.Schema{{Name: "f", Rows: 40, Width: 1, Partitions: 1, Consistency: table.Async}}
}

// TestSomeRowsAreJoined asks for rows beside those that are cached: they are one block of the older version, unless
// an update of this node that splits lay over it came between.
func TestSomeRowsAreJoined(t *testing.T) {
	for own, want := range map[bellows.CommitNumber]bellows.CommitNumber{0: 4, 3: 4, 4: 4, 5: 6, 6: 6, 7: 4} {
		b := newBench(t, wide())
		b.begin(0, 0, 0)
		b.readRows(0, 0, 3, 9)
		b.must(1, rows(0, 0, []uint32{3, 9}, 4, 0, 30, 90))
		b.retain(1, 0, 2, 1).Commit = own
		b.begin(0, 0, 1)
		if b.readRows(1, 0, 3, 5) {
			t.Fatal("a row is there that was not sent")
		}
		b.must(2, rows(0, 0, []uint32{3, 5}, 6, 2, 31, 50))
		b.end(0)
		b.begin(1, 0, 0)
		b.fx.Woken, b.out.Envelopes = nil, nil
		there := b.readRows(0, 0, 5, 9)
		if there != (want == 4) {
			t.Errorf("an own commit %d: the rows are joined: %v", own, there)
		}
		if there {
			if v := b.readers[0].Version(0); v.Commit != want || v.Clock != 0 {
				t.Errorf("an own commit %d: version %v; want %d", own, v, want)
			}
			b.equal("joined", append(b.sees(0, 0, 3, 4), b.readers[0].View(0, 9, 10, 1)...), 31, 90)
		}
	}
}

// TestFewRowsAreAskedForAlone reads up to a quarter of a partition and more.
func TestFewRowsAreAskedForAlone(t *testing.T) {
	b := newBench(t, wide())
	b.begin(0, 0, 0, 1)
	b.read(0, 0, 3, 12)
	b.read(1, 0, 3, 13)
	b.expect("lane 0: pull 1 0/0[3 4 5 6 7 8 9 10 11] after 0, clock -1", "lane 0: pull 2 0/0 after 0, clock -1")
	b.must(2, rows(0, 0, nil, 1, 0, make([]float32, 40)...))
	b.must(1, rows(0, 0, []uint32{3, 4, 5, 6, 7, 8, 9, 10, 11}, 0, 0, make([]float32, 9)...))
	b.end(0, 1)
	b.begin(0, 0, 0)
	if !b.readRows(0, 0, 0, 39) || !b.read(0, 0, 11, 12) || !b.read(0, 0, 0, 40) {
		t.Error("a whole partition is replaced by some of its rows")
	}
}

// TestCoveredRows looks for consecutive rows and lists in a block of some rows.
func TestCoveredRows(t *testing.T) {
	b := newBench(t, wide())
	b.begin(0, 0, 0)
	b.readRows(0, 0, 3, 4, 5, 9)
	b.must(1, rows(0, 0, []uint32{3, 4, 5, 9}, 1, 0, 3, 4, 5, 9))
	b.end(0)
	for _, c := range []struct {
		first, end bellows.RowID
		there      bool
	}{
		{3, 6, true}, {4, 6, true}, {3, 4, true}, {9, 10, true},
		{3, 7, false}, {2, 4, false}, {5, 10, false}, {9, 11, false}, {38, 40, false},
	} {
		b.begin(0, 0, 0)
		if got := b.read(0, 0, c.first, c.end); got != c.there {
			t.Errorf("rows [%d,%d) are there: %v", c.first, c.end, got)
		}
		if c.there {
			var want []float32
			for r := c.first; r < c.end; r++ {
				want = append(want, float32(r))
			}
			b.equal("a view", b.readers[0].View(0, int(c.first), int(c.end), 1), want...)
		}
		b.end(0)
		b.out.Envelopes = nil
	}
}

// TestPrefetchWaitsForNothing asks for what is not there, once, and does not wait.
func TestPrefetchWaitsForNothing(t *testing.T) {
	b := newBench(t, twoTables())
	b.begin(0, 0, 0, 1)
	b.Prefetch(&b.readers[0], 1, 0, 4, &b.out)
	b.Prefetch(&b.readers[0], 1, 0, 4, &b.out)
	b.expect("lane 0: pull 1 1/0 after 0, clock -1")
	if b.Waiting() != 0 {
		t.Error("a prefetch waits")
	}
	b.must(1, rows(1, 0, nil, 0, 0, 1, 2, 3, 4))
	b.Prefetch(&b.readers[0], 1, 0, 4, &b.out)
	b.expect()
	if s := b.Staleness(); s[0] != 0 {
		t.Error("a prefetch pins what it finds")
	}
	if !b.read(0, 1, 0, 4) {
		t.Error("what was prefetched is not there")
	}
}

// TestOwnDeltasAreLaidOver pins rows before and after the commit of a split's own delta: what it sees has it once,
// and its next task must see the commit in the tables.
func TestOwnDeltasAreLaidOver(t *testing.T) {
	b := newBench(t, twoTables())
	first, second := b.retain(0, 1, 1, 10), b.retain(0, 1, 1, 100)
	b.retain(0, 1, 5, 1000)
	b.begin(0, 0, 0)
	b.read(0, 1, 0, 4)
	first.Commit = 3
	b.must(1, rows(1, 0, nil, 3, 0, 0, 1, 2, 3))
	if !b.readers[0].Uncovered(2) || b.readers[0].Uncovered(3) {
		t.Error("it is not known what the rows lack")
	}
	b.equal("with the second", b.sees(0, 1, 0, 4), 0, 101, 2, 3)
	second.Commit = 4 // a task that has pinned the rows sees them as they were
	b.equal("after its commit", b.sees(0, 1, 0, 4), 0, 101, 2, 3)
	b.end(0)
	b.readers[0].DropCommitted()
	if n := b.readers[0].Retained(); n != 1 {
		t.Errorf("%d are retained", n)
	}
	b.fx.Woken, b.out.Envelopes = nil, nil
	b.begin(1, 2, 0)
	b.read(0, 1, 0, 4)
	b.expect("lane 0: pull 2 1/0+ after 4, clock -1")
	b.must(2, rows(1, 0, nil, 4, 0, 0, 111, 2, 3))
	b.equal("in the tables", b.sees(0, 1, 0, 4), 0, 111, 2, 3)
	b.end(0)
	b.Leave(0)
	b.Join(0, &b.readers[0], 4)
	b.begin(2, 0, 0)
	if !b.read(0, 1, 0, 4) {
		t.Error("a split that is new here has to see what the one before had")
	}
}

// TestAPinnedBlockStaysAsItIs replaces the block that a task looks at; the next task sees the new one.
func TestAPinnedBlockStaysAsItIs(t *testing.T) {
	b := newBench(t, twoTables())
	b.begin(0, 0, 0)
	b.read(0, 1, 0, 4)
	b.must(1, rows(1, 0, nil, 1, 0, 1, 1, 1, 1))
	b.begin(0, 2, 1)
	b.read(1, 1, 0, 4)
	b.must(2, rows(1, 0, nil, 2, 0, 2, 2, 2, 2))
	b.Expect(0)
	b.must(0, rows(1, 0, []uint32{1}, 3, 0, 3)) // one row of the subscription, over the block of split 1
	b.equal("split 0", b.sees(0, 1, 0, 4), 1, 1, 1, 1)
	b.equal("split 1", b.sees(1, 1, 0, 4), 2, 2, 2, 2)
	b.end(0, 1)
	b.begin(1, 3, 0)
	if !b.read(0, 1, 0, 4) {
		t.Fatal("what came is not there")
	}
	b.equal("after it came", b.sees(0, 1, 0, 4), 2, 3, 2, 2)
	b.end(0)
	b.must(0, rows(1, 0, []uint32{2, 3}, 4, 0, 4, 5)) // no task looks: it is written over the block
	b.begin(1, 4, 1)
	b.read(1, 1, 0, 4)
	b.equal("written over", b.sees(1, 1, 0, 4), 2, 3, 4, 5)
}

// TestStaleQuestionsWaitForTheRoute refuses questions by a newer route: they are asked again when it is there.
func TestStaleQuestionsWaitForTheRoute(t *testing.T) {
	b := newBench(t, twoTables())
	b.begin(0, 0, 0)
	b.read(0, 1, 0, 8)
	b.expect("lane 0: pull 1 1/0 after 0, clock -1", "lane 1: pull 2 1/1 after 0, clock -1")
	b.Refuse(1, 2)
	b.Refuse(9, 7)
	refused := func() (n int) {
		for range b.Refused() {
			n++
		}
		return n
	}
	if at, until, awaited := b.AwaitedRoute(); at != ref(1, 0) || until != 2 || !awaited {
		t.Errorf("waits for route %d with %v: %v", until, at, awaited)
	}
	if refused() != 0 || b.Expects(0) {
		t.Error("a question that waits for a route is asked again, or its answer is to come")
	}
	b.SetRoute(1)
	if refused() != 0 {
		t.Error("a question is asked again before its route is there")
	}
	b.LowerRoutes(1)
	if _, _, awaited := b.AwaitedRoute(); awaited || refused() != 1 {
		t.Error("a lost route is awaited")
	}
	b.Move(2, 1, 2, &b.out)
	for i, pair := range b.Refused() {
		if pair.Ref != (bellows.PartitionRef{Table: 1}) || pair.Generation != 2 {
			t.Errorf("%v is refused", pair)
		}
		b.AskAgain(i, &b.out)
	}
	b.expect("lane 1: pull 3 1/0 after 0, clock -1")
	if refused() != 0 || !b.Expects(1) || b.Expects(0) {
		t.Error("a question that is asked again is still refused")
	}
	if q := b.asked[2].(*wire.Pull); q.Route != 1 || q.Parts[0].Generation != 2 || q.Incarnation != 3 {
		t.Errorf("asks %+v", q)
	}
	b.must(1, rows(1, 0, nil, 1, 0, 1, 1, 1, 1)) // to the question that was refused
	b.expect()
	b.must(3, rows(1, 0, nil, 1, 0, 1, 1, 1, 1)) // of the owner of the past
	b.expect("lane 1: pull 4 1/0 after 0, clock -1")
	r := rows(1, 0, nil, 1, 0, 1, 1, 1, 1)
	r.Generation = 2
	if err := b.takeUnsure(4, true, r); err != nil || refused() != 1 {
		t.Errorf("an unsure answer is taken: %v", err)
	}
	for i := range b.Refused() {
		b.AskAgain(i, &b.out)
	}
	b.expect("lane 1: pull 5 1/0 after 0, clock -1")
	b.must(5, r)
	b.must(2, rows(1, 1, nil, 1, 0, 1, 1, 1, 1))
	b.expect("wake 0")
}

// TestAnswersThatDoNotFitAreErrors lets lanes answer with other rows than were asked for.
func TestAnswersThatDoNotFitAreErrors(t *testing.T) {
	ask := func(t *testing.T) *bench {
		n := table.Schema{Name: "n", Rows: 4, Width: 1, Partitions: 1, Consistency: table.Async}
		b := newBench(t, append(wide(), keyTables()[1], n))
		b.begin(0, 0, 0, 1)
		b.readRows(0, 0, 3, 9)
		b.readKeys(1, 1, 3, 9)
		b.Lease(&b.readers[0], bellows.PartitionRef{Table: 2}, wire.Shared)
		b.Acquire(&b.readers[0], &b.out)
		b.fx.Woken, b.out.Envelopes = nil, nil
		return b
	}
	for name, c := range map[string]struct {
		request uint64
		part    wire.RowsPart
		want    string
	}{
		"all":         {1, rows(0, 0, nil, 0, 0, make([]float32, 40)...), "other rows of table 0"},
		"one":         {1, rows(0, 0, []uint32{3}, 0, 0, 1), "other rows"},
		"another":     {1, rows(0, 0, []uint32{3, 8}, 0, 0, 1, 2), "other rows"},
		"the rows":    {1, rows(0, 0, []uint32{3, 9}, 0, 0, 1, 2), ""},
		"one key":     {2, rows(1, 0, nil, 0, 0, 1), "other rows of table 1"},
		"the keys":    {2, rows(1, 0, nil, 0, 0, 1, 2), ""},
		"a lease":     {3, rows(2, 0, nil, 0, 0, 1, 2, 3, 4), "other rows"},
		"to nothing":  {9, rows(0, 0, nil, 0, 0), ""},
		"of another":  {1, rows(2, 0, nil, 0, 0), ""},
		"unasked for": {0, rows(0, 0, nil, 0, 0), ""},
	} {
		err := ask(t).take(c.request, c.part)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), "other rows of ") {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}
