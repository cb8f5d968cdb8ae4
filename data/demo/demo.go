// Package demo makes the data of `bellows demo` from a seed, with a planted answer. A newcomer sees a model learn
// within a second and without a file.
//
// The caller's duties: call Make with the kind of data that an application reads, or Named for another set than the
// first of the kind, and treat the set like one read from a file. The same seed gives the same set on every machine.
//
// The package refuses to stand in for a benchmark: the sets are small and easy to learn.
package demo

import (
	"fmt"
	"math"

	"bellows/data"
	"bellows/random"
)

// The shape of the ratings is that of MovieLens-100K, the first data set that most people try.
const (
	users   = 943
	items   = 1682
	ratings = 100_000
	rank    = 3 // of the planted answer
)

const (
	rows     = 20_000
	features = 64
	classes  = 10
)

const (
	documents = 2000
	tokens    = 60 // average per document
	topics    = 20
	words     = 2000
)

// Named generates the set of a kind with a name; "" is the set of Make. It returns an error for an unknown name.
func Named(kind data.Kind, name string, seed uint64) (*data.Set, error) {
	if name == "" {
		return Make(kind, seed)
	}
	if name != Customers || kind != data.Examples {
		return nil, fmt.Errorf("there is no demo %q of %v", name, kind)
	}
	e := makeCustomers(&source{random.Stream(seed*0x9e3779b97f4a7c15 + uint64(kind))})
	return &data.Set{Kind: kind, Examples: e, Detected: data.Detection{
		Format: "generated", Rows: e.Rows(), Features: e.Features, Classes: 2,
	}}, nil
}

// Make generates a set of the kind. It returns an error for kinds without a demo.
func Make(kind data.Kind, seed uint64) (*data.Set, error) {
	s := &source{random.Stream(seed*0x9e3779b97f4a7c15 + uint64(kind))}
	switch kind {
	case data.Ratings:
		r := makeRatings(s)
		return &data.Set{Kind: kind, Ratings: r, Detected: data.Detection{
			Format: "generated", Rows: r.Rows(), Users: len(r.Users), Items: len(r.Items),
		}}, nil
	case data.Examples:
		e := makeExamples(s)
		return &data.Set{Kind: kind, Examples: e, Detected: data.Detection{
			Format: "generated", Rows: e.Rows(), Features: e.Features, Classes: classes,
		}}, nil
	case data.Documents:
		set := makeDocuments(s)
		return &data.Set{Kind: kind, Documents: set, Detected: data.Detection{
			Format: "generated", Rows: set.Rows(), Words: len(set.Vocab), Tokens: set.Tokens(),
		}}, nil
	}
	return nil, fmt.Errorf("there is no demo of %v", kind)
}

// makeRatings plants biases and a product of factors under noise, and rounds to whole stars from 1 to 5. Pairs are
// distinct. Few users and items have most of the ratings, as in real data.
func makeRatings(s *source) *data.RatingSet {
	set := &data.RatingSet{
		User: make([]int32, 0, ratings), Item: make([]int32, 0, ratings), Rating: make([]float32, 0, ratings),
		Users: names("u", users), Items: names("i", items),
	}
	userBias, itemBias := s.normals(users, 0.35), s.normals(items, 0.45)
	userFactors, itemFactors := s.normals(users*rank, 0.8), s.normals(items*rank, 0.8)
	taken := make([]bool, users*items)
	for n := 0; set.Rows() < ratings; n++ {
		// The first pairs name all users and items in order, so that ids are numbered by first appearance.
		u, i := n%users, n
		if n >= items {
			u, i = s.skewed(users), s.skewed(items)
		}
		if taken[u*items+i] {
			continue
		}
		taken[u*items+i] = true
		stars := 3.5 + userBias[u] + itemBias[i] + 0.8*s.normal()
		for k := range rank {
			stars += float64(userFactors[u*rank+k] * itemFactors[i*rank+k]) // the conversion forbids fusing
		}
		set.User = append(set.User, int32(u))
		set.Item = append(set.Item, int32(i))
		set.Rating = append(set.Rating, float32(min(5, max(1, math.Round(stars)))))
	}
	return set
}

// makeExamples plants a linear classifier: the class of a row is the largest of its products with the planted weights,
// each under noise.
func makeExamples(s *source) *data.ExampleSet {
	set := &data.ExampleSet{
		Features: features, Label: make([]float32, rows), Dense: make([]float32, rows*features),
	}
	weights := s.normals(classes*features, 0.5)
	for r := range rows {
		x := set.Dense[r*features : (r+1)*features]
		for j := range x {
			x[j] = float32(s.normal())
		}
		best := math.Inf(-1)
		for c := range classes {
			score := 0.8 * s.normal()
			for j, v := range x {
				score += float64(float64(v) * weights[c*features+j])
			}
			if score > best {
				best, set.Label[r] = score, float32(c)
			}
		}
	}
	return set
}

func names(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%d", prefix, i+1)
	}
	return out
}

// source produces the numbers of a demonstration: the same on every machine and in every version of Go.
type source struct{ random.Stream }

// normal returns a number with mean 0 and deviation 1: the sum of three uniforms (Irwin-Hall), scaled. Its tails end at
// three deviations, which is enough for a demo and needs no logarithm, whose last bit differs between machines.
func (s *source) normal() float64 { return 2 * (s.Uniform() + s.Uniform() + s.Uniform() - 1.5) }

func (s *source) normals(n int, deviation float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = deviation * s.normal()
	}
	return out
}

// skewed returns an index below n. Low ones are more frequent: the density falls with the root.
func (s *source) skewed(n int) int {
	u := s.Uniform()
	return int(u * u * float64(n))
}
