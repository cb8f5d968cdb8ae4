package mf

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bellows"
	"bellows/app/mf/internal/ranked"
	"bellows/app/mf/internal/seen"
	"bellows/app/mf/internal/toplist"
	"bellows/data"
)

// madePredictor returns a predictor of random factors.
func madePredictor(users, items, rank int) *predictor {
	r := rand.New(rand.NewPCG(3, 4))
	fill := func(n int) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = float32(r.NormFloat64())
		}
		return out
	}
	return &predictor{rank: rank, mean: 3, known: data.RatingSet{Users: make([]string, users), Items: make([]string, items)},
		uf: fill(users * rank), qf: fill(items * rank), ub: fill(users), qb: fill(items)}
}

// TestSeenComesBack encodes and decodes, over several pieces, with ratings given twice.
func TestSeenComesBack(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	set := &data.RatingSet{Users: make([]string, 300), Items: make([]string, 70000)}
	want := make([][]int32, len(set.Users))
	for range 20000 {
		u, i := int32(r.IntN(299)), int32(r.IntN(len(set.Items)))
		set.User, set.Item = append(set.User, u, u), append(set.Item, i, i)
		want[u] = append(want[u], i)
	}
	text := seen.Encode(set, 1000)
	if whole := seen.Encode(set, seen.RowsMost); !slices.Equal(text, whole) {
		t.Error("the pieces show")
	}
	got, ok := seen.Open(text, len(set.Users), len(set.Items))
	if !ok {
		t.Fatal("refused")
	}
	for u := range want {
		slices.Sort(want[u])
		if !slices.Equal(got.Lookup(int32(u)), slices.Compact(want[u])) {
			t.Fatalf("user %d: %v", u, got.Lookup(int32(u)))
		}
	}
	for _, bad := range [][]byte{text[:len(text)-1], append(slices.Clone(text), 0), {1, 5}, {2, 3, 0}, {1, 0x80}, {9}} {
		users, items := len(set.Users), len(set.Items)
		if len(bad) < 10 {
			users, items = 1, 4
		}
		if _, ok := seen.Open(bad, users, items); ok {
			t.Errorf("%v is taken", bad[:min(len(bad), 9)])
		}
	}
	if got.Lookup(-1) != nil || (*seen.Items)(nil).Lookup(0) != nil {
		t.Error("unknown users have seen something")
	}
}

// TestBestAreTheBest compares with sorting everything.
func TestBestAreTheBest(t *testing.T) {
	t.Parallel()
	d := madePredictor(3, 2*scoreBlock+17, 5)
	clear(d.qf[35:40]) // item 7 was never rated
	d.qb[7] = 0
	copy(d.qf[5*9:], d.qf[5*8:5*9]) // items 8 and 9 are equal
	d.qb[9] = d.qb[8]
	without := []int32{0, 5, scoreBlock, 2*scoreBlock + 16}
	for _, most := range []int{1, 10, 3 * scoreBlock} {
		for u := range int32(3) {
			var want []toplist.Scored
			for i := range int32(len(d.qb)) {
				if i != 7 && !slices.Contains(without, i) {
					want = append(want, toplist.Scored{Item: i, Score: d.rating(u, i)})
				}
			}
			slices.SortFunc(want, func(a, b toplist.Scored) int {
				return cmp.Or(-cmp.Compare(a.Score, b.Score), cmp.Compare(a.Item, b.Item))
			})
			want = want[:min(most, len(want))]
			got := d.best(taste{d.uf[int(u)*d.rank:][:d.rank], d.ub[u]}, most, without)
			if len(got) != len(want) {
				t.Fatalf("%d, want %d", len(got), len(want))
			}
			for k := range want {
				if math.Abs(float64(got[k].Score-want[k].Score)) > 1e-5 {
					t.Fatalf("rank %d is %v, want %v", k, got[k], want[k])
				}
			}
		}
	}
}

