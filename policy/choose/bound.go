package choose

import (
	"cmp"
	"math"
	"slices"

	"bellows/core/planted"
	"bellows/policy/cost"
	"bellows/policy/gauge"
)

// class is machines that are taken as alike, with the best figures of any of them, and what they do.
type class struct {
	count       int
	work, serve bool
	slots       int
	lanes       int
	speed       cost.Speed
	most        int // splits that one of them can run in the time at hand
}

// bounder finds a time that no shape can beat. It takes from the cost model what holds for every dealing of parts: at a
// time T each worker can run so many splits at most, and servers need so long at least for what these pull and push.
// Memory, pairs of nodes and parts near splits are left out: they only add to a cost.
type bounder struct {
	model               *cost.Model
	splits              int
	unit                float64 // the share of the model that a partition has; 0: they are not alike
	concave             bool    // of the traffic, as a function of splits
	pull, push, applied float64 // shares that compute does not hide
	classes             []class
	coarse              bool  // partitions may be cut
	order               []int // of the classes that work, the one with the most splits first
}

func newBounder(f *gauge.Figures, model *cost.Model) *bounder {
	b := &bounder{model: model, splits: len(f.Splits), concave: true}
	b.pull, b.push, b.applied = model.Waits()
	var size int64 = -1
	parts := 0
	for i := range f.Partitions {
		p := &f.Partitions[i]
		if p.Near != nil {
			continue
		}
		if parts++; parts > 1 && size != p.Bytes {
			size = -1
			parts = math.MinInt32
		}
		if parts > 0 {
			size = p.Bytes
		}
	}
	if parts > 0 {
		b.unit = 1 / float64(parts)
	}
	var last, step [3]float64
	for n := 1; n <= b.splits; n++ {
		var now [3]float64
		now[0], now[1], now[2] = model.Traffic(n)
		for i := range now {
			d := now[i] - last[i]
			if n > 1 && d > step[i]*(1+same)+same*now[i] {
				b.concave = false
			}
			last[i], step[i] = now[i], d
		}
	}
	return b
}

