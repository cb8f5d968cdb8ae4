package mf

import (
	"bellows"
	"bellows/app"
	"bellows/data"
	"bellows/progress"
	"bellows/train"
)

// apart lays out the splits of one node of several: those that become active there, and no others. Before that it only
// counts the ratings of all blocks. The rows of the data must stay; if they lie in mapped files, as stored inputs do,
// they take no memory of the process.
//
// Invariant: a split is laid out as a planner that lays out all of them does it (TestSplitsApartLieAlike).
//
// Rejected: files of laid out splits, written by the process that plans first. They would be read instead of the stored
// columns, at a third of the cost of an adopted split, and each run would first write as many bytes as the columns
// have; and a node of another machine would have to fall back on the columns.
type apart[T local] struct {
	*planner[T]
	percent       int // of the rows are held out
	test          *data.RatingSet
	user, item    []int32   // of the test's ids: those of the data, or -1
	blockOf       []int32   // by split and part of the items
	counts        [][]int32 // by piece of the rows: the training ratings of each block
	users, across []spot[T]
}

// planApart counts what the blocks have.
func (p *planner[T]) planApart(test *data.RatingSet) error {
	a := &apart[T]{planner: p, percent: data.HeldPercent(test != nil, true), test: test, blockOf: p.strataBlocks(), counts: make([][]int32, pieces(p.set.Rows())),
		users: spots[T](&p.problem.users), across: spots[T](&p.items)}
	if test != nil {
		a.user, a.item = data.WordNumbers(test.Users, p.set.Users), data.WordNumbers(test.Items, p.set.Items)
		p.tested = test.Rows()
	}
	p.meter.Begin(progress.Part{Doing: "counting ratings of blocks", Unit: "ratings", Total: int64(p.set.Rows())})
	app.ForEach(len(a.counts), func(piece int) {
		count := make([]int32, len(a.blockOf))
		a.counts[piece] = count
		a.walk(piece, func(from, to int) {
			item := p.set.Item[from:to]
			for j, user := range p.set.User[from:to] {
				count[a.blockOf[int(a.users[user].part)*p.clocks+int(a.across[item[j]].part)]]++
			}
		})
	})
	for s := range p.shares {
		ends, end := make([]int, p.clocks), 0
		for c := range ends {
			for _, count := range a.counts {
				end += int(count[s*p.clocks+c])
			}
			ends[c] = end
		}
		p.shares[s].ends = ends
	}
	p.baselineApart(test)
	p.prepare, p.heldRows = a.prepare, nil // they are found again
	return p.meter.Err()
}

// walk calls f with the runs of training ratings in a piece of the rows, in order, until the meter's context ends.
func (a *apart[T]) walk(piece int, f func(from, to int)) {
	rows, n := a.set.Rows(), len(a.counts)
	first, last, walked := app.Share(rows, piece, n), app.Share(rows, piece+1, n), 0
	for ; first < last; first += dealStep {
		end := min(first+dealStep, last)
		if a.meter.Add(int64(end-first)) != nil {
			return
		}
		from := first
		for _, row := range data.HeldBetween(a.seed, first, end, a.percent) {
			f(from, int(row))
			from = int(row) + 1
		}
		f(from, end)
		if walked += end - first; walked >= idleStep {
			a.idle()
			walked = 0
		}
	}
}

// idleStep is after how many rows what was looked at is given back.
const idleStep = 1 << 17

// baselineApart computes the baseline of score.
func (p *planner[T]) baselineApart(test *data.RatingSet) {
	var sum float64
	add := func(r float32) {
		d := float64(r) - p.scale.mean
		sum += d * d
	}
	n := p.tested
	if n > 0 {
		for _, r := range test.Rating {
			add(r)
		}
	} else if n = len(p.heldRows); n > 0 {
		for _, row := range p.heldRows {
			add(p.set.Rating[row])
		}
	}
	if n > 0 {
		p.baseline = &train.Metric{Name: "mean predictor", Value: rms(sum, n)}
	}
}

// prepare returns the job's Prepare: it lays out the splits of a list, each in separate memory.
func (a *apart[T]) prepare(active []bellows.SplitID) error {
	if len(active) == 0 {
		return nil
	}
	here := make([]*columns, a.splits)
	next := make([][]int32, len(a.counts)) // by piece: where the next rating of a block goes in its split
	for piece := range next {
		next[piece] = make([]int32, len(a.blockOf))
	}
	for _, s := range active {
		share := &a.shares[s]
		c, err := makeColumns(share.ends[a.clocks-1])
		if err != nil {
			return err
		}
		here[s] = &c
		for clock := range a.clocks {
			b := int(s)*a.clocks + clock
			at := int32(share.begin(clock))
			for piece, count := range a.counts {
				next[piece][b] = at
				at += count[b]
			}
		}
	}
	a.put(here, next)
	a.reorder(active, here)
	if err := a.meter.Err(); err != nil {
		return err
	}
	held, test, err := a.probes(active, here)
	if err != nil {
		return err
	}
	for _, s := range active { // the ends stay as they are: others ask for items meanwhile
		share := &a.shares[s]
		share.columns, share.held, share.test = *here[s], held[s], test[s]
	}
	return nil
}

