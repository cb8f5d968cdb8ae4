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
	most        int     // splits that one of them can run in the time at hand
	share       float64 // of the model, that one of them can serve at most in that time
	lines       [3]line // of its processors and links, if it serves
	first       int     // splits before a range of waits is looked at
	busy        bool    // lines limit its share
	rate        float64 // see slowest
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
	coarse              bool // partitions may be cut
	alone               bool // each machine that works has a split at least
	work                int  // classes that were looked at
	rates               []served
	times               [3]float64   // of servers for pulls, pushes and changes that the bound finds
	levels              [2][]float64 // see whole
	prices              []float64    // see carried
	corners             [][3]float64 // see corner
	// mixed is the least wait for servers if only so many of the parts of pulls and of pushes count.
	mixed [weights + 1][weights + 1]float64
	order []int // of the classes that work, the one with the most splits first
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

// least returns a time that no shape of the classes can beat, of an epoch of one clock. It looks between two times: if
// nothing is below the second one, it returns that.
func (b *bounder) least(classes []class, low, most float64) float64 {
	latency := b.model.Latency() // of every shape
	return latency + b.explained(classes, max(0, low-latency), most-latency)
}

// explained returns the least time without the latency of a clock.
func (b *bounder) explained(classes []class, low, most float64) float64 {
	b.set(classes)
	b.coarse = true
	may := b.feasible(most)
	b.coarse = false
	if !may || !b.feasible(most) {
		return most
	}
	if high := low * (1 + precise); b.feasible(high) {
		return low
	}
	high := most
	enough := precise
	if !b.alone {
		enough *= 6 // the numbers in a box are looked at later
	}
	for high-low > enough*high {
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

// weights is how finely the wait of a worker is divided into that for its own link and that for servers.
const weights = 4

// fineLoads is how many loads of a node take as long to judge as the bound of a class, if partitions are whole.
const fineLoads = 1

// precise is how far a bound may be below what the bounder can show.
const precise = 5e-4

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
	for i := range b.classes {
		b.classes[i].share = 1
	}
	var server [4]float64 // least seconds for all pulls, all pushes, all changes, and what is not hidden of all three
	for range 3 {
		if b.work += len(b.classes); !b.coarse {
			b.work += fineLoads * len(b.classes)
		}
		runs := 0
		for _, i := range b.order {
			c := &b.classes[i]
			c.most = b.mostSplits(c, t, server)
			if c.most == 0 && b.alone {
				return false
			}
			runs += c.count * c.most
		}
		if runs < b.splits {
			return false
		}
		all := b.totals()
		b.limit(t, all)
		next := b.servers(all)
		if max(next[0], next[1], b.slowest(4, all), b.busy(all), next[3]) > t*(1+same) {
			return false
		}
		if next == server {
			break
		}
		server = next
	}
	return b.coarse || b.both(t, server)
}

// both reports whether machines that work and serve may do both in a time. It goes through ranges of the time that
// workers wait for servers: a longer one leaves less for splits, and lets servers have larger shares.
func (b *bounder) both(t float64, server [4]float64) bool {
	some := false
	for i := range b.classes {
		c := &b.classes[i]
		c.first = c.most
		some = some || c.work && c.serve && c.count > 0
	}
	if !some {
		return true
	}
	all := b.totals()
	for low := server[3]; low < t; {
		high := max(low*waitStep, t/200)
		b.work += fineLoads * len(b.classes)
		for i := range b.classes {
			b.classes[i].most = b.classes[i].first
		}
		b.waited(t, high, all)
		server[3] = low
		runs := 0
		for _, i := range b.order {
			c := &b.classes[i]
			c.most = b.mostSplits(c, t, server)
			runs += c.count * c.most
		}
		if runs >= b.splits {
			now := b.totals()
			b.waited(t, high, now)
			if b.carried()*(1+1e-6) >= 1 {
				if b.whole(high, now) {
					return true
				}
			}
		}
		low = high
	}
	return false
}

// waited sets which shares machines that serve can have in a time, if workers wait so long for servers.
func (b *bounder) waited(t, wait float64, all [3]float64) {
	b.limit(t, all)
	for i := range b.classes {
		if c := &b.classes[i]; c.serve && c.count > 0 {
			c.busy, c.share = true, min(c.share, wait*b.rate(c, 3, all)*(1+same))
		}
	}
}

// whole reports whether servers may have all partitions, as whole ones, if workers wait so long for them. The times for
// pulls and for pushes are those of a number of partitions of some server, and the rest is left for changes.
func (b *bounder) whole(wait float64, all [3]float64) bool {
	if b.unit == 0 {
		return true
	}
	b.rates = b.rates[:0]
	sum := 0.0
	for i := range b.classes {
		if c := &b.classes[i]; c.serve && c.count > 0 {
			r := served{class: c, count: float64(c.count), most: math.Floor(min(1, c.share)/b.unit + same)}
			for kind := range r.rate {
				r.rate[kind] = min(b.rate(c, kind, all)/b.unit, 1e30) * (1 + same)
			}
			sum += r.count * r.most
			b.rates = append(b.rates, r)
		}
	}
	if sum < 1/b.unit-0.5 {
		return false
	}
	for kind := range 2 {
		b.levels[kind] = append(b.levels[kind][:0], 0)
		weight := [2]float64{b.pull, b.push}[kind]
		for i := range b.rates {
			r := &b.rates[i]
			for n := 1.0; n <= r.most && weight*n/r.rate[kind] <= wait; n++ {
				b.levels[kind] = append(b.levels[kind], n/r.rate[kind])
			}
		}
	}
	pairs := len(b.levels[0]) * len(b.levels[1])
	if pairs > pairsMost {
		return true
	}
	b.work += pairs / 16
	for _, pull := range b.levels[0] {
		for _, push := range b.levels[1] {
			left := wait*(1+same) - b.pull*pull - b.push*push
			if left < 0 {
				continue
			}
			sum := 0.0
			for i := range b.rates {
				r := &b.rates[i]
				n := min(r.most, math.Floor(pull*r.rate[0]+same), math.Floor(push*r.rate[1]+same))
				if b.applied > 0 {
					lanes := float64(r.class.lanes)
					n = min(n, lanes*math.Floor(left/b.applied*r.rate[2]/lanes+same))
				}
				sum += r.count * n
			}
			if sum >= 1/b.unit-0.5 {
				return true
			}
		}
	}
	return false
}

// pairsMost bounds the times that whole tries. Many partitions are rounded by little.
const pairsMost = 4096

// waitStep is the ratio of the ends of a range of waits.
const waitStep = 1.05

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

// seconds returns the least seconds of a clock of a worker with so many splits. One that also serves may hold a share
// of what it pulls itself.
func (b *bounder) seconds(c *class, splits int, server [4]float64) float64 {
	compute := math.Ceil(float64(splits)/float64(c.slots)) * c.speed.Split
	var in, out float64
	if splits > 0 {
		pulled, pushed, _ := b.model.Traffic(splits)
		in, out = pulled/c.speed.In, pushed/c.speed.Out
	}
	if c.serve {
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

// servers returns the least seconds that the slowest server needs for what workers pull, push and change.
func (b *bounder) servers(all [3]float64) (least [4]float64) {
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
		if c := &b.classes[i]; c.serve && c.count > 0 {
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

// totals returns the least that all workers pull, push and change in a clock. A curve that bends downwards is least at
// the ends: as many workers as can be have the most splits, the others one. Otherwise no worker has less for a split
// than one with the most splits.
func (b *bounder) totals() (all [3]float64) {
	slices.SortFunc(b.order, func(i, j int) int { return cmp.Compare(b.classes[j].most, b.classes[i].most) })
	workers, least := 0, 0 // the least splits of a worker
	if b.alone {
		least = 1
	}
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
	left := b.splits - workers*least
	for _, i := range b.order {
		c := &b.classes[i]
		full := c.count
		if c.most > least {
			full = min(c.count, left/(c.most-least))
		}
		add(c.most, float64(full))
		left -= full * (c.most - least)
		if rest := c.count - full; rest > 0 {
			add(least+left, 1)
			add(least, float64(rest-1))
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
	sum := 0.0
	for i := range b.classes {
		if c := &b.classes[i]; c.serve && c.count > 0 {
			c.rate = b.rate(c, kind, all)
			sum += float64(c.count) * c.rate
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
			n := t * c.rate / b.unit
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

// corner finds the times for pulls, pushes and changes of all servers that may be the best ones, with the same shares
// of the model for all three: corners.
//
// The share of a server is at most p·out, q·in and r·lanes for some p, q and r. A sum of these by weights is least
// where two of the limits are equal for one server, and two for another one or the same.
//
// It returns false if no server is left.
func (b *bounder) corner(all [3]float64) bool {
	b.rates, b.corners = b.rates[:0], b.corners[:0]
	for i := range b.classes {
		if c := &b.classes[i]; c.serve && c.count > 0 && !c.busy {
			r := served{count: float64(c.count), class: c}
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
func (b *bounder) shared(weight [3]float64) (least float64, at [3]float64) {
	least = math.Inf(1)
	for _, v := range b.corners {
		if t := weight[0]*v[0] + weight[1]*v[1] + weight[2]*v[2]; t < least {
			least, at = t, v
		}
	}
	return least, at
}

// served is the rates at which servers of a class serve pulls, pushes and changes.
type served struct {
	class *class
	most  float64 // partitions of one of them
	count float64
	rate  [3]float64
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
func (c *class) serves(splits float64) float64 {
	return min(c.share, c.lines[0].allows(splits), c.lines[1].allows(splits), c.lines[2].allows(splits))
}

// limit sets which shares machines that serve can have in a time. The traffic of a worker for a split is least if it
// has the most splits.
func (b *bounder) limit(t float64, all [3]float64) {
	for i := range b.classes {
		c := &b.classes[i]
		if c.busy = false; !c.serve || c.count == 0 {
			continue
		}
		var pulled, pushed, each, splits float64
		if c.work && c.most > 0 {
			pulled, pushed, _ = b.model.Traffic(c.most)
			each = 1 / float64(c.most)
			if b.alone {
				splits = 1
			}
		}
		c.lines = [3]line{
			{0, all[2] * c.speed.Row, t * float64(max(c.slots, c.lanes))},
			{pulled * each, all[1] - pushed - pulled, t * c.speed.In},
			{pushed * each, all[0] - pushed - pulled, t * c.speed.Out},
		}
		if c.work {
			c.lines[0].split = c.speed.Split
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

// overload marks the machines that cannot serve what the best corner gives them, and reports whether there are any.
func (b *bounder) overload(rest float64) bool {
	_, v := b.shared([3]float64{b.pull, b.push, b.applied})
	for kind := range v {
		v[kind] *= rest
	}
	b.times = v
	runs := 0
	for _, i := range b.order {
		runs += b.classes[i].count * b.classes[i].most
	}
	found := false
	for i := range b.rates {
		r := &b.rates[i]
		splits := 0.0
		if r.class.work {
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
func (b *bounder) carried() float64 {
	splits := float64(b.splits)
	b.prices = append(b.prices[:0], 0)
	for i := range b.classes {
		c := &b.classes[i]
		if c.work && !c.busy {
			splits -= float64(c.count * c.most)
		}
		if c.busy && c.work {
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
				sum += float64(c.count) * c.best(price, b.unit)
			}
		}
		least = min(least, sum)
	}
	return least
}

// best returns the largest sum of the share of a machine and its splits at a price. Its partitions and splits are
// whole.
func (c *class) best(price, unit float64) float64 {
	whole := func(share float64) float64 {
		if unit > 0 {
			share = unit * math.Floor(share/unit+same)
		}
		return max(0, share)
	}
	most := whole(c.serves(0))
	step := 1 + c.most/256 // the share of the first splits of a step, and the price of the last ones
	for splits := 1; c.work && splits <= c.most; splits += step {
		share := c.serves(float64(splits))
		if share < 0 {
			break
		}
		most = max(most, whole(share)+price*float64(min(c.most, splits+step-1)))
	}
	return most
}
