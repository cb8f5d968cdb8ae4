package choose

import (
	"cmp"
	"math"
	"slices"
)

// countLoads bounds the improving of one dealing: so many loads of nodes are judged.
const countLoads = 40_000

// start is a dealing of numbers of workers, before it is improved.
type start struct {
	*dealing
	least float64 // a time that no dealing of these numbers can beat
}

// explore deals parts to numbers of workers in several ways. It keeps the best of each way, and calls a function with
// each dealing.
func (s *searcher) explore(x *box, c []class, most float64, better func(*dealing) bool) {
	ways := []bool{false}
	if x.together {
		ways = []bool{true, false}
	}
	all := s.assign(x.high, x.together)
	if x.together && s.ask.Workers == (Bounds{}) {
		all = s.assign(s.whole(true).high, true)
	}
	likely, epoch, latency := math.Inf(1), float64(s.f.Clocks.Epoch), s.model.Latency()
	for _, together := range ways {
		if s.apartWorse && !together && x.together {
			continue
		}
		roles := s.assign(x.high, together)
		if !slices.ContainsFunc(roles, Role.serves) {
			continue
		}
		var best *dealing
		for _, d := range s.starts(roles, c, x.least/epoch-latency, most/epoch-latency) {
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

// partsDealt is how many parts are dealt in the time in which a load is judged, for each node that may get them.
const partsDealt = 96

// starts deals parts to nodes with roles in several ways.
func (s *searcher) starts(roles []Role, c []class, t, most float64) (list []*dealing) {
	b := s.bound
	for _, by := range []float64{0.01, 0.3, 0.7} { // of the way from the bound to the best
		t := t + by*(most-t)
		b.set(c)
		b.alone = true
		if !b.feasible(t) {
			continue
		}
		at := b.times
		d := s.fill(roles, c)
		if d == nil {
			break
		}
		for range 2 {
			s.spread(d, at, t)
			s.left -= len(roles) * max(8, (len(s.f.Splits)+s.size.parts)/partsDealt)
			e := d.clone()
			list = append(list, &e)
			if s.f.Stays != "" {
				break
			}
			s.even(d, t)
		}
	}
	if d := s.deal(roles); d != nil {
		list = append(list, d)
	}
	return list
}

// fill gives each worker the splits that its class can run in the time of the bound. Workers with the fewest give up
// splits if these are too many, since traffic is least if splits are together.
func (s *searcher) fill(roles []Role, c []class) *dealing {
	d := &dealing{roles: roles, splits: make([]int, len(roles)), parts: make([]int, len(roles))}
	sum := -len(s.f.Splits)
	for i, n := range s.mosts(roles, c) {
		d.splits[i] = n
		sum += n
	}
	for sum > 0 {
		least := -1
		for i, n := range d.splits {
			if n > 1 && (least < 0 || n < d.splits[least]) {
				least = i
			}
		}
		if least < 0 {
			return nil
		}
		n := min(sum, d.splits[least]-1)
		d.splits[least] -= n
		sum -= n
	}
	if sum < 0 {
		return nil
	}
	if s.f.Stays != "" {
		clear(d.splits)
		for _, p := range s.f.Splits {
			d.splits[s.at[p.Node]]++
		}
	}
	return d
}

// mosts returns how many splits each worker can run at most, by its class.
func (s *searcher) mosts(roles []Role, c []class) []int {
	list, at := make([]int, len(roles)), 2*len(s.kinds)
	for i, r := range roles {
		of := 2 * s.kind[i]
		if p := &s.list[i]; p.fixed && p.role != Unused {
			of = at
			at++
		}
		if r.works() {
			list[i] = c[of].most
		}
	}
	return list
}

// spread gives each partition to the server that then needs the least part of the times at hand: for pulls, pushes and
// changes, and for all of its work.
func (s *searcher) spread(d *dealing, at [3]float64, t float64) {
	all := s.demand(d)
	var servers []int
	for i, r := range d.roles {
		if d.parts[i] = 0; r.serves() {
			servers = append(servers, i)
		}
	}
	takes := func(i int) float64 {
		n := d.parts[i] + 1
		most := s.busy(i, d.splits[i], n, all) / t
		for kind, seconds := range s.serving(i, d.splits[i], n, all) {
			most = max(most, seconds/max(at[kind], 1e-30))
		}
		return most
	}
	if most := s.ask.Servers.High; most > 0 && most < len(servers) {
		slices.SortStableFunc(servers, func(a, b int) int { return cmp.Compare(takes(a), takes(b)) })
		servers = servers[:most]
	}
	greedy(servers, s.size.parts, d.parts, takes)
}

// even gives each split to the worker that then takes the least time.
func (s *searcher) even(d *dealing, t float64) {
	all := s.demand(d)
	pull, push, applied := s.model.Waits()
	var server [3]float64
	var workers []int
	for i, r := range d.roles {
		if d.parts[i] > 0 {
			for kind, seconds := range s.serving(i, d.splits[i], d.parts[i], all) {
				server[kind] = max(server[kind], seconds)
			}
		}
		if r.works() {
			workers = append(workers, i)
		}
	}
	for _, i := range workers {
		d.splits[i] = 1
	}
	takes := func(i int) float64 {
		n := d.splits[i] + 1
		if n > len(s.f.Splits) {
			return math.Inf(1)
		}
		v := s.model.Speed(i)
		pulled, pushed, _ := s.model.Traffic(n)
		rest := 1 - float64(d.parts[i])/float64(s.size.parts)
		compute := math.Ceil(float64(n)/float64(s.f.Nodes[i].Slots)) * v.Split
		wait := pull*max(server[0], pulled*rest/v.In) + push*max(server[1], pushed*rest/v.Out) + applied*server[2]
		return max(compute+wait, s.busy(i, n, d.parts[i], all))
	}
	greedy(workers, len(s.f.Splits)-len(workers), d.splits, takes)
}

// greedy gives parts one by one to the node where the next one takes the least.
func greedy(nodes []int, parts int, have []int, takes func(int) float64) {
	next := make([]float64, len(nodes))
	for j, i := range nodes {
		next[j] = takes(i)
	}
	for ; parts > 0; parts-- {
		at := 0
		for j := range next {
			if next[j] < next[at] {
				at = j
			}
		}
		have[nodes[at]]++
		next[at] = takes(nodes[at])
	}
}
