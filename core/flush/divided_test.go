package flush_test

import (
	"testing"

	"bellows"
	"bellows/core/flush"
)

// unit adds the work of a unit of a divided clock of four items, which adds a value to row 0 of the BSP table.
func (b *bench) unit(s bellows.SplitID, items bellows.Range, value float32) {
	barrier := b.pools.NewSet()
	barrier.Buffer(0).AddRow(0, []float32{value})
	b.Finished(0)
	w := flush.Work{Unit: bellows.Unit{Split: s, Items: items}, Clock: bellows.Range{End: 4}, Summed: true,
		Barrier: &barrier}
	b.Add(&w, b.route, &b.fx)
}

// TestUnitsOfDividedClock lets units of a divided clock leave together. They are one sum as far as they
// follow the clock's first items; the others keep their own place, and a whole clock is a leaf of the tree.
func TestUnitsOfDividedClock(t *testing.T) {
	t.Parallel()
	items := func(begin, end int) bellows.Range { return bellows.Range{Begin: begin, End: end} }
	type chunk struct {
		items bellows.Range // empty: the whole clock
		level uint8
		value float32
	}
	for _, c := range []struct {
		name   string
		splits int
		units  []bellows.Range // of split 0, in the order in which they finish; unit n adds 1 << n
		want   []chunk
	}{
		{"the whole clock", 1, []bellows.Range{items(0, 2), items(2, 4)}, []chunk{{value: 3}}},
		{"the whole clock, in three", 1, []bellows.Range{items(0, 1), items(1, 3), items(3, 4)}, []chunk{{value: 7}}},
		{"the beginning", 1, []bellows.Range{items(0, 1), items(1, 3)}, []chunk{{items: items(0, 3), value: 3}}},
		{"the end", 1, []bellows.Range{items(1, 2), items(2, 4)},
			[]chunk{{items: items(1, 2), value: 1}, {items: items(2, 4), value: 2}}},
		{"the end first", 1, []bellows.Range{items(2, 4), items(0, 2)},
			[]chunk{{items: items(2, 4), value: 1}, {items: items(0, 2), value: 2}}},
		{"with a gap", 1, []bellows.Range{items(0, 1), items(3, 4)},
			[]chunk{{items: items(0, 1), value: 1}, {items: items(3, 4), value: 2}}},
		{"with its sibling", 2, []bellows.Range{items(0, 2), items(2, 4)}, []chunk{{level: 1, value: 103}}},
		{"beside its sibling", 2, []bellows.Range{items(0, 2)},
			[]chunk{{value: 100}, {items: items(0, 2), value: 1}}},
	} {
		b := newBench(t, twoTables(), c.splits, flush.Limits{})
		b.dispatch(0, len(c.units)+c.splits-1)
		if c.splits == 2 {
			b.unit(1, items(0, 4), 100)
		}
		for n, u := range c.units {
			b.unit(0, u, float32(int(1)<<n))
		}
		b.leave(false)
		b.said()
		var got []chunk
		for _, k := range b.sent[0].Chunks {
			got = append(got, chunk{k.Subtree.Items, k.Subtree.Level, k.Values[0]})
			if whole := k.Subtree.Items == (bellows.Range{}); whole == k.Subtree.Part() {
				t.Errorf("%s: %+v is a part: %v", c.name, k.Subtree, k.Subtree.Part())
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: chunks %+v, want %+v", c.name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: chunk %d is %+v, want %+v", c.name, i, got[i], c.want[i])
			}
		}
	}
}
