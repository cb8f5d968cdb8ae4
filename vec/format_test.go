package vec_test

import (
	"math"
	"strings"
	"testing"

	"bellows/vec"
)

func TestFormatNames(t *testing.T) {
	for f := range vec.Formats {
		if got, err := vec.ParseFormat(f.String()); err != nil || got != f {
			t.Errorf("%v: %v, %v", f, got, err)
		}
	}
	if _, err := vec.ParseFormat("fp8"); err == nil {
		t.Error("fp8 is known")
	}
	if s := vec.Format(9).String(); s != "format 9" {
		t.Error(s)
	}
}

// TestNarrowRoundsWhatFits wants the kernels' bits for what a format has, and the first value that it has not by name.
func TestNarrowRoundsWhatFits(t *testing.T) {
	inf, nan := float32(math.Inf(-1)), float32(math.NaN())
	for _, n := range []int{0, 1, 5, 4096, 10_001} {
		src, want := make([]float32, n), make([]uint16, n)
		for i := range src {
			src[i] = float32(i-n/2) * 0.37
		}
		if n > 4 {
			src[n-1], src[n-2] = inf, nan
		}
		for f, kernel := range map[vec.Format]func([]uint16, []float32){vec.Float16: vec.ToHalf, vec.BFloat16: vec.ToBrain} {
			got, back, exact := make([]uint16, n), make([]float32, n), make([]float32, n)
			kernel(want, src)
			if err := f.Narrow(got, src); err != nil {
				t.Fatal(err)
			}
			if f == vec.Float16 {
				vec.FromHalf(exact, want)
			} else {
				vec.FromBrain(exact, want)
			}
			f.Widen(back, got)
			for i := range got {
				if got[i] != want[i] || math.Float32bits(back[i]) != math.Float32bits(exact[i]) {
					t.Fatalf("%v of %d: value %d, %v, becomes %x and %v", f, n, i, src[i], got[i], back[i])
				}
			}
			if n == 0 {
				continue
			}
			src[n/2] = -math.MaxFloat32
			if err := f.Narrow(got, src); err == nil || !strings.Contains(err.Error(), "-3.4028235e+38") || !strings.Contains(err.Error(), f.String()+" ends at") {
				t.Errorf("%v of %d: %v", f, n, err)
			}
			src[n/2] = 0
		}
	}
}
