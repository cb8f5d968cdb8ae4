package client_test

import (
	"slices"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/audit"
	"bellows/core/client"
	"bellows/core/route"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
	"bellows/vec"
)

// TestEveryPushNamesTheWholeFlush sends flushes to one lane and to two. Each part names the pairs of all parts, by
// which a controller can number them without the client.
func TestEveryPushNamesTheWholeFlush(t *testing.T) {
	for _, rows := range [][]bellows.RowID{{0}, {7}, {0, 7}} {
		d := newDesk(t)
		d.start(0, 0, 0)
		var want []bellows.PartitionRef
		for _, r := range rows {
			for tab := range bellows.TableID(2) {
				d.tasks[0].AddRow(tab, r, []float32{1})
				want = append(want, bellows.PartitionRef{Table: tab, Partition: bellows.PartitionID(r / 4)})
			}
		}
		d.end(0)
		if len(d.sent) != len(rows) {
			t.Fatalf("rows %v: %d parts", rows, len(d.sent))
		}
		for i, m := range d.sent {
			var got []bellows.PartitionRef
			for _, p := range m.Pairs {
				got = append(got, p.Ref)
				if p.Generation != 1 {
					t.Errorf("rows %v: %v is at generation %d", rows, p.Ref, p.Generation)
				}
			}
			slices.SortFunc(got, compareRefs)
			slices.SortFunc(want, compareRefs)
			if !slices.Equal(got, want) {
				t.Errorf("rows %v: part %d names %v, want %v", rows, i, got, want)
			}
		}
	}
}

func compareRefs(a, b bellows.PartitionRef) int {
	return 2*(int(a.Table)-int(b.Table)) + int(a.Partition) - int(b.Partition)
}

// TestTheLedgerHasWhatLanesWillSee sends all rows of a table, some, and those of keys, more than are rounded at a time, as they are and in 16 bits: the
// sum over what was sent is that over the chunks as they arrive.
func TestTheLedgerHasWhatLanesWillSee(t *testing.T) {
	const rows, width = 5000, 3
	tables := []table.Schema{
		{Name: "all", Rows: rows, Width: width, Partitions: 1, Consistency: table.Async},
		{Name: "some", Rows: rows, Width: width, Partitions: 1, Consistency: table.Async},
		{Name: "keys", Rows: rows, Width: width, Partitions: 1, Consistency: table.Async, Sparse: true},
	}
	third := func(i int) float32 { return float32(i+1) / 3 } // which no format has
	for _, format := range []vec.Format{vec.Float32, vec.Float16, vec.BFloat16} {
		for tab := range bellows.TableID(3) {
			clock := bellows.Clock(0)
			for sample := audit.SampleOf(bellows.PartitionRef{Table: tab}, 0); !sample.Contains(clock); clock++ {
			}
			d := newDeskOf(t, core.Job{Tables: tables, Wire: []vec.Format{format, format, format},
				Route: route.Spread(tables, 1, lanes[:1], []bellows.NodeID{1})}, client.Options{})
			d.start(clock, 0, 0)
			values := make([]float32, rows*width)
			for i := range values {
				values[i] = third(i)
			}
			switch tab {
			case 0:
				d.tasks[0].AddRange(tab, 0, values)
			case 1:
				for r := 0; r < rows; r += 2 {
					d.tasks[0].AddRow(tab, bellows.RowID(r), values[r*width:(r+1)*width])
				}
			case 2:
				var list []bellows.Key
				for k := range bellows.Key(rows) {
					list = append(list, k*k)
				}
				d.tasks[0].AddKeys(tab, list, values)
			}
			d.end(0)
			if len(d.sent) != 1 || len(d.sent[0].Chunks) != 1 {
				t.Fatalf("table %s: %d pushes", tables[tab].Name, len(d.sent))
			}
			c := d.sent[0].Chunks[0]
			seen := rounded(t, format, c.Values)
			var want audit.Sum
			if c.Keys != nil {
				want = audit.Keys(0, width, c.Keys, seen)
			} else {
				want = audit.Rows(0, width, c.Rows, seen)
			}
			if got := d.Counts().Ledgers[tab].Sent; got != want || want == 0 {
				t.Errorf("table %s in %v: the ledger has %x, lanes see %x", tables[tab].Name, format, got, want)
			}
		}
	}
}

// rounded returns values as they arrive.
func rounded(t *testing.T, f vec.Format, values []float32) []float32 {
	t.Helper()
	if f == vec.Float32 {
		return values
	}
	words, wide := make([]uint16, len(values)), make([]float32, len(values))
	require.NoError(t, f.Narrow(words, values))
	f.Widen(wide, words)
	return wide
}

// TestPushInTransitKeepsItsMemory lets a lane ask for a push once more, and refuse it before it has come, since the partition went elsewhere. The flush counts there; the push
// that is on its way to the first lane is what it was.
func TestPushInTransitKeepsItsMemory(t *testing.T) {
	d := newDesk(t)
	newRoads(d)
	d.push(delta{0, 1, 7})
	id, pairs := d.sent[0].Flush, []wire.Pair{pairAt(0, 0, 1)}
	d.deliver(lanes[0], &wire.Full{Flush: id})
	d.deliver(lanes[0], &wire.Room{Flush: id})
	again := d.fx.Envelopes[len(d.fx.Envelopes)-1].Message.(*wire.Push)
	want := slices.Clone(again.Chunks[0].Values)
	d.said()
	d.deliver(lanes[0], &wire.Stale{Flush: id, Pairs: pairs})
	d.said()
	d.deliver(lanes[0], &wire.Committed{List: []wire.Commitment{{Flush: id, Commit: 1, Pairs: pairs}}})
	d.start(0, 1, 1)
	d.tasks[0].AddRow(0, 1, []float32{8})
	d.finish(0)
	if len(again.Chunks) != 1 || !slices.Equal(again.Chunks[0].Values, want) {
		t.Errorf("a push of %v is one of %+v while it is on its way", want, again.Chunks)
	}
}
