package bound

import (
	"cmp"
	"math"
	"slices"
)

// mostSplits returns how many splits a worker can run at most.
func (b *Bounder) mostSplits(c *Class, t float64, server [4]float64) int {
	low, high := 0, b.splits
	for low < high {
		mid := (low + high + 1) / 2
		if b.seconds(c, mid, server) <= t*(1+same) {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}

// seconds returns the least seconds of a clock of a worker with so many splits. One that also serves may hold a share
// of what it pulls itself.
func (b *Bounder) seconds(c *Class, splits int, server [4]float64) float64 {
	compute := math.Ceil(float64(splits)/float64(c.Slots)) * c.Speed.Split
	var in, out float64
	if splits > 0 {
		pulled, pushed, _ := b.model.Traffic(splits)
		in, out = pulled/c.Speed.In, pushed/c.Speed.Out
	}
	if c.Serves {
		in, out = in*(1-c.share), out*(1-c.share)
	}
	wait := b.pull*max(in, server[0]) + b.push*max(out, server[1]) + b.applied*server[2]
	wait = max(wait, server[3])
	if !b.coarse && server[3] > 0 {
		for i := range b.mixed {
			for j, least := range b.mixed[i] {
				wait = max(wait, (b.pull*in*float64(weights-i)+b.push*out*float64(weights-j))/weights+least)
			}
		}
	}
	return max(compute+wait, in, out)
}

// totals returns the least that all workers pull, push and change in a clock. A curve that bends downwards is least at
// the ends: as many workers as can be have the most splits, the others one. Otherwise no worker has less for a split
// than one with the most splits.
func (b *Bounder) totals() (all [3]float64) {
	slices.SortFunc(b.order, func(i, j int) int { return cmp.Compare(b.classes[j].most, b.classes[i].most) })
	workers, least := 0, 0 // the least splits of a worker
	if b.alone {
		least = 1
	}
	for _, i := range b.order {
		workers += b.classes[i].Count
	}
	add := func(splits int, times float64) {
		var of [3]float64
		of[0], of[1], of[2] = b.model.Traffic(splits)
		for i := range all {
			all[i] += times * of[i]
		}
	}
	if !b.concave {
		most := b.classes[b.order[0]].most
		add(most, float64(b.splits)/float64(most))
		return all
	}
	left := b.splits - workers*least
	for _, i := range b.order {
		c := &b.classes[i]
		full := c.Count
		if c.most > least {
			full = min(c.Count, left/(c.most-least))
		}
		add(c.most, float64(full))
		left -= full * (c.most - least)
		if rest := c.Count - full; rest > 0 {
			add(least+left, 1)
			add(least, float64(rest-1))
			left = 0
		}
	}
	return all
}
