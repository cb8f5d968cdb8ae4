package choose

import "bellows/policy/choose/bound"

// classes returns the machines by kind, and then those with a fixed role.
func (s *searcher) classes(together bool) []bound.Class {
	var list []bound.Class
	for _, nodes := range s.kinds {
		p, c := &s.list[nodes[0]], s.bestOf(nodes)
		if c.Serves, c.Both = p.serve, p.serve && together; p.work {
			c.High = len(nodes)
		}
		list = append(list, c)
	}
	for i := range s.list {
		if p := &s.list[i]; p.fixed && p.role != Unused {
			c := s.bestOf([]int{i})
			c.Serves, c.Both, c.Idle = p.role == Server, p.role == Both, true
			if p.role.works() {
				c.Low, c.High = 1, 1
			}
			list = append(list, c)
		}
	}
	return list
}

// bestOf returns the class of some machines, with the best figures of any of them.
func (s *searcher) bestOf(nodes []int) bound.Class {
	var c bound.Class
	for j, i := range nodes {
		n, v := &s.f.Nodes[i], s.model.Speed(i)
		if j == 0 {
			c = bound.Class{Count: len(nodes), Slots: n.Slots, Lanes: n.Lanes, Speed: v}
		}
		c.Slots, c.Lanes = max(c.Slots, n.Slots), max(c.Lanes, n.Lanes)
		c.Speed.Split, c.Speed.Row = min(c.Speed.Split, v.Split), min(c.Speed.Row, v.Row)
		c.Speed.In, c.Speed.Out = max(c.Speed.In, v.In), max(c.Speed.Out, v.Out)
	}
	return c
}

// prove returns a time that no shape can beat. found is called with dealings that may be better than most, and returns
// the best time so far. If it is nil, only the bound is wanted.
func (s *searcher) prove(most float64, found func(*dealing) float64) float64 {
	epoch := float64(s.f.Clocks.Epoch)
	b := bound.Search{
		Classes: s.classes(!s.ask.Apart), Workers: [2]int{s.ask.Workers.Low, s.ask.Workers.High},
		Most: most / epoch, Work: s.left * workEach,
	}
	if found != nil {
		b.Found = func(list []bound.Deal) float64 { return found(s.dealt(list)) / epoch }
	}
	least, left := s.bound.Prove(b)
	s.left = left / workEach
	return least * epoch
}

// workEach is how much work of a bound takes the time in which a load is judged.
const workEach = 16

// dealt returns a dealing of what machines of each class get.
func (s *searcher) dealt(list []bound.Deal) *dealing {
	d := &dealing{roles: make([]Role, len(s.list)), splits: make([]int, len(s.list)), parts: make([]int, len(s.list))}
	var fixed []int
	for i := range s.list {
		if p := &s.list[i]; p.fixed && p.role != Unused {
			fixed = append(fixed, i)
		}
	}
	at := make([]int, len(s.kinds))
	room := make([]float64, len(s.list))
	all := 0.0
	for _, m := range list {
		var i int
		if m.Class < len(s.kinds) {
			i = s.kinds[m.Class][at[m.Class]]
			at[m.Class]++
		} else {
			i = fixed[m.Class-len(s.kinds)]
		}
		d.splits[i], room[i] = m.Splits, m.Parts
		all += m.Parts
		switch p := &s.list[i]; {
		case p.fixed:
			d.roles[i] = p.role
		case p.work && p.serve && !s.ask.Apart:
			d.roles[i] = Both
		case m.Splits > 0:
			d.roles[i] = Worker
		case p.serve:
			d.roles[i] = Server
		}
	}
	if s.f.Stays != "" {
		s.stay(d)
	}
	left, carried := s.size.parts, 0.0
	for i := range room {
		carried += room[i] / all * float64(s.size.parts)
		if n := min(left, int(carried+0.5)); d.roles[i].serves() {
			d.parts[i] = n
			carried -= float64(n)
			left -= n
		}
	}
	return d
}
