package loss

import (
	"math"
	"math/rand/v2"
	"testing"
)

// every is each loss with a target and the domain of its dual variables.
var every = []struct {
	name      string
	loss      Loss
	target    float64
	low, high float64 // of the dual variable
	curved    bool
}{
	{"logistic", Logistic{}, 1, 0, 1, true},
	{"logistic, the other class", Logistic{}, -1, -1, 0, true},
	{"hinge", Hinge{}, 1, 0, 1, false},
	{"hinge, the other class", Hinge{}, -1, -1, 0, false},
	{"squared hinge", SquaredHinge{}, 1, 0, 40, true},
	{"squared hinge, the other class", SquaredHinge{}, -1, -40, 0, true},
	{"squared", Squared{}, 1.7, -40, 40, true},
	{"Huber", Huber{0.8}, -0.4, -0.8, 0.8, true},
	{"insensitive", Insensitive{0.3}, 2.5, -1, 1, false},
}

// TestValues holds the losses against their words, at scores that are right, wrong and far out.
func TestValues(t *testing.T) {
	for _, c := range []struct {
		loss                Loss
		score, target, want float64
	}{
		{Logistic{}, 0, 1, math.Ln2}, {Logistic{}, 800, -1, 800}, {Logistic{}, 800, 1, 0}, {Logistic{}, -2, 1, 2 + math.Log(1+math.Exp(-2))},
		{Hinge{}, 0.25, 1, 0.75}, {Hinge{}, 2, 1, 0}, {Hinge{}, 2, -1, 3},
		{SquaredHinge{}, 0.5, 1, 0.25}, {SquaredHinge{}, 1, 1, 0}, {SquaredHinge{}, 1, -1, 4},
		{Squared{}, 3, 1, 2}, {Squared{}, -3, 1, 8},
		{Huber{0.5}, 1.25, 1, 0.03125}, {Huber{0.5}, 3, 1, 0.875}, {Huber{0.5}, -1, 1, 0.875},
		{Insensitive{0.5}, 1.25, 1, 0}, {Insensitive{0.5}, 3, 1, 1.5}, {Insensitive{0.5}, -1, 1, 1.5},
	} {
		if got := c.loss.Value(c.score, c.target); math.Abs(got-c.want) > 1e-12*(1+c.want) {
			t.Errorf("%T%v of score %v and target %v is %v, want %v", c.loss, c.loss, c.score, c.target, got, c.want)
		}
	}
}

// TestDualsAreConjugates: the dual is the least of φ(a) + α a over a, looked for on a fine grid.
func TestDualsAreConjugates(t *testing.T) {
	for _, c := range every {
		for _, part := range []float64{0.02, 0.3, 0.5, 0.8, 0.98} {
			dual := c.low + part*(c.high-c.low)
			if c.high == 40 || c.low == -40 {
				dual /= 10 // so that the least is within the grid
			}
			least := math.Inf(1)
			for i := -60000; i <= 60000; i++ {
				a := float64(i) / 4000
				least = min(least, c.loss.Value(a, c.target)+dual*a)
			}
			if got := c.loss.Dual(dual, c.target); got > least+1e-12 || got < least-1e-4 {
				t.Errorf("%s: dual of %v is %v; the least is %v", c.name, dual, got, least)
			}
		}
		if got := c.loss.Dual(0, c.target); got != 0 {
			t.Errorf("%s: dual of 0 is %v, and the least loss 0", c.name, got)
		}
	}
}

// TestStepsAreBest: no dual variable of the domain is better than the one of Step, found by halving the interval in thirds.
func TestStepsAreBest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range every {
		for range 300 {
			before := c.low + r.Float64()*(c.high-c.low)
			switch r.IntN(4) {
			case 0:
				before = 0
			case 1:
				before = c.high * 0.999
			}
			score, square := 4*r.NormFloat64(), math.Exp(4*r.NormFloat64())
			gain := func(d float64) float64 {
				return c.loss.Dual(d, c.target) - score*(d-before) - square/2*(d-before)*(d-before)
			}
			low, high := c.low, c.high
			for range 200 {
				a, b := low+(high-low)/3, high-(high-low)/3
				if gain(a) < gain(b) {
					low = a
				} else {
					high = b
				}
			}
			got := c.loss.Step(before, score, square, c.target)
			if !(got >= c.low && got <= c.high) || gain(got) < gain(low)-1e-6*(1+math.Abs(gain(low))) {
				t.Errorf("%s: from %v at score %v, square %v: %v gains %v, and %v gains %v", c.name, before, score, square, got, gain(got), low, gain(low))
			}
		}
	}
}

