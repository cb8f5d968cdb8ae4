package sim

import (
	"math/rand/v2"
	"sync"

	"bellows"
	"bellows/table"
	"bellows/wire"
)

// The tables of every job, in the order in which their steps were thought of.
const (
	sums    bellows.TableID = iota // BSP, float32, rule add: magnitudes that make order show
	weights                        // BSP or SSP, rule sgd or adagrad
	counts                         // SSP, int32, a column for each split
	free                           // async, float32, a column for each split
	state                          // async or BSP, leased: a partition for each split
	words                          // BSP, SSP or async, sparse, float32, a column for each split
	tables
)

const (
	shapes    = 12 // jobs that a seed chooses from
	splitsMax = 8

	sumRows, sumWidth       = 24, 3
	weightRows, weightWidth = 12, 2
	countRows               = 24
	freeRows                = 12
	stateRows, stateWidth   = 2, 2 // of one partition; column 0 is changed under leases, column 1 by deltas
)

// job is what a shape computes: pure functions of (split, clock), and the model's state before each
// clock where that is a function too.
type job struct {
	shape       uint64
	splits      int
	clocks      int
	schemas     []table.Schema
	countPrefix prefix
	freePrefix  prefix
	statePrefix prefix // of column 1
	wordPrefix  prefix
	sumsAt      [][]float32 // by clock: the table before it
	weightsAt   [][]float32 // likewise, where weights is BSP
}

// prefix is how much a split has added to a row in its first clocks: [split][row][clocks].
type prefix [][][]int32

// jobs are made once each, at first use.
var jobs = func() (all [shapes]func() *job) {
	for i := range all {
		all[i] = sync.OnceValue(func() *job { return newJob(uint64(i)) })
	}
	return all
}()

func newJob(shape uint64) *job {
	rng := rand.New(rand.NewPCG(shape, 0x6a6f62))
	j := &job{shape: shape, splits: 5 + rng.IntN(4), clocks: 20 + rng.IntN(4)}
	step := table.Rule{Name: "sgd", Step: 0.25}
	if rng.IntN(2) == 0 {
		step = table.Rule{Name: "adagrad", Step: 0.5, Epsilon: 1e-3}
	}
	j.schemas = []table.Schema{
		sums: {Name: "sums", Rows: sumRows, Width: sumWidth, Partitions: 1 + rng.IntN(4),
			Init: table.Init{Kind: table.Uniform, Seed: shape, Low: -1, High: 1}},
		weights: {Name: "weights", Rows: weightRows, Width: weightWidth, Partitions: 1 + rng.IntN(3), Rule: step,
			Consistency: table.SSP(rng.IntN(3)), Init: table.Init{Kind: table.Fixed, Low: 1}},
		counts: {Name: "counts", Rows: countRows, Width: j.splits, DType: table.Int32, Partitions: 1 + rng.IntN(3),
			Consistency: table.SSP(1 + rng.IntN(3))},
		free: {Name: "free", Rows: freeRows, Width: j.splits, Partitions: 1 + rng.IntN(2), Consistency: table.Async},
		state: {Name: "state", Rows: stateRows * j.splits, Width: stateWidth, Partitions: j.splits,
			Consistency: []table.Consistency{table.Async, table.Async, table.BSP}[rng.IntN(3)]},
	}
	j.countPrefix = j.newPrefix(countRows, func(s bellows.SplitID, c bellows.Clock, row int) int32 {
		return j.amount(counts, s, c, row)
	})
	j.freePrefix = j.newPrefix(freeRows, func(s bellows.SplitID, c bellows.Clock, row int) int32 {
		return j.amount(free, s, c, row)
	})
	j.statePrefix = j.newPrefix(stateRows*j.splits, func(s bellows.SplitID, c bellows.Clock, row int) int32 {
		if at, n := j.stateAdd(s, c); at == row {
			return n
		}
		return 0
	})
	j.schemas = append(j.schemas, j.wordSchema(1+rng.IntN(3), []table.Consistency{table.BSP, table.SSP(1), table.Async}[rng.IntN(3)]))
	j.wordPrefix = j.newPrefix(wordRows, j.wordAmount)
	j.model()
	return j
}

func (j *job) newPrefix(rows int, amount func(s bellows.SplitID, c bellows.Clock, row int) int32) prefix {
	p := make(prefix, j.splits)
	for s := range p {
		p[s] = make([][]int32, rows)
		for r := range p[s] {
			at := make([]int32, j.clocks+1)
			for c := range j.clocks {
				at[c+1] = at[c] + amount(bellows.SplitID(s), bellows.Clock(c), r)
			}
			p[s][r] = at
		}
	}
	return p
}

