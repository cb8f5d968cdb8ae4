package bound

import "math"

// servers returns the least seconds that the slowest server needs for what workers pull, push and change.
func (b *Bounder) servers(all [3]float64) (least [4]float64) {
	for kind := range 3 {
		least[kind] = b.slowest(kind, all)
	}
	least[3] = b.slowest(3, all)
	if b.coarse {
		return least
	}
	b.mixed = [weights + 1][weights + 1]float64{}
	b.times = [3]float64(least[:3])
	serving := 0
	for i := range b.classes {
		if c := &b.classes[i]; c.Serves && c.Count > 0 {
			serving++
		}
	}
	if serving > servingMost {
		return least
	}
	for rest := 1.0; rest > 0; {
		if !b.corner(all) {
			return [4]float64{0, 0, 0, math.Inf(1)}
		}
		for i := range b.mixed {
			for j := range b.mixed[i] {
				pull, push := b.pull*float64(i)/weights, b.push*float64(j)/weights
				t, _ := b.shared([3]float64{pull, push, b.applied})
				b.mixed[i][j] = max(b.mixed[i][j], rest*t)
			}
		}
		if !b.overload(rest) {
			break
		}
		rest = 1 - b.carried()*(1+1e-6)
	}
	least[3] = max(least[3], b.mixed[weights][weights])
	return least
}

// servingMost is the largest number of classes that serve for which pulls, pushes and changes are bounded together.
const servingMost = 12

// served is the rates at which servers of a class serve pulls, pushes and changes.
type served struct {
	class *Class
	most  float64 // partitions of one of them
	count float64
	rate  [3]float64
}

// rate returns which share of the model a server serves in a second: of pulls (0), pushes (1), changes (2), of what is
// not hidden of all three (3), or of changes with all of its processors (4).
func (b *Bounder) rate(c *Class, kind int, all [3]float64) float64 {
	left := all
	if c.Works { // it has its own part at hand
		pulled, pushed, _ := b.model.Traffic(c.most)
		left[0], left[1] = max(0, left[0]-pulled), max(0, left[1]-pushed)
	}
	seconds := [3]float64{left[0] / c.Speed.Out, left[1] / c.Speed.In, left[2] * c.Speed.Row / float64(c.Lanes)}
	switch {
	case kind < 3:
		return 1 / seconds[kind]
	case kind == 4:
		return float64(max(c.Slots, c.Lanes)) / (left[2] * c.Speed.Row)
	}
	return 1 / (b.pull*seconds[0] + b.push*seconds[1] + b.applied*seconds[2])
}

