package rule

import (
	"math"

	"bellows/table"
	"bellows/vec"
)

// adam steps by moving averages of the gradient and of its square (Kingma and Ba 2015, Algorithm 1).
//
// Slots are m, v, and t, the row's count of updates, one value a row. As a float32, t stops at 2^24. By then both
// corrections are 1, except for betas above 0.999998, whose corrections stop there.
//
// Rejected: t of the table, which every row could share. A row first seen late would have m and v
// of one gradient taken for averages over many, and its step would be too long by
// (1-β1)/√(1-β2), 3.2 with the usual betas.
type adam struct {
	width         int
	beta1, beta2  float32
	step, epsilon float32
}

func newAdam(s *table.Schema) (Rule, error) {
	r := &s.Rule
	switch {
	case !positive(r.Step) || !positive(r.Epsilon):
		return nil, bad(s, "rule adam needs a positive step size and epsilon, not %v and %v", r.Step, r.Epsilon)
	case !(r.Beta1 >= 0 && r.Beta1 < 1):
		return nil, bad(s, "rule adam needs a beta1 from 0 to below 1, not %v; 0.9 is usual", r.Beta1)
	case !(r.Beta2 > 0 && r.Beta2 < 1):
		return nil, bad(s, "rule adam needs a beta2 above 0 and below 1, not %v; 0.999 is usual", r.Beta2)
	}
	return adam{s.Width, r.Beta1, r.Beta2, r.Step, r.Epsilon}, nil
}

func (r adam) Slots() []int { return []int{r.width, r.width, 1} }
func (adam) Additive() bool { return false }

// Apply passes neighbouring rows of one count to one call of the kernel: a table whose rows are all updated in each
// clock is one run.
func (r adam) Apply(values []float32, slots [][]float32, g []float32) {
	m, v, counts := slots[0], slots[1], slots[2]
	for first := 0; first < len(counts); {
		before, end := counts[first], first+1
		for end < len(counts) && counts[end] == before {
			end++
		}
		t := before + 1
		for i := first; i < end; i++ {
			counts[i] = t
		}
		step, epsilon := r.corrected(int(t))
		a, b := first*r.width, end*r.width
		vec.Adam(r.beta1, r.beta2, step, epsilon, g[a:b], m[a:b], v[a:b], values[a:b])
		first = end
	}
}

// corrected returns the step size and the epsilon with which uncorrected averages give the update t of Algorithm 1:
// α√(1-β2^t)/(1-β1^t) and ε√(1-β2^t).
func (r adam) corrected(t int) (step, epsilon float32) {
	root := math.Sqrt(1 - power(r.beta2, t))
	return float32(float64(r.step) * root / (1 - power(r.beta1, t))), float32(float64(r.epsilon) * root)
}

// power returns base^n by squaring. It uses products alone, so that the bits are the same on every machine, unlike
// those of math.Pow. Powers too small to change 1-base^n are 0.
func power(base float32, n int) float64 {
	p := 1.0
	for b := float64(base); n > 0; n >>= 1 {
		if b < 1.0/(1<<54) {
			return 0
		}
		if n&1 == 1 {
			p = float64(p * b)
		}
		b = float64(b * b)
	}
	return p
}
