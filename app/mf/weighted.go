package mf

import (
	"math"
	"slices"
	"strconv"

	"bellows"
	"bellows/app"
	"bellows/app/epochs"
	"bellows/data"
	"bellows/model"
	"bellows/random"
	"bellows/table"
	"bellows/train"
)

// weighted is a run with loss=weighted, for data that say what users had and not how they liked it (Hu, Koren and Volinsky 2008,
// "Collaborative filtering for implicit feedback datasets"). It minimises, over all pairs of a user and an item,
//
//	sum over pairs in the data of weight·(1 - p·q)²  +  unobserved · sum over all pairs of (p·q)²  +  l2 · sum over rows of n·|row|²
//
// where n is the weight of the row's pairs plus unobserved times the number of rows of the other side (Rendle et al. 2021, "Revisiting the
// performance of iALS on item recommendation benchmarks", whose names and scaling of L2 these are). Given the items, a user's row is the solution of
// a linear system, and the other way round, so an epoch is a clock that solves all users and one that solves all items. What all pairs contribute is
// the product of the other side's factors with themselves (the Gram matrix), of rank times rank values.
//
// Tables, all under BSP: users and items, of which each row is pushed by the one split that owns it; and the two Gram matrices, to which
// each split pushes what its rows have changed. So the result has the same bits for any number of slots and processes.
//
// Invariants: a split pushes rows of its own parts alone; each pair trained on is in one row of either side (TestEveryPairIsInBothSides); the Gram matrix
// of a side is that of its rows, up to rounding (TestGramFollowsTheRows).
//
// Turned down: Bayesian personalised ranking by stochastic gradient descent, in strata: negative items must come from the part of the positive
// one, so that scores of two parts are never compared.
type weighted struct {
	config
	unobserved float64
	sides      [2]side
	pairs      int64   // trained on
	total      float64 // their weight
	start      *start  // nil without a model to begin with
	tested     bool    // there are test pairs, which are shown
	scored     [][2][]ranked
	counts     [2]int // users who are scored: by held-out pairs, by test pairs
}

// side is the users or the items: axis, and for each row of the table what it is paired with in training.
type side struct {
	axis
	ids    []int32 // of the rows
	start  []int   // row r has pairs start[r] to start[r+1]
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
	scoredUsersMost = 4000    // who are scored after an epoch
	rankedFirst     = 10      // of their ranking
	weightedL2      = 0.005   // auto
	firstDeviation  = 0.1     // of p·q at first, times the root of the rank
	weightLeast     = 1e-9    // of a pair, in units of the mean
	weightMost      = 1000000 // likewise
)

// weightedMetrics are the columns of the table.
var weightedMetrics = []string{"train_loss", "test_ndcg_at_10"}

// impliesNothing says whether ratings say nothing but that there is a pair: all are equal.
func impliesNothing(rating []float32) bool {
	return !slices.ContainsFunc(rating, func(r float32) bool { return r != rating[0] })
}

// weights are those of pairs: their ratings in units of the mean of those above zero, or 1 where all are equal. A pair of weight 0 is
// none.
func weights(rating []float32) ([]float32, error) {
	out := make([]float32, len(rating))
	if impliesNothing(rating) {
		for i := range out {
			out[i] = 1
		}
		return out, nil
	}
	sum, n := 0.0, 0
	for r, v := range rating {
		if v < 0 {
			return nil, bellows.Errorf(bellows.BadData, "train", name, "rating %d is %g, and loss=weighted takes ratings as weights of pairs, which are not negative", r+1, v).
				Hinted("leave out what users did not want, or use loss=squared")
		}
		if v > 0 {
			sum, n = sum+float64(v), n+1
		}
	}
	for i, v := range rating {
		if v > 0 {
			out[i] = float32(min(max(float64(v)*float64(n)/sum, weightLeast), weightMost))
		}
	}
	return out, nil
}

// newWeighted lays out the data.
func newWeighted(c config, set, test *data.RatingSet) (*weighted, error) {
	weight, err := weights(set.Rating)
	if err != nil {
		return nil, err
	}
	rows, held := data.HoldOut(c.seed, set.Rows(), data.HeldPercent(test != nil, true))
	none := func(r int32) bool { return weight[r] == 0 }
	rows, held = slices.DeleteFunc(rows, none), slices.DeleteFunc(held, none)
	if len(rows) == 0 {
		return nil, bellows.Errorf(bellows.BadData, "train", name, "%d pairs leave none to train on", set.Rows())
	}
	w := &weighted{config: c, pairs: int64(len(rows)), tested: test != nil}
	if w.splits == 0 {
		w.splits = min(max((len(set.Users)+len(set.Items))/weightedRows, splitsAutoMin), splitsAutoMax)
	}
	w.splits = min(w.splits, len(set.Users), len(set.Items))
	w.clocks = weightedClocks
	for _, r := range rows {
		w.total += float64(weight[r])
	}
	users := balance(countRows(set.User, rows, len(set.Users)), w.splits, random.Of(c.seed, 1))
	items := balance(countRows(set.Item, rows, len(set.Items)), w.splits, random.Of(c.seed, 2))
	w.sides[usersTable] = newSide(users, items.row, set.User, set.Item, weight, rows)
	w.sides[itemsTable] = newSide(items, users.row, set.Item, set.User, weight, rows)
	w.prepareScores(set, test, held)
	return w, nil
}

