// Package bound finds times that no shape of a job can beat, whatever it deals to which node.
//
// A bound is for classes of machines. It takes from the cost model what holds for every dealing to them. It knows no
// shapes, and decides nothing.
package bound

import (
	"math"

	"bellows/core/planted"
	"bellows/policy/cost"
	"bellows/policy/gauge"
)

// Class is machines that are taken as alike, and what they do. Its figures are the best ones of any of them.
type Class struct {
	Count         int
	Works, Serves bool
	Slots, Lanes  int
	Speed         cost.Speed

	most  int     // splits that one of them can run in the time at hand
	share float64 // of the model, that one of them can serve at most in that time
	lines [3]line // of its processors and links, if it serves
	first int     // splits before a range of waits is looked at
	busy  bool    // lines limit its share
	rate  float64 // see slowest
}

// Bounder finds a time that no shape can beat. It takes from the cost model what holds for every dealing of parts: at a
// time T each worker can run so many splits at most, and servers need so long at least for what these pull and push.
// Memory, pairs of nodes and parts near splits are left out: they only add to a cost.
type Bounder struct {
	model               *cost.Model
	splits              int
	unit                float64 // the share of the model that a partition has; 0: they are not alike
	concave             bool    // of the traffic, as a function of splits
	pull, push, applied float64 // shares that compute does not hide
	classes             []Class
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

// same is how much two amounts may differ that count as equal.
const same = 1e-9

// weights is how finely the wait of a worker is divided into that for its own link and that for servers.
const weights = 4

// fineLoads is how many loads of a node take as long to judge as the bound of a class, if partitions are whole.
const fineLoads = 1

// precise is how far a bound may be below what the Bounder can show.
const precise = 5e-4

// waitStep is the ratio of the ends of a range of waits.
const waitStep = 1.05

// pairsMost bounds the times that whole tries. Many partitions are rounded by little.
const pairsMost = 4096

// New returns the bounder of a job.
func New(f *gauge.Figures, model *cost.Model) *Bounder {
	b := &Bounder{model: model, splits: len(f.Splits), concave: true}
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

// Least returns a time that no shape of the classes can beat, of an epoch of one clock. It looks between two times: if
// nothing is below the second one, it returns that. If alone, each machine that works has a split at least.
func (b *Bounder) Least(classes []Class, alone bool, low, most float64) float64 {
	b.set(classes, alone)
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

func (b *Bounder) set(classes []Class, alone bool) {
	b.classes, b.alone, b.order = classes, alone, b.order[:0]
	for i := range classes {
		if classes[i].Works && classes[i].Count > 0 {
			b.order = append(b.order, i)
		}
	}
}

// Room is what a time that is not ruled out has room for.
type Room struct {
	Splits  []int      // that a machine can run at most, by class
	Servers [3]float64 // seconds of the slowest server for pulls, pushes and changes, as the bound has them
}

// Room returns what a time has room for, if each machine that works has a split at least.
func (b *Bounder) Room(classes []Class, t float64) (r Room, feasible bool) {
	b.set(classes, true)
	if b.coarse = false; !b.feasible(t) {
		return r, false
	}
	for i := range classes {
		r.Splits = append(r.Splits, classes[i].most)
	}
	r.Servers = b.times
	return r, true
}

// Work returns how much work the bounds have taken so far, in classes that were looked at.
func (b *Bounder) Work() int { return b.work }

// feasible reports whether a clock of so many seconds is not ruled out.
func (b *Bounder) feasible(t float64) bool {
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
			runs += c.Count * c.most
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
func (b *Bounder) both(t float64, server [4]float64) bool {
	some := false
	for i := range b.classes {
		c := &b.classes[i]
		c.first = c.most
		some = some || c.Works && c.Serves && c.Count > 0
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
			runs += c.Count * c.most
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
func (b *Bounder) waited(t, wait float64, all [3]float64) {
	b.limit(t, all)
	for i := range b.classes {
		if c := &b.classes[i]; c.Serves && c.Count > 0 {
			c.busy, c.share = true, min(c.share, wait*b.rate(c, 3, all)*(1+same))
		}
	}
}

// whole reports whether servers may have all partitions, as whole ones, if workers wait so long for them. The times for
// pulls and for pushes are those of a number of partitions of some server, and the rest is left for changes.
func (b *Bounder) whole(wait float64, all [3]float64) bool {
	if b.unit == 0 {
		return true
	}
	b.rates = b.rates[:0]
	sum := 0.0
	for i := range b.classes {
		if c := &b.classes[i]; c.Serves && c.Count > 0 {
			r := served{class: c, count: float64(c.Count), most: math.Floor(min(1, c.share)/b.unit + same)}
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
					lanes := float64(r.class.Lanes)
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
