package mf

import (
	"fmt"
	"math"
	"math/rand/v2"

	"bellows/data"
)

// made describes ratings made from a seed: a low-rank truth with biases, and noise.
type made struct {
	users, items, rank int
	each               int     // ratings of a user
	noise              float64 // deviation of the noise
	mean, unit         float64 // of the ratings' scale
	seed               uint64
}

// sets makes training ratings, and as many test ratings as a tenth of them.
func (m made) sets() (training, test *data.Set) {
	r := rand.New(rand.NewPCG(m.seed, 17))
	normal := func(n int, deviation float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = r.NormFloat64() * deviation
		}
		return v
	}
	p, q := normal(m.users*m.rank, 1), normal(m.items*m.rank, 1/math.Sqrt(float64(m.rank)))
	bu, bi := normal(m.users, 0.5), normal(m.items, 0.5)
	names := func(prefix string, n int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf("%s%d", prefix, i)
		}
		return out
	}
	a := &data.RatingSet{Users: names("u", m.users), Items: names("i", m.items)}
	b := &data.RatingSet{Users: a.Users, Items: a.Items}
	for u := range m.users {
		for j, i := range r.Perm(m.items)[:m.each+m.each/10] {
			x := bu[u] + bi[i] + r.NormFloat64()*m.noise
			for k := range m.rank {
				x += p[u*m.rank+k] * q[i*m.rank+k]
			}
			to := a
			if j >= m.each {
				to = b
			}
			to.User, to.Item = append(to.User, int32(u)), append(to.Item, int32(i))
			to.Rating = append(to.Rating, float32(m.mean+m.unit*x))
		}
	}
	return &data.Set{Kind: data.Ratings, Ratings: a}, &data.Set{Kind: data.Ratings, Ratings: b}
}

var small = made{users: 60, items: 40, rank: 2, each: 20, noise: 0.3, mean: 3, unit: 1, seed: 1}