// least returns a time that no shape of the classes can beat, of an epoch of one clock. It looks below most: if nothing
// is below, it returns most.
func (b *bounder) least(classes []class, most float64) float64 {
	b.set(classes)
	if !b.feasible(most) {
		return most
	}
	low, high := 0.0, most
	for high-low > 1e-4*high {
		if mid := (low + high) / 2; b.feasible(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	if planted.On("bound-above-optimum") {
		return high * 1.1
	}
	return low
}

// below reports whether a shape of the classes may take less than a time.
func (b *bounder) below(classes []class, most float64) bool {
	b.set(classes)
	b.coarse = true
	may := b.feasible(most)
	b.coarse = false
	return may && b.feasible(most)
}

func (b *bounder) set(classes []class) {
	b.classes, b.order = classes, b.order[:0]
	for i := range classes {
		if classes[i].work && classes[i].count > 0 {
			b.order = append(b.order, i)
		}
	}
}

// feasible reports whether a clock of so many seconds is not ruled out.
func (b *bounder) feasible(t float64) bool {
	var server [4]float64 // least seconds for all pulls, all pushes, all changes, and what is not hidden of all three
	for range 3 {
		runs := 0
		for _, i := range b.order {
			c := &b.classes[i]
			c.most = b.mostSplits(c, t, server)
			if c.most == 0 {
				return false
			}
			runs += c.count * c.most
		}
		if runs < b.splits {
			return false
		}
		all := b.totals()
		next := b.servers(all)
		if max(next[0], next[1], b.slowest(4, all), b.busy(all)) > t*(1+same) {
			return false
		}
		if next == server {
			break
		}
		server = next
	}
	return true
}

// mostSplits returns how many splits a worker can run at most.
func (b *bounder) mostSplits(c *class, t float64, server [4]float64) int {
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

// seconds returns the least seconds of a clock of a worker with so many splits. One that also serves may hold all that
// it pulls itself.
func (b *bounder) seconds(c *class, splits int, server [4]float64) float64 {
	compute := math.Ceil(float64(splits)/float64(c.slots)) * c.speed.Split
	var in, out float64
	if !c.serve {
		pulled, pushed, _ := b.model.Traffic(splits)
		in, out = pulled/c.speed.In, pushed/c.speed.Out
	}
	wait := b.pull*max(in, server[0]) + b.push*max(out, server[1]) + b.applied*server[2]
	return max(compute+max(wait, server[3]), in, out)
}

// servers returns the least seconds that the slowest server needs for what workers pull, push and change.
func (b *bounder) servers(all [3]float64) (least [4]float64) {
	for kind := range least {
		least[kind] = b.slowest(kind, all)
	}
	return least
}

// totals returns the least that all workers pull, push and change in a clock. A curve that bends downwards is least at
// the ends: as many workers as can be have the most splits, the others one. Otherwise no worker has less for a split
// than one with the most splits.
func (b *bounder) totals() (all [3]float64) {
	slices.SortFunc(b.order, func(i, j int) int { return cmp.Compare(b.classes[j].most, b.classes[i].most) })
	workers := 0
	for _, i := range b.order {
		workers += b.classes[i].count
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
	left := b.splits - workers
	for _, i := range b.order {
		c := &b.classes[i]
		full := c.count
		if c.most > 1 {
			full = min(c.count, left/(c.most-1))
		}
		add(c.most, float64(full))
		left -= full * (c.most - 1)
		if rest := c.count - full; rest > 0 {
			add(1+left, 1)
			add(1, float64(rest-1))
			left = 0
		}
	}
	return all
}

// busy returns the least seconds in which links and processors together do their work. A node receives each byte and
// another one sends it, but for what the largest worker may hold itself.
func (b *bounder) busy(all [3]float64) float64 {
	var in, out, processors, own float64
	split, row := math.Inf(1), math.Inf(1)
	for i := range b.classes {
		c := &b.classes[i]
		if c.count == 0 || !c.work && !c.serve {
			continue
		}
		n := float64(c.count)
		in, out, processors = in+n*c.speed.In, out+n*c.speed.Out, processors+n*float64(max(c.slots, c.lanes))
		if c.work {
			split = min(split, c.speed.Split)
		}
		if c.serve {
			row = min(row, c.speed.Row)
		}
		if c.work && c.serve {
			pulled, pushed, _ := b.model.Traffic(c.most)
			own = max(own, pulled+pushed)
		}
	}
	bytes := all[0] + all[1] - own
	return max(bytes/in, bytes/out, (float64(b.splits)*split+all[2]*row)/processors)
}

// rate returns which share of the model a server serves in a second: of pulls (0), pushes (1), changes (2), of what is
// not hidden of all three (3), or of changes with all of its processors (4).
func (b *bounder) rate(c *class, kind int, all [3]float64) float64 {
	left := all
	if c.work { // it has its own part at hand
		pulled, pushed, _ := b.model.Traffic(c.most)
		left[0], left[1] = max(0, left[0]-pulled), max(0, left[1]-pushed)
	}
	seconds := [3]float64{left[0] / c.speed.Out, left[1] / c.speed.In, left[2] * c.speed.Row / float64(c.lanes)}
	switch {
	case kind < 3:
		return 1 / seconds[kind]
	case kind == 4:
		return float64(max(c.slots, c.lanes)) / (left[2] * c.speed.Row)
	}
	return 1 / (b.pull*seconds[0] + b.push*seconds[1] + b.applied*seconds[2])
}

// slowest returns the least seconds of the slowest server, by the kinds of rate. The sum of the three for the best
// shares of each is never above what all three take with one and the same shares (3).
func (b *bounder) slowest(kind int, all [3]float64) float64 {
	if kind < 3 && all[kind] == 0 || kind == 4 && all[2] == 0 {
		return 0
	}
	rate := func(c *class) float64 { return b.rate(c, kind, all) }
	sum := 0.0
	for i := range b.classes {
		if c := &b.classes[i]; c.serve && c.count > 0 {
			sum += float64(c.count) * rate(c)
		}
	}
	if sum == 0 {
		return math.Inf(1)
	}
	if math.IsInf(sum, 1) {
		return 0
	}
	least := 1 / sum
	if b.unit == 0 || b.coarse {
		return least
	}
	// Partitions are whole: the least time at which the servers have room for all of them.
	fits := func(t float64) bool {
		parts, want := 0.0, 1/b.unit
		for i := range b.classes {
			c := &b.classes[i]
			if !c.serve || c.count == 0 {
				continue
			}
			n := t * rate(c) / b.unit
			if kind == 2 { // each lane has whole partitions
				n = float64(c.lanes) * math.Floor(n/float64(c.lanes)+same)
			}
			parts += float64(c.count) * math.Floor(n+same)
		}
		return parts >= want-0.5
	}
	low, high := least, least
	for !fits(high) {
		low, high = high, 2*high
	}
	for high-low > 1e-4*high {
		if mid := (low + high) / 2; fits(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return low
}
