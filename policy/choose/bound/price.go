package bound

// price is a price of a split in partitions, and what is best at that price.
type price struct {
	price float64
	value float64 // of all machines, less that of all splits
	more  float64 // splits that are run beyond those that there are
	pulls float64 // by all workers
	best  []best
}

// best is what is best for the machines of a class: so many work, with a row.
type best struct{ workers, row int }

// fits reports whether all machines together may have room for all partitions while they run all splits, or, with
// least, whether this takes no more partitions than there are.
//
// The largest sum of partitions is at most the value at any price of a split and any toll on what all workers pull.
// That total is at most the end of its range. The value is a convex function of both. The least value at some toll is
// at least where two tangents meet.
func (b *Bounder) fits(x *box, least bool) bool {
	want := b.parts * (1 - 1e-7)
	if b.least = least; least {
		want = -b.parts * (1 + 1e-7)
	}
	low := b.cheapest(x, 0, want)
	if low.value < want || low.more <= 0 || least {
		return low.value >= want
	}
	high := low
	for toll := b.parts / x.to[pulled] / 4; high.more > 0; toll *= 4 {
		if high.value < want {
			return false
		}
		low, high = high, b.cheapest(x, toll, want)
	}
	for range tollsMost {
		if high.value < want {
			return false
		}
		toll, value := meet(low, high)
		if value >= want || !(toll > low.at && toll < high.at) {
			return true
		}
		if mid := b.cheapest(x, toll, want); mid.value < want || mid.more <= 0 {
			high = mid
		} else {
			low = mid
		}
	}
	return high.value >= want
}

// tollsMost is how many tolls are tried between two.
const tollsMost = 6

// tangent is a value of a convex function at a price, and how much less there is at a price that is more by one.
type tangent struct{ at, value, more float64 }

// meet returns where two tangents meet. The first one falls, and the second one does not.
func meet(a, b tangent) (at, value float64) {
	at = (a.value + a.more*a.at - b.value - b.more*b.at) / (a.more - b.more)
	return at, a.value - a.more*(at-a.at)
}

// cheapest finds the price of a split at which the value is least, with a toll on what is pulled. It returns the value,
// and how much more is pulled than may be. It stops when the value is less than what is wanted.
func (b *Bounder) cheapest(x *box, toll, want float64) tangent {
	b.toll = toll
	b.try(x, &b.high, 0)
	b.copy(&b.low, &b.high)
	for next := b.parts / float64(b.splits); b.high.value >= want && b.high.more < 0; next *= 4 {
		b.copy(&b.low, &b.high)
		b.try(x, &b.high, next)
	}
	for b.high.value >= want && b.low.more < 0 {
		low, high := &b.low, &b.high
		next, value := meet(tangent{low.price, low.value, -low.more}, tangent{high.price, high.value, -high.more})
		if !(next > b.low.price && next < b.high.price) {
			break
		}
		at := &b.spare
		if b.try(x, at, next); at.more < 0 && at.value >= want {
			b.low, b.spare = b.spare, b.low
		} else {
			b.high, b.spare = b.spare, b.high
		}
		if b.high.price == next && b.high.value <= value+1e-9*b.parts {
			break
		}
	}
	b.mix = b.high.pulls
	if b.low.more < 0 {
		b.mix = b.low.pulls + b.low.more/(b.low.more-b.high.more)*(b.high.pulls-b.low.pulls)
	}
	return tangent{toll, min(b.low.value, b.high.value), b.mix - x.to[pulled]}
}

func (b *Bounder) copy(to, from *price) {
	list := append(to.best[:0], from.best...)
	*to = *from
	to.best = list
}

// try finds what is best at a price: for each class, the best row, and that as many machines work as gain by it.
func (b *Bounder) try(x *box, p *price, at float64) {
	p.price, p.more, p.pulls, p.best = at, -float64(b.splits), 0, p.best[:0]
	if p.value = -at * float64(b.splits); b.toll > 0 {
		p.value += b.toll * x.to[pulled]
	}
	for i := range b.capacities {
		t := &b.capacities[i]
		server := t.server
		if b.least {
			server = 0
		}
		row, most := -1, 0.0
		for j := range t.rows {
			r := &t.rows[j]
			v := r.room
			if b.least {
				v = -r.least
			}
			v += at * float64(r.splits)
			if b.toll > 0 {
				v -= b.toll * b.traffic[0][r.splits]
			}
			if row < 0 || v >= most {
				row, most = j, v
			}
		}
		b.work += 1 + len(t.rows)/8
		workers := 0
		if row >= 0 {
			if workers = x.low[i]; most >= server {
				workers = x.high[i]
			}
			p.more += float64(workers * t.rows[row].splits)
			p.pulls += float64(workers) * b.traffic[0][t.rows[row].splits]
		}
		p.value += float64(workers)*most + float64(b.classes[i].Count-workers)*server
		p.best = append(p.best, best{workers, row})
	}
}

// Deal is what a machine of a class gets in a dealing.
type Deal struct {
	Class, Splits int
	Parts         float64 // for which it has room
}

// deal returns a dealing that is about as good as the bound, of what was last found to fit.
func (b *Bounder) deal(x *box) []Deal {
	var list []Deal
	sum := -b.splits
	row := func(i int, p *price, n int) Deal {
		d := Deal{Class: i, Parts: b.capacities[i].server}
		if of := p.best[i]; n < of.workers {
			r := &b.capacities[i].rows[of.row]
			d.Splits, d.Parts = r.splits, r.room
		}
		return d
	}
	for i := range b.classes {
		for n := range b.classes[i].Count {
			d := row(i, &b.low, n)
			sum += d.Splits
			list = append(list, d)
		}
	}
	at := 0
	for i := range b.classes { // those that have more at the higher price
		for n := range b.classes[i].Count {
			if d := row(i, &b.high, n); sum < 0 && d.Splits > list[at].Splits {
				sum += d.Splits - list[at].Splits
				list[at] = d
			}
			at++
		}
	}
	for ; sum > 0; sum-- {
		most := 0
		for j := range list {
			if list[j].Splits > list[most].Splits {
				most = j
			}
		}
		list[most].Splits--
	}
	return list
}
