package mf

import (
	"cmp"
	"math"
	"slices"

	"bellows/vec"
)

// scored is an item with its score.
type scored struct {
	item  int32
	score float32
}

// better says whether a comes before b: the higher score, of equal ones the item of the lower number.
func better(a, b scored) bool {
	return a.score > b.score || a.score == b.score && a.item < b.item
}

// top is the best of the items that it is shown, at most so many. It is a heap with the worst of them first.
type top struct {
	most int
	heap []scored
}

// offer shows an item. Most items fail the first comparison.
func (t *top) offer(s scored) {
	h := t.heap
	if len(h) < t.most {
		h = append(h, s)
		t.heap = h
		for at := len(h) - 1; at > 0; {
			above := (at - 1) / 2
			if !better(h[above], h[at]) {
				break
			}
			h[above], h[at] = h[at], h[above]
			at = above
		}
		return
	}
	if t.most == 0 || !better(s, h[0]) {
		return
	}
	h[0] = s
	for at := 0; ; {
		worst := at
		for below := 2*at + 1; below <= 2*at+2 && below < len(h); below++ {
			if better(h[worst], h[below]) {
				worst = below
			}
		}
		if worst == at {
			return
		}
		h[at], h[worst] = h[worst], h[at]
		at = worst
	}
}

// sorted is what is kept, the best first. The top is empty afterwards.
func (t *top) sorted() []scored {
	out := t.heap
	t.heap = nil
	slices.SortFunc(out, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.item, b.item))
	})
	return out
}

// offerAll shows the scores of consecutive items, but for those to leave out, which are ascending.
func (t *top) offerAll(scores []float32, first int32, without []int32) {
	at, _ := slices.BinarySearch(without, first)
	without = without[at:]
	for j, s := range scores {
		item := first + int32(j)
		if len(without) > 0 && without[0] == item {
			without = without[1:]
			continue
		}
		if s == unlearned || len(t.heap) == t.most && t.most > 0 && s < t.heap[0].score {
			continue
		}
		t.offer(scored{item, s})
	}
}

// taste is what a model knows of a user: the factors, and the bias.
type taste struct {
	factors []float32
	bias    float32
}

// unlearned is the score of an item that nobody has rated.
var unlearned = float32(math.Inf(-1))

// item is an item's factors.
func (d *predictor) item(i int) []float32 { return d.qf[i*d.rank:][:d.rank] }

// learned says whether the item was rated in training: else all that the model has of it is zero.
func (d *predictor) learned(i int) bool { return d.qb[i] != 0 || vec.AbsMax(d.item(i)) > 0 }

// scoreBlock is how many items are scored at a time, so that their scores stay in the cache.
const scoreBlock = 4096

// best is the items with the highest scores for a taste, without some, which are ascending. Items that nobody has rated are left out: nothing
// is known of them.
func (d *predictor) best(of taste, most int, without []int32) []scored {
	t := top{most: most}
	var block [scoreBlock]float32
	for first := 0; first < len(d.qb); first += scoreBlock {
		scores := block[:min(scoreBlock, len(d.qb)-first)]
		for j := range scores {
			item := first + j
			if scores[j] = unlearned; d.learned(item) {
				scores[j] = d.mean + of.bias + d.qb[item] + vec.Dot(of.factors, d.item(item))
			}
		}
		t.offerAll(scores, int32(first), without)
	}
	return t.sorted()
}
