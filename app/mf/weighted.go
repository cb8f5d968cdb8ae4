package mf

import (
	"math"
	"slices"
	"strconv"

	"bellows"
	"bellows/app"
	"bellows/app/epochs"
	"bellows/app/mf/internal/ranked"
	"bellows/app/mf/internal/toplist"
	"bellows/data"
	"bellows/model"
	"bellows/progress"
	"bellows/random"
	"bellows/table"
	"bellows/train"
)

// weighted is a run with loss=weighted, for data that say what users had and not how they liked it (Hu, Koren and
// Volinsky 2008, "Collaborative filtering for implicit feedback datasets"). It minimises, over all pairs of a user and
// an item,
//
//	sum over pairs in the data of weight·(1 - p·q)²  +  unobserved · sum over all pairs of (p·q)²  +  l2 · sum over rows of n·|row|²
//
// where n is the weight of the row's pairs plus unobserved times the number of rows of the other side (Rendle et al.
// 2021, "Revisiting the performance of iALS on item recommendation benchmarks", whose names and scaling of L2 these
// are). Given the items, a user's row is the solution of a linear system, and the other way round, so an epoch is a
// clock that solves all users and one that solves all items. What all pairs contribute is the product of the other
// side's factors with themselves (the Gram matrix), of rank times rank values.
//
// Tables, all under BSP: users and items, each row pushed by the one split that owns it; and the two Gram matrices, to
// which each split pushes the changes of its rows. So the result has the same bits for any number of slots and
// processes.
//
// In a job on several nodes, each lays out the splits that are active there, and no others (prepare).
//
// Invariants: a split pushes rows of its own parts alone; each training pair is in one row of either side
// (TestEveryPairIsInBothSides); the Gram matrix of a side is that of its rows, up to rounding (TestGramFollowsTheRows).
//
// Rejected: Bayesian personalised ranking by stochastic gradient descent, in strata: negative items must come from the
// part of the positive one, so that scores of two parts are never compared.
type weighted struct {
	config
	unobserved float64
	set        *data.RatingSet // the data; nil where all splits are laid out
	weigh      weigher
	percent    int // of the rows are held out
	sides      [2]side
	pairs      int64   // trained on
	total      float64 // their weight
	start      *start  // nil without a model to begin with
	tested     bool    // there are test pairs, which are shown
	scored     [][2][]toplist.User
	counts     [2]int // scored users: by held-out pairs, by test pairs
}

// side is the users or the items: axis, and what rows are paired with in training.
type side struct {
	axis
	size  []int    // pairs of each split
	parts []paired // by split; empty where it is not laid out
}

// paired is what the rows of a split's part of a side are paired with in training.
type paired struct {
	start  []int   // row r of the part has pairs start[r] to start[r+1]
	other  []int32 // rows of the other side
	weight []float32
}

// The tables of a run, beside users and items: rank rows of the users' Gram matrix, then rank rows of the items'.
const gramsTable = 2

// Defaults of loss=weighted.
const (
	weightedEpochs  = 40
	weightedClocks  = 2 // one for the users, one for the items
	weightedRankMax = 1024
	weightedRows    = 4000    // of a split at least, so that the Gram matrix is worth its exchange
	scoredUsersMost = 4000    // scored after an epoch
	rankedFirst     = 10      // of their ranking
	weightedL2      = 0.005   // auto
	firstDeviation  = 0.1     // of p·q at first, times the root of the rank
	weightLeast     = 1e-9    // of a pair, in units of the mean
	weightMost      = 1000000 // limit of a weight
)

// weightedMetrics are the columns of the table.
var weightedMetrics = []string{"train_loss", "test_ndcg_at_10"}

// impliesNothing reports whether ratings say nothing but that there is a pair: all are equal.
func impliesNothing(rating []float32) bool {
	return !slices.ContainsFunc(rating, func(r float32) bool { return r != rating[0] })
}

// weigher gives pairs their weights: their ratings in units of the mean of those above zero, or 1 where all are equal. A pair of weight 0 is none.
type weigher struct {
	alike  bool
	sum, n float64 // of the ratings above zero
}

