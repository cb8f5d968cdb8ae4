package linear

import (
	"math"

	"bellows"
	"bellows/app"
	"bellows/app/examples"
	"bellows/random"
	"bellows/train"
)

// columns is the training rows as a split sees them that goes down along features: feature own[k] has the entries at[k] to at[k+1], in the order of the rows of the
// run (problem.rows). The bias is a feature of the split that has it.
//
// Up to entriesAlone the first split has all features, and goes down along them alone, as it alone solves for all weights where features are few: it sees all that a step does, and comes
// to the best of the quadratic model. Four splits with a quarter each, at once, took 178 epochs for the lasso of 25,000 reviews that one has in 7. Beyond, memory
// and time of one split would be too much, and all of them have a part, dealt in turn, so that features that occur together, which many files have side by side, are not one split's.
type columns struct {
	own   []bellows.RowID
	at    []int64
	row   []int32 // position of the entry in problem.rows
	value []float32
}

// entriesAlone is how many entries of the rows one split takes alone: 256 MB of them.
const entriesAlone = 32 << 20

// groups returns how many splits go down at once.
func (p *problem) groups() int {
	if p.entries() <= p.alone {
		return 1
	}
	return p.Splits
}

// column makes the columns of a split.
func (p *problem) column(split int) columns {
	groups := p.groups()
	if split >= groups {
		return columns{}
	}
	count := make([]int64, p.Features+1)
	buf := make([]float32, p.Features)
	each := func(visit func(i int, j int32, v float32)) {
		for i, r := range p.Rows {
			if !p.Dense {
				index, value := p.Src.Entries(int(r))
				for k, j := range index {
					visit(i, j, value[k]*p.Scale.Factor[j])
				}
			} else {
				p.Scale.Apply(p.Src.Vector(int(r), buf), buf)
				for j, v := range buf {
					visit(i, int32(j), v)
				}
			}
			visit(i, int32(p.Features), p.bias)
		}
	}
	mine := func(j int32) bool { return int(j)%groups == split }
	each(func(_ int, j int32, v float32) {
		if mine(j) && v != 0 {
			count[j]++
		}
	})
	var c columns
	for j := split; j <= p.Features; j += groups {
		c.own = append(c.own, bellows.RowID(j))
	}
	total, next := int64(0), make([]int64, p.Features+1)
	for _, j := range c.own {
		c.at, next[j] = append(c.at, total), total
		total += count[j]
	}
	c.at = append(c.at, total)
	c.row, c.value = make([]int32, total), make([]float32, total)
	each(func(i int, j int32, v float32) {
		if mine(j) && v != 0 {
			c.row[next[j]], c.value[next[j]] = int32(i), v
			next[j]++
		}
	})
	return c
}

// entries returns column k.
func (c *columns) entries(k int32) ([]int32, []float32) {
	lo, hi := c.at[k], c.at[k+1]
	return c.row[lo:hi], c.value[lo:hi:hi]
}

// descent is scratch of a split that goes down along its features.
type descent struct {
	first, second []float64 // slopes of the losses, by position of the row; the first go along
	weights, was  []float32 // of the split's features
	bend          []float64
	slope         []float64
	active        []int32
}

// The end of a descent: sweeps over the features that move, and the part of the first sweep's gain that is too little to go on.
const (
	sweepsMost  = 40
	sweepsLeast = 0.003
)

// nearly is the part of l1 from which a slope lets a weight that is zero take part in the sweeps of a clock: near the best, slopes hardly
// grow by more than the rest between two epochs (Tibshirani et al. 2012, "Strong rules for discarding predictors"). Those that are left out wrongly are seen in the next clock,
// which begins with the slopes of all.
const nearly = 0.8

// slopes tells all splits both slopes of the split's rows.
func (e *newton) slopes(t *train.Task, u *block, b bender, weights []float32) {
	home := bellows.RowID(t.Split())
	was := t.PullRow(momentsTable, home)
	moves := examples.Reserve(&e.moments, len(was))
	clear(moves)
	for i, y := range u.target {
		first, second := e.bend(u, b, weights, i, float64(y))
		moves[2*i], moves[2*i+1] = float32(first)-was[2*i], float32(second)-was[2*i+1]
	}
	t.PushRow(momentsTable, home, moves)
}