// TestAStepThatIsDoneStays: at α = -φ'(a), by finite differences, nothing is better than to stay.
func TestAStepThatIsDoneStays(t *testing.T) {
	for _, c := range every {
		if !c.curved {
			continue
		}
		for a := -3.05; a < 3; a += 0.1 {
			dual := -(c.loss.Value(a+1e-6, c.target) - c.loss.Value(a-1e-6, c.target)) / 2e-6
			for _, square := range []float64{1e-3, 1, 1e3} {
				if got := c.loss.Step(dual, a, square, c.target); math.Abs(got-dual) > 1e-5 {
					t.Errorf("%s: at score %v the dual goes from %v to %v", c.name, a, dual, got)
				}
			}
			if gap := c.loss.Value(a, c.target) + dual*a - c.loss.Dual(dual, c.target); math.Abs(gap) > 1e-8 {
				t.Errorf("%s: at score %v there is a gap of %v", c.name, a, gap)
			}
		}
	}
}

// TestExtremes: what is far out stays finite.
func TestExtremes(t *testing.T) {
	for _, c := range every {
		for _, score := range []float64{-1e30, -800, 800, 1e30} {
			for _, square := range []float64{1e-30, 1, 1e30} {
				got := c.loss.Step(0, score, square, c.target)
				if math.IsNaN(got) || math.IsInf(got, 0) && c.high < 40 && c.low > -40 {
					t.Errorf("%s: score %v and square %v give %v", c.name, score, square, got)
				}
			}
		}
	}
}

// TestSlopes holds both derivatives against finite differences, away from the points where the second jumps.
func TestSlopes(t *testing.T) {
	for _, c := range every {
		l, ok := c.loss.(Curved)
		if ok != c.curved {
			t.Errorf("%s: curved %v", c.name, ok)
		}
		for a := -3.053; ok && a < 3; a += 0.1 {
			const h = 1e-5
			first, second := l.Slopes(a, c.target)
			if want := (l.Value(a+h, c.target) - l.Value(a-h, c.target)) / (2 * h); math.Abs(first-want) > 1e-8 {
				t.Errorf("%s: slope %v at %v, want %v", c.name, first, a, want)
			}
			more, _ := l.Slopes(a+h, c.target)
			less, _ := l.Slopes(a-h, c.target)
			if want := (more - less) / (2 * h); math.Abs(second-want) > 1e-6 {
				t.Errorf("%s: curvature %v at %v, want %v", c.name, second, a, want)
			}
		}
	}
}

// TestSmoothed holds losses with corners, smoothed about a dual variable, against a search of that variable's interval, and their derivatives against finite differences.
func TestSmoothed(t *testing.T) {
	for _, c := range every {
		if c.curved {
			continue
		}
		for _, part := range []float64{0, 0.3, 0.5, 1} {
			dual := c.low + part*(c.high-c.low)
			for a := -3.053; a < 3; a += 0.1 {
				const sharp, h = 1.7, 1e-5
				value, first, second := Smoothed(c.loss, dual, a, sharp, c.target)
				most := math.Inf(-1)
				for i := range 20001 {
					d := c.low + (c.high-c.low)*float64(i)/20000
					most = max(most, c.loss.Dual(d, c.target)-a*d-(d-dual)*(d-dual)/(2*sharp))
				}
				if value < most-1e-12 || value > most+1e-6 || value > c.loss.Value(a, c.target)+1e-12 {
					t.Errorf("%s about %v: %v at %v; the most is %v, and the loss %v", c.name, dual, value, a, most, c.loss.Value(a, c.target))
				}
				more, up, _ := Smoothed(c.loss, dual, a+h, sharp, c.target)
				less, down, _ := Smoothed(c.loss, dual, a-h, sharp, c.target)
				if want := (more - less) / (2 * h); math.Abs(first-want) > 1e-5 {
					t.Errorf("%s about %v: slope %v at %v, want %v", c.name, dual, first, a, want)
				}
				if want := (up - down) / (2 * h); math.Abs(second-want) > 1e-5 {
					t.Errorf("%s about %v: curvature %v at %v, want %v", c.name, dual, second, a, want)
				}
			}
		}
	}
}