func newWeigher(rating []float32) (weigher, error) {
	if impliesNothing(rating) {
		return weigher{alike: true}, nil
	}
	var g weigher
	for r, v := range rating {
		if v < 0 {
			return g, bellows.Errorf(bellows.BadData, "train", name, "rating %d is %g, and loss=weighted takes ratings as weights of pairs, which are not negative", r+1, v).
				Hinted("leave out what users did not want, or use loss=squared")
		}
		if v > 0 {
			g.sum, g.n = g.sum+float64(v), g.n+1
		}
	}
	return g, nil
}

// weight returns that of a rating.
func (g weigher) weight(rating float32) float32 {
	switch {
	case g.alike:
		return 1
	case rating > 0:
		return float32(min(max(float64(rating)*g.n/g.sum, weightLeast), weightMost))
	}
	return 0
}

// newWeighted measures the data, and lays out all splits unless they are laid out apart.
func newWeighted(c config, set, test *data.RatingSet) (*weighted, error) {
	weigh, err := newWeigher(set.Rating)
	if err != nil {
		return nil, err
	}
	w := &weighted{config: c, set: set, weigh: weigh, percent: data.HeldPercent(test != nil, true), tested: test != nil}
	users, items := make([]int32, len(set.Users)), make([]int32, len(set.Items))
	w.eachPair(func(row int, weight float32) {
		w.pairs++
		w.total += float64(weight)
		users[set.User[row]]++
		items[set.Item[row]]++
	})
	if w.pairs == 0 {
		return nil, bellows.Errorf(bellows.BadData, "train", name, "%d pairs leave none to train on", set.Rows())
	}
	if w.splits == 0 {
		w.splits = max(min(max((len(set.Users)+len(set.Items))/weightedRows, splitsAutoMin), splitsAutoMax), c.least)
	}
	w.splits = min(w.splits, len(set.Users), len(set.Items))
	w.clocks = weightedClocks
	w.sides[usersTable] = newSide(balance(users, w.splits, random.Derive(c.seed, 1)))
	w.sides[itemsTable] = newSide(balance(items, w.splits, random.Derive(c.seed, 2)))
	w.chooseScored(test)
	if w.apart {
		return w, nil
	}
	all := make([]bellows.SplitID, w.splits)
	for s := range all {
		all[s] = bellows.SplitID(s)
	}
	err = w.prepare(all)
	w.set = nil // it is needed no more
	return w, err
}

// eachPair calls f for each row of the data that is trained on, in order, with its weight.
func (w *weighted) eachPair(f func(row int, weight float32)) {
	rows := w.set.Rows()
	for first := 0; first < rows; first += idleStep {
		end := min(first+idleStep, rows)
		held := data.HeldBetween(w.seed, first, end, w.percent)
		for r := first; r < end; r++ {
			if len(held) > 0 && int(held[0]) == r {
				held = held[1:]
				continue
			}
			if weight := w.weigh.weight(w.set.Rating[r]); weight > 0 {
				f(r, weight)
			}
		}
		if w.idle != nil {
			w.idle()
		}
	}
}

// newSide returns a side without laid-out splits.
func newSide(a axis) side {
	s := side{axis: a, size: make([]int, len(a.bounds)-1), parts: make([]paired, len(a.bounds)-1)}
	for id, at := range a.place {
		s.size[at.part] += int(a.count[id])
	}
	return s
}

// prepare lays out some splits, each in memory of its own. It is the job's Prepare if splits are laid out by node.
func (w *weighted) prepare(active []bellows.SplitID) error {
	if len(active) == 0 {
		return nil
	}
	w.meter.Begin(progress.Part{Doing: "sorting pairs by users and items", Total: 2 * w.pairs})
	users, items := w.sides[usersTable].lay(active), w.sides[itemsTable].lay(active)
	added := 0
	w.eachPair(func(row int, weight float32) {
		user, item := w.set.User[row], w.set.Item[row]
		users.put(user, items.row[item], weight)
		items.put(item, users.row[user], weight)
		if added++; added == dealStep {
			_ = w.meter.Add(2 * dealStep) // what ends the meter is asked below
			added = 0
		}
	})
	if err := w.meter.Err(); err != nil {
		return err
	}
	users.done()
	items.done()
	for _, s := range active {
		w.withoutHad(int(s))
	}
	return nil
}