// descend goes down along the split's features, in the quadratic model of the losses at the weights, in which scores bend as many times as the driver
// says what they do by themselves: what other splits do at once is not seen, and may add up.
func (e *newton) descend(t *train.Task) {
	p, d, c, args := e.p, &e.descent, &e.p.columns[t.Split()], t.Args()
	if int(t.Split()) >= p.groups() {
		t.SignalTaskCompletion(0)
		return
	}
	n := p.trains(args[argHold] != 0)
	pull, threshold := args[argL2]*n, args[argL1]*n
	d.pull(t, p, c)
	limit, squares := d.look(c, pull, threshold, args[argDamp])
	state := random.Derive(p.Seed, uint64(t.Split()), uint64(t.Clock()))
	d.sweep(c, pull, threshold, args[argDamp], state)
	for k, w := range d.was {
		d.weights[k] -= w
	}
	t.Push(directionTable, c.own, d.weights)
	e.limit(t, limit)
	t.SignalTaskCompletion(beyond(squares, n, args[argL2]))
}

// pull reads the slopes of all rows, and the split's weights.
func (d *descent) pull(t *train.Task, p *problem, c *columns) {
	if d.first == nil {
		d.first, d.second = make([]float64, len(p.Rows)), make([]float64, len(p.Rows))
		d.weights, d.bend, d.slope = make([]float32, len(c.own)), make([]float64, len(c.own)), make([]float64, len(c.own))
	}
	for s := range p.Splits {
		both, lo := t.PullRow(momentsTable, bellows.RowID(s)), app.Share(len(p.Rows), s, p.Splits)
		for i := range app.Share(len(p.Rows), s+1, p.Splits) - lo {
			d.first[lo+i], d.second[lo+i] = float64(both[2*i]), float64(both[2*i+1])
		}
	}
	t.Pull(weightsTable, c.own, d.weights)
	d.was = append(d.was[:0], d.weights...)
}

// look finds slope and bend of each feature, and those that take part.
func (d *descent) look(c *columns, pull, threshold, damp float64) (limit, squares float64) {
	d.active = d.active[:0]
	for k := range c.own {
		row, value := c.entries(int32(k))
		slope, bend := 0.0, 0.0
		for i, r := range row {
			x := float64(value[i])
			slope += x * d.first[r]
			bend += x * x * d.second[r]
		}
		w := float64(d.weights[k])
		slope += pull * w
		d.slope[k], d.bend[k] = slope, damp*bend+pull
		limit = max(limit, math.Abs(slope))
		squares += slope * slope
		if d.bend[k] > 0 && (w != 0 || math.Abs(slope) > nearly*threshold) {
			d.active = append(d.active, int32(k))
		}
	}
	return limit, squares
}

// sweep brings the weights of active features to their best, one after the other, some times.
func (d *descent) sweep(c *columns, pull, threshold, damp float64, order uint64) {
	n := len(d.active)
	if n == 0 {
		return
	}
	start, stride := int(order>>33)%n, coprime(int(order&0xffff), n)
	first := 0.0
	for sweep := range sweepsMost {
		gain := 0.0
		for at, visits := start, n; visits > 0; visits-- {
			k := d.active[at]
			if at += stride; at >= n {
				at -= n
			}
			row, value := c.entries(k)
			w, bend := float64(d.weights[k]), d.bend[k]
			slope := pull * w
			for i, r := range row {
				slope += float64(value[i]) * d.first[r]
			}
			next := float32(soft(bend*w-slope, threshold) / bend)
			move := float64(next) - w
			if move == 0 {
				continue
			}
			d.weights[k] = next
			gain += bend * move * move
			step := damp * move
			for i, r := range row {
				d.first[r] += step * d.second[r] * float64(value[i])
			}
		}
		if sweep == 0 {
			first = gain
		}
		if gain <= sweepsLeast*first {
			break
		}
	}
}
