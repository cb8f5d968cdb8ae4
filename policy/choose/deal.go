package choose

import (
	"cmp"
	"math"
	"slices"
)

// assign returns the roles for numbers of workers of each kind: nodes that work in the present shape come first.
// together says that workers also serve where they may.
func (s *searcher) assign(workers []int, together bool) []Role {
	roles := make([]Role, len(s.list))
	worker := Worker
	if together {
		worker = Both
	}
	for i := range s.list {
		if p := &s.list[i]; p.fixed {
			roles[i] = p.role
		}
	}
	for k, nodes := range s.kinds {
		left := workers[k]
		for _, first := range []bool{true, false} {
			for _, i := range nodes {
				if s.f.Nodes[i].Works != first {
					continue
				}
				switch p := &s.list[i]; {
				case left > 0 && p.work:
					if roles[i] = worker; !p.serve {
						roles[i] = Worker
					}
					left--
				case p.serve:
					roles[i] = Server
				}
			}
		}
	}
	return roles
}

// deal deals all parts to nodes with roles by their rates. It returns nothing if a role is missing.
func (s *searcher) deal(roles []Role) *dealing {
	d := &dealing{roles: roles, splits: make([]int, len(roles)), parts: make([]int, len(roles))}
	var workers, servers []int
	for i, r := range roles {
		if r.works() {
			workers = append(workers, i)
		}
		if r.serves() {
			servers = append(servers, i)
		}
	}
	if len(workers) == 0 || len(servers) == 0 || len(workers) > len(s.f.Splits) {
		return nil
	}
	if s.f.Stays != "" {
		s.stay(d)
		s.dealParts(d, servers)
		return d
	}
	for j, i := range workers {
		d.splits[i] = len(s.f.Splits) / len(workers)
		if j < len(s.f.Splits)%len(workers) {
			d.splits[i]++
		}
	}
	for range 2 {
		s.dealParts(d, servers)
		s.even(d)
	}
	return d
}

// stay leaves splits where they are.
func (s *searcher) stay(d *dealing) {
	clear(d.splits)
	for _, p := range s.f.Splits {
		d.splits[s.at[p.Node]]++
	}
}

// dealParts gives each partition to the server that then needs the least time.
func (s *searcher) dealParts(d *dealing, servers []int) {
	clear(d.parts)
	all := s.demand(d)
	pull, push, applied := s.model.Waits()
	each := make([]float64, len(d.parts)) // seconds for a partition
	for _, i := range servers {
		v := s.model.Speed(i)
		pulled, pushed, _ := s.model.Traffic(d.splits[i])
		changes := applied * all[2] * v.Row / float64(s.f.Nodes[i].Lanes)
		each[i] = max(pull*(all[0]-pulled)/v.Out+push*(all[1]-pushed)/v.In+changes, 1e-15)
	}
	if most := s.ask.Servers.High; most > 0 && most < len(servers) {
		slices.SortStableFunc(servers, func(i, j int) int { return cmp.Compare(each[i], each[j]) })
		servers = servers[:most]
	}
	greedy(servers, s.size.parts, d.parts, func(i int) float64 { return float64(d.parts[i]+1) * each[i] })
}

// even gives each split to the worker that then takes the least time.
func (s *searcher) even(d *dealing) {
	all := s.demand(d)
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
		return max(s.working(i, n, d.parts[i], server), s.busy(i, n, d.parts[i], all))
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
