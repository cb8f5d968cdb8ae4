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

	classes    []Class
	work       int
	capacities []capacity
	order      []int // of the classes, by the splits that a machine can run
	low        price // less than all splits are run
	high       price // all splits are run, or more
	spare      price
	least      bool       // prices are of the partitions that it takes
	toll       float64    // on each byte pulled
	mix        float64    // what is pulled at the best price of a split
	all        [3]float64 // what all workers pull, push and change at least
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
