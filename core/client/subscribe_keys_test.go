package client_test

import (
	"slices"
	"testing"

	"bellows"
	"bellows/link/wire"
	"bellows/table"
)

// newWatchDesk returns a desk with two sparse tables of one partition and rows of one value: t2 is BSP, t3 async. Of each 129 keys may be
// subscribed to.
func newWatchDesk(t *testing.T) *desk {
	s := table.Schema{Name: "b", Sparse: true, Rows: 1, Width: 1, Partitions: 1}
	a := s
	a.Name, a.Consistency = "a", table.Async
	return newDesk(t, s, a)
}

// The sparse tables of such a desk.
const againB, againA = bellows.TableID(2), bellows.TableID(3)

// asks lets a split read keys, and returns the question that it asks, or nil; it reports whether the rows are there.
func (d *desk) asks(s bellows.SplitID, tab bellows.TableID, list ...bellows.Key) (*wire.PullPart, bool) {
	d.t.Helper()
	d.said()
	before := len(d.pulls)
	there := d.readKeys(s, tab, list...)
	d.said()
	switch n := len(d.pulls) - before; {
	case n > 1 || n == 1 && (there || len(d.pulls[before].Parts) != 1):
		d.t.Fatalf("keys %v: there %v, %d pulls", list, there, n)
	case n == 1:
		return &d.pulls[before].Parts[0], false
	}
	return nil, there
}

// expectQuestion wants a question about keys.
func (d *desk) expectQuestion(q *wire.PullPart, subscribe bool, list ...bellows.Key) {
	d.t.Helper()
	if q == nil || q.Subscribe != subscribe || !slices.Equal(q.Keys, list) {
		d.t.Fatalf("asks %+v; want keys %v, subscribe %v", q, list, subscribe)
	}
}

// answerAll answers the last question with one value in every row, as of a commit and a clock.
func (d *desk) answerAll(v float32, commit bellows.CommitNumber, complete bellows.Clock) {
	q := d.pulls[len(d.pulls)-1]
	d.rows(lanes[0], q.Request, wire.RowsPart{Pair: q.Parts[0].Pair, Commit: commit, Complete: complete,
		Values: slices.Repeat([]float32{v}, len(q.Parts[0].Keys))})
}

// relay delivers subscribed rows of keys, with one value in each.
func (d *desk) relay(tab bellows.TableID, v float32, commit bellows.CommitNumber, complete bellows.Clock, list ...bellows.Key) {
	m := wire.New[wire.Rows]()
	m.Incarnation = 1
	p := m.Extend()
	p.Pair, p.Commit, p.Complete = wire.Pair{Ref: bellows.PartitionRef{Table: tab}, Generation: 1}, commit, complete
	p.SetKeys(append(p.ScratchKeys(), list...))
	for range list {
		p.Values = append(p.Values, v)
	}
	d.deliver(lanes[0], m)
}

// sees returns what a split sees in the rows of keys.
func (d *desk) sees(s bellows.SplitID, tab bellows.TableID, list ...bellows.Key) []float32 {
	v := make([]float32, len(list))
	d.tasks[s].GatherKeys(tab, list, v)
	return v
}

// subscribed brings a desk to where both splits of a BSP table have read keys 10 and 20, and 20 and 30, in clocks 0
// and 1, and are subscribed to these. The rows of clock 2, which has begun, have not come.
func subscribed(t *testing.T) *desk {
	d := newWatchDesk(t)
	d.dispatch(0, 0, 0, 1)
	q, _ := d.asks(0, againB, 20, 10)
	d.expectQuestion(q, false, 10, 20)
	d.answerAll(0, 0, bellows.NoClock)
	q, _ = d.asks(1, againB, 20, 30)
	d.expectQuestion(q, false, 20, 30)
	d.answerAll(0, 0, bellows.NoClock)
	d.finish(0)
	d.finish(1)
	d.dispatch(1, 0, 0, 1)
	q, _ = d.asks(1, againB, 20, 30)
	d.expectQuestion(q, true, 10, 20, 30)
	d.answerAll(1, 2, 0)
	if q, there := d.asks(0, againB, 10, 20); q != nil || !there {
		t.Fatalf("another split asks %+v", q)
	}
	d.finish(0)
	d.finish(1)
	d.dispatch(2, 0, 0, 1)
	return d
}

