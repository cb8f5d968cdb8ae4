// Package bound finds times that no shape of a job can beat, whatever it deals to which node, and dealings that come
// close to them.
//
// A bound is for classes of machines. It takes from the cost model what holds for every dealing to them: memory, pairs
// of nodes and parts near splits are left out, since they only add to a cost. The package knows no shapes, and decides
// nothing.
//
// Three times are common to all nodes of a shape: those that the slowest server needs for pulls, for pushes and for
// changes. If they are given, each machine is for itself: with so many splits it has room for so many partitions. What
// all machines have room for together is bounded by a price of a split (a Lagrange multiplier). Ranges of the times,
// and of the numbers of workers of each class, are cut into boxes until the least bound is close to the best time that
// is known. The bytes that all workers pull have a range and a price too, since more of them pull more.
package bound

import (
	"math"

	"bellows/policy/cost"
	"bellows/policy/gauge"
)

// Class is machines that are taken as alike, and what they may do. Its figures are the best ones of any of them.
type Class struct {
	Count        int
	Low, High    int  // how many of them work; each has a split at least
	Idle         bool // those that work may have no split
	Serves       bool // those that do not work may serve
	Both         bool // those that work may also serve
	Slots, Lanes int
	Speed        cost.Speed
}

// Bounder bounds the times of one job.
type Bounder struct {
	splits  int
	parts   float64      // partitions; 1, which is the whole model, if they are not alike
	whole   bool         // parts are whole partitions
	lanes   bool         // and nothing else is in a lane
	concave bool         // the traffic is, as a function of splits
	traffic [3][]float64 // of a node: pulls, pushes and changes, by its splits
	each    [3]float64   // pulls, pushes and changes for each byte pulled, at least
	waits   [3]float64   // shares of their times that compute does not hide

	classes []Class
	work    int
	tables  []table
	order   []int // of the classes, by the splits that a machine can run
	low     price // less than all splits are run
	high    price // all splits are run, or more
	spare   price
	least   bool       // prices are of the partitions that it takes
	toll    float64    // on each byte pulled
	mix     float64    // what is pulled at the best price of a split
	all     [3]float64 // what all workers pull, push and change at least
}

// same is how much two amounts may differ that count as equal.
const same = 1e-9

// New returns the bounder of a job.
func New(f *gauge.Figures, model *cost.Model) *Bounder {
	b := &Bounder{splits: len(f.Splits), parts: 1, lanes: true, concave: true}
	b.waits[0], b.waits[1], b.waits[2] = model.Waits()
	var size int64
	free := 0
	for i := range f.Partitions {
		p := &f.Partitions[i]
		if p.Near != nil {
			b.lanes = false
			continue
		}
		if free++; free == 1 {
			size, b.whole = p.Bytes, true
		}
		b.whole = b.whole && p.Bytes == size
	}
	if b.whole {
		b.parts = float64(free)
	}
	for kind := range b.traffic {
		b.traffic[kind] = make([]float64, b.splits+1)
	}
	for n := 1; n <= b.splits; n++ {
		b.traffic[0][n], b.traffic[1][n], b.traffic[2][n] = model.Traffic(n)
	}
	for kind, list := range b.traffic {
		b.each[kind] = math.Inf(1)
		for n := 1; n <= b.splits; n++ {
			b.each[kind] = min(b.each[kind], list[n]/max(b.traffic[0][n], 1e-300))
		}
		for n := 2; n <= b.splits; n++ {
			if list[n]-list[n-1] > (list[n-1]-list[n-2])*(1+same)+same*list[n] {
				b.concave = false
			}
		}
	}
	return b
}

// pulled is the place of what all workers pull in the ranges of a box.
const pulled = 3

// box is ranges of the numbers of workers of each class, of the seconds of servers for pulls, pushes and changes, and
// of what all workers pull.
type box struct {
	low, high []int
	from, to  [4]float64
	least     float64 // a time that no shape in the box can beat
	depth     int     // cuts that made it
}

// table is what machines of a class have room for in a box, in a time.
type table struct {
	cap    int     // splits that one can run at most
	server float64 // partitions for which one has room that does not work
	rows   []row   // of one that works
}

// row is what a machine can have that runs so many splits.
type row struct {
	splits int
	room   float64 // partitions at most
	least  float64 // and at least: a worker does not pull from itself
}

// price is a price of a split in partitions, and what is best at that price.
type price struct {
	price float64
	value float64 // of all machines, less that of all splits
	more  float64 // splits that are run beyond those that there are
	pulls float64 // by all workers
	best  []best
}

// best is what is best for the machines of a class: so many work, with a row.
type best struct{ workers, row int }

// rowsMost is how many rows a table has, about. If there are more numbers of splits, a row is for several.
const rowsMost = 256