// put writes the training ratings of some splits to their blocks, in the order of the rows.
func (a *apart[T]) put(here []*columns, next [][]int32) {
	a.meter.Begin(progress.Part{Doing: "sorting ratings into blocks", Unit: "ratings", Total: int64(a.set.Rows())})
	app.ForEach(len(next), func(piece int) {
		next := next[piece]
		a.walk(piece, func(from, to int) {
			item, rating := a.set.Item[from:to], a.set.Rating[from:to]
			for j, user := range a.set.User[from:to] {
				u := a.users[user]
				c := here[u.part]
				if c == nil {
					continue
				}
				i := a.across[item[j]]
				block := a.blockOf[int(u.part)*a.clocks+int(i.part)]
				at := next[block]
				next[block] = at + 1
				c.user[at], c.item[at], c.rating[at] = int32(u.local), int32(i.local), a.scale.standard(rating[j])
			}
		})
	})
}

// reorder puts the blocks of some splits into the order of their visits.
func (a *apart[T]) reorder(active []bellows.SplitID, here []*columns) {
	a.meter.Begin(progress.Part{Doing: "shuffling blocks", Total: int64(len(active))})
	app.ForEach(len(active), func(i int) {
		s := int(active[i])
		if a.meter.Add(1) != nil {
			return
		}
		o := &orderer[T]{list: make([]entry[T], 0, a.shares[s].longest())}
		for clock := range a.clocks {
			c := here[s].slice(a.shares[s].begin(clock), a.shares[s].ends[clock])
			o.list = o.list[:0]
			for j, rating := range c.rating {
				o.list = append(o.list, entry[T]{T(c.user[j]), T(c.item[j]), rating})
			}
			o.shuffle(a.seed, uint64(s*a.clocks+clock))
			o.write(c, a.tiling(s, a.rotation().part(s, clock)))
		}
	})
}

// probed is the ratings of a split that are scored, by ids of the data, with their numbers among all that are scored.
type probed struct {
	columns
	number []int32
}

// probes returns the ratings of some splits that are scored: those held out, then those of the test.
func (a *apart[T]) probes(active []bellows.SplitID, here []*columns) (held, test []probes, err error) {
	defer clear(a.stages) // they are needed no more
	held, err = a.groupEach(active, here, func(each func(user, item int32, rating float32)) {
		for first := 0; first < a.set.Rows(); first += idleStep {
			for _, row := range data.HeldBetween(a.seed, first, min(first+idleStep, a.set.Rows()), a.percent) {
				each(a.set.User[row], a.set.Item[row], a.set.Rating[row])
			}
			a.idle()
		}
	})
	if err != nil {
		return nil, nil, err
	}
	test, err = a.groupEach(active, here, func(each func(user, item int32, rating float32)) {
		if a.test == nil {
			return
		}
		for n, rating := range a.test.Rating {
			each(a.user[a.test.User[n]], a.item[a.test.Item[n]], rating)
		}
	})
	return held, test, err
}

// groupEach groups some splits, each in separate memory. all calls each with every rating that is
// scored, in the same order in every call.
func (a *apart[T]) groupEach(active []bellows.SplitID, here []*columns, all func(each func(user, item int32, rating float32))) ([]probes, error) {
	users := seenSpots[T](&a.problem.users)
	of := func(n int32, user int32) int32 {
		if user >= 0 && users[user].local != ^T(0) {
			return int32(users[user].part)
		}
		return n % int32(a.splits)
	}
	count, n := make([]int, a.splits), int32(0)
	all(func(user, _ int32, _ float32) {
		count[of(n, user)]++
		n++
	})
	own := make([]probed, a.splits)
	for _, s := range active {
		own[s] = probed{columns{make([]int32, 0, count[s]), make([]int32, 0, count[s]), make([]float32, 0, count[s])}, make([]int32, 0, count[s])}
	}
	n = 0
	all(func(user, item int32, rating float32) {
		if s := of(n, user); here[s] != nil {
			o := &own[s]
			o.user, o.item, o.rating, o.number = append(o.user, user), append(o.item, item), append(o.rating, rating), append(o.number, n)
		}
		n++
	})
	out := make([]probes, a.splits)
	for _, s := range active {
		o := own[s]
		own[s] = probed{}
		grouped, err := a.group(o.columns, func(i int) int { return int(o.number[i]) })
		if err != nil {
			return nil, err
		}
		out[s] = grouped[s]
	}
	return out, nil
}

// release implements the job's Release: it frees what prepare has laid out of a split.
func (p *problem) release(split bellows.SplitID) {
	share := &p.shares[split]
	share.columns, share.held, share.test = columns{}, probes{}, probes{}
}
