package choose

import (
	"cmp"
	"slices"

	"bellows"
	"bellows/policy/cost"
	"bellows/policy/gauge"
	"bellows/policy/shape"
)

// loadsMost bounds the search by work, since a rule reads no clock: so many loads of nodes are judged. After them the
// answer is the best one so far, with a bound that holds for all shapes.
const loadsMost = 1_000_000

// rowsMost is how many numbers of workers have a row, if there are more nodes.
const rowsMost = 128

// findUnlike finds the best shape of machines that are not alike.
func findUnlike(f *gauge.Figures, ask Ask, list []place) (*Choice, error) {
	s := newSearcher(f, &ask, list)
	c := &Choice{}
	var best *dealing
	rows := map[Counts]dealing{} // the best one of all numbers that were tried
	better := func(d *dealing) bool {
		if d == nil {
			return false
		}
		d.fits = s.judge(d)
		counts := s.counts(d)
		if !counts.within(&ask, f) {
			return false
		}
		of, seen := rows[counts]
		if faster := d.seconds < of.seconds; !seen || d.fits && !of.fits || d.fits == of.fits && faster {
			rows[counts] = d.clone()
		}
		if !d.fits || best != nil && d.seconds >= best.seconds*(1-same) {
			return false
		}
		e := d.clone()
		best = &e
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
		return nil, refuse(s.rows(rows))
	}
	kept := s.left / 2 // for improving
	if ask.Apart {
		kept = s.left / 4 // the bound takes more, and improving gains less
	}
	s.left -= kept
	least := s.prove(best.seconds, func(d *dealing) float64 {
		better(d)
		s.keep(d)
		return best.seconds
	})
	s.left = max(0, s.left) + kept
	s.keep(best)
	s.polish(better)
	c.Rows, c.Bound = s.rows(rows), least
	c.predict = func(c Counts) cost.Prediction {
		d := rows[c]
		return s.model.Predict(s.groups(&d))
	}
	return c, s.realize(c, best)
}

// rows returns what is expected of numbers of nodes, by the best dealing of each.
func (s *searcher) rows(of map[Counts]dealing) (rows []Row) {
	for counts, d := range of {
		rows = append(rows, Row{Counts: counts, Seconds: d.seconds, Memory: s.model.CheckMemory(s.groups(&d))})
	}
	slices.SortFunc(rows, func(a, b Row) int {
		workers := cmp.Compare(a.works(), b.works())
		return cmp.Or(cmp.Compare(a.Both, b.Both), workers, cmp.Compare(a.serves(), b.serves()))
	})
	return rows
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
