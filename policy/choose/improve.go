package choose

import (
	"math"
	"slices"
)

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

// ease moves splits and partitions as long as the strain becomes less: one from a node to another one, or one from each
// node with the same load to nodes with another load.
func (s *searcher) ease(d *dealing, until int) {
	least := s.strain(d)
	for s.left > max(until, 0) {
		best, change := least*(1-1e-6), []transfer(nil)
		try := func(list []transfer) {
			for _, t := range list {
				d.apply(t, 1)
			}
			if now := s.strain(d); now < best {
				best, change = now, list
			}
			for _, t := range list {
				d.apply(t, -1)
			}
		}
		groups := s.groupsOf(d)
		for _, split := range []bool{true, false} {
			for _, from := range groups {
				for _, to := range groups {
					list := s.between(d, split, from, to)
					if s.left <= 0 || len(list) == 0 {
						continue
					}
					if try(list[:1]); len(list) > 1 {
						try(list)
					}
				}
			}
		}
		if change == nil {
			return
		}
		for _, t := range change {
			d.apply(t, 1)
		}
		least = best
	}
}

// groupsOf returns the nodes by kind, role and load.
func (s *searcher) groupsOf(d *dealing) (groups [][]int) {
	at := map[[4]int]int{}
	for i, r := range d.roles {
		if r == Unused {
			continue
		}
		key := [4]int{s.kind[i], d.splits[i], d.parts[i], int(r)}
		if s.kind[i] < 0 || len(s.f.Pairs) > 0 {
			key = [4]int{-1 - i}
		}
		g, found := at[key]
		if !found {
			g = len(groups)
			at[key], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// between returns transfers from each node of a group to one of another group.
func (s *searcher) between(d *dealing, split bool, from, to []int) (list []transfer) {
	i, j := from[0], to[0]
	if i == j {
		if len(to) == 1 {
			return nil
		}
		j, from = to[1], from[:1]
		to = to[1:]
	}
	if split && (d.splits[i] <= s.keeps(d, i) || !d.roles[j].works() || s.f.Stays != "") ||
		!split && (d.parts[i] == 0 || !d.roles[j].serves()) {
		return nil
	}
	for k := range min(len(from), len(to)) {
		list = append(list, transfer{split, from[k], to[k]})
	}
	return list
}

// strain returns a measure of a dealing that is more if any node needs longer, most of all the slowest ones. The
// seconds of an epoch are those of the slowest node alone: often no single part that moves makes them less.
func (s *searcher) strain(d *dealing) float64 {
	unit := max(1e-30, d.seconds) / float64(s.f.Clocks.Epoch) // so that powers are in range
	all := s.demand(d)
	var server [3]float64
	s.left -= (len(d.roles) + 1) / 2 // it takes less time than what judge does
	for i, n := range d.parts {
		if n > 0 {
			for kind, t := range s.serving(i, d.splits[i], n, all) {
				server[kind] += power(t / unit)
			}
		}
	}
	for kind := range server {
		server[kind] = unit * root(server[kind])
	}
	sum := 0.0
	for i, n := range d.splits {
		if n+d.parts[i] == 0 {
			continue
		}
		sum += power(s.busy(i, n, d.parts[i], all) / unit)
		if n == 0 {
			continue
		}
		sum += power(s.working(i, n, d.parts[i], server) / unit)
	}
	return root(sum)
}

// power returns the 32nd power of a time, and root its inverse.
func power(t float64) float64 {
	for range 5 {
		t *= t
	}
	return t
}

func root(t float64) float64 {
	for range 5 {
		t = math.Sqrt(t)
	}
	return t
}
