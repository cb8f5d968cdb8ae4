// Package model computes in the plainest way what a simulated job must compute: the state that a list of commits makes.
// Its functions of (split, clock) are pure.
//
// Take a Job, run it, and give an Oracle every record in the order of its number; then ask it what any table holds after any
// commit. The package shares no code with the core, and refuses records that count a unit twice or out of order.
package model

import (
	"math/rand/v2"
	"sync"

	"bellows"
	"bellows/link/wire"
	"bellows/random"
	"bellows/table"
)

// The tables of every job, in the order in which their steps were thought of.
const (
	Sums    bellows.TableID = iota // BSP, float32, rule add: magnitudes that make order show
	Weights                        // BSP or SSP, rule sgd or adagrad
	Counts                         // SSP, int32, a column for each split
	Free                           // async, float32, a column for each split
	State                          // async or BSP, leased: a partition for each split
	Words                          // BSP, SSP or async, sparse, float32, a column for each split
	Tables
)

// How many jobs there are to choose from: common ones, behind these loose ones, wide ones with many splits, and long ones with many
// clocks, which are loose and brief; the most splits and clocks that one has; and the sizes of the tables in rows and values a row.
// Those of State are of one partition: column 0 is changed under leases, column 1 by deltas.
const (
	Shapes        = 12
	LooseShapes   = 4
	WideShapes    = 3
	LongShapes    = 2
	AllShapes     = Shapes + LooseShapes + WideShapes + LongShapes
	SplitsMax     = 16
	ClocksMax     = 80
	PartitionsMax = SplitsMax // of a table

	SumRows, SumWidth       = 24, 3
	WeightRows, WeightWidth = 12, 2
	CountRows               = 24
	freeRows                = 12
	StateRows, StateWidth   = 2, 2
)

// Job is what a shape computes: pure functions of (split, clock), and the model's state before each
// clock where that is a function too.
type Job struct {
	Shape       uint64
	Loose       bool // its tasks have to do with no BSP table, so that splits run ahead
	Brief       bool // its tasks read from one table
	Divided     bool // some clocks are several units
	Splits      int
	Clocks      int
	Schemas     []table.Schema
	steps       [][]Step          // by split and clock: units before it
	clocks      [][]bellows.Clock // by split and step: clocks that are complete then
	countPrefix prefix
	freePrefix  prefix
	statePrefix prefix // of column 1
	wordPrefix  prefix
	SumsAt      [][]float32 // by clock: the table before it
	WeightsAt   [][]float32 // the same of weights, where it is BSP
	squaresAt   [][]float32 // and adagrad's memory
}

// prefix is how much a split has added to a row in its first units: [split][row][steps].
type prefix [][][]int32

// Jobs are made once each, at first use; Divided has the same shapes with clocks that are divided into units.
var Jobs, Divided = jobs(false), jobs(true)

func jobs(divided bool) (all [AllShapes]func() *Job) {
	for i := range all {
		all[i] = sync.OnceValue(func() *Job { return newJob(uint64(i), divided) })
	}
	return all
}

// Index returns the place of the job among all: those of Jobs come first, then those of Divided.
func (j *Job) Index() uint64 {
	if j.Divided {
		return AllShapes + j.Shape
	}
	return j.Shape
}

func newJob(shape uint64, divided bool) *Job {
	rng := rand.New(rand.NewPCG(shape, 0x6a6f62))
	const wide, long = Shapes + LooseShapes, Shapes + LooseShapes + WideShapes
	j := &Job{Shape: shape, Divided: divided, Loose: shape >= Shapes && shape < wide || shape >= long, Splits: 5 + rng.IntN(4), Clocks: 20 + rng.IntN(4)}
	switch {
	case shape >= long:
		j.Brief, j.Splits, j.Clocks = true, 4+rng.IntN(2), 68+rng.IntN(ClocksMax-68)
	case shape >= wide:
		j.Splits = SplitsMax - rng.IntN(5)
	}
	step := table.Rule{Name: "sgd", Step: 0.25}
	if rng.IntN(2) == 0 {
		step = table.Rule{Name: "adagrad", Step: 0.5, Epsilon: 1e-3}
	}
	j.Schemas = []table.Schema{
		Sums: {Name: "sums", Rows: SumRows, Width: SumWidth, Partitions: 1 + rng.IntN(4),
			Init: table.Init{Kind: table.Uniform, Seed: shape, Low: -1, High: 1}},
		Weights: {Name: "weights", Rows: WeightRows, Width: WeightWidth, Partitions: 1 + rng.IntN(3), Rule: step,
			Consistency: table.SSP(rng.IntN(3)), Init: table.Init{Kind: table.Fixed, Low: 1}},
		Counts: {Name: "counts", Rows: CountRows, Width: j.Splits, DType: table.Int32, Partitions: 1 + rng.IntN(3),
			Consistency: table.SSP(1 + rng.IntN(3))},
		Free: {Name: "free", Rows: freeRows, Width: j.Splits, Partitions: 1 + rng.IntN(2), Consistency: table.Async},
		State: {Name: "state", Rows: StateRows * j.Splits, Width: StateWidth, Partitions: j.Splits,
			Consistency: []table.Consistency{table.Async, table.Async, table.BSP}[rng.IntN(3)]},
	}
	j.divide()
	j.countPrefix = j.newPrefix(Counts, CountRows, func(s bellows.SplitID, c bellows.Clock, row int) int32 {
		return j.amount(Counts, s, c, row)
	})
	j.freePrefix = j.newPrefix(Free, freeRows, func(s bellows.SplitID, c bellows.Clock, row int) int32 {
		return j.amount(Free, s, c, row)
	})
	j.statePrefix = j.newPrefix(State, StateRows*j.Splits, func(s bellows.SplitID, c bellows.Clock, row int) int32 {
		if at, n := j.stateAdd(s, c); at == row {
			return n
		}
		return 0
	})
	j.Schemas = append(j.Schemas, j.wordSchema(1+rng.IntN(3), []table.Consistency{table.BSP, table.SSP(1), table.Async}[rng.IntN(3)]))
	if j.Loose {
		j.Schemas[State].Consistency, j.Schemas[Words].Consistency = table.Async, table.Async
	}
	j.wordPrefix = j.newPrefix(Words, WordRows, j.wordAmount)
	j.model()
	return j
}

