package prepare_test

import (
	"strings"
	"testing"

	"bellows"
	"bellows/link/wire"
)

// TestJudgeTakesPartsOneByOne sends two parts of one flush in two pushes, as happens when a partition
// comes from another lane. Neither is lost, and what comes again is answered once more.
func TestJudgeTakesPartsOneByOne(t *testing.T) {
	d, f := newDesk(t, 0, 8), id(1, 1)
	for i, c := range []struct {
		m    *wire.Push
		want string
	}{
		{partOf(f, 0, pair(1, 0)), "node 1: held flush 1 of node 1"},
		{partOf(f, 0, pair(1, 0)), ""},
		{again(partOf(f, 0, pair(1, 1))), "node 1: held flush 1 of node 1 [{t1/p0 1} {t1/p1 1}]"},
		{again(partOf(f, 0, pair(1, 0), pair(1, 1))), "node 1: held flush 1 of node 1 [{t1/p0 1} {t1/p1 1}]"},
	} {
		if got := d.push(c.m); got != c.want {
			t.Errorf("push %d: says %q, want %q", i, got, c.want)
		}
	}
	for _, p := range []wire.Pair{pair(1, 0), pair(1, 1), {}} {
		if !d.Holds(f, p) {
			t.Errorf("the part for %v is not held", p)
		}
	}
	if d.Holds(f, pair(0, 0)) || d.Holds(id(2, 1), pair(1, 0)) || d.Holds(id(2, 1), wire.Pair{}) {
		t.Error("what was not pushed is held")
	}
	said, pushes := d.record(f)
	if d.expect("the record", said, ""); pushes != 2 {
		t.Errorf("%d pushes of the flush were held", pushes)
	}
	d.expect("what has a number", d.push(again(partOf(f, 0, pair(1, 0), pair(1, 1)))), "")
	if d.Holds(f, wire.Pair{}) {
		t.Error("it is held again")
	}
}

// TestJudgeQueuesPartsOneByOne sends two parts of one flush in two pushes to a full lane. Each waits,
// both are asked for in one message, and the done that came with one of them is kept: of what is sent again
// the client tells the controller.
func TestJudgeQueuesPartsOneByOne(t *testing.T) {
	d, f := newDesk(t, 1, 8), id(1, 1)
	d.push(pushOf(id(2, 1), 0, pair(1, 0)))
	d.expect("the first part", d.push(again(partOf(f, 3, pair(1, 0)))), "node 1: full flush 1 of node 1 [{t1/p0 1}]")
	second := func() *wire.Push { return withDone(again(partOf(f, 3, pair(1, 1)))) }
	d.expect("the second", d.push(second()), "node 1: full flush 1 of node 1 [{t1/p1 1}]")
	for p, want := range map[wire.Pair]bool{pair(1, 0): true, pair(1, 1): true, {}: true, pair(0, 1): false} {
		if waits, asked := d.Waits(f, p); waits != want || asked {
			t.Errorf("%v waits: %v, asked %v", p, waits, asked)
		}
	}
	said, _ := d.record(id(2, 1))
	d.expect("the record", said, "node 1: room flush 1 of node 1 [{t1/p0 1} {t1/p1 1}]")
	if waits, asked := d.Waits(f, pair(1, 1)); !waits || !asked {
		t.Errorf("asked to come: waits %v, asked %v", waits, asked)
	}
	d.expect("the second comes", d.push(second()), "node 1: held flush 1 of node 1 [{t1/p1 1}]")
	d.expect("the first comes", d.push(again(partOf(f, 3, pair(1, 0)))),
		"node 1: held flush 1 of node 1 [{t1/p1 1} {t1/p0 1}]")
	if waits, _ := d.Waits(f, wire.Pair{}); waits {
		t.Error("what is held waits")
	}
}

