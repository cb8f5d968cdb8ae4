package plan

import (
	"cmp"
	"slices"

	"bellows"
)

// Within orders the moves from a node that will be gone soon, whether it can be emptied or not: first parts without a
// copy elsewhere, whose loss costs the job most, then the rest, each the largest first (AgileML, thesis §4.2.3: a
// warning is minutes long, or seconds). It keeps the moves that fit into so many bytes; the others are left. copied
// reports whether the part that a step moves also exists elsewhere. Other steps stay, after the steps that they wait
// for. A node that keeps something is not deleted: it is gone when its time is up.
func Within(p Plan, leaves bellows.NodeID, bytes int64, copied func(*Step) bool) (fits Plan, left []Step) {
	urgent := func(s *Step) bool { return s.Kind == Move && s.From.Node == leaves && s.Node != leaves }
	var list []int // of the urgent, in their order
	for i := range p.Steps {
		if urgent(&p.Steps[i]) {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int {
		x, y := &p.Steps[a], &p.Steps[b]
		return cmp.Or(rank(copied(x))-rank(copied(y)), largest(*x, *y))
	})
	at := make(map[int]int, len(p.Steps)) // where a step has gone
	keep := func(i int) {
		s := p.Steps[i]
		s.After = nil
		for _, j := range p.Steps[i].After {
			if to, kept := at[j]; kept {
				s.After = append(s.After, to)
			}
		}
		at[i] = len(fits.Steps)
		fits.Steps = append(fits.Steps, s)
	}
	for i := range p.Steps { // what the urgent wait for
		if s := &p.Steps[i]; s.Kind == Add || s.Kind == Switch && slices.ContainsFunc(list, func(j int) bool { return slices.Contains(p.Steps[j].After, i) }) {
			keep(i)
		}
	}
	for _, i := range list {
		if s := &p.Steps[i]; s.Bytes <= bytes {
			bytes -= s.Bytes
			keep(i)
		} else {
			left = append(left, *s)
		}
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		if _, kept := at[i]; kept || urgent(s) || s.Kind == Delete && s.Node == leaves && len(left) > 0 {
			continue
		}
		keep(i)
	}
	return fits, left
}

func rank(copied bool) int {
	if copied {
		return 1
	}
	return 0
}
