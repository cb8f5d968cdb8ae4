// Package implicit compares matrix factorisation of pairs without ratings with LIBMF's Bayesian personalised ranking.
// 20 % of the pairs are held out by hash. The figure is NDCG@10 of all items that a user had not in the rest, as the
// mean over users.
//
// Ours runs with its defaults. LIBMF's settings are those of a grid that are best on a tenth of the first seed's training pairs, and then it is trained on all of
// them. With --choose it shows what our own two defaults were chosen by: other sets, and training pairs that are held out.
//
// It needs a built mf-train of LIBMF, named by --libmf; without one the figures stand alone. Data are the pairs of ml-1m-liked that are liked, and those of anime420k, below
// --data.
package implicit

import (
	"cmp"
	"flag"
	"fmt"
	"runtime"
	"slices"

	"bellows/app"
	"bellows/app/mf"
	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/bench/internal/trial"
	"bellows/data"
	"bellows/model"
	"bellows/vec"
)

// Program is the measurement.
var Program = pair.Program{Name: "implicit", Turns: [2]int{1, 5}, Define: define}

func define(flags *flag.FlagSet) func(b *pair.Bench) {
	dir := flags.String("data", "", "folder with the rating sets (default: pairs made from a seed)")
	libmf := flags.String("libmf", "", "path of LIBMF's mf-train")
	set := flags.String("set", "", "one set by name")
	choose := flags.Bool("choose", false, "show instead how good other values of our two defaults are on training pairs that are held out")
	return func(p *pair.Bench) {
		p.Header("implicit: NDCG@10 of unseen items, kernels %s, against LIBMF's BPR", vec.Kernels())
		b := bench{p, sets.Open(*dir), *libmf}
		defer b.shelf.Close()
		if *choose {
			b.choose()
			return
		}
		names := []string{"ml-1m-liked", "anime420k"}
		switch {
		case b.shelf.Generated():
			names = names[:1]
		case *set != "":
			names = []string{*set}
		}
		for _, name := range names {
			b.compareOn(b.shelf.Rated(name))
		}
	}
}

// How many of the pairs are tested, and how many of the others settings are chosen by.
const (
	testPercent  = 20
	validPercent = 10
)

// bench is what every figure needs.
type bench struct {
	*pair.Bench
	shelf *sets.Shelf
	libmf string
}

// compareOn compares on one set, over as many seeds as there are turns.
func (b bench) compareOn(files sets.Pair) {
	one, other := files.Read(data.Ratings)
	pairs := liked(one, other)
	b.Section(fmt.Sprintf("%s, %d pairs, %d × %d", files.Origin, pairs.Rows(), len(pairs.Ratings.Users), len(pairs.Ratings.Items)))
	var ours, theirs float64
	var best choice
	for seed := range b.Turns {
		train, test := split(pairs, uint64(seed+1), testPercent)
		m := b.trainOurs(train, nil)
		score := ndcg(m, test)
		ours += score / float64(b.Turns)
		if b.libmf == "" {
			b.Note("seed %d: ours %.4f", seed+1, score)
			continue
		}
		if seed == 0 {
			best = b.best(train, 1)
		}
		peer := ndcg(b.train(best, train, m), test)
		theirs += peer / float64(b.Turns)
		b.Note("seed %d: ours %.4f, LIBMF %.4f with %v", seed+1, score, peer, best)
	}
	fact := pair.Fact{Figure: fmt.Sprintf("NDCG@10, our defaults, %d seeds", b.Turns), Ours: ours, Least: true, Exact: true}
	if b.libmf != "" {
		fact.Peer, fact.Bound = "LIBMF BPR, best of a grid", theirs
	}
	b.AddFact(fact)
}

// deepened is how many of the best of the grid are tried with more factors and iterations.
const deepened = 1

// best returns the settings that are best on a tenth of the training pairs: of the grid, and of its best ones with more
// factors and iterations.
func (b bench) best(train *data.Set, seed uint64) choice {
	known, held := split(train, seed+1000, validPercent)
	like, scores, list := b.trainOurs(known, nil), map[choice]float64{}, grid(b.Full)
	try := func(list []choice) {
		for _, c := range list {
			scores[c] = ndcg(b.train(c, known, like), held)
		}
		slices.SortStableFunc(list, func(x, y choice) int { return cmp.Compare(scores[y], scores[x]) })
	}
	try(list)
	var more []choice
	for _, c := range list[:deepened] {
		more = append(more, larger(c)...)
	}
	try(more)
	list = append(list, more...)
	best := slices.MaxFunc(list, func(x, y choice) int { return cmp.Compare(scores[x], scores[y]) })
	b.Note("LIBMF's best of %d on validation pairs: %v, %.4f", len(list), best, scores[best])
	return best
}

// trainOurs returns our model of pairs, by its defaults except for what is set.
func (b bench) trainOurs(train *data.Set, set map[string]string) *model.Model {
	return trial.Setup{App: mf.New(), Data: train, Slots: min(2, runtime.NumCPU()), Settings: set}.Train().Model()
}

// ndcg returns NDCG@10 of held-out pairs by a model that knows its users' training items.
func ndcg(m *model.Model, held *data.Set) float64 {
	examined := pair.Must(pair.Must(mf.New().Open(m)).(app.Examiner).Examine(held, []string{"ndcg@10"}))
	return examined.Metrics[0].Value
}

// liked joins two parts of a set and keeps what was rated above 0, without the ratings.
func liked(parts ...*data.Set) *data.Set {
	out, users, items := &data.RatingSet{}, map[string]int32{}, map[string]int32{}
	number := func(known map[string]int32, list *[]string, id string) int32 {
		n, ok := known[id]
		if !ok {
			n = int32(len(*list))
			known[id], *list = n, append(*list, id)
		}
		return n
	}
	for _, part := range parts {
		r := part.Ratings
		for k, rating := range r.Rating {
			if rating > 0 {
				out.User = append(out.User, number(users, &out.Users, r.Users[r.User[k]]))
				out.Item = append(out.Item, number(items, &out.Items, r.Items[r.Item[k]]))
				out.Rating = append(out.Rating, 1)
			}
		}
	}
	return &data.Set{Kind: data.Ratings, Ratings: out}
}

// split holds out some percent of the rows by hash.
func split(set *data.Set, seed uint64, percent int) (train, held *data.Set) {
	rows, rest := data.HoldOut(seed, set.Rows(), percent)
	return set.Select(rows), set.Select(rest)
}
