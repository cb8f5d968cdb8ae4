package flush_test

import (
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/delta"
	"bellows/core/flush"
	"bellows/core/pending"
	"bellows/link/wire"
)

// overdue returns what is to be asked of a lane, which has lasted longer than 5 ms at a time.
func (b *bench) overdue(lane int, now int64) []pending.Wait {
	return slices.Collect(b.Overdue(lane, now, 5))
}

// TestOverdue asks about each push that some lane does not show, until it does.
func TestOverdue(t *testing.T) {
	b := newBench(t, twoTables(), 1, flush.Limits{})
	b.push(row{1, 0, 1}, row{1, 4, 1}, row{0, 4, 1})
	b.Tick(10)
	if got := b.overdue(1, 15); len(got) != 0 {
		t.Errorf("asks about %v, which has lasted 5 ms", got)
	}
	b.held(1, 1, pair(1, 1, 1))
	want := pending.Wait{Of: pending.Flush, Number: 1, Ref: bellows.PartitionRef{Partition: 1}, Generation: 1}
	if got := b.overdue(1, 16); len(got) != 1 || got[0] != want {
		t.Errorf("asks about %v; want %v", got, want)
	}
	b.stale(lanes[0], 1, 3, pair(1, 0, 1))
	if got := b.overdue(0, 99); len(got) != 0 {
		t.Errorf("asks about %v, which waits for a route", got)
	}
	b.commit(1, 1, 1, false)
	if got := b.overdue(1, 99); len(got) != 0 {
		t.Errorf("asks about %v, which is visible", got)
	}
	b.push()
	b.Tick(100)
	want = pending.Wait{Of: pending.Flush, Number: 2}
	if got := b.overdue(0, 200); len(got) != 1 || got[0] != want {
		t.Errorf("asks about %v; want %v, which changes nothing", got, want)
	}
	for range b.Overdue(0, 200, 5) {
		break
	}
}

// TestStands lets a lane say what a push is behind: something is lost if what the lane has said before should have
// come to this.
func TestStands(t *testing.T) {
	held := func(b *bench) { b.held(0, 1) }
	full := func(b *bench) { b.fullAt(0, 1) }
	again := func(b *bench) {
		full(b)
		b.room(0, 1)
	}
	recorded := func(b *bench) { b.commit(0, 1, 1, true) }
	shown := func(b *bench) { b.commit(0, 1, 1, false) }
	elsewhere := func(b *bench) {
		b.move(1, 0, 1)
		b.room(0, 1)
	}
	no := func(*bench) {}
	for _, c := range []struct {
		name   string
		two    bool // another lane has a part
		before func(*bench)
		behind pending.Behind
		who    uint32
		after  func(*bench)
		lost   bool
	}{
		{"nothing", false, no, pending.Nothing, 0, no, true},
		{"nothing, and it came meanwhile", false, no, pending.Nothing, 0, shown, false},
		{"room, and Full is lost", false, no, pending.Room, 0, no, true},
		{"room that there is, and what it was told of crosses", false, no, pending.Room, 1, no, false},
		{"room", false, full, pending.Room, 0, no, false},
		{"room that there is, and Room is lost", false, full, pending.Room, 1, no, true},
		{"room that there is, and what was sent again is lost", false, again, pending.Room, 1, no, true},
		{"room, and a second Full is lost", false, again, pending.Room, 0, no, true},
		{"room that there is, and it is sent again after the question", false, full, pending.Room, 1, again, false},
		{"a record, and it has all", false, no, pending.Record, 0, no, false},
		{"a record, and Held is lost", true, no, pending.Record, 0, no, true},
		{"a record, and it is held", true, held, pending.Record, 0, no, false},
		{"a clock, and Committed is lost", true, held, pending.Clock, 0, no, true},
		{"a clock", true, recorded, pending.Clock, 0, no, false},
		{"nothing, and it is sent again", false, full, pending.Nothing, 0, elsewhere, false},
	} {
		b := newBench(t, twoTables(), 1, flush.Limits{})
		b.push(row{1, 0, 1})
		if c.two {
			b = newBench(t, twoTables(), 1, flush.Limits{})
			b.push(row{1, 0, 1}, row{1, 4, 1})
		}
		b.Tick(10)
		c.before(b)
		asked := b.overdue(0, 99)
		if len(asked) != 1 {
			t.Fatalf("%s: asks about %v", c.name, asked)
		}
		c.after(b)
		asked[0].Behind, asked[0].Who = c.behind, c.who
		lost := b.Stands(0, &asked[0])
		if (lost != "") != c.lost || c.lost && !strings.HasSuffix(lost, "lane 0 of node 0 to hold its part") {
			t.Errorf("%s: lost is %q", c.name, lost)
		}
		if lost := b.Stands(0, &pending.Wait{Of: pending.Flush, Number: 1}); lost != "" {
			t.Errorf("%s: of a part that it was not asked about, %s", c.name, lost)
		}
		asked[0].Behind = pending.Nothing
		if lost := b.Stands(1, &asked[0]); lost != "" {
			t.Errorf("%s: another lane says that %s", c.name, lost)
		}
	}
}

