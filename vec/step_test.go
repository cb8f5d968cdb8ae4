package vec

import (
	"testing"

	"bellows/vec/roofline"
)

// stepCase is a step with fixed parameters: g is read, a and b are the memory, of which all steps but
// Adam's use a alone, and w the weights.
type stepCase struct {
	name       string
	fast, slow func(g, a, b, w []float32)
}

var steps = []stepCase{
	{"AdaGrad",
		func(g, a, _, w []float32) { AdaGrad(0.3, 1e-6, g, a, w) },
		func(g, a, _, w []float32) { goAdaGrad(0.3, 1e-6, g, a, w) }},
	{"Momentum",
		func(g, a, _, w []float32) { Momentum(0.9, 0.3, g, a, w) },
		func(g, a, _, w []float32) { goMomentum(0.9, 0.3, g, a, w) }},
	{"Nesterov",
		func(g, a, _, w []float32) { Nesterov(0.9, 0.3, g, a, w) },
		func(g, a, _, w []float32) { goNesterov(0.9, 0.3, g, a, w) }},
	{"Adam",
		func(g, a, b, w []float32) { Adam(0.9, 0.999, 0.1, 1e-8, g, a, b, w) },
		func(g, a, b, w []float32) { goAdam(0.9, 0.999, 0.1, 1e-8, g, a, b, w) }},
}

// TestStepsAreTheReferenceBitForBit: at each length and place, with special
// numbers among all operands.
func TestStepsAreTheReferenceBitForBit(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		for _, c := range steps {
			r := source(11)
			eachPlace(func(n, offset int) {
				g := sprinkle(r, values(r, n))
				var got, want [3]field // a, b, w
				for i := range got {
					got[i] = fieldOf((offset+5*i)%16, sprinkle(r, values(r, n)))
					want[i] = fieldOf(0, got[i].x)
				}
				for range 2 {
					c.slow(g, want[0].x, want[1].x, want[2].x)
					c.fast(fieldOf(15-offset, g).x, got[0].x, got[1].x, got[2].x)
				}
				for i := range got {
					for j, v := range got[i].x {
						if !sameFloat(v, want[i].x[j]) {
							t.Fatalf("%s: %s: operand %d: element %d is %v, want %v", c.name, place(n, offset), i, j, v, want[i].x[j])
						}
					}
					got[i].intact(t, c.name+": "+place(n, offset))
				}
			})
		}
	})
}

// TestStepsOfLongSlices crosses the pieces in which the assembly is called.
func TestStepsOfLongSlices(t *testing.T) {
	const n = 2*chunk + 13
	eachSet(t, func(t *testing.T) {
		for _, c := range steps {
			r := source(12)
			g := values(r, n)
			var got, want [3][]float32
			for i := range got {
				got[i], want[i] = make([]float32, n), make([]float32, n)
			}
			c.fast(g, got[0], got[1], got[2])
			c.slow(g, want[0], want[1], want[2])
			for i := range got {
				for j, v := range got[i] {
					if !sameFloat(v, want[i][j]) {
						t.Fatalf("%s: operand %d: element %d is %v, want %v", c.name, i, j, v, want[i][j])
					}
				}
			}
		}
	})
}

func TestStepsOfWrongLengthsPanic(t *testing.T) {
	two, three := make([]float32, 2), make([]float32, 3)
	for _, c := range steps {
		mustPanic(t, c.name, func() { c.fast(two, three, two, two) })
		mustPanic(t, c.name, func() { c.fast(two, two, two, three) })
	}
	mustPanic(t, "Adam", func() { Adam(0, 0, 1, 1, two, two, three, two) })
}

func TestStepsDoNotAllocate(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		for _, c := range steps {
			var g, a, b, w [21]float32
			if n := testing.AllocsPerRun(10, func() { c.fast(g[:], a[:], b[:], w[:]) }); n != 0 {
				t.Errorf("%s: %v allocations", c.name, n)
			}
		}
	})
}

// BenchmarkSteps runs each step, as a kernel and as its reference, on 512 KiB in
// all, which fits a second-level cache, beside Axpy's limit.
func BenchmarkSteps(b *testing.B) {
	const n = 1 << 15
	r := source(13)
	g, first, second, w := values(r, n), make([]float32, n), make([]float32, n), values(r, n)
	run := func(name string, bytes int64, f func()) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(bytes)
			for b.Loop() {
				f()
			}
		})
	}
	run("limit/UpdateFrom", 12*n, func() { roofline.UpdateFrom(g, w) })
	for _, c := range steps {
		bytes := int64(20 * n)
		if c.name == "Adam" {
			bytes = 28 * n
		}
		run(c.name, bytes, func() { c.fast(g, first, second, w) })
		run("go/"+c.name, bytes, func() { c.slow(g, first, second, w) })
	}
}
