package roofline

import (
	"slices"
	"testing"
)

// TestDataStaysTheSame: the kernels store what they load, and nothing outside.
func TestDataStaysTheSame(t *testing.T) {
	kernels := map[string]func(x, y []float32){
		"Read":         func(x, _ []float32) { Read(x) },
		"ReadTwo":      ReadTwo,
		"Update":       func(x, _ []float32) { Update(x) },
		"UpdateFrom":   UpdateFrom,
		"goRead":       func(x, _ []float32) { goRead(x) },
		"goReadTwo":    goReadTwo,
		"goUpdate":     func(x, _ []float32) { goUpdate(x) },
		"goUpdateFrom": goUpdateFrom,
	}
	for name, run := range kernels {
		for n := range 150 {
			x, y := numbers(n+32), numbers(2 * (n + 32))[n+32:]
			wantX, wantY := slices.Clone(x), slices.Clone(y)
			run(x[16:16+n], y[16:16+n])
			if !slices.Equal(x, wantX) || !slices.Equal(y, wantY) {
				t.Fatalf("%s of %d elements changed its data", name, n)
			}
		}
	}
}

func TestUnequalLengthsPanic(t *testing.T) {
	for name, run := range map[string]func(x, y []float32){"ReadTwo": ReadTwo, "UpdateFrom": UpdateFrom} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic when y is shorter", name)
				}
			}()
			run(make([]float32, 3), make([]float32, 2, 4))
		}()
	}
}

func numbers(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i) + 0.25
	}
	return x
}