// TestRereadKeysAreSubscribed wants no question from the third clock on, whichever of the keys are read, and the rows that
// came; what the cache does not hold is left out.
func TestRereadKeysAreSubscribed(t *testing.T) {
	d := subscribed(t)
	if q, there := d.asks(0, againB, 10, 30); q != nil || there {
		t.Fatalf("the third read asks %+v, there %v", q, there)
	}
	d.relay(againB, 7, 4, 1, 5, 30, 40)
	d.expect("wake split 0 clock 2 items [0,1)")
	if q, there := d.asks(0, againB, 10, 30); q != nil || !there {
		t.Fatalf("what came is not there: %+v", q)
	}
	if got := d.sees(0, againB, 30, 10); !slices.Equal(got, []float32{7, 1}) {
		t.Errorf("sees %v", got)
	}
	d.relay(againB, 8, 6, 2, 10, 20) // while the task looks
	if got := d.sees(0, againB, 10, 30); !slices.Equal(got, []float32{1, 7}) {
		t.Errorf("under its eyes the rows became %v", got)
	}
	d.finish(0)
	d.finish(1)
	d.dispatch(3, 0, 0)
	if q, there := d.asks(0, againB, 10, 20, 30); q != nil || !there {
		t.Fatalf("asks %+v", q)
	}
	if got := d.sees(0, againB, 10, 20, 30); !slices.Equal(got, []float32{8, 8, 7}) {
		t.Errorf("sees %v", got)
	}
}

// TestOtherKeysAreAddedToASubscription reads keys that are not subscribed to.
func TestOtherKeysAreAddedToASubscription(t *testing.T) {
	d := subscribed(t)
	q, _ := d.asks(0, againB, 20, 50)
	d.expectQuestion(q, true, 20, 50)
	d.relay(againB, 2, 4, 1, 10, 20)
	d.answerAll(2, 4, 1)
	if got := d.sees(0, againB, 20, 50); !slices.Equal(got, []float32{2, 2}) {
		t.Errorf("sees %v", got)
	}
	d.finish(0)
	if q, there := d.asks(1, againB, 10, 20, 30, 50); q != nil || !there {
		t.Errorf("asks %+v: the answer was not joined with what had come", q)
	}
	if got := d.sees(1, againB, 10, 20, 30, 50); !slices.Equal(got, []float32{2, 2, 1, 2}) {
		t.Errorf("sees %v", got)
	}
	d.finish(1)
	d.dispatch(3, 0, 0)
	if q, there := d.asks(0, againB, 10, 50); q != nil || there {
		t.Errorf("asks %+v", q)
	}
	d.relay(againB, 3, 6, 2, 50)
	if got := d.sees(0, againB, 10, 50); !slices.Equal(got, []float32{2, 3}) {
		t.Errorf("sees %v", got)
	}
}

// TestChangingKeysAreNotSubscribed reads others in each clock, half of them those of the clock before.
func TestChangingKeysAreNotSubscribed(t *testing.T) {
	d := newWatchDesk(t)
	for c := range bellows.Clock(10) {
		d.dispatch(c, 0, 0)
		first := bellows.Key(c) * 100
		q, _ := d.asks(0, againB, first, first+100)
		d.expectQuestion(q, false, first, first+100)
		d.answerAll(1, bellows.CommitNumber(c), c-1)
		d.finish(0)
	}
}

// TestASubscriptionToKeysHasABound reads as many as a client may be subscribed to, then one more, then too many at once.
func TestASubscriptionToKeysHasABound(t *testing.T) {
	var list []bellows.Key
	for k := range bellows.Key(130) {
		list = append(list, k)
	}
	for _, most := range []int{129, 130} {
		d := newWatchDesk(t)
		for c := range bellows.Clock(2) {
			d.dispatch(c, 0, 0)
			q, _ := d.asks(0, againB, list[:most]...)
			d.expectQuestion(q, c == 1 && most < 130, list[:most]...)
			d.answerAll(1, 0, c-1)
			d.finish(0)
		}
		d.dispatch(2, 0, 0, 1)
		for s := range bellows.SplitID(2) { // nobody would lift what the answer brings: it is asked for each time
			q, _ := d.asks(s, againB, 129)
			d.expectQuestion(q, false, 129)
			d.answerAll(1, 0, 1)
			if most == 130 {
				break
			}
		}
	}
}

// TestUnprofitableSubscriptionEnds reads some of three keys that all change with each clock: what comes beyond twice what is read
// may be up to twelve.
func TestUnprofitableSubscriptionEnds(t *testing.T) {
	for reads, gives := range map[int]bellows.Clock{0: 5, 1: 11, 2: -1, 3: -1} {
		d := subscribed(t)
		d.finish(0)
		d.finish(1)
		at := bellows.Clock(-1)
		for c := bellows.Clock(1); c < 40 && at < 0; c++ {
			d.said()
			d.relay(againB, 1, bellows.CommitNumber(2*c), c, 10, 20, 30)
			if d.said() == "lane 0 of node 0: *wire.Unsubscribe" {
				at = c
			}
			if reads == 0 || at >= 0 {
				continue
			}
			d.dispatch(c+1, 0, 0)
			if q, there := d.asks(0, againB, []bellows.Key{10, 20, 30}[:reads]...); q != nil || !there {
				t.Fatalf("clock %d: asks %+v, there %v", c+1, q, there)
			}
			d.finish(0)
		}
		if at != gives {
			t.Errorf("of three keys %d are read a clock: given up with clock %d, not %d", reads, at, gives)
		}
	}
}

