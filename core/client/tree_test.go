package client_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/client"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/table"
)

// TestAFlushIsSummedAlongTheTree lets the splits of a clock end in any order. Some change all rows of a partition and
// some a few. The one chunk of each partition has the bits of the pairwise sum along the tree of splits.
func TestAFlushIsSummedAlongTheTree(t *testing.T) {
	const rows = 8
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		splits := 4 + random.IntN(9)
		tables := []table.Schema{{Name: "w", Rows: rows, Width: 1}}
		d := newDeskOf(t, core.Job{Tables: tables, Route: route.Spread(tables, splits, lanes, []bellows.NodeID{1})}, client.Options{})
		all := make([]bellows.SplitID, splits)
		for s := range all {
			all[s] = bellows.SplitID(s)
		}
		d.start(0, 0, all...)

		deltas := make([]map[int]float32, splits)
		for s := range deltas {
			deltas[s] = map[int]float32{}
			values := make([]float32, rows)
			for r := range values {
				values[r] = float32(random.NormFloat64())
			}
			if random.IntN(4) == 0 {
				for r := range values[:3] {
					d.tasks[all[s]].AddRow(0, bellows.RowID(r), values[r:r+1])
					deltas[s][r] = values[r]
				}
				continue
			}
			d.tasks[all[s]].AddRange(0, 0, values)
			for r, v := range values {
				deltas[s][r] = v
			}
		}
		for _, s := range random.Perm(splits) {
			d.finish(bellows.SplitID(s))
		}
		d.said()

		if len(d.sent) != 1 || len(d.sent[0].Chunks) != 1 {
			t.Fatalf("seed %d: %d flushes, want one of one chunk", seed, len(d.sent))
		}
		chunk := d.sent[0].Chunks[0]
		for i, v := range chunk.Values {
			r := i
			if chunk.Rows != nil {
				r = int(chunk.Rows[i])
			}
			want, _ := alongTree(deltas, chunk.Subtree, r)
			if math.Float32bits(v) != math.Float32bits(want) {
				t.Fatalf("seed %d, %d splits: row %d is %v, want %v", seed, splits, r, v, want)
			}
		}
	}
}

// alongTree returns the sum of a row's deltas of the splits in a subtree, and whether there is any.
func alongTree(deltas []map[int]float32, t wire.Subtree, row int) (float32, bool) {
	switch {
	case int(t.Index)<<t.Level >= len(deltas):
		return 0, false
	case t.Level == 0:
		v, ok := deltas[t.Index][row]
		return v, ok
	}
	left, any := alongTree(deltas, wire.Subtree{Level: t.Level - 1, Index: 2 * t.Index}, row)
	right, more := alongTree(deltas, wire.Subtree{Level: t.Level - 1, Index: 2*t.Index + 1}, row)
	switch {
	case !any:
		return right, more
	case !more:
		return left, true
	}
	return left + right, true
}
