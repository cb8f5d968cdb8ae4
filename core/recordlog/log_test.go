package recordlog

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"bellows"
	"bellows/link/wire"
)

// TestTheTailGivesBackWhatItTook keeps flushes with pairs, results and numbers, and control records between them, in
// several chunks, and forgets many of the chunks. The remaining records are as they came.
func TestTheTailGivesBackWhatItTook(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(7, 1))
	const most = 4 << 10
	var kept Log
	var all []wire.Record
	for range 2000 {
		m := wire.New[wire.Records]()
		for range 1 + draw.IntN(4) {
			n := bellows.CommitNumber(len(all) + 1)
			if draw.IntN(5) == 0 {
				m.AppendControl(n, bellows.Control{Kind: bellows.SetStaleness, Table: math.MaxUint16, Clocks: -int32(n), Clock: -1, Route: math.MaxUint32, Node: math.MaxUint16, Lane: 4,
					Partition: math.MaxUint32, Generation: math.MaxUint32, Split: math.MaxUint32})
			} else {
				m.Append(n, drawDone(draw, n))
			}
			all = append(all, clone(&m.List[len(m.List)-1]))
		}
		kept.Add(m, most)
		wire.Free(m)
		begin := kept.Oldest(0)
		if draw.IntN(10) == 0 {
			begin += bellows.CommitNumber(draw.IntN(3))
			kept.Forget(begin)
		}
		from := begin + bellows.CommitNumber(draw.IntN(9))
		var got []wire.Record
		kept.Since(from, 3, func(m *wire.Records) {
			if m.Term != 3 {
				t.Errorf("a message is of term %d", m.Term)
			}
			for i := range m.List {
				got = append(got, clone(&m.List[i]))
			}
			wire.Free(m)
		})
		if want := all[min(int(from)-1, len(all)):]; len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("from record %d on the tail has\n%+v, want\n%+v", from, got, want)
		}
		if kept.bytes > most {
			t.Fatalf("it keeps %d bytes", kept.bytes)
		}
		for i, c := range kept.chunks {
			if cap(c) != chunkRoom {
				t.Fatalf("chunk %d has grown to %d bytes: its records take more than was said", i, cap(c))
			}
		}
	}
	if kept.Oldest(0) < 1000 {
		t.Errorf("nothing has been let go: record %d is the oldest", kept.Oldest(0))
	}
}

func drawDone(draw *rand.Rand, n bellows.CommitNumber) *wire.Done {
	d := &wire.Done{Flush: bellows.FlushID{Client: 3, Incarnation: 1, Seq: uint64(n)}}
	for p := range draw.IntN(4) {
		d.Pairs = append(d.Pairs, wire.Pair{Ref: bellows.PartitionRef{Partition: bellows.PartitionID(p)}, Generation: bellows.Generation(n)})
	}
	for s := range draw.IntN(9) {
		u := bellows.Unit{Split: bellows.SplitID(s * draw.IntN(1000)), Clock: bellows.Clock(n) - bellows.Clock(draw.IntN(2000)), Items: bellows.Range{Begin: draw.IntN(1 << draw.IntN(40))}}
		u.Items.End = u.Items.Begin + draw.IntN(1<<draw.IntN(40))
		d.Append(u, []float64{float64(n), 2, 3, 4}[:draw.IntN(5)])
	}
	return d
}

// clone returns a record apart from the memory of its message. It has no empty lists.
func clone(r *wire.Record) wire.Record {
	c := wire.Record{Number: r.Number, Flush: r.Flush, Pairs: append([]wire.Pair(nil), r.Pairs...), Control: r.Control}
	for _, one := range r.Results {
		c.Results = append(c.Results, wire.Result{Unit: one.Unit, Values: append([]float64(nil), one.Values...)})
	}
	return c
}

// TestRotatingTailAllocatesNothing adds records for which others are released: chunks are reused.
func TestRotatingTailAllocatesNothing(t *testing.T) {
	var kept Log
	m := wire.New[wire.Records]()
	for n := range bellows.CommitNumber(64) {
		m.AppendControl(n, bellows.Control{Kind: bellows.KeepTables})
	}
	add := func() {
		for range 64 { // several chunks
			kept.Add(m, 4<<10)
		}
	}
	add()
	if n := testing.AllocsPerRun(20, add); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestAnEmptyTailBeginsAnew with whatever comes next, also a single record.
func TestAnEmptyTailBeginsAnew(t *testing.T) {
	t.Parallel()
	var kept Log
	for _, n := range []bellows.CommitNumber{5, 90} {
		if kept.Forget(n); kept.Oldest(n) != n+1 {
			t.Errorf("of nothing record %d is the oldest", kept.Oldest(n))
		}
		m := wire.New[wire.Records]()
		m.AppendControl(n, bellows.Control{Kind: bellows.KeepTables})
		kept.Add(m, 1000)
		got := bellows.CommitNumber(0)
		kept.Since(0, 1, func(m *wire.Records) { got = m.List[0].Number })
		if kept.Oldest(n) != n || got != n {
			t.Errorf("it begins with record %d and gives %d, want %d", kept.Oldest(n), got, n)
		}
		kept.Forget(n + 10)
	}
}
