package choose

import (
	"math"
	"slices"

	"bellows"
	"bellows/policy/choose/bound"
	"bellows/policy/cost"
	"bellows/policy/gauge"
)

// dealing is how many splits and partitions each node gets, by its place. A node with splits works, and one with
// partitions serves.
type dealing struct {
	roles         []Role
	splits, parts []int
	seconds       float64
	fits          bool // there is memory for it, and it is within what is asked
}

func (d *dealing) clone() dealing {
	return dealing{d.roles, slices.Clone(d.splits), slices.Clone(d.parts), d.seconds, d.fits}
}

// searcher finds the best dealing over machines that are not alike. Cruise gives the problem to a commercial solver
// (§III.C, Fig. 3). Here package bound finds a bound and dealings that come close to it, by kind of machine. The best
// ones are improved part by part.
type searcher struct {
	f     *gauge.Figures
	ask   *Ask
	model *cost.Model
	list  []place
	kinds [][]int // nodes with a role that is free, by kind of machine
	kind  []int   // of each node, or -1
	at    map[bellows.NodeID]int
	size  sizes
	bound *bound.Bounder
	limit cost.Limit
	left  int // loads that may still be judged
	buf   []cost.Group
	pool  []*dealing // to improve, the fastest first
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
	s.bound = bound.New(f, s.model)
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

// working returns the seconds in which a worker computes and waits, with so many splits and partitions, if the slowest
// servers need so long.
func (s *searcher) working(i, splits, parts int, server [3]float64) float64 {
	v := s.model.Speed(i)
	pull, push, applied := s.model.Waits()
	pulled, pushed, _ := s.model.Traffic(splits)
	rest := 1 - float64(parts)/float64(s.size.parts)
	compute := math.Ceil(float64(splits)/float64(s.f.Nodes[i].Slots)) * v.Split
	return compute + pull*max(server[0], pulled*rest/v.In) + push*max(server[1], pushed*rest/v.Out) + applied*server[2]
}
