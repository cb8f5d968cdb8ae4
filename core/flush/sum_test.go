package flush_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"bellows"
	"bellows/core/audit"
	"bellows/core/flush"
	"bellows/link/wire"
	"bellows/table"
	"bellows/vec"
)

// TestDeltasAreSummedAlongTheTree lets the splits of a clock finish in any order. Each chunk has the bits of the sum
// along the tree over splits, two and two.
func TestDeltasAreSummedAlongTheTree(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		splits := 1 + random.IntN(13)
		b := newBench(t, []table.Schema{{Name: "w", Rows: 8, Width: 1, Partitions: 2}}, splits, flush.Limits{})
		b.dispatch(0, splits)
		deltas := make([]map[int]float32, splits)
		finished := random.Perm(splits)
		if random.IntN(2) == 0 {
			finished = finished[:1+random.IntN(splits)]
		}
		for _, s := range finished {
			deltas[s] = map[int]float32{}
			var rows []row
			for r := range 8 {
				if random.IntN(4) > 0 {
					deltas[s][r] = float32(random.NormFloat64())
					rows = append(rows, row{0, r, deltas[s][r]})
				}
			}
			b.work(bellows.SplitID(s), 0, rows)
		}
		b.leave(true)
		b.said()
		seen := map[int]int{}
		for _, m := range b.sent {
			for _, c := range m.Chunks {
				for i, v := range c.Values {
					r := int(c.Rows[i])
					want, _ := alongTree(deltas, c.Subtree, r+4*int(c.Ref.Partition))
					if math.Float32bits(v) != math.Float32bits(want) {
						t.Fatalf("seed %d: row %d of %v is %v, want %v", seed, r, c.Ref, v, want)
					}
				}
				seen[int(c.Ref.Partition)]++
			}
		}
		for p, n := range seen {
			if n > 1 && len(finished) == splits {
				t.Errorf("seed %d: %d chunks of partition %d, of all splits", seed, n, p)
			}
		}
	}
}

// alongTree returns the sum of a row's deltas of the splits in a subtree, and whether there are any.
func alongTree(deltas []map[int]float32, at wire.Subtree, row int) (float32, bool) {
	switch {
	case int(at.Index)<<at.Level >= len(deltas):
		return 0, false
	case at.Level == 0:
		v, ok := deltas[at.Index][row]
		return v, ok
	}
	left, some := alongTree(deltas, wire.Subtree{Level: at.Level - 1, Index: 2 * at.Index}, row)
	right, more := alongTree(deltas, wire.Subtree{Level: at.Level - 1, Index: 2*at.Index + 1}, row)
	switch {
	case !some:
		return right, more
	case !more:
		return left, true
	}
	return left + right, true
}

// TestTheLedgerHasWhatArrives sends whole partitions, some rows, and keys, more than are rounded at a time, in each
// format: the sum over what was sent is that over the chunks as they arrive, in the ledger and in the done.
func TestTheLedgerHasWhatArrives(t *testing.T) {
	t.Parallel()
	const rows, width = 3000, 3
	async := table.Schema{Name: "s", Rows: rows, Width: width, Partitions: 1, Consistency: table.Async}
	keyed := async
	keyed.Sparse = true
	for _, f := range []vec.Format{vec.Float32, vec.Float16, vec.BFloat16} {
		for _, c := range []struct {
			name   string
			schema table.Schema
			every  int
		}{{"all", async, 1}, {"some", async, 2}, {"keys", keyed, 1}} {
			b := newBenchAt(t, []table.Schema{c.schema}, 1, flush.Limits{}, 1, f)
			clock, sampled := bellows.Clock(0), audit.SampleOf(bellows.PartitionRef{}, rows*width)
			for !sampled.Contains(clock) {
				clock++
			}
			stream, barrier := b.pools.NewSet(), b.pools.NewSet()
			values := make([]float32, rows*width)
			for i := range values {
				values[i] = float32(i+1) / 3 // which no format has
			}
			for r := 0; r < rows; r += c.every {
				switch to := stream.Buffer(0); {
				case c.schema.Sparse:
					to.AddKey(bellows.Key(r*r), values[r*width:(r+1)*width])
				case c.every > 1:
					to.AddRow(r, values[r*width:(r+1)*width])
				case r == 0:
					to.AddRange(0, values)
				}
			}
			b.dispatch(clock, 1)
			b.Finished(clock)
			w := flush.Work{Unit: bellows.Unit{Clock: clock}, Barrier: &barrier, Stream: b.pools.Bundle(&stream)}
			b.Add(&w, b.route, &b.fx)
			b.leave(false)
			b.said()
			m := b.sent[0]
			chunk := m.Chunks[0]
			arrives := chunk.Values
			if f != vec.Float32 {
				words := make([]uint16, len(arrives))
				arrives = make([]float32, len(arrives))
				b.no(f.Narrow(words, chunk.Values))
				f.Widen(arrives, words)
			}
			want := audit.Rows(0, width, chunk.Rows, arrives)
			if chunk.Keys != nil {
				want = audit.Keys(0, width, chunk.Keys, arrives)
			}
			n, ledgers := b.Sent()
			if ledgers[0].Sent != want || want == 0 || m.Done.Sent[0].Bits != want {
				t.Errorf("%s in %v: the ledger has %x and the done %x, lanes see %x",
					c.name, f, ledgers[0].Sent, m.Done.Sent[0].Bits, want)
			}
			if n != int64((rows+c.every-1)/c.every) || m.Done.Sent[0].Rows != n {
				t.Errorf("%s in %v: %d rows are sent", c.name, f, n)
			}
		}
	}
}

// TestTheLedgerHasLeases ends a lease in clocks with and without a sample.
func TestTheLedgerHasLeases(t *testing.T) {
	t.Parallel()
	b := newBench(t, twoTables(), 1, flush.Limits{})
	sampled := audit.SampleOf(bellows.PartitionRef{Table: 1}, 4)
	want := audit.Sum(0)
	for clock := range bellows.Clock(40) {
		b.dispatch(clock, 1)
		slab := []float32{float32(clock), 2, 3, 4}
		b.work(0, clock, nil, b.lease(1, 0, 0, slab...))
		b.said()
		if sampled.Contains(clock) {
			want += audit.Range(0, 0, slab)
		}
		if _, ledgers := b.Sent(); ledgers[1].Sent != want {
			t.Fatalf("clock %d: the ledger has %x, want %x", clock, ledgers[1].Sent, want)
		}
		b.commit(0, uint64(clock)+1, bellows.CommitNumber(clock)+1, false)
	}
}