// TestNewPartNamesItsPairs lets the first push of a flush wait, and has room for the second. The first comes
// when there is room, as it was, and the vote names it.
func TestNewPartNamesItsPairs(t *testing.T) {
	d, f := newDesk(t, 1, 8), id(1, 1)
	d.push(pushOf(id(2, 1), 0, pair(1, 0)))
	d.expect("the first part", d.push(partOf(f, 3, pair(1, 0))), "node 1: full flush 1 of node 1")
	said, _ := d.record(id(2, 1))
	d.expect("the record", said, "node 1: room flush 1 of node 1")
	d.expect("the second", d.push(again(partOf(f, 3, pair(1, 1)))), "node 1: held flush 1 of node 1 [{t1/p1 1}]")
	d.expect("the first again", d.push(partOf(f, 3, pair(1, 0))), "node 1: held flush 1 of node 1 [{t1/p0 1}]")
}

// TestHoldPassesOnDone brings the done with the first of two pushes, which is not enough.
func TestHoldPassesOnDone(t *testing.T) {
	d, f := newDesk(t, 0, 8), id(1, 1)
	d.expect("all in one push", d.push(withDone(pushOf(id(2, 1), 0, pair(1, 0)))),
		"the controller: done flush 1 of node 2")
	d.expect("a part with the done", d.push(withDone(partOf(f, 0, pair(1, 0)))), "node 1: held flush 1 of node 1")
	d.expect("the other part", d.push(partOf(f, 0, pair(1, 1))), "the controller: done flush 1 of node 1")
	f = id(1, 2)
	d.expect("a part", d.push(partOf(f, 0, pair(1, 1))), "node 1: held flush 2 of node 1")
	d.expect("the other part with the done", d.push(withDone(partOf(f, 0, pair(1, 0)))),
		"the controller: done flush 2 of node 1")
	d.expect("sent again", d.push(withDone(again(pushOf(id(2, 2), 0, pair(1, 0))))),
		"node 2: held flush 2 of node 2 [{t1/p0 1}]")
	list := d.Holding()
	if len(list) != 4 || len(list[1].Held) != 2 || len(list[1].Pairs) != 2 || list[1].Flush != id(1, 1) {
		t.Errorf("holds %v", list)
	}
}

// TestHoldingHasWhatADoneSays asks for what is held, with results and without.
func TestHoldingHasWhatADoneSays(t *testing.T) {
	d := newDesk(t, 0, 8)
	m := withDone(pushOf(id(1, 1), 4, pair(1, 0)))
	m.Done.Results = []wire.Result{{Unit: bellows.Unit{Split: 1, Clock: 4}}}
	d.push(m)
	d.push(pushOf(id(2, 1), 5, pair(1, 0)))
	list := d.Holding()
	if len(list) != 2 || len(list[0].Done) != 1 || list[0].Clock != 4 || len(list[1].Done) != 0 || list[1].Clock != 5 {
		t.Fatalf("holds %v", list)
	}
	if &list[0].Done[0] == &m.Done.Results[0] {
		t.Error("the list has the memory of the push")
	}
}

// TestJudgeKnowsEmptyFlush sends again a flush without parts that has a number.
func TestJudgeKnowsEmptyFlush(t *testing.T) {
	d := newDesk(t, 1, 8)
	d.push(pushOf(id(2, 1), 0, pair(1, 0)))
	d.expect("a flush of nothing takes no room", d.push(&wire.Push{Flush: id(1, 1), Clock: 9}),
		"node 1: held flush 1 of node 1")
	d.record(id(1, 1))
	d.expect("sent again", d.push(&wire.Push{Flush: id(1, 1), Clock: 9, Again: true}),
		"node 1: flush 1 of node 1 is commit 7")
	d.expect("a copy", d.push(&wire.Push{Flush: id(1, 1), Clock: 9}), "")
	if !d.Counted(id(1, 1)) || d.Counted(id(1, 2)) {
		t.Error("the flushes that have numbers are others")
	}
}

// TestMovedEmptyFlushIsDone sends a flush without parts again, since the lane that had it left before it came.
func TestMovedEmptyFlushIsDone(t *testing.T) {
	d := newDesk(t, 0, 8)
	m := withDone(&wire.Push{Flush: id(1, 1), Clock: 9, Again: true})
	d.expect("moved", d.push(m), "the controller: done flush 1 of node 1")
}