// TestSubscriptionStaysWhileQuestionIsOut keeps a subscription: the lane might receive its end after a question that
// begins it again.
func TestSubscriptionStaysWhileQuestionIsOut(t *testing.T) {
	d := subscribed(t)
	q, _ := d.asks(0, againB, 50)
	d.expectQuestion(q, true, 50)
	for c := range bellows.Clock(20) {
		d.relay(againB, 1, bellows.CommitNumber(c+4), c+1, 10, 20, 30)
		d.expect("")
	}
	d.answerAll(1, 24, 20)
	d.relay(againB, 1, 25, 21, 10, 20, 30)
	d.expect("wake split 0 clock 2 items [0,1)", "lane 0 of node 0: *wire.Unsubscribe")
}

// TestOwnDeltasOfSubscribedKeys follows a split of an async table: it sees its own deltas once, before and after they come back, and
// asks for nothing as long as only its own node commits.
func TestOwnDeltasOfSubscribedKeys(t *testing.T) {
	d := newWatchDesk(t)
	id := bellows.FlushID{Client: 1, Incarnation: 1}
	for c := range bellows.Clock(8) {
		d.dispatch(c, bellows.CommitNumber(c), 0)
		q, there := d.asks(0, againA, 4, 8)
		switch {
		case c < 2:
			d.expectQuestion(q, c == 1, 4, 8)
			d.answerAll(float32(c), bellows.CommitNumber(c), bellows.NoClock)
		case q != nil || there != (c%2 == 0):
			t.Fatalf("clock %d: asks %+v, there %v", c, q, there)
		case !there:
			d.relay(againA, float32(c), bellows.CommitNumber(c), bellows.NoClock, 4, 8)
		}
		d.tasks[0].AddKeys(againA, []bellows.Key{4}, []float32{1})
		if got, want := d.sees(0, againA, 4, 8), []float32{float32(c) + 1, float32(c)}; !slices.Equal(got, want) {
			t.Fatalf("clock %d sees %v, not %v", c, got, want)
		}
		d.finish(0)
		id.Seq++
		d.deliver(lanes[0], committed(wire.Commitment{Flush: id, Commit: bellows.CommitNumber(c + 1)}))
		if c%2 == 1 { // else it comes when the next task has asked
			d.relay(againA, float32(c+1), bellows.CommitNumber(c+1), bellows.NoClock, 4, 8)
		}
	}
}

// TestOlderBlockIsAskedForWhole adds a key under async when the cache is behind: the answer holds all that is subscribed to.
func TestOlderBlockIsAskedForWhole(t *testing.T) {
	d := newWatchDesk(t)
	for c := range bellows.Clock(2) {
		d.dispatch(c, bellows.CommitNumber(c), 0)
		q, _ := d.asks(0, againA, 4, 8)
		d.expectQuestion(q, c == 1, 4, 8)
		d.answerAll(1, bellows.CommitNumber(c), bellows.NoClock)
		d.finish(0)
	}
	d.dispatch(2, 9, 0, 1) // after commits of other nodes
	q, _ := d.asks(0, againA, 6, 8)
	d.expectQuestion(q, true, 4, 6, 8)
	d.answerAll(5, 9, bellows.NoClock)
	if q, there := d.asks(1, againA, 4, 6, 8); q != nil || !there {
		t.Fatalf("asks %+v", q)
	}
	if got := d.sees(1, againA, 4, 6, 8); !slices.Equal(got, []float32{5, 5, 5}) {
		t.Errorf("sees %v", got)
	}
}

// TestAKeyDoesNotGoBack lets a split see a key in an answer that the cache does not keep, because so many keys as may be are subscribed to; its next
// tasks need no newer version than the cache has. They must not see the key as it was before; all that is cached is asked for again.
func TestAKeyDoesNotGoBack(t *testing.T) {
	d := newWatchDesk(t)
	var list []bellows.Key
	for k := range bellows.Key(129) {
		list = append(list, k)
	}
	for c := range bellows.Clock(2) {
		d.dispatch(c, bellows.CommitNumber(c), 0)
		q, _ := d.asks(0, againA, list...)
		d.expectQuestion(q, c == 1, list...)
		d.answerAll(float32(c), bellows.CommitNumber(c), bellows.NoClock)
		d.finish(0)
	}
	d.dispatch(2, 1, 0)
	q, _ := d.asks(0, againA, 0, 129)
	d.expectQuestion(q, false, 0, 129)
	d.answerAll(9, 5, bellows.NoClock)
	d.finish(0)
	d.dispatch(3, 1, 0, 1)
	if q, there := d.asks(1, againA, 0); q != nil || !there {
		t.Fatalf("a split that has not seen it asks %+v", q)
	}
	q, _ = d.asks(0, againA, 0)
	d.expectQuestion(q, true, list...)
	d.answerAll(10, 6, bellows.NoClock)
	if v := d.sees(0, againA, 0); v[0] != 10 {
		t.Fatalf("sees %v", v)
	}
	d.finish(0)
	d.dispatch(4, 1, 0)
	if q, there := d.asks(0, againA, 0); q != nil || !there || d.sees(0, againA, 0)[0] != 10 {
		t.Errorf("when the cache has caught up it asks %+v", q)
	}
}