// release implements the job's Release: it drops the layout of a split.
func (w *weighted) release(split bellows.SplitID) {
	for place := range w.sides {
		w.sides[place].parts[split] = paired{}
	}
	for which := range w.scored[split] {
		for i := range w.scored[split][which] {
			w.scored[split][which][i].Without = nil
		}
	}
}

// layer lays out the parts of some splits of a side.
type layer struct {
	*side
	here []*paired // by split; nil: it is not laid out
	next []int     // by row: the place of its next pair in the split's part
}

func (s *side) lay(active []bellows.SplitID) *layer {
	l := &layer{side: s, here: make([]*paired, len(s.parts)), next: make([]int, len(s.row))}
	for _, split := range active {
		l.here[split] = &paired{start: make([]int, s.rows(int(split))+1), other: make([]int32, s.size[split]), weight: make([]float32, s.size[split])}
	}
	for id, at := range s.place {
		if own := l.here[at.part]; own != nil {
			own.start[at.local+1] = int(s.count[id])
		}
	}
	for split, own := range l.here {
		if own == nil {
			continue
		}
		for r := range own.start[1:] {
			own.start[r+1] += own.start[r]
		}
		copy(l.next[s.bounds[split]:], own.start[:len(own.start)-1])
	}
	return l
}

// put adds a pair to the row of an id, if it is here.
func (l *layer) put(id, otherRow int32, weight float32) {
	own := l.here[l.place[id].part]
	if own == nil {
		return
	}
	at := &l.next[l.row[id]]
	own.other[*at], own.weight[*at] = otherRow, weight
	*at++
}

func (l *layer) done() {
	for split, own := range l.here {
		if own != nil {
			l.parts[split] = *own
		}
	}
}

// row returns the pairs of a row, by its number in the part.
func (p *paired) row(row int) (other []int32, weight []float32) {
	return p.other[p.start[row]:p.start[row+1]], p.weight[p.start[row]:p.start[row+1]]
}

// chooseScored chooses the users whose rankings are scored after an epoch: by held-out pairs, and by those of the test.
// Their training items are left out.
func (w *weighted) chooseScored(test *data.RatingSet) {
	w.scored = make([][2][]toplist.User, w.splits)
	relevant := make([][]int32, len(w.set.Users))
	for first := 0; first < w.set.Rows(); first += idleStep {
		for _, r := range data.HeldBetween(w.seed, first, min(first+idleStep, w.set.Rows()), w.percent) {
			if w.weigh.weight(w.set.Rating[r]) > 0 {
				relevant[w.set.User[r]] = append(relevant[w.set.User[r]], w.set.Item[r])
			}
		}
		if w.idle != nil {
			w.idle()
		}
	}
	w.choose(0, relevant)
	if test == nil {
		return
	}
	clear(relevant)
	user, item := test.IndicesIn(w.set)
	bare := impliesNothing(test.Rating)
	for r, u := range user {
		if u >= 0 && item[r] >= 0 && (bare || test.Rating[r] > 0) {
			relevant[u] = append(relevant[u], item[r])
		}
	}
	w.choose(1, relevant)
}

// choose takes users with something relevant, by chance where there are many.
func (w *weighted) choose(which int, relevant [][]int32) {
	users, items := &w.sides[usersTable], &w.sides[itemsTable]
	var chosen []int32
	for u, list := range relevant {
		if users.count[u] > 0 && len(list) > 0 {
			chosen = append(chosen, int32(u))
		}
	}
	if len(chosen) > scoredUsersMost {
		slices.SortFunc(chosen, func(a, b int32) int {
			if random.Derive(w.seed, 9, uint64(a)) < random.Derive(w.seed, 9, uint64(b)) {
				return -1
			}
			return 1
		})
		chosen = chosen[:scoredUsersMost]
		slices.Sort(chosen)
	}
	w.counts[which] = len(chosen)
	for _, u := range chosen {
		one := toplist.User{Row: users.place[u].local}
		for _, i := range relevant[u] {
			one.Relevant = append(one.Relevant, items.row[i])
		}
		slices.Sort(one.Relevant)
		one.Relevant = slices.Compact(one.Relevant)
		to := &w.scored[users.place[u].part][which]
		*to = append(*to, one)
	}
}

