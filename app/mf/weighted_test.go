package mf

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/app/apptest"
	"bellows/app/epochs"
	"bellows/data"
	"bellows/node"
	"bellows/train"
	"bellows/train/traintest"
)

// clubs returns pairs of users with items of their own club, which they like, and few others: club c has the users
// and items of equal number modulo 3.
func clubs(users, items int) *data.Set {
	r := rand.New(rand.NewPCG(7, 8))
	set := &data.RatingSet{Users: namesOf("u", users), Items: namesOf("i", items)}
	for u := range int32(users) {
		for i := range int32(items) {
			if chance := r.IntN(100); u%3 == i%3 && chance < 50 || chance < 2 {
				set.User, set.Item, set.Rating = append(set.User, u), append(set.Item, i), append(set.Rating, 1)
			}
		}
	}
	return &data.Set{Kind: data.Ratings, Ratings: set}
}

func namesOf(letter string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = letter + string(rune('a'+i/26/26%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i%26))
	}
	return out
}

func weightedOf(t *testing.T, set *data.Set, settings map[string]string) *weighted {
	t.Helper()
	in := app.Input{Data: set, Seed: 3, Settings: settings}
	c, v, err := configure(&in)
	if err != nil {
		t.Fatal(err)
	}
	if c.chooseLoss(&in, v, set.Ratings); c.loss != lossWeighted {
		t.Fatal(c.loss, v.Err())
	}
	w, err := newWeighted(c, set.Ratings, nil)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestEveryPairIsInBothSides looks for each training pair on the side of its user and on that of its item.
func TestEveryPairIsInBothSides(t *testing.T) {
	t.Parallel()
	set := clubs(60, 50)
	w := weightedOf(t, set, map[string]string{"splits": "3"})
	rows, _ := data.HoldOut(3, set.Rows(), data.HeldPercent(false, true))
	var want, users, items [][2]int32
	for _, r := range rows {
		want = append(want, [2]int32{set.Ratings.User[r], set.Ratings.Item[r]})
	}
	byRow := [2][]int32{idsOf(&w.sides[usersTable].axis), idsOf(&w.sides[itemsTable].axis)}
	of := func(tab int, id int32) ([]int32, []float32) {
		at := w.sides[tab].place[id]
		return w.sides[tab].parts[at.part].row(int(at.local))
	}
	for _, u := range byRow[usersTable] {
		other, weight := of(usersTable, u)
		for k, i := range other {
			users = append(users, [2]int32{u, byRow[itemsTable][i]})
			if weight[k] != 1 {
				t.Errorf("weight %v", weight[k])
			}
		}
	}
	for _, i := range byRow[itemsTable] {
		other, _ := of(itemsTable, i)
		for _, u := range other {
			items = append(items, [2]int32{byRow[usersTable][u], i})
		}
	}
	for _, list := range [][][2]int32{want, users, items} {
		slices.SortFunc(list, func(a, b [2]int32) int { return slices.Compare(a[:], b[:]) })
	}
	if !slices.Equal(users, want) || !slices.Equal(items, want) {
		t.Errorf("%d pairs, %d of users, %d of items", len(want), len(users), len(items))
	}
	most := 0
	for s := range w.splits {
		most = max(most, w.itemsOf(bellows.SplitID(s), 1).Len()+w.itemsOf(bellows.SplitID(s), 2).Len())
	}
	if most == 0 || w.itemsOf(0, 0).Len()+w.itemsOf(0, 3).Len() != 0 {
		t.Error("visits are in the wrong clocks")
	}
}

// weightedTables trains and returns the tables.
func weightedTables(t *testing.T, set *data.Set, slots int, settings map[string]string) (*app.Run, [][]float32, []train.Epoch) {
	t.Helper()
	run := apptest.NewRun(t, New(), app.Input{Data: set, Seed: 3, Slots: slots, Epochs: 6, Settings: settings})
	var list []train.Epoch
	res, err := node.Train(context.Background(), run.Job, node.Options{Slots: slots, OnEpoch: func(e train.Epoch, _ node.Spent) { list = append(list, e) }})
	if err != nil {
		t.Fatal(err)
	}
	return run, res.Tables, list
}

// TestGramFollowsTheRows compares the Gram matrices at the end with those of the rows, and the bits of runs with more slots.
func TestGramFollowsTheRows(t *testing.T) {
	t.Parallel()
	set, settings := clubs(60, 50), map[string]string{"rank": "5", "splits": "3", "early_stop": "false"}
	_, tables, list := weightedTables(t, set, 1, settings)
	_, again, _ := weightedTables(t, set, 3, settings)
	for k := range tables {
		if !slices.EqualFunc(tables[k], again[k], func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
			t.Errorf("table %d has other bits with three slots", k)
		}
	}
	const rank, width = 5, 16
	for side := range 2 {
		for a := range rank {
			for b := range rank {
				want := 0.0
				for row := 0; row < len(tables[side]); row += width {
					want += float64(tables[side][row+a]) * float64(tables[side][row+b])
				}
				if got := float64(tables[gramsTable][(side*rank+a)*width+b]); math.Abs(got-want) > 1e-4*(1+math.Abs(want)) {
					t.Errorf("side %d, %d × %d: %v, want %v", side, a, b, got, want)
				}
			}
		}
	}
	for k := 1; k < len(list); k++ {
		if list[k].Metrics[0].Value > list[k-1].Metrics[0].Value {
			t.Errorf("the loss rises from %v to %v", list[k-1].Metrics[0].Value, list[k].Metrics[0].Value)
		}
	}
}

// TestRowsAreMinima looks for a better row around those that solve finds, with weights that differ.
func TestRowsAreMinima(t *testing.T) {
	t.Parallel()
	set := clubs(12, 9)
	for r := range set.Ratings.Rating {
		set.Ratings.Rating[r] = float32(r%4 + 1)
	}
	w := weightedOf(t, set, map[string]string{"rank": "4", "loss": "weighted"})
	w.unobserved, w.l2 = 0.2, 0.05
	e := newWeightedExecutor(w)
	r := rand.New(rand.NewPCG(1, 2))
	other := make([]float32, 9*e.width)
	for i := range 9 {
		for k := range 4 {
			other[i*e.width+k] = float32(r.NormFloat64())
			for j := range 4 {
				e.gram[k*4+j] = 0
			}
		}
	}
	for i := range 9 {
		for k := range 4 {
			for j := range 4 {
				e.gram[k*4+j] += 0.2 * other[i*e.width+k] * other[i*e.width+j]
			}
		}
	}
	idx, weight := []int32{0, 3, 4, 8}, []float32{1, 0.5, 2, 1}
	x := make([]float32, 4)
	l2 := e.solve(x, other, idx, weight, 0.2*9)
	if want := 0.05 * (4.5 + 0.2*9); math.Abs(l2-want) > 1e-9 {
		t.Errorf("l2 is %v, want %v", l2, want)
	}
	loss := func(x []float32) float64 {
		sum := e.loss(x, other, idx, weight)
		for _, v := range x {
			sum += l2 * float64(v) * float64(v)
		}
		return sum
	}
	least := loss(x)
	for k := range x {
		for _, step := range []float32{-1e-2, 1e-2} {
			y := slices.Clone(x)
			y[k] += step
			if loss(y) <= least {
				t.Errorf("variable %d: %v, found %v", k, loss(y), least)
			}
		}
	}
}

// TestClubsAreFound trains on pairs without ratings, and wants those of a user's own club first; a new user is also
// placed in a club.
func TestClubsAreFound(t *testing.T) {
	t.Parallel()
	set := clubs(90, 60)
	run, tables, list := weightedTables(t, set, 2, map[string]string{"rank": "8"})
	if last := list[len(list)-1].Metrics; last[1].Name != "test_ndcg_at_10" || last[1].Value < 0.25 {
		t.Error(last)
	}
	m := apptest.Model(t, run, tables)
	d, err := open(m)
	if err != nil {
		t.Fatal(err)
	}
	own := func(of taste, club int32, without []int32) {
		t.Helper()
		for _, s := range d.best(of, 5, without) {
			if s.Item%3 != club {
				t.Errorf("item %d for club %d", s.Item, club)
			}
		}
	}
	own(taste{d.uf[7*8 : 8*8], 0}, 1, d.seen.Lookup(7))
	own(d.fold([]given{{2, 1}, {8, 1}, {20, 1}}), 2, []int32{2, 8, 20})
	scores, err := d.Evaluate(set)
	if err != nil || scores[0].Name != "ndcg_at_10" || scores[0].Value < 0.8 {
		t.Error(scores, err)
	}
}

// TestSettingsOfWeighted checks that settings are refused where they have no meaning.
func TestSettingsOfWeighted(t *testing.T) {
	t.Parallel()
	bare := clubs(9, 9)
	rated := &data.Set{Kind: data.Ratings, Ratings: &data.RatingSet{User: []int32{0, 1, 1}, Item: []int32{0, 0, 1}, Rating: []float32{1, -2, 3}, Users: namesOf("u", 2), Items: namesOf("i", 2)}}
	for _, c := range []struct {
		set      *data.Set
		settings map[string]string
		kind     bellows.Kind
	}{
		{bare, map[string]string{"lr": "0.1"}, bellows.Config},
		{bare, map[string]string{"biases": "false"}, bellows.Config},
		{bare, map[string]string{"schedule": "ssp"}, bellows.Config},
		{bare, map[string]string{"seen": "false"}, bellows.Config},
		{bare, map[string]string{"rank": "4000"}, bellows.Config},
		{bare, map[string]string{"loss": "hinge"}, bellows.Config},
		{rated, map[string]string{"unobserved": "0.1"}, bellows.Config},
		{rated, map[string]string{"loss": "weighted"}, bellows.BadData},
	} {
		if _, err := New().NewRun(app.Input{Data: c.set, Seed: 1, Settings: c.settings}); bellows.KindOf(err) != c.kind {
			t.Errorf("%v: %v", c.settings, err)
		}
	}
	stale := 2
	if _, err := New().NewRun(app.Input{Data: bare, Seed: 1, Staleness: &stale}); bellows.KindOf(err) != bellows.Config {
		t.Error(err)
	}
}

// TestWeightedCanBeSaved stops and resumes between any two records.
func TestWeightedCanBeSaved(t *testing.T) {
	t.Parallel()
	w := weightedOf(t, clubs(30, 20), map[string]string{"splits": "2"})
	w.Epochs = 3
	traintest.CanBeSaved(t, traintest.Job{
		Job: train.Job{Tables: w.tables(), Splits: w.splits, Items: w.itemsOf},
		Fresh: func() train.Driver {
			return epochs.New(w.work(), epochs.AtOnce{}, w.Ending, epochs.Results{Train: 1, Score: 2}, weightedPolicy{w})
		},
		Result: func(u bellows.Unit) []float64 {
			by := rand.New(rand.NewPCG(uint64(u.Split), uint64(u.Clock))).Float64()
			return []float64{by, 2 * by}
		},
	})
}

// TestWeightedSplitsApartLieAlike lays splits out one by one and some at a time, lets them go, and lays them out again: each lies as where all are laid out
// together, and of one that is not here nothing lies there.
func TestWeightedSplitsApartLieAlike(t *testing.T) {
	t.Parallel()
	set := clubs(90, 70)
	for r := range set.Ratings.Rating {
		set.Ratings.Rating[r] = float32(r % 4) // of weight 0 is no pair
	}
	test := set.Select([]int32{5, 9, 2, 70, 5, 134, 3, 1, 11, 13})
	for _, tested := range []*data.Set{nil, test} {
		made := func(shared bool) *weighted {
			in := app.Input{Data: set, Test: tested, Seed: 3, Shared: shared, Settings: map[string]string{"splits": "5", "loss": "weighted"}}
			c, v, err := configure(&in)
			if err != nil {
				t.Fatal(err)
			}
			c.chooseLoss(&in, v, set.Ratings)
			var of *data.RatingSet
			if tested != nil {
				of = tested.Ratings
			}
			w, err := newWeighted(c, set.Ratings, of)
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		want, got := made(false), made(true)
		if got.counts != want.counts || got.total != want.total || got.pairs != want.pairs || got.counts[0] == 0 {
			t.Errorf("%v are scored, %d pairs of %v, and not %v, %d, %v", got.counts, got.pairs, got.total, want.counts, want.pairs, want.total)
		}
		apptest.ComeAndGo(t, got.splits, got.prepare, got.release, func(s int, is bool) {
			for place := range got.sides {
				lies := want.sides[place].parts[s]
				if !is {
					lies = paired{}
				}
				if !reflect.DeepEqual(got.sides[place].parts[s], lies) || got.sides[place].size[s] != want.sides[place].size[s] {
					t.Fatalf("split %d, here: %v, is laid out in another way", s, is)
				}
			}
			for which, list := range got.scored[s] {
				for i, one := range list {
					w := want.scored[s][which][i]
					if w.Without != nil && !is {
						w.Without = nil
					}
					if !reflect.DeepEqual(one, w) {
						t.Fatalf("split %d, here: %v, scores something else", s, is)
					}
				}
			}
		})
	}
}