func (j *Job) newPrefix(t bellows.TableID, rows int, amount func(s bellows.SplitID, c bellows.Clock, row int) int32) prefix {
	p := make(prefix, j.Splits)
	for s := range p {
		p[s] = make([][]int32, rows)
		for r := range p[s] {
			at := make([]int32, 1, len(j.clocks[s]))
			for c := range bellows.Clock(j.Clocks) {
				n := int(j.Steps(s, c+1) - j.Steps(s, c))
				for i := range n {
					sum := at[len(at)-1]
					if ownerOf(t, bellows.SplitID(s), c, r, n) == i {
						sum += amount(bellows.SplitID(s), c, r)
					}
					at = append(at, sum)
				}
			}
			p[s][r] = at
		}
	}
	return p
}

// draw returns a random number that depends on its arguments and the shape alone.
func (j *Job) draw(what uint64, s bellows.SplitID, c bellows.Clock, i int) uint64 {
	x := random.Finish(j.Shape<<32 ^ what)
	x = random.Finish(x ^ uint64(s)<<40 ^ uint64(c)<<20 ^ uint64(i))
	return random.Finish(x)
}

// The purposes of draw.
const (
	drawItems uint64 = iota + 1
	drawTouch
	drawSum
	drawGradient
	drawAmount
	drawLease
	drawStateRow
	drawQuiet
	drawUnits
)

// Items returns those of a split in a clock. Some clocks have none.
func (j *Job) Items(s bellows.SplitID, c bellows.Clock) bellows.Range {
	return bellows.Range{Begin: 3, End: 3 + int(j.draw(drawItems, s, c, 0)%5)}
}

// Result returns what the task of a unit signals.
func (j *Job) Result(u bellows.Unit) [2]float64 {
	i, _ := j.Share(u)
	return [2]float64{float64(u.Split), float64(u.Clock) + 0.5 + float64(i)/8}
}

// Results returns those of all units of a split's clock, one after the other.
func (j *Job) Results(s bellows.SplitID, c bellows.Clock) (all []float64) {
	n := j.Units(s, c)
	for i := range n {
		r := j.Result(bellows.Unit{Split: s, Clock: c, Items: j.Items(s, c).Part(i, n)})
		all = append(all, r[:]...)
	}
	return all
}

// touch is which rows of a table the tasks of (split, clock) change: all, a range, or some.
type touch struct {
	whole      bool
	First, End int // a range, if not empty
}

// Touch returns which rows of a table of so many the clock's task changes, or its tasks together, unless it is quiet.
func (j *Job) Touch(t bellows.TableID, s bellows.SplitID, c bellows.Clock, rows int) touch {
	h := j.draw(drawTouch, s, c, int(t))
	switch h % 4 {
	case 0:
		return touch{whole: true, End: rows}
	case 1:
		a := int(h>>8) % rows
		return touch{First: a, End: a + 1 + int(h>>32)%(rows-a)}
	}
	return touch{}
}

// Quiet tasks change nothing but state: their flush visits few lanes, or none. Some clocks have no others.
func (j *Job) Quiet(s bellows.SplitID, c bellows.Clock) bool {
	return j.draw(drawQuiet, 0, c, 0)%5 == 0 || j.draw(drawQuiet, s, c, 1)%8 == 0
}

// Touches reports whether the task of a unit changes a row.
func (j *Job) Touches(t bellows.TableID, u bellows.Unit, rows, row int) bool {
	return j.shares(t, u, row) && j.touches(t, u.Split, u.Clock, rows, row)
}

// TouchesSum reports whether a unit changes a row of sums.
func (j *Job) TouchesSum(u bellows.Unit, row int) bool {
	return j.shares(Sums, u, row) && j.touches(Sums, u.Split, u.Clock, SumRows, row)
}

