package mf

import (
	"bellows/app/mf/internal/toplist"
	"bellows/vec"
)

// taste is what a model knows of a user: the factors, and the bias.
type taste struct {
	factors []float32
	bias    float32
}

// item returns an item's factors.
func (d *predictor) item(i int) []float32 { return d.qf[i*d.rank:][:d.rank] }

// learned reports whether the item was rated in training: else all that the model has of it is zero.
func (d *predictor) learned(i int) bool { return d.qb[i] != 0 || vec.AbsMax(d.item(i)) > 0 }

// scoreBlock is how many items are scored at a time, so that their scores stay in the cache.
const scoreBlock = 4096

// best returns the items with the highest scores for a taste, except some, which are ascending. Items without ratings
// are left out: nothing is known of them.
func (d *predictor) best(of taste, most int, without []int32) []toplist.Scored {
	t := toplist.Top{Most: most}
	var block [scoreBlock]float32
	for first := 0; first < len(d.qb); first += scoreBlock {
		scores := block[:min(scoreBlock, len(d.qb)-first)]
		for j := range scores {
			item := first + j
			if scores[j] = toplist.Unlearned; d.learned(item) {
				scores[j] = d.mean + of.bias + d.qb[item] + vec.Dot(of.factors, d.item(item))
			}
		}
		t.OfferAll(scores, int32(first), without)
	}
	return t.Sorted()
}
