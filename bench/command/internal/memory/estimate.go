package memory

import (
	"os"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
)

// near is how far the estimate before training may be above the peak, in times. It may not be below.
const near = 1.3

// estimate holds what `train` estimates that it will need of memory against its peak, from text that nothing has parsed and from stored inputs. Rows of
// words are much narrower than their tables.
func (m *measure) estimate() pair.Part {
	return pair.Part{Name: "estimate", Run: func() {
		for _, size := range []int{1, 4} {
			for _, c := range []struct {
				app string
				set func() sets.Pair
			}{
				{"mf", func() sets.Pair { return m.shelf.Ratings(15_000*size, 5_000, 750_000*size) }},
				{"mlr", func() sets.Pair { return m.shelf.Images(10_000*size, 1000, 28) }},
				{"linear", func() sets.Pair { return m.shelf.Images(10_000*size, 1000, 28) }},
				{"mlr", func() sets.Pair { return m.shelf.Documents(20_000*size, 1000, 1_000_000) }},
				{"linear", func() sets.Pair { return m.shelf.Documents(20_000*size, 1000, 1_000_000) }},
				{"lda", func() sets.Pair { return m.shelf.Bags(10_000*size, 10_000, 100) }},
			} {
				p := c.set()
				m.Section("estimate of " + c.app + ", " + p.Origin)
				for _, from := range []string{"text", "stored inputs"} {
					estimated, peak := m.estimated(c.app, p.Train)
					ratio := estimated / peak
					m.Note("%s from %s: estimated %s, peak %s, ratio %.2f", c.app, from, bytesOf(int64(estimated)), bytesOf(int64(peak)), ratio)
					if ratio < 1 {
						ratio = near / ratio
					}
					m.AddFact(pair.Fact{Figure: c.app + " from " + from + ", estimate above peak", Ours: ratio, Peer: "limit", Bound: near})
				}
				pair.Check(os.Remove(p.Train))
			}
		}
	}}
}

// estimated trains once, and returns what was estimated and the peak, in bytes.
func (m *measure) estimated(app, train string) (estimated, peak float64) {
	last, _, _ := m.shelf.Train(m.program, nil, app, train, "--epochs", "3", "--cache", m.shelf.Path("cache"))
	return last.Memory.Estimated, last.Memory.Peak
}