// TestPushIsRefused sends parts for partitions that the lane does not own, sums that their client cannot
// have made, and the ends of leases that it does not hold.
func TestPushIsRefused(t *testing.T) {
	sum := func(client bellows.NodeID, to wire.Pair, of wire.Subtree) *wire.Push {
		m := pushOf(id(client, 1), 0, to)
		m.Chunks[0].Subtree = of
		return m
	}
	lease := func(client bellows.NodeID, of wire.Pair) *wire.Push {
		ends := []wire.LeaseEnd{{Pair: of, Values: []float32{1, 2}}}
		return &wire.Push{Flush: id(client, 1), Pairs: []wire.Pair{of}, Leases: ends}
	}
	for i, c := range []struct {
		m    *wire.Push
		want string
	}{
		{sum(1, pair(0, 0), wire.Subtree{Index: 0}), "node 1: held flush 1 of node 1"},
		{sum(2, pair(0, 0), wire.Subtree{Index: 1}), "node 2: held flush 1 of node 2"},
		{sum(1, pair(0, 0), wire.Subtree{Index: 1}),
			"breach: flush 1 of node 1 has a sum over subtree 1 of level 0, which has splits of others"},
		// Without a barrier it is added to no other.
		{sum(1, pair(1, 0), wire.Subtree{Index: 1}), "node 1: held flush 1 of node 1"},
		{sum(1, wire.Pair{Ref: pair(1, 0).Ref, Generation: 2}, wire.Subtree{}), "refused: it never was here"},
		{lease(1, pair(1, 1)), "node 1: held flush 1 of node 1"},
		{lease(2, pair(1, 1)), "breach: flush 1 of node 2 ends an exclusive lease on t1/p1 that it does not have"},
		{lease(1, pair(1, 0)), "breach: flush 1 of node 1 ends an exclusive lease on t1/p0 that it does not have"},
	} {
		d := newDesk(t, 0, 8)
		d.holder[pair(1, 1).Ref] = one
		if got := d.push(c.m); got != c.want {
			t.Errorf("push %d: %q, want %q", i, got, c.want)
		}
		if held := strings.Contains(c.want, "held"); d.Holds(c.m.Flush, wire.Pair{}) != held {
			t.Errorf("push %d: held %v", i, !held)
		}
	}
}

// TestPushIsStaleAsAWhole names one partition of two at an older generation.
func TestPushIsStaleAsAWhole(t *testing.T) {
	d := newDesk(t, 0, 8)
	d.generation[pair(1, 1).Ref] = 2
	m := pushOf(id(1, 1), 0, pair(1, 0), pair(1, 1))
	d.expect("the push", d.push(m), "node 1: stale flush 1 of node 1 by route 0 [{t1/p0 1} {t1/p1 1}]")
	if d.Holds(id(1, 1), wire.Pair{}) {
		t.Error("some of it is held")
	}
	if list := d.Missed(); len(list) != 2 || list[0].Rows != 1 || list[1].Ref != pair(1, 1).Ref {
		t.Errorf("missed %v", list)
	}
	d.expect("the rest", d.push(again(partOf(id(1, 1), 0, pair(1, 0)))), "node 1: held flush 1 of node 1 [{t1/p0 1}]")
	d.expect("a copy of the push names what is not held", d.push(pushOf(id(1, 1), 0, pair(1, 0), pair(1, 1))),
		"node 1: stale flush 1 of node 1 by route 0 [{t1/p1 1}]")
	if list := d.Missed(); len(list) != 2 {
		t.Errorf("missed twice: %v", list)
	}
	d.record(id(1, 1))
	if list := d.Missed(); len(list) != 0 {
		t.Errorf("missed though it has a number: %v", list)
	}
	d.expect("a late copy", d.push(pushOf(id(1, 1), 0, pair(1, 1))), "")
}

// TestNextProcessIsAnother uses the same sequence in two processes of a client.
func TestNextProcessIsAnother(t *testing.T) {
	d := newDesk(t, 0, 8)
	d.push(pushOf(id(1, 1), 0, pair(1, 0)))
	next := bellows.FlushID{Client: 1, Incarnation: 2, Seq: 1}
	d.expect("the next process", d.push(pushOf(next, 0, pair(1, 0))), "node 1: held flush 1 of node 1, incarnation 2")
	if _, pushes := d.record(id(1, 1)); pushes != 1 || !d.Holds(next, wire.Pair{}) {
		t.Errorf("%d pushes of the first were held", pushes)
	}
}
