package mf

import (
	"slices"

	"bellows/progress"
	"bellows/vec"
)

// Users are ranked for some at a time, and items scored some at a time, so that scores are one product of matrices and stay in the cache.
const (
	rankUsers = 32
	rankItems = 1024
)

// ranked is a user whose ranking of items is judged. Relevant and without are ascending rows of items: what should come first, and what is no part
// of the ranking. Row is that of the user's factors.
type ranked struct {
	row               int32
	relevant, without []int32
}

// ranker ranks items for users, by the product of their factors and the items' biases.
type ranker struct {
	rank         int
	stride       int // of factors
	users, items []float32
	bias         []float32 // of items; nil: none
	most         int       // of the ranking
	meter        *progress.Meter
	tops         [rankUsers]top
}

// judge ranks items for each user, and tells which places, from 0, have a relevant item. Its error is the meter's.
func (r *ranker) judge(list []ranked, to func(user *ranked, hits []int)) error {
	factors, scores := make([]float32, rankUsers*r.rank), make([]float32, rankUsers*rankItems)
	all := (len(r.items) + r.stride - r.rank) / r.stride
	var hits []int
	r.meter.Begin(progress.Part{Doing: "ranking all items", Unit: "users", Total: int64(len(list))})
	for some := range slices.Chunk(list, rankUsers) {
		if err := r.meter.Add(int64(len(some))); err != nil {
			return err
		}
		for k, u := range some {
			copy(factors[k*r.rank:], r.users[int(u.row)*r.stride:][:r.rank])
			r.tops[k].most, r.tops[k].heap = r.most, r.tops[k].heap[:0]
		}
		for first := 0; first < all; first += rankItems {
			n := min(rankItems, all-first)
			vec.GemmNT(len(some), n, r.rank, 1, factors, r.rank, r.items[first*r.stride:], r.stride, 0, scores, rankItems)
			for k := range some {
				row := scores[k*rankItems:][:n]
				if r.bias != nil {
					vec.Add(r.bias[first:first+n], row)
				}
				r.tops[k].offerAll(row, int32(first), some[k].without)
			}
		}
		for k := range some {
			hits = hits[:0]
			for at, s := range r.tops[k].sorted() {
				if _, ok := slices.BinarySearch(some[k].relevant, s.item); ok {
					hits = append(hits, at)
				}
			}
			to(&some[k], hits)
		}
	}
	return nil
}
