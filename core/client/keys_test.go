package client_test

import (
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/link/wire"
	"bellows/table"
)

// The sparse tables of these tests, of one partition each: k is async, b is BSP.
const sparseK, sparseB = bellows.TableID(2), bellows.TableID(3)

func newSparseDesk(t *testing.T) *desk {
	return newDesk(t, table.Schema{Name: "k", Sparse: true, Rows: 100, Width: 2, Partitions: 1, Consistency: table.Async},
		table.Schema{Name: "b", Sparse: true, Rows: 100, Width: 1, Partitions: 1})
}

// readKeys asks for the rows of keys.
func (d *desk) readKeys(s bellows.SplitID, tab bellows.TableID, list ...bellows.Key) bool {
	d.tasks[s].Group(tab, list)
	return d.ReadKeys(d.tasks[s], &d.fx)
}

// answerKeys answers a pull of one part: the rows of key n are n and n + plus.
func (d *desk) answerKeys(q *wire.Pull, plus float32, commit bellows.CommitNumber) {
	p := wire.RowsPart{Pair: q.Parts[0].Pair, Commit: commit, Complete: bellows.NoClock}
	for _, k := range q.Parts[0].Keys {
		p.Values = append(p.Values, float32(k), float32(k)+plus)
	}
	d.rows(lanes[0], q.Request, p)
}

// gather returns what the split sees in the rows of keys of k.
func (d *desk) gather(s bellows.SplitID, list ...bellows.Key) []float32 {
	v := make([]float32, 2*len(list))
	d.tasks[s].GatherKeys(sparseK, list, v)
	return v
}

func TestKeysAreAskedOnceEachInOrder(t *testing.T) {
	d := newSparseDesk(t)
	d.start(0, 0, 0, 1)
	if d.readKeys(0, sparseK, 9, 3, 9, 1<<63) {
		t.Fatal("rows out of nowhere")
	}
	d.expect("lane 0 of node 0: pull t2/p0 []keys [3 9 9223372036854775808] after commit 0 clock -1")
	if d.readKeys(1, sparseK, 9) {
		t.Fatal("rows out of nowhere")
	}
	d.expect("") // under way already
	d.answerKeys(d.pulls[0], 100, 0)
	d.expect("wake split 0 clock 0 items [0,1)", "wake split 1 clock 0 items [0,1)")
	if !d.readKeys(0, sparseK, 9, 3, 9) || !d.readKeys(1, sparseK, 3) {
		t.Fatal("the rows are not in the cache")
	}
	d.expect("")
	if got := d.gather(0, 9, 3, 9); !slices.Equal(got, []float32{9, 109, 3, 103, 9, 109}) {
		t.Errorf("rows %v", got)
	}
}

// TestKeysAreFetchedAhead asks for keys that a task will read, and has it wait for nothing.
func TestKeysAreFetchedAhead(t *testing.T) {
	d := newSparseDesk(t)
	d.start(0, 0, 0)
	d.tasks[0].Group(sparseK, []bellows.Key{3, 9})
	d.PrefetchKeys(d.tasks[0], &d.fx)
	d.expect("lane 0 of node 0: pull t2/p0 []keys [3 9] after commit 0 clock -1")
	d.answerKeys(d.pulls[0], 100, 0)
	d.expect("")
	if !d.readKeys(0, sparseK, 9) {
		t.Error("what was fetched ahead is not there")
	}
}

