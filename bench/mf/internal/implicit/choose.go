package implicit

import (
	"cmp"
	"fmt"
	"slices"

	"bellows/data"
)

// settings are our own settings whose defaults are constants.
type settings struct{ unobserved, l2 float64 }

// defaults are those of a run without settings.
var defaults = settings{0.3, 0.005}

func (s settings) String() string { return fmt.Sprintf("unobserved=%g l2=%g", s.unobserved, s.l2) }

// choices returns the grid of our own settings.
func choices() (list []settings) {
	for _, u := range []float64{0.1, 0.2, 0.3, 0.5} {
		for _, l2 := range []float64{0.002, 0.005, 0.01, 0.02, 0.05} {
			list = append(list, settings{u, l2})
		}
	}
	return list
}

// choosing is the sets that our settings are chosen by: one that the comparison does not know, and the training pairs of those that it does.
var choosing = []string{"ml-100k.ua", "anime420k", "ml-1m-liked"}

// choose shows how good each choice of our settings is on a tenth of the training pairs: its share of the best on a set, the mean over the sets,
// and where the defaults stand.
func (b bench) choose() {
	if b.shelf.Generated() {
		b.Note("nothing to choose by: no --data")
		return
	}
	b.Section(fmt.Sprintf("choosing by validation pairs, %d seeds", b.Turns))
	list, share := choices(), map[settings]float64{}
	for _, name := range choosing {
		scores := b.validated(name)
		best := slices.MaxFunc(list, func(x, y settings) int { return cmp.Compare(scores[x], scores[y]) })
		b.Note("%s: best %.4f with %v; our defaults %.4f", name, scores[best], best, scores[defaults])
		for _, s := range list {
			b.Note("  %v: %.4f", s, scores[s])
		}
		for _, s := range list {
			share[s] += scores[s] / scores[best] / float64(len(choosing))
		}
	}
	slices.SortStableFunc(list, func(x, y settings) int { return cmp.Compare(share[y], share[x]) })
	for i, s := range list {
		if i < 6 || s == defaults {
			b.Note("%d: %v, %.4f of the best of each set, the mean", i+1, s, share[s])
		}
	}
}

// validated returns NDCG@10 of each choice on a tenth of a set's training pairs, the mean over as many seeds as there
// are turns.
func (b bench) validated(name string) map[settings]float64 {
	one, other := b.shelf.Rated(name).Read(data.Ratings)
	pairs, scores := liked(one, other), map[settings]float64{}
	for seed := range uint64(b.Turns) {
		train, _ := split(pairs, seed+1, testPercent)
		known, held := split(train, seed+1001, validPercent)
		for _, s := range choices() {
			m := b.trainOurs(known, map[string]string{"unobserved": fmt.Sprint(s.unobserved), "l2": fmt.Sprint(s.l2)})
			scores[s] += ndcg(m, held) / float64(b.Turns)
		}
	}
	return scores
}