// feasible reports whether a clock of so many seconds is not ruled out.
func (b *Bounder) feasible(x *box, t float64) bool {
	t *= 1 + same
	wait := 0.0
	for kind, share := range b.waits {
		if share > 0 {
			wait += share * x.from[kind]
		}
	}
	fastest := math.Inf(1)
	for i := range b.classes {
		c, table := &b.classes[i], &b.tables[i]
		table.cap = 0
		if x.high[i] > 0 {
			table.cap = int(max(0, min(float64(b.splits), float64(c.Slots)*math.Floor((t-wait)/c.Speed.Split+same))))
			if table.cap > 0 {
				fastest = min(fastest, c.Speed.Split)
			}
		}
		if table.cap == 0 && x.low[i] > 0 && !c.Idle {
			return false
		}
	}
	to := [3]float64(x.to[:3])
	for kind, share := range b.waits {
		if share > 0 {
			to[kind] = min(to[kind], (t-fastest-wait)/share+x.from[kind])
		} else {
			to[kind] = math.Inf(1)
		}
	}
	for range 2 {
		if !b.runs(x) {
			return false
		}
		b.work += 4 + 2*len(b.classes)
		b.all = b.totals(x)
		if b.all[0] > x.to[pulled]*(1+same) {
			return false
		}
		b.all[0] = max(b.all[0], x.from[pulled])
		for kind := range b.all {
			b.all[kind] = max(b.all[kind], b.each[kind]*b.all[0])
		}
		kept, possible := b.tabulate(x, &to, t)
		if !possible {
			return false
		}
		if kept {
			break
		}
	}
	return b.runs(x) && b.fits(x, true) && b.fits(x, false)
}

// runs reports whether all machines together can run all splits.
func (b *Bounder) runs(x *box) bool {
	runs := 0
	for i := range b.tables {
		runs += x.high[i] * b.tables[i].cap
	}
	return runs >= b.splits
}

// tabulate sets what each machine has room for. It reports whether no cap became less, and whether all that must work
// can.
func (b *Bounder) tabulate(x *box, to *[3]float64, t float64) (kept, possible bool) {
	kept = true
	for i := range b.classes {
		c, table := &b.classes[i], &b.tables[i]
		table.rows, table.server = table.rows[:0], 0
		if c.Serves && x.low[i] < c.Count {
			table.server, _, _ = b.room(c, 0, to, x, t)
			b.work++
		}
		if x.high[i] == 0 {
			continue
		}
		if c.Idle {
			parts := 0.0
			if c.Both {
				parts, _, _ = b.room(c, 0, to, x, t)
			}
			table.rows = append(table.rows, row{0, parts, 0})
		}
		cap := 0
		step := 1 + table.cap/rowsMost
		for splits := 1; splits <= table.cap; splits += step {
			b.work++
			parts, least, runs := b.room(c, splits, to, x, t)
			if !runs {
				if c.Both {
					continue
				}
				break
			}
			cap = min(table.cap, splits+step-1)
			table.rows = append(table.rows, row{cap, parts, least})
		}
		kept = kept && cap == table.cap
		table.cap = cap
		if len(table.rows) == 0 && x.low[i] > 0 {
			return kept, false
		}
	}
	return kept, true
}

// room returns for how many partitions a machine with so many splits has room at most, how many it takes at least, and
// whether it can run them.
func (b *Bounder) room(c *Class, splits int, to *[3]float64, x *box, t float64) (parts, least float64, runs bool) {
	v := &c.Speed
	pulls, pushes := b.traffic[0][splits], b.traffic[1][splits] // its own
	if splits == 0 || c.Both {
		others, pushed, changes := max(0, b.all[0]-pulls), max(0, b.all[1]-pushes), b.all[2]*v.Row
		share := 1.0
		limit := func(amount, most float64) {
			if amount > 0 {
				share = min(share, most/amount)
			}
		}
		limit(others, to[0]*v.Out)
		limit(pushed, to[1]*v.In)
		limit(pushed-pulls, t*v.In-pulls)
		limit(others-pushes, t*v.Out-pushes)
		limit(changes, t*float64(max(c.Slots, c.Lanes, 1))-float64(splits)*v.Split)
		lanes := float64(c.Lanes)
		if !b.lanes || !b.whole {
			limit(changes, to[2]*lanes)
		}
		if share < 0 {
			return 0, 0, false
		}
		parts = share * b.parts * (1 + same)
		if b.whole {
			parts = math.Floor(parts + same)
			if b.lanes && changes > 0 {
				parts = min(parts, lanes*math.Floor(to[2]*b.parts/changes*(1+same)+same))
			}
		}
		parts = min(parts, b.parts)
	}
	if splits == 0 {
		return parts, 0, true
	}
	compute := math.Ceil(float64(splits)/float64(c.Slots))*v.Split + b.waits[2]*x.from[2]
	enough := func(parts float64) bool {
		rest := 1 - parts/b.parts
		pull, push := pulls*rest/v.In, pushes*rest/v.Out
		return max(compute+b.waits[0]*max(x.from[0], pull)+b.waits[1]*max(x.from[1], push), pull, push) <= t*(1+same)
	}
	switch {
	case enough(0):
		return parts, 0, true
	case !enough(parts):
		return 0, 0, false
	}
	short := 0.0
	least = parts
	for least-short > 1 || !b.whole && least-short > 1e-3 {
		mid := (short + least) / 2
		if b.whole {
			mid = math.Floor(mid)
		}
		if enough(mid) {
			least = mid
		} else {
			short = mid
		}
	}
	if !b.whole {
		least = short
	}
	return parts, least, true
}
