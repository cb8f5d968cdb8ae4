package choose

import (
	"cmp"
	"math"
	"slices"

	"bellows"
	"bellows/policy/cost"
	"bellows/policy/gauge"
)

// dealing is how many splits and partitions each node gets, by its place. A node with splits works, and one with
// partitions serves.
type dealing struct {
	roles         []Role
	splits, parts []int
	seconds       float64
}

func (d *dealing) clone() dealing {
	return dealing{d.roles, slices.Clone(d.splits), slices.Clone(d.parts), d.seconds}
}

// searcher finds the best dealing over machines that are not alike. Cruise gives the problem to a commercial solver
// (§III.C, Fig. 3). Here the numbers of workers of each kind of machine are counted. For each, shares follow from the
// rates of nodes, are rounded, and improved part by part.
type searcher struct {
	f          *gauge.Figures
	ask        *Ask
	model      *cost.Model
	list       []place
	kinds      [][]int // nodes with a role that is free, by kind of machine
	kind       []int   // of each node, or -1
	at         map[bellows.NodeID]int
	size       sizes
	bound      *bounder
	limit      cost.Limit
	left       int // loads that may still be judged
	buf        []cost.Group
	pool       []start // dealings to improve
	apartWorse bool    // machines that work should also serve
}

// sizes are what parts weigh in the mean.
type sizes struct {
	parts     int     // partitions that are dealt
	free      float64 // bytes of each that count for the traffic
	near      float64 // bytes of partitions near each split
	nearParts float64 // and their number
	split     int64   // bytes of the largest split
}

func newSearcher(f *gauge.Figures, ask *Ask, list []place) *searcher {
	s := &searcher{f: f, ask: ask, model: cost.New(f), list: list, left: loadsMost}
	var free []int
	for i := range list {
		if !list[i].fixed {
			free = append(free, i)
		}
	}
	s.kinds, s.kind, s.at = kindsOf(f, list, free), make([]int, len(list)), map[bellows.NodeID]int{}
	for i := range s.kind {
		s.kind[i], s.at[f.Nodes[i].ID] = -1, i
	}
	for k, nodes := range s.kinds {
		for _, i := range nodes {
			s.kind[i] = k
		}
	}
	for i := range f.Partitions {
		if p := &f.Partitions[i]; p.Near == nil {
			s.size.parts++
			s.size.free += float64(p.Bytes)
		} else {
			s.size.near += float64(p.Bytes) / float64(len(f.Splits))
			s.size.nearParts += 1 / float64(len(f.Splits))
		}
	}
	if s.size.parts == 0 {
		s.size.parts = len(f.Partitions)
	}
	s.size.free /= float64(s.size.parts)
	for i := range f.Splits {
		s.size.split = max(s.size.split, f.Splits[i].Bytes)
	}
	s.bound = newBounder(f, s.model)
	return s
}

// groups returns the load of each node of a dealing. A worker that may serve has the partitions near its splits.
func (s *searcher) groups(d *dealing) []cost.Group {
	s.buf = s.buf[:0]
	borrowed := 0.0
	for i, r := range d.roles {
		if r.works() && !r.serves() {
			borrowed += float64(d.splits[i]) * s.size.near
		}
	}
	for i, r := range d.roles {
		n, p := d.splits[i], d.parts[i]
		if n+p == 0 {
			continue
		}
		g := cost.Group{Node: i, Count: 1, Load: cost.Load{Splits: n, Parts: p, Held: int64(n) * s.size.split}}
		g.Free = int64(float64(p)*s.size.free + 0.5)
		g.Lent = int64(borrowed*float64(p)/float64(s.size.parts) + 0.5)
		near := float64(n) * s.size.near
		if r.serves() {
			g.Held += int64(near)
			g.Parts += int(float64(n)*s.size.nearParts + 0.5)
		} else {
			g.Borrowed = int64(near)
		}
		if g.Held += g.Free + g.Lent; g.Parts > 0 {
			g.Lanes = s.f.Nodes[i].Lanes
		}
		s.buf = append(s.buf, g)
	}
	return s.buf
}

// judge computes the time of a dealing, and reports whether there is memory for it.
func (s *searcher) judge(d *dealing) bool {
	groups := s.groups(d)
	s.left -= len(groups)
	p := s.model.Likely(groups)
	d.seconds, s.limit = p.Epoch.Value, p.Limit
	return s.model.CheckMemory(groups) == nil && s.counts(d).within(s.ask, s.f)
}

// counts returns the nodes with each role, by what they have.
func (s *searcher) counts(d *dealing) (c Counts) {
	for i, r := range d.roles {
		c.add(s.used(d, i, r), 1)
	}
	return c
}

// used returns the role of a node by what it has. A server without partitions is not used, unless its role is fixed.
func (s *searcher) used(d *dealing, i int, r Role) Role {
	if s.list[i].fixed {
		return s.list[i].role
	}
	serves := d.parts[i] > 0 || r == Both && s.size.near > 0 && d.splits[i] > 0
	switch {
	case d.splits[i] > 0 && serves:
		return Both
	case d.splits[i] > 0:
		return Worker
	case serves:
		return Server
	}
	return Unused
}

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
		s.dealSplits(d, workers, s.dealParts(d, servers))
	}
	return d
}

