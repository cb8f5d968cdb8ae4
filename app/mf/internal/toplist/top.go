package toplist

import (
	"cmp"
	"math"
	"slices"
)

// Scored is an item with its score.
type Scored struct {
	Item  int32
	Score float32
}

// better reports whether a comes before b: the higher score, of equal ones the item of the lower number.
func better(a, b Scored) bool {
	return a.Score > b.Score || a.Score == b.Score && a.Item < b.Item
}

// Top is the best of the items that it is shown, at most so many. It is a heap with the worst of them first.
type Top struct {
	Most int
	heap []Scored
}

// Offer shows an item. Most items fail the first comparison.
func (t *Top) Offer(s Scored) {
	h := t.heap
	if len(h) < t.Most {
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
	if t.Most == 0 || !better(s, h[0]) {
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

// Sorted returns what is kept, the best first. The top is empty afterwards.
func (t *Top) Sorted() []Scored {
	out := t.heap
	t.heap = nil
	slices.SortFunc(out, func(a, b Scored) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Item, b.Item))
	})
	return out
}

// OfferAll shows the scores of consecutive items, but for those to leave out, which are ascending.
func (t *Top) OfferAll(scores []float32, first int32, without []int32) {
	at, _ := slices.BinarySearch(without, first)
	without = without[at:]
	for j, s := range scores {
		item := first + int32(j)
		if len(without) > 0 && without[0] == item {
			without = without[1:]
			continue
		}
		if s == Unlearned || len(t.heap) == t.Most && t.Most > 0 && s < t.heap[0].Score {
			continue
		}
		t.Offer(Scored{item, s})
	}
}

// Unlearned is the score of an item without ratings: OfferAll leaves it out.
var Unlearned = float32(math.Inf(-1))
