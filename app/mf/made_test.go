package mf

import (
	"fmt"
	"math"
	"math/rand/v2"

	"bellows/data"
)

// Made describes ratings made from a seed: a low-rank truth with biases, and noise.
type Made struct {
	Users, Items, Rank int
	Each               int     // ratings of a user
	Noise              float64 // deviation of the noise
	Mean, Unit         float64 // of the ratings' scale
	Seed               uint64
}

// Sets makes training ratings, and as many test ratings as a tenth of them.
func (m Made) Sets() (training, test *data.Set) {
	r := rand.New(rand.NewPCG(m.Seed, 17))
	normal := func(n int, deviation float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = r.NormFloat64() * deviation
		}
		return v
	}
	p, q := normal(m.Users*m.Rank, 1), normal(m.Items*m.Rank, 1/math.Sqrt(float64(m.Rank)))
	bu, bi := normal(m.Users, 0.5), normal(m.Items, 0.5)
	names := func(prefix string, n int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf("%s%d", prefix, i)
		}
		return out
	}
	a := &data.RatingSet{Users: names("u", m.Users), Items: names("i", m.Items)}
	b := &data.RatingSet{Users: a.Users, Items: a.Items}
	for u := range m.Users {
		for j, i := range r.Perm(m.Items)[:m.Each+m.Each/10] {
			x := bu[u] + bi[i] + r.NormFloat64()*m.Noise
			for k := range m.Rank {
				x += p[u*m.Rank+k] * q[i*m.Rank+k]
			}
			to := a
			if j >= m.Each {
				to = b
			}
			to.User, to.Item = append(to.User, int32(u)), append(to.Item, int32(i))
			to.Rating = append(to.Rating, float32(m.Mean+m.Unit*x))
		}
	}
	return &data.Set{Kind: data.Ratings, Ratings: a}, &data.Set{Kind: data.Ratings, Ratings: b}
}

var small = Made{Users: 60, Items: 40, Rank: 2, Each: 20, Noise: 0.3, Mean: 3, Unit: 1, Seed: 1}
