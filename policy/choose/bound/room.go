package bound

import "math"

// pulled is the place of what all workers pull in the ranges of a box.
const pulled = 3

// box is ranges of the numbers of workers of each class, of the seconds of servers for pulls, pushes and changes, and
// of what all workers pull.
type box struct {
	low, high []int
	from, to  [4]float64
	least     float64 // a time that no shape in the box can beat
	depth     int     // cuts that made it
}

// capacity is what machines of a class have room for in a box, in a time.
type capacity struct {
	splits int     // that one can run at most
	server float64 // partitions for which one has room that does not work
	rows   []row   // of one that works
}

// row is what a machine can have that runs so many splits.
type row struct {
	splits int
	room   float64 // partitions at most
	least  float64 // and at least: a worker does not pull from itself
}

// rowsMost is about how many rows a machine has. With more splits, a row is for several numbers: it has the room of the
// first one.
const rowsMost = 256

// feasible reports whether a clock of so many seconds is not ruled out in a box. Servers take the ends of the ranges
// that give them the most room, and workers those with the shortest waits.
func (b *Bounder) feasible(x *box, t float64) bool {
	t *= 1 + same
	wait := 0.0
	for kind, share := range b.waits {
		if share > 0 {
			wait += share * x.from[kind]
		}
	}
	fastest := math.Inf(1)
	for i := range b.classes {
		c, room := &b.classes[i], &b.capacities[i]
		room.splits = 0
		if x.high[i] > 0 {
			room.splits = int(max(0, min(float64(b.splits), float64(c.Slots)*math.Floor((t-wait)/c.Speed.Split+same))))
			if room.splits > 0 {
				fastest = min(fastest, c.Speed.Split)
			}
		}
		if room.splits == 0 && x.low[i] > 0 && !c.Idle {
			return false
		}
	}
	to := [3]float64(x.to[:3])
	for kind, share := range b.waits {
		if share > 0 {
			to[kind] = min(to[kind], (t-fastest-wait)/share+x.from[kind])
		} else {
			to[kind] = math.Inf(1)
		}
	}
	for range 2 {
		if !b.runs(x) {
			return false
		}
		b.work += 4 + 2*len(b.classes)
		b.all = b.totals(x)
		if b.all[0] > x.to[pulled]*(1+same) {
			return false
		}
		b.all[0] = max(b.all[0], x.from[pulled])
		for kind := range b.all {
			b.all[kind] = max(b.all[kind], b.each[kind]*b.all[0])
		}
		kept, possible := b.measure(x, &to, t)
		if !possible {
			return false
		}
		if kept {
			break
		}
	}
	return b.runs(x) && b.fits(x, true) && b.fits(x, false)
}

// runs reports whether all machines together can run all splits.
func (b *Bounder) runs(x *box) bool {
	runs := 0
	for i := range b.capacities {
		runs += x.high[i] * b.capacities[i].splits
	}
	return runs >= b.splits
}

// measure sets what each machine has room for. It reports whether machines can still run as many splits as they were
// thought to, and whether all that must work can.
func (b *Bounder) measure(x *box, to *[3]float64, t float64) (kept, possible bool) {
	kept = true
	for i := range b.classes {
		c, room := &b.classes[i], &b.capacities[i]
		room.rows, room.server = room.rows[:0], 0
		if c.Serves && x.low[i] < c.Count {
			room.server, _, _ = b.room(c, 0, to, x, t)
			b.work++
		}
		if x.high[i] == 0 {
			continue
		}
		if c.Idle {
			parts := 0.0
			if c.Both {
				parts, _, _ = b.room(c, 0, to, x, t)
			}
			room.rows = append(room.rows, row{0, parts, 0})
		}
		most, step := 0, 1+room.splits/rowsMost
		for splits := 1; splits <= room.splits; splits += step {
			b.work++
			parts, least, runs := b.room(c, splits, to, x, t)
			if !runs {
				if c.Both {
					continue
				}
				break
			}
			most = min(room.splits, splits+step-1)
			room.rows = append(room.rows, row{most, parts, least})
		}
		kept = kept && most == room.splits
		room.splits = most
		if len(room.rows) == 0 && x.low[i] > 0 {
			return kept, false
		}
	}
	return kept, true
}

// room returns for how many partitions a machine with so many splits has room at most, how many it takes at least, and
// whether it can run them.
func (b *Bounder) room(c *Class, splits int, to *[3]float64, x *box, t float64) (parts, least float64, runs bool) {
	v := &c.Speed
	pulls, pushes := b.traffic[0][splits], b.traffic[1][splits] // its own
	if splits == 0 || c.Both {
		others, pushed, changes := max(0, b.all[0]-pulls), max(0, b.all[1]-pushes), b.all[2]*v.Row
		share := 1.0
		limit := func(amount, most float64) {
			if amount > 0 {
				share = min(share, most/amount)
			}
		}
		limit(others, to[0]*v.Out)
		limit(pushed, to[1]*v.In)
		limit(pushed-pulls, t*v.In-pulls)
		limit(others-pushes, t*v.Out-pushes)
		limit(changes, t*float64(max(c.Slots, c.Lanes, 1))-float64(splits)*v.Split)
		lanes := float64(c.Lanes)
		if !b.lanes || !b.whole {
			limit(changes, to[2]*lanes)
		}
		if share < 0 {
			return 0, 0, false
		}
		parts = share * b.parts * (1 + same)
		if b.whole {
			parts = math.Floor(parts + same)
			if b.lanes && changes > 0 {
				parts = min(parts, lanes*math.Floor(to[2]*b.parts/changes*(1+same)+same))
			}
		}
		parts = min(parts, b.parts)
	}
	if splits == 0 {
		return parts, 0, true
	}
	compute := math.Ceil(float64(splits)/float64(c.Slots))*v.Split + b.waits[2]*x.from[2]
	enough := func(parts float64) bool {
		rest := 1 - parts/b.parts
		pull, push := pulls*rest/v.In, pushes*rest/v.Out
		return max(compute+b.waits[0]*max(x.from[0], pull)+b.waits[1]*max(x.from[1], push), pull, push) <= t*(1+same)
	}
	switch {
	case enough(0):
		return parts, 0, true
	case !enough(parts):
		return 0, 0, false
	}
	short := 0.0
	least = parts
	for least-short > 1 || !b.whole && least-short > 1e-3 {
		mid := (short + least) / 2
		if b.whole {
			mid = math.Floor(mid)
		}
		if enough(mid) {
			least = mid
		} else {
			short = mid
		}
	}
	if !b.whole {
		least = short
	}
	return parts, least, true
}
