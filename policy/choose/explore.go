package choose

import (
	"cmp"
	"math"
	"slices"

	"bellows/policy/choose/bound"
)

// countLoads bounds the improving of one dealing: so many loads of nodes are judged.
const countLoads = 40_000

// partsDealt is how many parts are dealt in the time in which a load is judged, for each node that may get them.
const partsDealt = 96

// start is a dealing of numbers of workers, before it is improved.
type start struct {
	*dealing
	least float64 // a time that no dealing of these numbers can beat
}

// explore deals parts to numbers of workers in several ways. It keeps the best of each way, and calls a function with
// each dealing.
func (s *searcher) explore(x *box, c []bound.Class, most float64, better func(*dealing) bool) {
	ways := []bool{false}
	if x.together {
		ways = []bool{true, false}
	}
	all := s.assign(x.high, x.together)
	if x.together && s.ask.Workers == (Bounds{}) {
		all = s.assign(s.whole(true).high, true)
	}
	likely, epoch := math.Inf(1), float64(s.f.Clocks.Epoch)
	for _, together := range ways {
		if s.apartWorse && !together && x.together {
			continue
		}
		roles := s.assign(x.high, together)
		if !slices.ContainsFunc(roles, Role.serves) {
			continue
		}
		var best *dealing
		for _, d := range s.starts(roles, c, x.least/epoch, most/epoch) {
			s.judge(d)
			if better(d); best == nil || d.seconds < best.seconds {
				best = d
			}
		}
		if best != nil {
			s.apartWorse = best.seconds > 1.3*likely
			likely = best.seconds
			e := best.clone()
			e.roles = all
			s.pool = append(s.pool, start{&e, x.least})
		}
	}
}

// polish improves the starts, those with the least time first: all of them roughly, then part by part.
func (s *searcher) polish(most float64, better func(*dealing) bool) {
	order := func(list []start) {
		slices.SortStableFunc(list, func(a, b start) int { return cmp.Compare(a.seconds, b.seconds) })
	}
	order(s.pool)
	eased := 0
	for kept := s.left / 3; eased < len(s.pool) && s.left > kept; eased++ {
		if d := s.pool[eased]; d.least < most*(1-closeEnough) {
			s.ease(d.dealing, max(kept, s.left-countLoads))
			s.judge(d.dealing)
			if better(d.dealing) {
				most = d.seconds
			}
		}
	}
	order(s.pool[:eased])
	for _, d := range s.pool {
		if s.left > 0 && d.least < most*(1-closeEnough) {
			s.improve(d.dealing, s.left-countLoads)
			if better(d.dealing) {
				most = d.seconds
			}
		}
	}
}

// starts deals parts to nodes with roles in several ways.
func (s *searcher) starts(roles []Role, c []bound.Class, t, most float64) (list []*dealing) {
	for _, by := range []float64{0.01, 0.3, 0.7} { // of the way from the bound to the best
		t := t + by*(most-t)
		room, feasible := s.bound.Room(c, t)
		if !feasible {
			continue
		}
		d := s.fill(roles, room.Splits)
		if d == nil {
			break
		}
		for range 2 {
			s.spread(d, room.Servers, t)
			s.left -= len(roles) * max(8, (len(s.f.Splits)+s.size.parts)/partsDealt)
			e := d.clone()
			list = append(list, &e)
			if s.f.Stays != "" {
				break
			}
			s.even(d)
		}
	}
	if d := s.deal(roles); d != nil {
		list = append(list, d)
	}
	return list
}
