package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// eachSet runs a test under every kernel set of this machine.
func eachSet(t *testing.T, test func(t *testing.T)) {
	for _, name := range Sets() {
		t.Run(name, func(t *testing.T) {
			pin(t, name)
			test(t)
		})
	}
}

// pin uses a set until the test ends.
func pin(t testing.TB, name string) {
	before := Kernels()
	if err := Use(name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Use(before) })
}

// guard is written around every output; kernels must leave it alone.
const guard = float32(-12345.75)

const guards = 24

// A field is a slice at a chosen offset from a 64-byte boundary or so, with
// guards before and behind.
type field struct {
	buffer []float32
	x      []float32
}

func newField(offset, n int) field {
	buffer := make([]float32, guards+offset+n+guards)
	for i := range buffer {
		buffer[i] = guard
	}
	start := guards + offset
	return field{buffer, buffer[start : start+n : start+n]}
}

func fieldOf(offset int, values []float32) field {
	f := newField(offset, len(values))
	copy(f.x, values)
	return f
}

// intact fails the test if a guard was overwritten.
func (f field) intact(t *testing.T, what string) {
	t.Helper()
	behind := cap(f.buffer) - guards
	for i, v := range f.buffer {
		if (i < behind-len(f.x) || i >= behind) && v != guard {
			t.Fatalf("%s: wrote outside the slice, %d elements from its start", what, i-(behind-len(f.x)))
		}
	}
}

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

// values returns n numbers around 1, either sign.
func values(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// odd numbers that kernels trip over.
var special = []float32{
	0, float32(math.Copysign(0, -1)), 1, -1, float32(math.NaN()),
	float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32, -math.MaxFloat32,
	math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 1e-39, -1e-39, 1.17549435e-38,
	88.72283, 88.72284, 88.8, -87.4, -100, -103.9, -104, -1000, 1000, 1e30, -1e30, 0.70710677, 0.9999999, 1.0000001,
}

func sprinkle(r *rand.Rand, x []float32) []float32 {
	for i := range x {
		if r.IntN(4) == 0 {
			x[i] = special[r.IntN(len(special))]
		}
	}
	return x
}

// sameFloat treats all NaN as one and tells the zeros apart.
func sameFloat(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// near reports whether got is within tolerance of want; both NaN, or the same
// infinity, are near.
func near(got, want float32, tolerance float64) bool {
	return sameFloat(got, want) || math.Abs(float64(got)-float64(want)) <= tolerance
}

// ulps returns the distance of got from the exact want in units of the last place of
// a float32 at want.
func ulps(got float32, want float64) float64 {
	w := float32(want)
	switch {
	case sameFloat(got, w):
		return 0
	case w != w || got != got || math.IsInf(float64(w), 0) || math.IsInf(float64(got), 0):
		return math.Inf(1)
	}
	_, e := math.Frexp(want)
	unit := math.Ldexp(1, max(e-24, -149))
	return math.Abs(float64(got)-want) / unit
}

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s: no panic", what)
		}
	}()
	f()
}

func place(n, offset int) string { return fmt.Sprintf("length %d, offset %d", n, offset) }
