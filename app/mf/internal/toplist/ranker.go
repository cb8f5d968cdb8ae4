// Package toplist finds the items with the highest scores for a user of app/mf (Top), and the ranks of given items
// (Ranker). A Top keeps the best of the items that it is offered. A Ranker ranks all items for many users, and reports
// the ranks of the relevant ones.
//
// The caller of a Ranker gives factors as rows of one matrix for users and one for items, and users whose lists ascend;
// it gets each user in order. The package knows no ids and no metrics.
package toplist

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

// User is a user whose ranking of items is judged. Relevant and Without are ascending rows of items: what should come
// first, and what is excluded from the ranking. Row is that of the user's factors.
type User struct {
	Row               int32
	Relevant, Without []int32
}

// Ranker ranks items for users, by the product of their factors and the items' biases.
type Ranker struct {
	Rank         int
	Stride       int // of factors: rows are so far apart
	Users, Items []float32
	Bias         []float32 // of items; nil: none
	Most         int       // of the ranking
	Meter        *progress.Meter
	tops         [rankUsers]Top
}

// Judge ranks items for each user, and tells which places, from 0, have a relevant item. Its error is the meter's.
func (r *Ranker) Judge(list []User, to func(user *User, hits []int)) error {
	factors, scores := make([]float32, rankUsers*r.Rank), make([]float32, rankUsers*rankItems)
	all := (len(r.Items) + r.Stride - r.Rank) / r.Stride
	var hits []int
	r.Meter.Begin(progress.Part{Doing: "ranking all items", Unit: "users", Total: int64(len(list))})
	for some := range slices.Chunk(list, rankUsers) {
		if err := r.Meter.Add(int64(len(some))); err != nil {
			return err
		}
		for k, u := range some {
			copy(factors[k*r.Rank:], r.Users[int(u.Row)*r.Stride:][:r.Rank])
			r.tops[k].Most, r.tops[k].heap = r.Most, r.tops[k].heap[:0]
		}
		for first := 0; first < all; first += rankItems {
			n := min(rankItems, all-first)
			vec.GemmNT(len(some), n, r.Rank, 1, factors, r.Rank, r.Items[first*r.Stride:], r.Stride, 0, scores, rankItems)
			for k := range some {
				row := scores[k*rankItems:][:n]
				if r.Bias != nil {
					vec.Add(r.Bias[first:first+n], row)
				}
				r.tops[k].OfferAll(row, int32(first), some[k].Without)
			}
		}
		for k := range some {
			hits = hits[:0]
			for at, s := range r.tops[k].Sorted() {
				if _, ok := slices.BinarySearch(some[k].Relevant, s.Item); ok {
					hits = append(hits, at)
				}
			}
			to(&some[k], hits)
		}
	}
	return nil
}