// draw is a random number that depends on its arguments and the shape alone.
func (j *job) draw(what uint64, s bellows.SplitID, c bellows.Clock, i int) uint64 {
	x := mix(j.shape<<32 ^ what)
	x = mix(x ^ uint64(s)<<40 ^ uint64(c)<<20 ^ uint64(i))
	return mix(x)
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// What draw is asked for.
const (
	drawItems uint64 = iota + 1
	drawTouch
	drawSum
	drawGradient
	drawAmount
	drawLease
	drawStateRow
	drawQuiet
)

// items are those of a split in a clock. Some clocks have none.
func (j *job) items(s bellows.SplitID, c bellows.Clock) bellows.Range {
	return bellows.Range{Begin: 3, End: 3 + int(j.draw(drawItems, s, c, 0)%5)}
}

// result is what the task of (split, clock) signals.
func (j *job) result(s bellows.SplitID, c bellows.Clock) [2]float64 {
	return [2]float64{float64(s), float64(c) + 0.5}
}

// touch is which rows of a table the task of (split, clock) changes: all, a range, or some.
type touch struct {
	whole      bool
	first, end int // a range, if not empty
}

func (j *job) touch(t bellows.TableID, s bellows.SplitID, c bellows.Clock, rows int) touch {
	h := j.draw(drawTouch, s, c, int(t))
	switch h % 4 {
	case 0:
		return touch{whole: true, end: rows}
	case 1:
		a := int(h>>8) % rows
		return touch{first: a, end: a + 1 + int(h>>32)%(rows-a)}
	}
	return touch{}
}

// quiet tasks change nothing but state: their flush visits few lanes, or none. Some clocks have no others.
func (j *job) quiet(s bellows.SplitID, c bellows.Clock) bool {
	return j.draw(drawQuiet, 0, c, 0)%5 == 0 || j.draw(drawQuiet, s, c, 1)%8 == 0
}

// touches reports whether the task changes a row.
func (j *job) touches(t bellows.TableID, s bellows.SplitID, c bellows.Clock, rows, row int) bool {
	if j.quiet(s, c) {
		return false
	}
	if x := j.touch(t, s, c, rows); x.end > 0 {
		return row >= x.first && row < x.end
	}
	return j.draw(drawTouch, s, c, int(t)<<8|row|1<<16)%4 == 0
}

// cells are the two rows of sums that a task's deltas depend on: one of its own, one of another.
func (j *job) cells(s bellows.SplitID, c bellows.Clock) (own, other int) {
	return int(s) * 3 % sumRows, int(j.draw(drawSum, s, c, -1) % sumRows)
}

// sumDelta is the task's delta for one value of sums, given what it read in its two cells. Its
// magnitude is anything from 2^-14 to 2^13.
func (j *job) sumDelta(s bellows.SplitID, c bellows.Clock, row, col int, own, other float32) float32 {
	h := j.draw(drawSum, s, c, row*sumWidth+col)
	base := float32(int32(h)) / (1 << 31)
	scale := float32(1)
	for range h >> 32 % 15 {
		scale *= 2
	}
	if h>>63 == 1 {
		scale = 1 / scale
	}
	d := float32(base * scale)
	d = float32(d + float32(own/64))
	return float32(d - float32(other/128))
}

// gradient is the task's delta for one value of weights: a small whole number.
func (j *job) gradient(s bellows.SplitID, c bellows.Clock, row, col int) float32 {
	return float32(int(j.draw(drawGradient, s, c, row*weightWidth+col)%7) - 3)
}

// amount is what the task adds to its split's column of a row of counts or free; 0 leaves it alone.
func (j *job) amount(t bellows.TableID, s bellows.SplitID, c bellows.Clock, row int) int32 {
	h := j.draw(drawAmount, s, c, int(t)<<8|row)
	if h%3 == 0 || j.quiet(s, c) {
		return 0
	}
	return int32(h>>8%9) + 1
}

// stateAdd is the row of state whose column 1 the task adds to, and how much; 0: nothing. Often it is one that
// the next split leases in the same clock.
func (j *job) stateAdd(s bellows.SplitID, c bellows.Clock) (row int, amount int32) {
	h := j.draw(drawStateRow, s, c, 0)
	row = int(h>>8) % (stateRows * j.splits)
	if h>>40%2 == 0 {
		row = (int(s)+1+int(c))%j.splits*stateRows + row%stateRows
	}
	return row, int32(h % 3)
}

// leaseOf is one lease that a task takes.
type leaseOf struct {
	partition bellows.PartitionID
	mode      wire.Mode
}

// leases are what the task leases, in ascending order: mostly its block of the stratum, split + clock.
func (j *job) leases(s bellows.SplitID, c bellows.Clock) []leaseOf {
	h := j.draw(drawLease, s, c, 0)
	mine := bellows.PartitionID((int(s) + int(c)) % j.splits)
	next := bellows.PartitionID((int(mine) + 1 + int(h>>8)%(j.splits-1)) % j.splits)
	if j.quiet(s, c) && h>>16%2 == 0 {
		return []leaseOf{{mine, wire.Shared}}
	}
	switch h % 8 {
	case 0, 1:
		return nil
	case 2, 3, 4:
		return []leaseOf{{mine, wire.Exclusive}}
	case 5:
		return []leaseOf{{mine, wire.Shared}}
	case 6:
		return ascending(leaseOf{mine, wire.Exclusive}, leaseOf{next, wire.Shared})
	}
	return ascending(leaseOf{mine, wire.Exclusive}, leaseOf{next, wire.Exclusive})
}

func ascending(a, b leaseOf) []leaseOf {
	if a.partition > b.partition {
		a, b = b, a
	}
	return []leaseOf{a, b}
}

// leased is column 0 of a row after the task has changed it under its exclusive lease. The order of
// two tasks shows in the result, which float32 holds exactly.
func leased(before float32, s bellows.SplitID, c bellows.Clock) float32 {
	return float32((int(before)*31 + int(s)*1009 + int(c)*17 + 1) % 65521)
}