// withoutHad leaves out of the rankings of a split's users what they have in training.
func (w *weighted) withoutHad(split int) {
	for which := range w.scored[split] {
		for i := range w.scored[split][which] {
			one := &w.scored[split][which][i]
			had, _ := w.sides[usersTable].parts[split].row(int(one.Row))
			had = slices.Clone(had)
			slices.Sort(had)
			one.Without = ranked.Difference(nil, had, one.Relevant)
		}
	}
}

// width returns that of the rows of users and items.
func (w *weighted) width() int { return rowWidth(w.rank, false) }

func (w *weighted) tables() []table.Schema {
	schema := func(name string, s *side, init table.Init) table.Schema {
		return table.Schema{Name: name, Rows: len(s.row), Width: w.width(), Bounds: s.bounds, Init: init}
	}
	return []table.Schema{
		usersTable: schema("users", &w.sides[usersTable], table.Init{}),
		itemsTable: schema("items", &w.sides[itemsTable], table.Init{Kind: table.Normal, Seed: random.Derive(w.seed, 4), High: float32(firstDeviation / math.Sqrt(float64(w.rank)))}),
		gramsTable: {Name: "grams", Rows: 2 * w.rank, Width: w.width()},
	}
}

// work returns the layout of the run: a clock that makes the items' first Gram matrix, then epochs of a clock for
// either side.
func (w *weighted) work() epochs.Layout {
	return epochs.Layout{Opens: 1, Splits: w.splits, Clocks: w.clocks}
}

// itemsOf returns the job's Items. An item is a pair, visited once for each side; those of a split are counted by its
// own.
func (w *weighted) itemsOf(split bellows.SplitID, c bellows.Clock) bellows.Range {
	place := w.work().Place(c)
	if place < 0 || place >= len(w.sides) {
		return bellows.Range{}
	}
	return bellows.Range{End: w.sides[place].size[split]}
}

// newWeightedRun makes the training job.
func newWeightedRun(c config, v app.Values, in *app.Input, set, test *data.RatingSet, from *warm) (*app.Run, error) {
	w, err := newWeighted(c, set, test)
	if err != nil {
		return nil, err
	}
	w.Settle(v, w.splits, w.clocks)
	v.Settle("loss", lossWeighted)
	w.unobserved = v.Float("unobserved", 1e-9, 1e3)
	if !w.ownL2 {
		w.l2 = weightedL2
	}
	if from != nil {
		w.start = newStart(from, &w.sides[usersTable].axis, &w.sides[itemsTable].axis)
	}
	driver := epochs.New(w.work(), epochs.AtOnce{}, w.Ending, epochs.Results{Train: 1, Score: 2}, &weightedPolicy{w})
	job := train.Job{
		Tables: w.tables(), Splits: w.splits, Items: w.itemsOf,
		Driver:      driver,
		NewExecutor: func(bellows.SplitID) (train.Executor, error) { return newWeightedExecutor(w), nil },
	}
	if w.apart {
		job.Prepare, job.Release = w.prepare, w.release
	}
	return &app.Run{
		Job: job, Settings: v.Map(), Headline: w.headline(in, set.Rating), Items: 2 * w.pairs,
		Metrics: weightedMetrics, Objective: "train_loss", Doubts: driver.DoubtsOfStopping,
		Model: func(tables [][]float32) (*model.Model, error) { return w.model(set, v.Map(), tables) },
	}, v.Err()
}

func (w *weighted) headline(in *app.Input, rating []float32) string {
	why := "ratings are weights"
	switch {
	case !impliesNothing(rating):
	case in.Data.Reading != nil && in.Data.Reading.Rating != nil:
		why = "ratings are all equal"
	default:
		why = "no ratings"
	}
	from := ""
	if w.start != nil {
		from = w.start.headline() + " · "
	}
	return why + ", so loss=weighted over all pairs · rank " + strconv.Itoa(w.rank) + " · " + from + in.HeldOut(true)
}