// dealParts gives each partition to the server that then needs the least time, and returns the seconds of the slowest
// server for pulls, pushes and changes.
func (s *searcher) dealParts(d *dealing, servers []int) (slowest [4]float64) {
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
	for _, i := range servers {
		for kind, t := range of(i) {
			slowest[kind] = max(slowest[kind], t*float64(d.parts[i]))
		}
	}
	return slowest
}

// dealSplits gives each split to the worker that then takes the least time.
func (s *searcher) dealSplits(d *dealing, workers []int, server [4]float64) {
	takes := func(i int) float64 {
		if d.splits[i] == len(s.f.Splits) {
			return math.Inf(1)
		}
		c := class{slots: s.f.Nodes[i].Slots, speed: s.model.Speed(i)}
		return s.bound.seconds(&c, d.splits[i]+1, server)
	}
	times := make([]float64, len(workers)) // with a split more
	for j, i := range workers {
		d.splits[i] = 1
		times[j] = takes(i)
	}
	for left := len(s.f.Splits) - len(workers); left > 0; left-- {
		at := 0
		for j := range times {
			if times[j] < times[at] {
				at = j
			}
		}
		d.splits[workers[at]]++
		times[at] = takes(workers[at])
	}
}

// improve moves splits and partitions one by one, as long as that makes the epoch shorter: first those of the node that
// limits, then those of any, then one of each at once. It stops when so many loads are left.
func (s *searcher) improve(d *dealing, until int) {
	s.judge(d)
	for s.left > max(until, 0) {
		limit := s.at[s.limit.Node]
		if !s.move(d, func(i int) bool { return i == limit }) && !s.move(d, nil) && !s.exchange(d, limit) {
			return
		}
	}
}

// transfer is a split, or a partition, that goes from one node to another.
type transfer struct {
	split    bool
	from, to int
}

func (d *dealing) apply(t transfer, by int) {
	list := d.parts
	if t.split {
		list = d.splits
	}
	list[t.from] -= by
	list[t.to] += by
}

// keeps returns how many splits a worker keeps at least: none if it may serve instead, and any number of workers is
// allowed. Otherwise, numbers of workers are chosen elsewhere.
func (s *searcher) keeps(d *dealing, i int) int {
	if d.roles[i] == Both && !s.list[i].fixed && s.ask.Workers == (Bounds{}) {
		return 0
	}
	return 1
}

// transfers calls a function for each transfer of a split, or of a partition, between nodes that may have them. Nodes
// of one kind with the same parts are as good as each other, so that one of them is enough.
func (s *searcher) transfers(d *dealing, split bool, from func(int) bool, visit func(transfer)) {
	list := d.parts
	if split {
		list = d.splits
	}
	seen := map[[4]int]bool{}
	for i := range list {
		if list[i] == 0 || split && list[i] <= s.keeps(d, i) || split && s.f.Stays != "" || from != nil && !from(i) {
			continue
		}
		for j, r := range d.roles {
			if j == i || split && !r.works() || !split && !r.serves() {
				continue
			}
			key := [4]int{i, s.kind[j], d.splits[j], d.parts[j]}
			if key[1] >= 0 && len(s.f.Pairs) == 0 && seen[key] {
				continue
			}
			seen[key] = true
			visit(transfer{split, i, j})
		}
	}
}

// move makes the best transfer from some nodes, or from all, if it makes the epoch shorter.
func (s *searcher) move(d *dealing, from func(int) bool) bool {
	return s.best(d, func(try func(...transfer)) {
		for _, split := range []bool{true, false} {
			s.transfers(d, split, from, func(t transfer) { try(t) })
		}
	})
}

// exchange makes the best pair of transfers, a split and a partition, such that one of them concerns the node.
func (s *searcher) exchange(d *dealing, node int) bool {
	return s.best(d, func(try func(...transfer)) {
		s.transfers(d, true, nil, func(one transfer) {
			near := func(i int) bool { return i == one.from || i == one.to || i == node }
			d.apply(one, 1)
			var list []transfer
			s.transfers(d, false, near, func(two transfer) { list = append(list, two) })
			d.apply(one, -1)
			for _, two := range list {
				try(one, two)
			}
		})
	})
}

// best makes the best of the changes that are tried, if it makes the epoch shorter.
func (s *searcher) best(d *dealing, each func(try func(...transfer))) bool {
	kept, limit := d.seconds, s.limit
	best := kept * (1 - same)
	var change []transfer
	each(func(list ...transfer) {
		for _, t := range list {
			d.apply(t, 1)
		}
		if s.left > 0 && s.judge(d) && d.seconds < best {
			best, limit, change = d.seconds, s.limit, slices.Clone(list)
		}
		for _, t := range list {
			d.apply(t, -1)
		}
	})
	d.seconds, s.limit = kept, limit
	for _, t := range change {
		d.apply(t, 1)
		d.seconds = best
	}
	return change != nil
}
