package vec

import (
	"fmt"
	"math"
)

// Format is how float32 values are kept where they are not computed with.
type Format uint8

// The formats. Their numbers travel, and stay.
const (
	Float32  Format = iota // as they are
	Float16                // IEEE 754 binary16: 11 significant bits, up to 65,504; see [ToHalf]
	BFloat16               // the upper half of a float32: 8 significant bits of nearly the same range; see [ToBrain]
	Formats                // how many there are
)

var formatNames = [Formats]string{"fp32", "fp16", "bf16"}

func (f Format) String() string {
	if f >= Formats {
		return fmt.Sprintf("format %d", uint8(f))
	}
	return formatNames[f]
}

// ParseFormat returns the format of a name: "fp32", "fp16" or "bf16".
func ParseFormat(name string) (Format, error) {
	for f, n := range formatNames {
		if n == name {
			return Format(f), nil
		}
	}
	return Float32, fmt.Errorf("it must be fp32, fp16 or bf16")
}

// roundsUp is, by format, the least magnitude that rounds to infinity, and topMost the largest that does not.
var (
	roundsUp = [Formats]float32{Float16: 65520, BFloat16: math.Float32frombits(0x7f7f8000)}
	topMost  = [Formats]float32{Float16: 65504, BFloat16: math.Float32frombits(0x7f7f0000)}
)

// narrowed is how many values are rounded at a time: their bytes are still near when they are looked at again.
const narrowed = 4 << 10

// Narrow sets dst to src in a format of 16 bits, rounded to nearest. A finite value that would become infinite is an error,
// which names it; what is infinite or no number already stays so. The lengths must be equal; the slices must not overlap.
func (f Format) Narrow(dst []uint16, src []float32) error {
	same("Narrow", len(dst), len(src))
	for len(src) > 0 {
		n := min(len(src), narrowed)
		if !(AbsMax(src[:n]) < roundsUp[f]) { // or not a number
			if err := f.tooLarge(src[:n]); err != nil {
				return err
			}
		}
		if f == Float16 {
			ToHalf(dst[:n], src[:n])
		} else {
			ToBrain(dst[:n], src[:n])
		}
		dst, src = dst[n:], src[n:]
	}
	return nil
}

// tooLarge names the first finite value that the format has not.
func (f Format) tooLarge(v []float32) error {
	for _, x := range v {
		if a := math.Abs(float64(x)); a >= float64(roundsUp[f]) && !math.IsInf(a, 0) {
			return &overflow{x, f}
		}
	}
	return nil
}

// overflow is why a value has no place in a format.
type overflow struct {
	value  float32
	format Format
}

func (e *overflow) Error() string {
	return fmt.Sprintf("a value is %v, and %v ends at %v", e.value, e.format, topMost[e.format])
}

// Widen reverses Narrow. It is exact.
func (f Format) Widen(dst []float32, src []uint16) {
	if f == Float16 {
		FromHalf(dst, src)
	} else {
		FromBrain(dst, src)
	}
}