// TestNewUserIsFitted looks for a better taste around the one that was found.
func TestNewUserIsFitted(t *testing.T) {
	t.Parallel()
	d := madePredictor(1, 40, 6)
	d.folding = details{L2: 0.07, BiasL2: 0.2}
	var list []given
	for i := range int32(9) {
		list = append(list, given{3 * i, float32(i%5 + 1)})
	}
	loss := func(x taste) float64 {
		sum := 0.0
		for _, g := range list {
			e := float64(g.rating - d.mean - d.qb[g.item] - x.bias)
			for k, v := range x.factors {
				e -= float64(v * d.item(int(g.item))[k])
			}
			sum += e * e
		}
		for _, v := range x.factors {
			sum += float64(len(list)) * d.folding.L2 * float64(v) * float64(v)
		}
		return sum + float64(len(list))*d.folding.BiasL2*float64(x.bias)*float64(x.bias)
	}
	found := d.fold(list)
	least := loss(found)
	for k := range d.rank + 1 {
		for _, step := range []float32{-1e-2, 1e-2} {
			other := taste{slices.Clone(found.factors), found.bias}
			if k < d.rank {
				other.factors[k] += step
			} else {
				other.bias += step
			}
			if loss(other) <= least {
				t.Errorf("variable %d: %v, found %v", k, loss(other), least)
			}
		}
	}
	// One rating more than nothing, and no strength of L2 at all, still have one answer.
	d.folding = details{}
	if x := d.fold(list[:1]); !finite(float64(x.bias)) || !finite(float64(x.factors[0])) {
		t.Error(x)
	}
}

// TestRankingsByTheBook compares metrics of rankings with those of whole sorted lists.
func TestRankingsByTheBook(t *testing.T) {
	t.Parallel()
	const users, items = 70, 1500
	d := madePredictor(users, items, 4)
	r := rand.New(rand.NewPCG(5, 6))
	set := &data.RatingSet{Users: d.known.Users, Items: d.known.Items}
	had := &data.RatingSet{Users: d.known.Users, Items: d.known.Items}
	for u := range int32(users) {
		for i := range int32(items) {
			if r.IntN(10) == 0 {
				had.User, had.Item = append(had.User, u), append(had.Item, i)
			}
			if r.IntN(40) == 0 && u != 3 {
				set.User, set.Item, set.Rating = append(set.User, u), append(set.Item, i), append(set.Rating, float32(r.IntN(5)+1))
			}
		}
	}
	d.seen, _ = seen.Open(seen.Encode(had, seen.RowsMost), users, items)
	asked := []ranked.Metric{{Sort: "ndcg", K: 10}, {Sort: "precision", K: 5}, {Sort: "recall", K: 50}}
	if err := d.rankAll(asked, set.User, set.Item, set.Rating); err != nil {
		t.Fatal(err)
	}
	var want [3]float64
	for u := range int32(users) {
		rating := map[int32]float32{}
		for j := range set.User {
			if set.User[j] == u {
				rating[set.Item[j]] = set.Rating[j]
			}
		}
		var order []int32
		relevant := 0
		for i := range int32(items) {
			_, there := rating[i]
			if there || !slices.Contains(d.seen.Lookup(u), i) {
				order = append(order, i)
			}
			if rating[i] > d.mean {
				relevant++
			}
		}
		slices.SortFunc(order, func(a, b int32) int { return -cmp.Compare(d.rating(u, a), d.rating(u, b)) })
		for at, i := range order {
			if !(rating[i] > d.mean) {
				continue
			}
			if at < 10 {
				want[0] += 1 / math.Log2(float64(at)+2) / ideal(min(10, relevant)) / (users - 1)
			}
			if at < 5 {
				want[1] += 1. / 5 / (users - 1)
			}
			if at < 50 {
				want[2] += 1 / float64(relevant) / (users - 1)
			}
		}
	}
	for k, a := range asked {
		if math.Abs(a.Sum-want[k]) > 1e-9 {
			t.Errorf("%s@%d is %v, want %v", a.Sort, a.K, a.Sum, want[k])
		}
	}
	if err := d.rankAll(asked, nil, nil, nil); bellows.KindOf(err) != bellows.BadData {
		t.Error(err)
	}
}

// ideal returns the gain of a ranking that begins with n relevant items.
func ideal(n int) (gain float64) {
	for at := range n {
		gain += 1 / math.Log2(float64(at)+2)
	}
	return gain
}
