package rule

import (
	"math"

	"bellows/table"
)

// proximal is sgd, adagrad, adam and ftrl with a cost of the weights: l1 |w| + l2/2 w². The gradient of the loss
// makes the step, and the proximal operator of the cost is applied exactly. So a weight becomes zero and stays zero,
// which steps along a subgradient never achieve.
//
// The last value of a row is no weight but what is due: for how many updates of the table the row has been charged.
// The delta has there for how many updates the row is to be charged now. A row without updates costs nothing, and
// pays for all missed ones when the next comes. A caller that divides one update among several pushes divides the
// charge. With h the step of one weight, and d what the delta adds to what is due,
//
//	w = prox(w - h g, h d)     prox(x, c) = sign(x) max(0, |x| - c l1) / (1 + c l2)
//
// This is forward-backward splitting for sgd (Duchi and Singer 2009), composite mirror descent for adagrad (Duchi,
// Hazan, Singer 2011, eq. 4), and the same for adam with its h. For ftrl w is a function of sums (McMahan 2011,
// "Follow-the-regularized-leader and mirror descent", Table 1: what is cumulated counts as often as there were
// updates), so that nothing is charged twice or late:
//
//	σ = (√(s + g²) - √s)/η; s += g²; z += g - σ w; w = -sign(z) max(0, |z| - l1 T) / ((ε + √s)/η + l2 T)
//
// where T is all that is due so far. Without costs rows are weights alone, and ftrl has T = 0.
//
// Rejected: the charge as a slot that each update raises by 1. Only the sender of a push knows how many updates have
// skipped a row.
type proximal struct {
	table.Rule
	width   int // of a row
	weights int // of them weights: all, or all but the last
}

func newProximal(s *table.Schema) (Rule, error) {
	r := &s.Rule
	p := proximal{Rule: *r, width: s.Width, weights: s.Width}
	if charges(r) {
		p.weights--
	}
	switch {
	case !(r.L1 >= 0 && r.L1 <= math.MaxFloat32 && r.L2 >= 0 && r.L2 <= math.MaxFloat32):
		return nil, bad(s, "l1 and l2 are what weights cost, numbers from 0, not %v and %v", r.L1, r.L2)
	case p.weights < 1:
		return nil, bad(s, "with l1 or l2 the last value of a row is what is due, so that rows have two values at least")
	case r.Name == "ftrl" && (!positive(r.Step) || !positive(r.Epsilon)):
		return nil, bad(s, "rule ftrl needs a positive step size and epsilon, not %v and %v", r.Step, r.Epsilon)
	case r.Name == "ftrl" && s.Init.Kind != table.Zero:
		return nil, bad(s, "rule ftrl makes weights from sums of gradients, so that rows start at zero")
	}
	return p, nil
}

// charges says whether weights cost something.
func charges(r *table.Rule) bool { return r.L1 != 0 || r.L2 != 0 }

func (r proximal) Slots() []int {
	switch r.Name {
	case "adagrad":
		return []int{r.weights}
	case "adam":
		return []int{r.weights, r.weights, 1}
	case "ftrl":
		return []int{r.weights, r.weights}
	}
	return nil
}

func (proximal) Additive() bool { return false }

func (r proximal) Apply(values []float32, slots [][]float32, delta []float32) {
	n := r.weights
	for row := 0; row*r.width < len(values); row++ {
		w, d := values[row*r.width:(row+1)*r.width], delta[row*r.width:(row+1)*r.width]
		due, all := float32(0), float32(0)
		if n < r.width {
			due = d[n]
			w[n] += due
			all = w[n]
		}
		w, d = w[:n], d[:n]
		switch r.Name {
		case "sgd":
			for i, g := range d {
				w[i] = r.prox(w[i]-float32(r.Step*g), float32(r.Step*due))
			}
		case "adagrad":
			r.adagrad(w, slots[0][row*n:(row+1)*n], d, due)
		case "adam":
			slots[2][row]++
			r.adam(w, slots[0][row*n:(row+1)*n], slots[1][row*n:(row+1)*n], d, int(slots[2][row]), due)
		case "ftrl":
			r.ftrl(w, slots[0][row*n:(row+1)*n], slots[1][row*n:(row+1)*n], d, all)
		}
	}
}

func (r proximal) adagrad(w, s, d []float32, due float32) {
	for i, g := range d {
		s[i] += float32(g * g)
		h := r.Step / (root(s[i]) + r.Epsilon)
		w[i] = r.prox(w[i]-float32(h*g), float32(h*due))
	}
}

func (r proximal) adam(w, m, v, d []float32, t int, due float32) {
	step, epsilon := adam{0, r.Beta1, r.Beta2, r.Step, r.Epsilon}.corrected(t)
	// The bias of m, which the step corrects next to that of v, is not part of the charge.
	charge := float32(due * float32(1-power(r.Beta1, t)))
	for i, g := range d {
		m[i] = float32(r.Beta1*m[i]) + float32((1-r.Beta1)*g)
		v[i] = float32(r.Beta2*v[i]) + float32((1-r.Beta2)*float32(g*g))
		h := step / (root(v[i]) + epsilon)
		w[i] = r.prox(w[i]-float32(h*m[i]), float32(h*charge))
	}
}

func (r proximal) ftrl(w, z, s, d []float32, due float32) {
	threshold, pull := float32(r.L1*due), float32(r.L2*due)
	for i, g := range d {
		before := root(s[i])
		s[i] += float32(g * g)
		after := root(s[i])
		z[i] += g - float32((after-before)/r.Step*w[i])
		w[i] = -soft(z[i], threshold) / ((r.Epsilon+after)/r.Step + pull)
	}
}

// prox returns the proximal operator of the cost of a weight, for a step of that length.
func (r proximal) prox(x, length float32) float32 {
	return soft(x, float32(length*r.L1)) / (1 + float32(length*r.L2))
}

// soft returns x with its size reduced by the threshold.
func soft(x, threshold float32) float32 {
	switch {
	case x > threshold:
		return x - threshold
	case x < -threshold:
		return x + threshold
	case x != x:
		return x
	}
	return 0
}

func root(x float32) float32 { return float32(math.Sqrt(float64(x))) }
