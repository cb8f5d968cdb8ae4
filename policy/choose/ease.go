package choose

import "math"

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
	pull, push, applied := s.model.Waits()
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
		v := s.model.Speed(i)
		pulled, pushed, _ := s.model.Traffic(n)
		rest := 1 - float64(d.parts[i])/float64(s.size.parts)
		compute := math.Ceil(float64(n)/float64(s.f.Nodes[i].Slots)) * v.Split
		wait := pull*max(server[0], pulled*rest/v.In) + push*max(server[1], pushed*rest/v.Out) + applied*server[2]
		sum += power((compute + wait) / unit)
	}
	return root(sum)
}

// demand returns what all workers pull, push and change.
func (s *searcher) demand(d *dealing) (all [3]float64) {
	for _, n := range d.splits {
		if n > 0 {
			pulled, pushed, rows := s.model.Traffic(n)
			all[0], all[1], all[2] = all[0]+pulled, all[1]+pushed, all[2]+rows
		}
	}
	return all
}

// busy returns the seconds in which a node does its work, with so many splits and partitions.
func (s *searcher) busy(i, splits, parts int, all [3]float64) float64 {
	v, n := s.model.Speed(i), &s.f.Nodes[i]
	share := float64(parts) / float64(s.size.parts)
	var pulled, pushed float64
	if splits > 0 {
		pulled, pushed, _ = s.model.Traffic(splits)
	}
	return max((float64(splits)*v.Split+all[2]*share*v.Row)/float64(max(n.Slots, n.Lanes, 1)),
		(pulled*(1-share)+(all[1]-pushed)*share)/v.In, (pushed*(1-share)+(all[0]-pulled)*share)/v.Out)
}

// serving returns the seconds of pulls, pushes and changes of a server.
func (s *searcher) serving(i, splits, parts int, all [3]float64) [3]float64 {
	v, lanes := s.model.Speed(i), float64(s.f.Nodes[i].Lanes)
	share := 1 / float64(s.size.parts)
	var pulled, pushed float64
	if splits > 0 {
		pulled, pushed, _ = s.model.Traffic(splits)
	}
	n := float64(parts) * share
	return [3]float64{(all[0] - pulled) * n / v.Out, (all[1] - pushed) * n / v.In,
		all[2] * math.Ceil(float64(parts)/lanes) * share * v.Row}
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