// TestAPushIsNamedOnce names each push that its lane does not hold for long, but those that wait for a route, and
// those of which the lane has said that it has them.
func TestAPushIsNamedOnce(t *testing.T) {
	b := newBench(t, twoTables(), 1, flush.Limits{})
	b.push(row{1, 0, 1}, row{1, 4, 1})
	b.push(row{1, 4, 1})
	b.Tick(10)
	name := func(now int64) (got []flush.Unheld) {
		for u := range b.NameUnheld(now, 5) {
			u.At = pending.At{}
			got = append(got, u)
		}
		return got
	}
	if got := name(15); len(got) > 0 {
		t.Errorf("names %v too soon", got)
	}
	b.held(0, 1)
	b.overdue(1, 99)
	second := bellows.PartitionRef{Table: 1, Partition: 1}
	b.Stands(1, &pending.Wait{Of: pending.Flush, Number: 2, Ref: second, Generation: 1, Behind: pending.Record})
	if got := name(99); !slices.Equal(got, []flush.Unheld{{Flush: id(1), Lane: 1, Millis: 89}}) {
		t.Errorf("names %v", got)
	}
	if got := name(199); len(got) > 0 {
		t.Errorf("names %v once more", got)
	}
	b.push(row{1, 0, 1})
	b.push(row{1, 0, 1})
	b.Tick(200)
	b.stale(lanes[0], 3, 2, pair(1, 0, 1))
	b.fullAt(0, 4)
	b.overdue(0, 999)
	first := bellows.PartitionRef{Table: 1}
	b.Stands(0, &pending.Wait{Of: pending.Flush, Number: 4, Ref: first, Generation: 1, Behind: pending.Room})
	if got := name(999); len(got) != 1 || got[0].Flush != id(4) {
		t.Errorf("names %v; want the one without room", got)
	}
}

// TestRowsOfANewOwnerAreUnsure asks whether rows may have updates that splits lay over them, while an owner of the
// past has not said that they count.
func TestRowsOfANewOwnerAreUnsure(t *testing.T) {
	b := newBench(t, twoTables(), 1, flush.Limits{})
	b.push(row{1, 0, 1}, row{0, 4, 1})
	unsure := func(p wire.Pair, want bool) {
		t.Helper()
		if got := b.Unsure(p); got != want {
			t.Errorf("%v: unsure is %v", p, got)
		}
	}
	unsure(pair(1, 0, 1), false)
	unsure(pair(1, 0, 2), true)
	unsure(pair(0, 1, 2), true) // a commit tells of all of a flush
	unsure(pair(1, 1, 2), false)
	b.stale(lanes[0], 1, 1, pair(1, 0, 1))
	unsure(pair(1, 0, 2), false)
	b.commit(1, 1, 1, true)
	unsure(pair(0, 1, 2), false)
	b.push(row{0, 0, 1}) // which no split lays over its reads
	unsure(pair(0, 0, 2), false)
}

// TestMemoryIsUsedAgain sends flushes one after the other: a push, a lease and a set are used again, but not those of
// a flush that may still be on its way.
func TestMemoryIsUsedAgain(t *testing.T) {
	b := newBench(t, twoTables(), 1, flush.Limits{})
	used := map[*delta.Bundle]bool{}
	for i := range 10 {
		b.push(row{1, 0, float32(i)})
		b.commit(0, uint64(i)+1, bellows.CommitNumber(i)+1, false)
		if got := b.kept[i].Find(2).Find(0)[0]; got != float32(i) {
			t.Errorf("the split's delta is %v before it has dropped it, not %d", got, i)
		}
		used[b.kept[i]] = true
		b.kept[i].Drop()
	}
	if len(used) > 2 {
		t.Errorf("%d bundles are used for one flush at a time", len(used))
	}
	b.push(row{1, 0, 1})
	clear(used)
	used[b.kept[10]] = true
	b.fullAt(0, 11)
	b.stale(lanes[0], 11, 1, pair(1, 0, 1))
	b.move(1, 0, 1)
	b.PushAgain(b.route, &b.fx)
	b.said()
	first := b.sent[len(b.sent)-1]
	b.commit(1, 11, 20, false, pair(1, 0, 2))
	b.counts(0, 0, 0)
	b.kept[10].Drop()
	for range 4 {
		b.push(row{1, 0, 5})
		if used[b.kept[len(b.kept)-1]] {
			t.Error("a bundle that may be on its way is used again")
		}
	}
	if len(first.Chunks) != 1 || len(first.Chunks[0].Values) != 1 || first.Chunks[0].Values[0] != 1 {
		t.Errorf("a push that may be on its way has changed: %s", describe(first))
	}
}
