package choose

import (
	"cmp"
	"slices"

	"bellows"
	"bellows/policy/cost"
	"bellows/policy/gauge"
	"bellows/policy/shape"
)

// stepsMost bounds the search by work, since a rule reads no clock: so many numbers of workers are looked at. After
// them the answer is the best one so far, with a bound that holds for all shapes.
const stepsMost = 100_000

// loadsMost bounds the part of the search that deals and improves: so many loads of nodes are judged.
const loadsMost = 300_000

// rowsMost is how many numbers of workers have a row, if there are more nodes.
const rowsMost = 128

// findUnlike finds the best shape of machines that are not alike.
func findUnlike(f *gauge.Figures, ask Ask, list []place) (*Choice, error) {
	s := newSearcher(f, &ask, list)
	c := &Choice{}
	var best *dealing
	var tried []Row
	byRow := map[Counts]cost.Prediction{}
	better := func(d *dealing) bool {
		if d == nil {
			return false
		}
		fits := s.judge(d)
		counts := s.counts(d)
		if !counts.within(&ask, f) {
			return false
		}
		if _, seen := byRow[counts]; !seen {
			p := s.model.Predict(s.groups(d))
			byRow[counts] = p
			tried = append(tried, Row{Counts: counts, Seconds: d.seconds, Memory: s.model.CheckMemory(s.groups(d))})
		}
		if !fits || best != nil && d.seconds >= best.seconds*(1-same) {
			return false
		}
		best = d
		return true
	}
	for _, together := range families(ask) {
		start := best
		var at []int
		for _, workers := range s.lines() {
			if better(s.deal(s.assign(workers, together))) {
				at = workers
			}
		}
		if best == start || at == nil {
			continue
		}
		s.climb(at, together, better)
	}
	if best == nil {
		return nil, refuse(tried)
	}
	improved := best.clone()
	if s.improve(&improved); improved.seconds < best.seconds {
		best = &improved
	}
	bound := s.prove(families(ask), best.seconds, func(workers []int, together bool) float64 {
		if s.left <= 0 {
			return best.seconds
		}
		roles := s.assign(workers, together)
		starts := []*dealing{s.deal(roles)}
		if together { // once more from shares in which workers serve nothing
			starts = append(starts, s.deal(s.assign(workers, false)))
		}
		for _, d := range starts {
			if d != nil {
				d.roles = roles
				s.improve(d)
				better(d)
			}
		}
		return best.seconds
	})
	slices.SortFunc(tried, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Both, b.Both), cmp.Compare(a.works(), b.works()))
	})
	c.Rows, c.Bound = tried, bound
	c.predict = func(c Counts) cost.Prediction { return byRow[c] }
	return c, s.realize(c, best)
}

// realize deals the parts as they were found to be best.
func (s *searcher) realize(c *Choice, d *dealing) error {
	shares := shape.Shares{Splits: map[bellows.NodeID]int{}, Partitions: map[bellows.NodeID]int{}}
	roles := make([]Role, len(d.roles))
	for i, r := range d.roles {
		roles[i] = s.used(d, i, r)
		shares.Splits[s.f.Nodes[i].ID], shares.Partitions[s.f.Nodes[i].ID] = d.splits[i], d.parts[i]
	}
	now := shape.Snapshot{Job: s.f.Job(), Shape: s.f.Shape()}
	decision, err := shape.DealShares(now, nodesOf(s.f, roles), shares)
	if err != nil {
		return err
	}
	c.Counts, c.Shape = s.counts(d), decision.Shape
	groups := s.model.Loads(&c.Shape)
	c.Prediction = s.model.Predict(groups)
	return s.model.CheckMemory(groups)
}

// lines returns numbers of workers by kind for each number in all: nodes that compute fast and send slowly work first.
func (s *searcher) lines() (all [][]int) {
	order := []int{}
	for k := range s.kinds {
		order = append(order, k)
	}
	score := func(k int) float64 {
		i := s.kinds[k][0]
		v := s.model.Speed(i)
		return v.Split / float64(max(1, s.f.Nodes[i].Slots)) * min(v.Out, v.In, 1e15)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(score(a), score(b)) })
	total := 0
	for _, nodes := range s.kinds {
		total += len(nodes)
	}
	for w := 0; w <= total; w += 1 + total/rowsMost {
		workers, left := make([]int, len(s.kinds)), w
		for _, k := range order {
			workers[k] = min(left, len(s.kinds[k]))
			left -= workers[k]
		}
		all = append(all, workers)
	}
	return all
}

