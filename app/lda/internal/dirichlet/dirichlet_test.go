package dirichlet

import (
	"math"
	"testing"
)

func TestDigamma(t *testing.T) {
	t.Parallel()
	const euler = 0.5772156649015329
	for x, want := range map[float64]float64{1: -euler, 2: 1 - euler, 0.5: -euler - 2*math.Ln2, 10: 2.251752589066721} {
		if got := digamma(x); math.Abs(got-want) > 1e-8 {
			t.Errorf("ψ(%v) is %v, not %v", x, got, want)
		}
	}
	for _, a := range []float64{0.01, 1, 30} {
		sum := 0.0
		for n := range 60 {
			if got := Rising(a, n); math.Abs(got-sum) > 1e-7*math.Max(1, sum) {
				t.Errorf("rising(%v, %d) is %v, not %v", a, n, got, sum)
			}
			sum += 1 / (a + float64(n))
		}
	}
}