// TestKeysJoinWhatIsCached asks for some keys, then for others and some of the same.
func TestKeysJoinWhatIsCached(t *testing.T) {
	d := newSparseDesk(t)
	d.start(0, 0, 0, 1)
	d.readKeys(0, sparseK, 10, 20, 30)
	d.said()
	d.answerKeys(d.pulls[0], 1, 0)
	before := d.tasks[0].ViewKey(sparseK, 20)
	d.Prefetch(d.tasks[0], 0, 0, 1, &d.fx)
	d.readKeys(1, sparseK, 5, 20, 25, 35)
	d.said()
	d.answerKeys(d.pulls[len(d.pulls)-1], 2, 0)
	d.said()
	if !d.readKeys(0, sparseK, 5, 10, 20, 25, 30, 35) {
		t.Fatal("the two answers were not joined")
	}
	if got := d.gather(0, 5, 10, 20, 25, 30, 35); !slices.Equal(got, []float32{5, 7, 10, 11, 20, 22, 25, 27, 30, 31, 35, 37}) {
		t.Errorf("rows %v", got)
	}
	if !slices.Equal(before, []float32{20, 21}) {
		t.Errorf("a view changed to %v", before)
	}
}

func TestAFlushOfKeysIsOneSubtree(t *testing.T) {
	d := newSparseDesk(t)
	d.start(0, 0, 0, 1)
	d.tasks[0].AddKeys(sparseB, []bellows.Key{7, 5, 7}, []float32{1, 2, 3})
	d.finish(0)
	d.tasks[1].AddKeys(sparseB, []bellows.Key{6, 5}, []float32{10, 20})
	d.finish(1)
	d.expect("lane 0 of node 0: push flush 1 of node 1 t3/p0 [][4 22 10] of splits 0<<1 keys [7 5 6], done: 2 results, 1 pairs")
}

func TestOwnKeyDeltasOverlayUntilCommit(t *testing.T) {
	d := newSparseDesk(t)
	d.dispatch(0, 0, 0)
	d.start(1, 0, 0)
	d.tasks[0].AddKeys(sparseK, []bellows.Key{4}, []float32{5, 6})
	d.end(0)
	d.readKeys(0, sparseK, 4, 8)
	d.said()
	d.answerKeys(d.pulls[0], 0, 0) // without the delta
	d.tasks[0].AddKeys(sparseK, []bellows.Key{8}, []float32{1, 1})
	if got := d.gather(0, 8, 4); !slices.Equal(got, []float32{9, 9, 9, 10}) {
		t.Errorf("sees %v, want its own deltas in both rows", got)
	}
	if got := d.tasks[0].ViewKey(sparseK, 4); !slices.Equal(got, []float32{9, 10}) {
		t.Errorf("views %v", got)
	}
	d.finish(0)
	d.deliver(lanes[0], committed(wire.Commitment{Flush: flushID(1), Commit: 1}))
	d.deliver(lanes[0], committed(wire.Commitment{Flush: flushID(2), Commit: 2}))
	d.start(2, 2, 0)
	if d.readKeys(0, sparseK, 4) {
		t.Fatal("a block of commit 0 was served after commit 2 was known")
	}
	d.said()
	d.answerKeys(d.pulls[1], 0, 2) // with them
	if got := d.gather(0, 4); !slices.Equal(got, []float32{4, 4}) {
		t.Errorf("sees %v: its delta is in the rows already", got)
	}
}

func TestAnswerUnfitForItsKeysIsNamed(t *testing.T) {
	d := newSparseDesk(t)
	d.start(0, 0, 0)
	d.readKeys(0, sparseK, 4, 8)
	d.said()
	q := d.pulls[0]
	d.rows(lanes[0], q.Request, wire.RowsPart{Pair: q.Parts[0].Pair, Values: []float32{1, 2, 3}})
	for _, e := range d.fx.Envelopes {
		if m, ok := e.Message.(*wire.Complaint); ok && strings.Contains(m.Reason, "other rows of t2/p0 than were asked for") {
			return
		}
	}
	t.Errorf("said:\n%s", d.said())
}

func TestPartitionsOfSparseTablesAreNotLeased(t *testing.T) {
	d := newSparseDesk(t)
	d.start(0, 0, 0)
	ok, err := d.Lease(d.tasks[0], bellows.PartitionRef{Table: sparseK}, wire.Shared, &d.fx)
	if ok || bellows.KindOf(err) != bellows.Config || !strings.Contains(err.Error(), "table k is sparse") {
		t.Errorf("%v, %v", ok, err)
	}
	d.expect("")
}
