package bound

import (
	"container/heap"
	"math"
	"slices"

	"bellows/core/planted"
)

// Search looks for a bound.
type Search struct {
	Classes []Class
	Workers [2]int  // how many of all nodes may work; 0 at the end: any number
	Most    float64 // seconds of a clock in the best shape that is known
	Work    int     // that may be done
	// Found is called with dealings that may be better than the best, and returns the best time then.
	Found func(list []Deal) float64
}

const (
	// precise is how far a bound may be below what can be shown.
	precise = 5e-4
	// narrow is the width of a range, as a part of a clock, from which it is cut no more.
	narrow = 1e-3
	// workFound is the work of judging a dealing, for each machine.
	workFound = 16
	// closeEnough is the gap to the best time at which a box is not looked at any more.
	closeEnough = 2e-3
)

// Prove returns seconds of a clock that no shape can beat, and the work that is left.
func (b *Bounder) Prove(s Search) (least float64, left int) {
	b.classes, b.capacities, b.order, b.work = s.Classes, make([]capacity, len(s.Classes)), b.order[:0], 0
	whole := &box{}
	for i := range s.Classes {
		b.order = append(b.order, i)
		whole.low, whole.high = append(whole.low, s.Classes[i].Low), append(whole.high, s.Classes[i].High)
	}
	for kind, share := range b.waits {
		if whole.to[kind] = s.Most; share > 0 && kind == 2 {
			whole.to[kind] = s.Most / share
		}
	}
	whole.to[pulled] = float64(b.splits) * b.traffic[0][1]
	var open boxes
	closed := s.Most
	add := func(x *box, above float64) {
		if b.bound(x, &s, above); x.least >= s.Most {
			return
		}
		heap.Push(&open, x)
	}
	add(whole, 0)
	for len(open) > 0 {
		x := open[0]
		done := x.least >= closed && (s.Found == nil || b.work > s.Work/8) // until then dealings may be better
		if done || x.least >= s.Most*(1-closeEnough) || b.work > s.Work {
			closed = min(closed, x.least)
			break
		}
		heap.Pop(&open)
		if t := x.least * (1 + precise); !b.feasible(x, t) { // capacities are of this box now
			x.least = t
			heap.Push(&open, x)
			continue
		}
		halves := b.halves(x)
		if b.work += workFound * b.count(); s.Found != nil {
			s.Most = min(s.Most, s.Found(b.deal(x)))
		}
		if halves == nil {
			closed = min(closed, x.least)
			continue
		}
		for _, half := range halves {
			half.depth++
			add(half, x.least)
		}
	}
	least = min(closed, s.Most)
	if planted.On("bound-above-optimum") {
		least *= 1.1
	}
	return least, s.Work - b.work
}

// boxes are a heap: the least bound comes first, and of equal ones the smallest box.
type boxes []*box

func (h boxes) Len() int { return len(h) }

// Less reports whether a box comes before another.
func (h boxes) Less(i, j int) bool {
	return h[i].least < h[j].least || h[i].least == h[j].least && h[i].depth > h[j].depth
}
func (h boxes) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push adds a box.
func (h *boxes) Push(x any) { *h = append(*h, x.(*box)) }

// Pop removes the last box.
func (h *boxes) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// bound sets a time that no shape of a box can beat, between two times.
func (b *Bounder) bound(x *box, s *Search, low float64) {
	least, most := 0, 0
	for i := range x.low {
		least, most = least+x.low[i], most+x.high[i]
	}
	if x.least = s.Most; s.Workers[1] > 0 && least > s.Workers[1] || most < max(1, s.Workers[0]) || least > b.splits {
		return
	}
	if !b.feasible(x, s.Most) {
		return
	}
	if x.least = low; low > 0 && b.feasible(x, low*(1+precise)) {
		return
	}
	high := s.Most
	for high-low > precise*high {
		if mid := (low + high) / 2; b.feasible(x, mid) {
			high = mid
		} else {
			low = mid
		}
	}
	x.least = low
}

// halves cuts a box in two: where a range leaves the most of a clock open, or where a part of a machine would work.
func (b *Bounder) halves(x *box) []*box {
	widest, at, waits := narrow, -1, 0.0
	for kind, share := range b.waits {
		if width := share * (x.to[kind] - x.from[kind]) / x.least; width > widest {
			widest, at = width, kind
		}
		if share > 0 {
			waits += share * min(x.to[kind], x.least/share) / x.least
		}
	}
	cut := 0.0
	if at >= 0 {
		cut = (x.from[at] + x.to[at]) / 2
	}
	if pulls := min(b.mix, x.to[pulled]); pulls > b.all[0] {
		if width := min(1, waits) * (pulls - b.all[0]) / b.all[0]; width > widest {
			widest, at, cut = width, pulled, (b.all[0]+pulls)/2
		}
	}
	class, workers := b.partial(x)
	one, two := *x, *x
	switch {
	case class >= 0 && widest < 1/float64(4*b.count()):
		one.high, two.low = slices.Clone(x.high), slices.Clone(x.low)
		one.high[class], two.low[class] = workers, workers+1
	case at >= 0:
		one.to[at], two.from[at] = cut, cut
	default:
		return nil
	}
	return []*box{&one, &two}
}

func (b *Bounder) count() (n int) {
	for i := range b.classes {
		n += b.classes[i].Count
	}
	return n
}

// partial returns a class that has other numbers of workers at the two prices, and a number between both.
func (b *Bounder) partial(x *box) (class, workers int) {
	class, widest := -1, 0
	for i := range b.classes {
		if d := b.high.best[i].workers - b.low.best[i].workers; d > widest || -d > widest {
			class, widest = i, int(math.Abs(float64(d)))
		}
	}
	if class < 0 && b.toll > 0 { // what is best is between two tolls
		for i := range b.classes {
			if d := x.high[i] - x.low[i]; d > widest {
				class, widest = i, d
			}
		}
		if class >= 0 {
			return class, (x.low[class] + x.high[class]) / 2
		}
	}
	if class < 0 {
		return -1, 0
	}
	low, high := &b.low.best[class], &b.high.best[class]
	part := -b.low.more / (b.high.more - b.low.more)
	workers = low.workers + int(part*float64(high.workers-low.workers))
	return class, min(max(workers, x.low[class]), x.high[class]-1)
}
