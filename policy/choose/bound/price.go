package bound

// fits reports whether all machines together may have room for all partitions while they run all splits, or, with
// least, whether this takes no more partitions than there are.
//
// The largest sum of partitions is at most the value at any price of a split. This is a convex function of the price:
// its least value is between two prices, and above where their tangents meet.
func (b *Bounder) fits(x *box, least bool) bool {
	want := b.parts * (1 - 1e-7)
	if b.least = least; least {
		want = -b.parts * (1 + 1e-7)
	}
	b.try(x, &b.high, 0)
	b.copy(&b.low, &b.high)
	if b.high.value < want {
		return false
	}
	if b.high.more >= 0 {
		return true
	}
	for next := b.parts / float64(b.splits); b.high.more < 0; next *= 4 {
		b.try(x, &b.high, next)
		if b.high.value < want {
			return false
		}
		if b.high.more < 0 {
			b.copy(&b.low, &b.high)
		}
	}
	for range 40 {
		low, high := &b.low, &b.high
		next := (low.value - low.more*low.price - high.value + high.more*high.price) / (high.more - low.more)
		if b.low.value+b.low.more*(next-b.low.price) >= want || !(next > b.low.price && next < b.high.price) {
			return true
		}
		at := &b.spare
		b.try(x, at, next)
		switch {
		case at.value < want:
			return false
		case at.more < 0:
			b.low, b.spare = b.spare, b.low
		default:
			b.high, b.spare = b.spare, b.high
		}
	}
	return true
}

func (b *Bounder) copy(to, from *price) {
	list := append(to.best[:0], from.best...)
	*to = *from
	to.best = list
}

// try finds what is best at a price: for each class, the best row, and that as many machines work as gain by it.
func (b *Bounder) try(x *box, p *price, at float64) {
	p.price, p.value, p.more, p.best = at, -at*float64(b.splits), -float64(b.splits), p.best[:0]
	for i := range b.tables {
		t := &b.tables[i]
		server := t.server
		if b.least {
			server = 0
		}
		row, most := -1, 0.0
		for j := range t.rows {
			v := t.rows[j].room
			if b.least {
				v = -t.rows[j].least
			}
			if v += at * float64(t.rows[j].splits); row < 0 || v >= most {
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
		d := Deal{Class: i, Parts: b.tables[i].server}
		if of := p.best[i]; n < of.workers {
			r := &b.tables[i].rows[of.row]
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