// touches reports whether some unit of a split's clock changes a row.
func (j *Job) touches(t bellows.TableID, s bellows.SplitID, c bellows.Clock, rows, row int) bool {
	if j.Quiet(s, c) || j.Loose && t <= Weights {
		return false
	}
	if x := j.Touch(t, s, c, rows); x.End > 0 {
		return row >= x.First && row < x.End
	}
	return j.draw(drawTouch, s, c, int(t)<<8|row|1<<16)%4 == 0
}

// Cells returns the two rows of sums that a task's deltas depend on: one of its own, one of another.
func (j *Job) Cells(s bellows.SplitID, c bellows.Clock) (own, other int) {
	return int(s) * 3 % SumRows, int(j.draw(drawSum, s, c, -1) % SumRows)
}

// SumDelta returns the delta of a unit's task for one value of sums, given what it read in its two cells. Its
// magnitude is anything from 2^-14 to 2^13. Units of one clock add differently.
func (j *Job) SumDelta(u bellows.Unit, row, col int, own, other float32) float32 {
	i, _ := j.Share(u)
	h := j.draw(drawSum, u.Split, u.Clock, i*SumRows*SumWidth+row*SumWidth+col)
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

// Gradient returns the task's delta for one value of weights: a small whole number.
func (j *Job) Gradient(s bellows.SplitID, c bellows.Clock, row, col int) float32 {
	return float32(int(j.draw(drawGradient, s, c, row*WeightWidth+col)%7) - 3)
}

// AmountMax is the most that a task adds to a value of counts, free or words.
const AmountMax = 9

// Amount returns what the task of a unit adds to its split's column of a row of counts or free; 0 leaves it alone.
func (j *Job) Amount(t bellows.TableID, u bellows.Unit, row int) int32 {
	if !j.shares(t, u, row) {
		return 0
	}
	return j.amount(t, u.Split, u.Clock, row)
}

func (j *Job) amount(t bellows.TableID, s bellows.SplitID, c bellows.Clock, row int) int32 {
	h := j.draw(drawAmount, s, c, int(t)<<8|row)
	if h%3 == 0 || j.Quiet(s, c) {
		return 0
	}
	return int32(h>>8%AmountMax) + 1
}

// StateAdd returns the row of state whose column 1 the task of a unit adds to, and how much; 0: nothing. Often it is one that
// the next split leases in the same clock.
func (j *Job) StateAdd(u bellows.Unit) (row int, amount int32) {
	if row, amount = j.stateAdd(u.Split, u.Clock); !j.shares(State, u, row) {
		return row, 0
	}
	return row, amount
}

func (j *Job) stateAdd(s bellows.SplitID, c bellows.Clock) (row int, amount int32) {
	h := j.draw(drawStateRow, s, c, 0)
	row = int(h>>8) % (StateRows * j.Splits)
	if h>>40%2 == 0 {
		row = (int(s)+1+int(c))%j.Splits*StateRows + row%StateRows
	}
	return row, int32(h % 3)
}

// LeaseOf is one lease that a task takes.
type LeaseOf struct {
	Partition bellows.PartitionID
	Mode      wire.Mode
}

// Leases returns what the task of a unit leases, in ascending order: mostly its block of the stratum, split + clock. One unit of a clock does.
func (j *Job) Leases(u bellows.Unit) []LeaseOf {
	s, c := u.Split, u.Clock
	h := j.draw(drawLease, s, c, 0)
	if i, n := j.Share(u); int(h>>24)%n != i {
		return nil
	}
	mine := bellows.PartitionID((int(s) + int(c)) % j.Splits)
	next := bellows.PartitionID((int(mine) + 1 + int(h>>8)%(j.Splits-1)) % j.Splits)
	if j.Quiet(s, c) && h>>16%2 == 0 {
		return []LeaseOf{{mine, wire.Shared}}
	}
	switch h % 8 {
	case 0, 1:
		return nil
	case 2, 3, 4:
		return []LeaseOf{{mine, wire.Exclusive}}
	case 5:
		return []LeaseOf{{mine, wire.Shared}}
	case 6:
		return ascending(LeaseOf{mine, wire.Exclusive}, LeaseOf{next, wire.Shared})
	}
	return ascending(LeaseOf{mine, wire.Exclusive}, LeaseOf{next, wire.Exclusive})
}

func ascending(a, b LeaseOf) []LeaseOf {
	if a.Partition > b.Partition {
		a, b = b, a
	}
	return []LeaseOf{a, b}
}

// Leased returns column 0 of a row after the task has changed it under its exclusive lease. The order of
// two tasks shows in the result, which float32 holds exactly.
func Leased(before float32, s bellows.SplitID, c bellows.Clock) float32 {
	return float32((int(before)*31 + int(s)*1009 + int(c)*17 + 1) % 65521)
}

// Number writes a whole number in the table's type.
func (j *Job) Number(t bellows.TableID, row []float32, col int, n int32) {
	if j.Schemas[t].DType == table.Int32 {
		table.Counts(row)[col] = n
		return
	}
	row[col] = float32(n)
}