// countRows is the number of chosen rows by id.
func countRows(ids, rows []int32, n int) []int32 {
	count := make([]int32, n)
	for _, r := range rows {
		count[ids[r]]++
	}
	return count
}

// newSide sorts pairs by the rows of one side.
func newSide(a axis, otherRow, own, other []int32, weight []float32, rows []int32) side {
	s := side{axis: a, ids: make([]int32, len(a.row)), start: make([]int, len(a.row)+1), other: make([]int32, len(rows)), weight: make([]float32, len(rows))}
	for id, row := range a.row {
		s.ids[row] = int32(id)
		s.start[row+1] = int(a.count[id])
	}
	for r := range a.row {
		s.start[r+1] += s.start[r]
	}
	place := slices.Clone(s.start)
	for _, r := range rows {
		at := &place[a.row[own[r]]]
		s.other[*at], s.weight[*at] = otherRow[other[r]], weight[r]
		*at++
	}
	return s
}

// of is what a row is paired with.
func (s *side) of(row int) (other []int32, weight []float32) {
	return s.other[s.start[row]:s.start[row+1]], s.weight[s.start[row]:s.start[row+1]]
}

// prepareScores chooses the users whose rankings are scored after an epoch: by held-out pairs, and by those of the test. What they have in training
// is left out.
func (w *weighted) prepareScores(set, test *data.RatingSet, held []int32) {
	w.scored = make([][2][]ranked, w.splits)
	relevant := make([][]int32, len(set.Users))
	for _, r := range held {
		relevant[set.User[r]] = append(relevant[set.User[r]], set.Item[r])
	}
	w.choose(0, relevant)
	if test == nil {
		return
	}
	clear(relevant)
	user, item := test.IndicesIn(set)
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
			if random.Of(w.seed, 9, uint64(a)) < random.Of(w.seed, 9, uint64(b)) {
				return -1
			}
			return 1
		})
		chosen = chosen[:scoredUsersMost]
		slices.Sort(chosen)
	}
	w.counts[which] = len(chosen)
	for _, u := range chosen {
		one := ranked{row: users.place[u].local}
		for _, i := range relevant[u] {
			one.relevant = append(one.relevant, items.row[i])
		}
		slices.Sort(one.relevant)
		one.relevant = slices.Compact(one.relevant)
		had, _ := users.of(int(users.row[u]))
		had = slices.Clone(had)
		slices.Sort(had)
		one.without = difference(nil, had, one.relevant)
		to := &w.scored[users.place[u].part][which]
		*to = append(*to, one)
	}
}

// width is that of the rows of users and items.
func (w *weighted) width() int { return rowWidth(w.rank, false) }

func (w *weighted) tables() []table.Schema {
	schema := func(name string, s *side, init table.Init) table.Schema {
		return table.Schema{Name: name, Rows: len(s.row), Width: w.width(), Bounds: s.bounds, Init: init}
	}
	return []table.Schema{
		usersTable: schema("users", &w.sides[usersTable], table.Init{}),
		itemsTable: schema("items", &w.sides[itemsTable], table.Init{Kind: table.Normal, Seed: random.Of(w.seed, 4), High: float32(firstDeviation / math.Sqrt(float64(w.rank)))}),
		gramsTable: {Name: "grams", Rows: 2 * w.rank, Width: w.width()},
	}
}

// work is the layout of the run: a clock that makes the items' first Gram matrix, then epochs of a clock for either side.
func (w *weighted) work() epochs.Layout {
	return epochs.Layout{Opens: 1, Splits: w.splits, Clocks: w.clocks}
}

// itemsOf is the job's Items. An item is a pair, visited once for each side; those of a split are counted by its own.
func (w *weighted) itemsOf(split bellows.SplitID, c bellows.Clock) bellows.Range {
	place := w.work().Place(c)
	if place < 0 || place >= len(w.sides) {
		return bellows.Range{}
	}
	s := &w.sides[place]
	return bellows.Range{End: s.start[s.bounds[split+1]] - s.start[s.bounds[split]]}
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
	policy := &weightedPolicy{w}
	return &app.Run{
		Job: train.Job{
			Tables: w.tables(), Splits: w.splits, Items: w.itemsOf,
			Driver:      epochs.New(w.work(), epochs.AtOnce{}, w.Ending, epochs.Results{Train: 1, Score: 2}, policy),
			NewExecutor: func(bellows.SplitID) (train.Executor, error) { return newWeightedExecutor(w), nil },
		},
		Settings: v.All(), Headline: w.headline(in, set.Rating), Items: 2 * w.pairs,
		Metrics: weightedMetrics, Objective: "train_loss",
		Model: func(tables [][]float32) (*model.Model, error) { return w.model(set, v.All(), tables) },
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