// climb changes numbers of workers by one, or moves one to another kind, as long as that is better.
func (s *searcher) climb(at []int, together bool, better func(*dealing) bool) {
	for moved := true; moved; {
		moved = false
		for a := -1; a < len(at); a++ {
			for b := -1; b < len(at); b++ {
				next := slices.Clone(at)
				if a == b || a >= 0 && at[a] == 0 || b >= 0 && at[b] == len(s.kinds[b]) {
					continue
				}
				if a >= 0 {
					next[a]--
				}
				if b >= 0 {
					next[b]++
				}
				if better(s.deal(s.assign(next, together))) {
					at, moved = next, true
				}
			}
		}
	}
}

// prove returns a time that no shape can beat, by looking at all numbers of workers. found deals one that may be better
// than most, and returns the best time so far.
func (s *searcher) prove(families []bool, most float64, found func([]int, bool) float64) float64 {
	epoch := float64(s.f.Clocks.Epoch)
	least, steps := most, 0
	for _, together := range families {
		workers := make([]int, len(s.kinds))
		for {
			if c := s.classes(workers, together); c != nil {
				if steps++; steps > stepsMost {
					return min(least, s.relaxed(most))
				}
				if s.bound.below(c, most/epoch*(1-same)) {
					most = min(most, found(workers, together))
				}
				if least = min(least, most); s.bound.below(c, least/epoch*(1-same)) {
					least = min(least, s.bound.least(c, least/epoch)*epoch)
				}
			}
			if !next(workers, s.kinds) {
				break
			}
		}
	}
	return least
}

// next counts up numbers of workers, and reports false after the last ones.
func next(workers []int, kinds [][]int) bool {
	for k := range workers {
		if workers[k]++; workers[k] <= len(kinds[k]) {
			return true
		}
		workers[k] = 0
	}
	return false
}

// relaxed returns a time that no shape can beat, without regard to numbers: each node may work and serve, and all of a
// model is pulled but by one.
func (s *searcher) relaxed(most float64) float64 {
	capacity := 0.0
	for i := range s.list {
		if p := &s.list[i]; p.work || p.fixed && p.role.works() {
			n := &s.f.Nodes[i]
			capacity += float64(n.Slots) / s.model.Speed(i).Split
		}
	}
	if capacity == 0 {
		return 0
	}
	return min(most, float64(len(s.f.Splits))/capacity*float64(s.f.Clocks.Epoch))
}

// classes returns the machines of numbers of workers, or nothing if these cannot be.
func (s *searcher) classes(workers []int, together bool) []class {
	var list []class
	works := 0
	for k, nodes := range s.kinds {
		p := &s.list[nodes[0]]
		if workers[k] > 0 && !p.work {
			return nil
		}
		works += workers[k]
		best := s.bestOf(nodes)
		w, o := best, best
		w.count, w.work, w.serve = workers[k], true, together && p.serve
		o.count, o.serve = len(nodes)-workers[k], p.serve
		list = append(list, w, o)
	}
	for i := range s.list {
		if p := &s.list[i]; p.fixed && p.role != Unused {
			c := s.bestOf([]int{i})
			c.count, c.work, c.serve = 1, p.role.works(), p.role.serves()
			list = append(list, c)
			if c.work {
				works++
			}
		}
	}
	serves := 0
	for i := range list {
		if list[i].serve {
			serves += list[i].count
		}
	}
	if works == 0 || works > len(s.f.Splits) || !s.ask.Workers.allows(works) || serves < max(1, s.ask.Servers.Low) {
		return nil
	}
	return list
}

// bestOf returns a machine with the best figures of some.
func (s *searcher) bestOf(nodes []int) class {
	var c class
	for j, i := range nodes {
		n, v := &s.f.Nodes[i], s.model.Speed(i)
		if j == 0 {
			c = class{slots: n.Slots, lanes: n.Lanes, speed: v}
		}
		c.slots, c.lanes = max(c.slots, n.Slots), max(c.lanes, n.Lanes)
		c.speed.Split, c.speed.Row = min(c.speed.Split, v.Split), min(c.speed.Row, v.Row)
		c.speed.In, c.speed.Out = max(c.speed.In, v.In), max(c.speed.Out, v.Out)
	}
	return c
}