// slowest returns the least seconds of the slowest server, by the kinds of rate. The sum of the three for the best
// shares of each is never above what all three take with one and the same shares (3).
func (b *Bounder) slowest(kind int, all [3]float64) float64 {
	if kind < 3 && all[kind] == 0 || kind == 4 && all[2] == 0 {
		return 0
	}
	sum := 0.0
	for i := range b.classes {
		if c := &b.classes[i]; c.Serves && c.Count > 0 {
			c.rate = b.rate(c, kind, all)
			sum += float64(c.Count) * c.rate
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
			if !c.Serves || c.Count == 0 {
				continue
			}
			n := t * c.rate / b.unit
			if kind == 2 { // each lane has whole partitions
				n = float64(c.Lanes) * math.Floor(n/float64(c.Lanes)+same)
			}
			parts += float64(c.Count) * math.Floor(n+same)
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

// busy returns the least seconds in which links and processors together do their work. A node receives each byte and
// another one sends it, but for what the largest worker may hold itself.
func (b *Bounder) busy(all [3]float64) float64 {
	var in, out, processors, own float64
	split, row := math.Inf(1), math.Inf(1)
	for i := range b.classes {
		c := &b.classes[i]
		if c.Count == 0 || !c.Works && !c.Serves {
			continue
		}
		n := float64(c.Count)
		in, out, processors = in+n*c.Speed.In, out+n*c.Speed.Out, processors+n*float64(max(c.Slots, c.Lanes))
		if c.Works {
			split = min(split, c.Speed.Split)
		}
		if c.Serves {
			row = min(row, c.Speed.Row)
		}
		if c.Works && c.Serves {
			pulled, pushed, _ := b.model.Traffic(c.most)
			own = max(own, pulled+pushed)
		}
	}
	bytes := all[0] + all[1] - own
	return max(bytes/in, bytes/out, (float64(b.splits)*split+all[2]*row)/processors)
}

// line says what a machine can do in a time: splits and the share that it serves, by weights, are at most a sum.
type line struct{ split, share, most float64 }

// allows returns the share at a number of splits.
func (l *line) allows(splits float64) float64 {
	left := l.most - l.split*splits
	switch {
	case left < 0:
		return -1
	case l.share <= 0:
		return 1
	}
	return min(1, left/l.share)
}

// serves returns the share that a machine can serve if it runs so many splits.
func (c *Class) serves(splits float64) float64 {
	return min(c.share, c.lines[0].allows(splits), c.lines[1].allows(splits), c.lines[2].allows(splits))
}

// limit sets which shares machines that serve can have in a time. The traffic of a worker for a split is least if it
// has the most splits.
func (b *Bounder) limit(t float64, all [3]float64) {
	for i := range b.classes {
		c := &b.classes[i]
		if c.busy = false; !c.Serves || c.Count == 0 {
			continue
		}
		var pulled, pushed, each, splits float64
		if c.Works && c.most > 0 {
			pulled, pushed, _ = b.model.Traffic(c.most)
			each = 1 / float64(c.most)
			if b.alone {
				splits = 1
			}
		}
		c.lines = [3]line{
			{0, all[2] * c.Speed.Row, t * float64(max(c.Slots, c.Lanes))},
			{pulled * each, all[1] - pushed - pulled, t * c.Speed.In},
			{pushed * each, all[0] - pushed - pulled, t * c.Speed.Out},
		}
		if c.Works {
			c.lines[0].split = c.Speed.Split
		}
		for j := range c.lines {
			l := &c.lines[j]
			l.most *= 1 + same
			if l.share < 0 {
				l.most, l.share = l.most-l.share, 0
			}
		}
		c.share = 1
		c.share = max(0, min(c.serves(splits), t*b.rate(c, 3, all)*(1+same)))
	}
}

// corner finds the times for pulls, pushes and changes of all servers that may be the best ones, with the same shares
// of the model for all three: corners.
//
// The share of a server is at most p·out, q·in and r·lanes for some p, q and r. A sum of these by weights is least
// where two of the limits are equal for one server, and two for another one or the same.
//
// It returns false if no server is left.
func (b *Bounder) corner(all [3]float64) bool {
	b.rates, b.corners = b.rates[:0], b.corners[:0]
	for i := range b.classes {
		if c := &b.classes[i]; c.Serves && c.Count > 0 && !c.busy {
			r := served{count: float64(c.Count), class: c}
			for kind := range r.rate {
				r.rate[kind] = min(b.rate(c, kind, all), 1e30)
			}
			b.rates = append(b.rates, r)
		}
	}
	add := func(v [3]float64) {
		sum := 0.0
		for i := range b.rates {
			r := &b.rates[i]
			sum += r.count * min(v[0]*r.rate[0], v[1]*r.rate[1], v[2]*r.rate[2])
		}
		b.corners = append(b.corners, [3]float64{v[0] / sum, v[1] / sum, v[2] / sum})
	}
	for i := range b.rates {
		for j := range b.rates {
			one, two := &b.rates[i].rate, &b.rates[j].rate
			add([3]float64{1, one[0] / one[1], two[0] / two[2]})
			if i != j {
				add([3]float64{one[1] / one[0], 1, two[1] / two[2]})
				add([3]float64{one[2] / one[0], two[2] / two[1], 1})
			}
		}
	}
	return len(b.rates) > 0
}

// shared returns the least sum of the times of pulls, pushes and changes by weights, and these times.
func (b *Bounder) shared(weight [3]float64) (least float64, at [3]float64) {
	least = math.Inf(1)
	for _, v := range b.corners {
		if t := weight[0]*v[0] + weight[1]*v[1] + weight[2]*v[2]; t < least {
			least, at = t, v
		}
	}
	return least, at
}

// overload marks the machines that cannot serve what the best corner gives them, and reports whether there are any.
func (b *Bounder) overload(rest float64) bool {
	_, v := b.shared([3]float64{b.pull, b.push, b.applied})
	for kind := range v {
		v[kind] *= rest
	}
	b.times = v
	runs := 0
	for _, i := range b.order {
		runs += b.classes[i].Count * b.classes[i].most
	}
	found := false
	for i := range b.rates {
		r := &b.rates[i]
		splits := 0.0
		if r.class.Works {
			splits = float64(r.class.most) * float64(b.splits) / float64(runs)
		}
		if min(v[0]*r.rate[0], v[1]*r.rate[1], v[2]*r.rate[2]) > r.class.serves(splits) {
			r.class.busy, found = true, true
		}
	}
	return found
}

// carried returns the largest share that the marked machines can serve together, while they run the splits that the
// others cannot. It takes the least over prices of a split.
func (b *Bounder) carried() float64 {
	splits := float64(b.splits)
	b.prices = append(b.prices[:0], 0)
	for i := range b.classes {
		c := &b.classes[i]
		if c.Works && !c.busy {
			splits -= float64(c.Count * c.most)
		}
		if c.busy && c.Works {
			for _, l := range c.lines {
				if l.share > 0 {
					price := l.split / l.share
					b.prices = append(b.prices, price, 0.9*price, 1.2*price)
				}
			}
		}
	}
	b.work += 2 * len(b.prices)
	least := math.Inf(1)
	for _, price := range b.prices {
		sum := -price * max(splits, 0)
		for i := range b.classes {
			if c := &b.classes[i]; c.busy {
				sum += float64(c.Count) * c.best(price, b.unit)
			}
		}
		least = min(least, sum)
	}
	return least
}

// best returns the largest sum of the share of a machine and its splits at a price. Its partitions and splits are
// whole.
func (c *Class) best(price, unit float64) float64 {
	whole := func(share float64) float64 {
		if unit > 0 {
			share = unit * math.Floor(share/unit+same)
		}
		return max(0, share)
	}
	most := whole(c.serves(0))
	step := 1 + c.most/256 // the share of the first splits of a step, and the price of the last ones
	for splits := 1; c.Works && splits <= c.most; splits += step {
		share := c.serves(float64(splits))
		if share < 0 {
			break
		}
		most = max(most, whole(share)+price*float64(min(c.most, splits+step-1)))
	}
	return most
}
