package rule_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bellows/core/rule"
	"bellows/table"
)

// charged has one declaration of each rule with a cost of weights. The last value of each row is what is due.
var charged = []table.Rule{
	{Name: "sgd", Step: 0.25, L1: 0.05, L2: 0.2},
	{Name: "adagrad", Step: 0.3, Epsilon: 1e-6, L1: 0.05, L2: 0.2},
	{Name: "adam", Step: 0.1, Epsilon: 1e-8, Beta1: 0.9, Beta2: 0.999, L1: 0.05, L2: 0.2},
	{Name: "ftrl", Step: 0.4, Epsilon: 0.5, L1: 0.05, L2: 0.2},
}

// exactCharged returns one weight that starts at 0 under such a rule, in double precision. Each update has a gradient
// and a charge.
func exactCharged(r table.Rule, gradients, dues []float64) (w float64) {
	var m, v, z, all float64
	step, epsilon, l1, l2 := float64(r.Step), float64(r.Epsilon), float64(r.L1), float64(r.L2)
	soft := func(x, c float64) float64 { return math.Copysign(max(0, math.Abs(x)-c), x) }
	for i, g := range gradients {
		due, along, h := dues[i], g, step
		all += due
		switch r.Name {
		case "adagrad":
			v += g * g
			h = step / (math.Sqrt(v) + epsilon)
		case "adam":
			beta1, beta2, t := float64(r.Beta1), float64(r.Beta2), float64(i+1)
			m, v = beta1*m+(1-beta1)*g, beta2*v+(1-beta2)*g*g
			along, h = m/(1-math.Pow(beta1, t)), step/(math.Sqrt(v/(1-math.Pow(beta2, t)))+epsilon)
		case "ftrl":
			z += g - (math.Sqrt(v+g*g)-math.Sqrt(v))/step*w
			v += g * g
			w = -soft(z, l1*all) / ((epsilon+math.Sqrt(v))/step + l2*all)
			continue
		}
		w = soft(w-h*along, h*due*l1) / (1 + h*due*l2)
	}
	return w
}

// newCharged returns a state of zeros.
func newCharged(t *testing.T, r table.Rule, rows, width int) *state {
	s := newState(t, r, rows, width)
	clear(s.values)
	return s
}

func TestChargesFollowTheirFormulas(t *testing.T) {
	for _, r := range charged {
		const rows, width, times = 3, 5, 200
		s := newCharged(t, r, rows, width)
		random := rand.New(rand.NewPCG(1, 2))
		history := make([][]float64, rows*width)
		for range times {
			g := gradients(random, rows*width)
			for row := range rows {
				g[row*width+width-1] = []float32{0, 1, 1, 3}[random.IntN(4)]
			}
			for i, v := range g {
				history[i] = append(history[i], float64(v))
			}
			s.apply(0, rows, g)
		}
		zeros := 0
		for i, got := range s.values {
			dues := history[i/width*width+width-1]
			want := exactCharged(r, history[i], dues)
			if i%width == width-1 {
				want = 0
				for _, due := range dues {
					want += due
				}
			}
			if math.Abs(float64(got)-want) > 2e-5*(1+math.Abs(want)) {
				t.Errorf("%s: value %d is %v after %d updates, want %v", r.Name, i, got, times, want)
			}
			if got == 0 {
				zeros++
			}
		}
		if r.Name == "ftrl" && zeros == 0 {
			t.Errorf("%s: no weight is zero", r.Name)
		}
	}
}

// TestChargesConverge finds the minimum of a bowl with an elastic net, in closed form. One weight is exactly zero
// there. A row that is updated in one clock of five, and charged for all five, comes to the same.
func TestChargesConverge(t *testing.T) {
	const l1, l2 = 0.3, 0.1
	curvature, lowest := []float32{0.5, 2, 0.4}, []float32{3, -2, 0.5}
	for _, r := range []table.Rule{
		{Name: "sgd", Step: 0.2},
		{Name: "adagrad", Step: 0.8, Epsilon: 1e-6},
		{Name: "adam", Step: 0.02, Epsilon: 1e-8, Beta1: 0.9, Beta2: 0.999},
		{Name: "ftrl", Step: 0.8, Epsilon: 1},
	} {
		r.L1, r.L2 = l1, l2
		s := newCharged(t, r, 2, len(curvature)+1)
		for c := range 5000 {
			for row := range 2 {
				g := [4]float32{3: 1}
				if row == 1 {
					if c%5 > 0 {
						continue
					}
					g[3] = 5
				}
				for i, k := range curvature {
					g[i] = k * (s.values[row*4+i] - lowest[i])
					if row == 1 { // five rows' losses come at once
						g[i] *= 5
					}
				}
				s.apply(row, row+1, g[:])
			}
		}
		for i, k := range curvature {
			at := k * lowest[i]
			want := float32(math.Copysign(max(0, math.Abs(float64(at))-l1), float64(at))) / (k + l2)
			for row := range 2 {
				if got := s.values[row*4+i]; math.Abs(float64(got-want)) > 2e-2 || want == 0 && got != 0 {
					t.Errorf("%s: value %d of row %d ends at %v, not %v", r.Name, i, row, got, want)
				}
			}
		}
	}
}

// TestChargesAddUp splits one charge among pushes: under BSP, whose deltas are added up before the rule sees them,
// that is one charge. A row that no update has touched is zero.
func TestChargesAddUp(t *testing.T) {
	for _, r := range charged {
		one, parts := newCharged(t, r, 2, 3), newCharged(t, r, 2, 3)
		for range 20 {
			one.apply(0, 1, []float32{0.5, -0.25, 1})
			sum := make([]float32, 3)
			for range 4 {
				for i, v := range []float32{0.125, -0.0625, 0.25} {
					sum[i] += v
				}
			}
			parts.apply(0, 1, sum)
		}
		if !one.equal(parts) || slices.ContainsFunc(one.values[3:], func(v float32) bool { return v != 0 }) {
			t.Errorf("%s: %v and %v", r.Name, one.values, parts.values)
		}
	}
}

func TestChargesNeedRoomAndZeros(t *testing.T) {
	for want, s := range map[string]table.Schema{
		"rows have two values at least": {Width: 1, Rule: table.Rule{Name: "sgd", Step: 1, L1: 1}},
		"rows start at zero":            {Width: 2, Rule: table.Rule{Name: "ftrl", Step: 1, Epsilon: 1}, Init: table.Init{Kind: table.Fixed, Low: 1}},
	} {
		s.Name, s.Rows = "w", 1
		if _, err := rule.For(&s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error about %q, got %v", want, err)
		}
	}
}
