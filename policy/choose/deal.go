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
	for j, i := range workers {
		d.splits[i] = len(s.f.Splits) / len(workers)
		if j < len(s.f.Splits)%len(workers) {
			d.splits[i]++
		}
	}
	if s.f.Stays != "" {
		clear(d.splits)
		for _, p := range s.f.Splits {
			d.splits[s.at[p.Node]]++
		}
		s.dealParts(d, servers)
		return d
	}
	for range 2 {
		s.dealParts(d, servers)
		s.even(d)
	}
	return d
}

// dealParts gives each partition to the server that then needs the least time.
func (s *searcher) dealParts(d *dealing, servers []int) {
	var all [3]float64
	for i, n := range d.splits {
		if d.parts[i] = 0; n > 0 {
			pulled, pushed, rows := s.model.Traffic(n)
			all[0], all[1], all[2] = all[0]+pulled, all[1]+pushed, all[2]+rows
		}
	}
	pull, push, applied := s.model.Waits()
	of := func(i int) (t [3]float64) { // seconds for a partition
		v := s.model.Speed(i)
		pulled, pushed, _ := s.model.Traffic(d.splits[i])
		n := float64(s.size.parts)
		return [3]float64{(all[0] - pulled) / v.Out / n, (all[1] - pushed) / v.In / n,
			all[2] * v.Row / float64(s.f.Nodes[i].Lanes) / n}
	}
	each := make([]float64, len(servers))
	for j, i := range servers {
		t := of(i)
		each[j] = max(pull*t[0]+push*t[1]+applied*t[2], 1e-15)
	}
	order := make([]int, len(servers)) // the fastest come first, in case that not all may serve
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(each[a], each[b]) })
	if most := s.ask.Servers.High; most > 0 && most < len(order) {
		order = order[:most]
	}
	for left := s.size.parts; left > 0; left-- {
		at := -1
		for _, j := range order {
			i := servers[j]
			if at < 0 || float64(d.parts[i]+1)*each[j] < float64(d.parts[servers[at]]+1)*each[at] {
				at = j
			}
		}
		d.parts[servers[at]]++
	}
}

// fill gives each worker the splits that its class can run in the time of the bound. Workers with the fewest give up
// splits if these are too many, since traffic is least if splits are together.
func (s *searcher) fill(roles []Role, most []int) *dealing {
	d := &dealing{roles: roles, splits: make([]int, len(roles)), parts: make([]int, len(roles))}
	sum := -len(s.f.Splits)
	for i, n := range s.mosts(roles, most) {
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
func (s *searcher) mosts(roles []Role, most []int) []int {
	list, at := make([]int, len(roles)), 2*len(s.kinds)
	for i, r := range roles {
		of := 2 * s.kind[i]
		if p := &s.list[i]; p.fixed && p.role != Unused {
			of = at
			at++
		}
		if r.works() {
			list[i] = most[of]
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
func (s *searcher) even(d *dealing) {
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
