package bound

import (
	"cmp"
	"slices"
)

// totals returns the least that all workers pull, push and change in a clock. A curve that bends downwards is least if
// splits are as uneven as they can be: each machine, the most able first, runs as many as it can, but
// for one split of each machine that must work. Otherwise no worker has less for a split than one with the most.
func (b *Bounder) totals(x *box) (all [3]float64) {
	slices.SortStableFunc(b.order, func(i, j int) int {
		return cmp.Compare(b.capacities[j].splits, b.capacities[i].splits)
	})
	add := func(splits int, times int) {
		for kind := range all {
			all[kind] += float64(times) * b.traffic[kind][splits]
		}
	}
	if most := b.capacities[b.order[0]].splits; !b.concave {
		add(most, 1)
		for kind := range all {
			all[kind] *= float64(b.splits) / float64(most)
		}
		return all
	}
	others := 0 // that run a split at least
	for i := range b.classes {
		if !b.classes[i].Idle {
			others += x.low[i]
		}
	}
	left := b.splits
	last, times := 0, 0
	for _, i := range b.order {
		for range x.high[i] {
			others--
			n := min(b.capacities[i].splits, left-max(0, others))
			if n <= 0 {
				break
			}
			left -= n
			if n != last {
				add(last, times)
				last, times = n, 0
			}
			times++
		}
		b.work += x.high[i] / 16
	}
	add(last, times)
	return all
}
