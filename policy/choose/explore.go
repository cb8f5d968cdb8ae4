package choose

import (
	"cmp"
	"slices"
)

// countLoads bounds the improving of one dealing: so many loads of nodes are judged.
const countLoads = 40_000

// poolMost is how many dealings are kept to be improved.
const poolMost = 12

// keep keeps a dealing to be improved, if it is among the best ones.
func (s *searcher) keep(d *dealing) {
	faster := func(a *dealing, t float64) int { return cmp.Compare(a.seconds, t) }
	at, found := slices.BinarySearchFunc(s.pool, d.seconds, faster)
	if !found && at < poolMost {
		e := d.clone()
		s.pool = slices.Insert(s.pool, at, &e)
		s.pool = s.pool[:min(len(s.pool), poolMost)]
	}
}

// polish improves the dealings that were kept, those with the least time first: all of them roughly, then part by part.
func (s *searcher) polish(better func(*dealing) bool) {
	for i, kept := 0, s.left/3; i < len(s.pool) && s.left > kept; i++ {
		s.ease(s.pool[i], max(kept, s.left-countLoads))
		better(s.pool[i])
	}
	slices.SortStableFunc(s.pool, func(a, b *dealing) int { return cmp.Compare(a.seconds, b.seconds) })
	for i := 0; i < len(s.pool) && s.left > 0; i++ {
		s.improve(s.pool[i], s.left-countLoads)
		better(s.pool[i])
	}
}
