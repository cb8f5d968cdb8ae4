package choose

import (
	"cmp"
	"slices"

	"bellows/policy/choose/bound"
)

// box is ranges of numbers of workers, by kind of machine, and a time that no shape within them can beat.
type box struct {
	low, high []int
	together  bool
	least     float64 // seconds of an epoch
	size      int     // numbers of workers in it
}

// whole returns the box of all numbers of workers.
func (s *searcher) whole(together bool) *box {
	x := &box{low: make([]int, len(s.kinds)), high: make([]int, len(s.kinds)), together: together}
	for k, nodes := range s.kinds {
		if s.list[nodes[0]].work {
			x.high[k] = len(nodes)
		}
	}
	return x
}

// single reports whether the box has one number of workers of each kind.
func (x *box) single() bool { return slices.Equal(x.low, x.high) }

// halves cuts the longest range of a box in two.
func (x *box) halves() [2]*box {
	at := 0
	for k := range x.low {
		if x.high[k]-x.low[k] > x.high[at]-x.low[at] {
			at = k
		}
	}
	one := &box{low: x.low, high: slices.Clone(x.high), together: x.together}
	two := &box{low: slices.Clone(x.low), high: x.high, together: x.together}
	one.high[at] = (x.low[at] + x.high[at]) / 2
	two.low[at] = one.high[at] + 1
	return [2]*box{one, two}
}

// closeEnough is the gap to the best time at which numbers of workers are not looked at any more.
const closeEnough = 1e-3

// prove returns a time that no shape can beat. It cuts the numbers of workers into boxes, and looks at the one with
// the least bound first. found deals parts to numbers that may be better than most, and returns the best time so far.
// If it is nil, only the bound is wanted.
func (s *searcher) prove(most float64, found func(x *box, c []bound.Class) float64) float64 {
	epoch := float64(s.f.Clocks.Epoch)
	var open []*box // the least one is the last
	closed := most
	add := func(x *box, above float64) {
		c := s.classes(x)
		if c == nil {
			return
		}
		x.size = 1
		for k := range x.low {
			x.size *= 1 + x.high[k] - x.low[k]
		}
		work := s.bound.Work()
		x.least = s.bound.Least(c, x.single(), above/epoch, most/epoch) * epoch
		s.left -= s.bound.Work() - work
		at, _ := slices.BinarySearchFunc(open, x, func(a, b *box) int { return cmp.Compare(b.least, a.least) })
		open = slices.Insert(open, at, x)
	}
	add(s.whole(!s.ask.Apart), 0)
	for turn := 0; len(open) > 0; turn++ {
		at := len(open) - 1
		x := open[at]
		if x.least >= most*(1-closeEnough) || s.left <= 0 || found == nil && x.least >= closed {
			return min(closed, x.least, most)
		}
		if turn%4 == 3 { // Each fourth time a small box, so that numbers are soon looked at.
			for i, y := range open {
				if y.size <= x.size && y.least < most*(1-closeEnough) {
					at, x = i, y
				}
			}
		}
		open = slices.Delete(open, at, at+1)
		if x.single() {
			closed = min(closed, x.least)
			if found != nil {
				most = min(most, found(x, s.classes(x)))
			}
			continue
		}
		for _, half := range x.halves() {
			add(half, x.least)
		}
	}
	return min(closed, most)
}

// classes returns the machines of a box, or nothing if the numbers cannot be. Nodes that may work or not are counted
// for both, and those that may serve in any case once.
func (s *searcher) classes(x *box) []bound.Class {
	var list []bound.Class
	least, most := 0, 0
	for k, nodes := range s.kinds {
		p := &s.list[nodes[0]]
		least, most = least+x.low[k], most+x.high[k]
		best := s.bestOf(nodes)
		w, o := best, best
		w.Count, w.Works, w.Serves = x.high[k], true, x.together && p.serve
		o.Count, o.Serves = len(nodes)-x.low[k], p.serve
		if w.Serves {
			o.Count = len(nodes) - x.high[k]
		}
		list = append(list, w, o)
	}
	for i := range s.list {
		if p := &s.list[i]; p.fixed && p.role != Unused {
			c := s.bestOf([]int{i})
			c.Count, c.Works, c.Serves = 1, p.role.works(), p.role.serves()
			list = append(list, c)
			if c.Works {
				least, most = least+1, most+1
			}
		}
	}
	serves := 0
	for i := range list {
		if list[i].Serves {
			serves += list[i].Count
		}
	}
	a := &s.ask.Workers
	many := least > len(s.f.Splits) || a.High > 0 && least > a.High
	if many || most < max(1, a.Low) || serves < max(1, s.ask.Servers.Low) {
		return nil
	}
	return list
}

// bestOf returns a machine with the best figures of some.
func (s *searcher) bestOf(nodes []int) bound.Class {
	var c bound.Class
	for j, i := range nodes {
		n, v := &s.f.Nodes[i], s.model.Speed(i)
		if j == 0 {
			c = bound.Class{Slots: n.Slots, Lanes: n.Lanes, Speed: v}
		}
		c.Slots, c.Lanes = max(c.Slots, n.Slots), max(c.Lanes, n.Lanes)
		c.Speed.Split, c.Speed.Row = min(c.Speed.Split, v.Split), min(c.Speed.Row, v.Row)
		c.Speed.In, c.Speed.Out = max(c.Speed.In, v.In), max(c.Speed.Out, v.Out)
	}
	return c
}
