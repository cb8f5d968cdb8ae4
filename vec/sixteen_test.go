package vec

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// format is one of the formats of 16 bits.
type format struct {
	name              string
	to, goTo          func(dst []uint16, src []float32)
	from, goFrom      func(dst []float32, src []uint16)
	exponent          uint // bits
	fraction, quietAt uint // bits of fraction; the quiet bit of NaN
}

var formats = []format{
	{"Half", ToHalf, goToHalf, FromHalf, goFromHalf, 5, 10, 9},
	{"Brain", ToBrain, goToBrain, FromBrain, goFromBrain, 8, 7, 6},
}

// value returns what a word means, in the words of IEEE 754.
func (f format) value(h uint16) float64 {
	fraction := float64(h & (1<<f.fraction - 1))
	e := int(h >> f.fraction & (1<<f.exponent - 1))
	bias := 1<<(f.exponent-1) - 1
	step := func(e int) float64 { return math.Ldexp(1, e-bias-int(f.fraction)) }
	v := 0.0
	switch {
	case e == 1<<f.exponent-1 && fraction != 0:
		return math.NaN()
	case e == 1<<f.exponent-1:
		v = math.Inf(1)
	case e == 0:
		v = fraction * step(1)
	default:
		v = (fraction + float64(uint(1)<<f.fraction)) * step(e)
	}
	return math.Copysign(v, 0.5-float64(h>>15))
}

// infinity returns the word of +Inf: the words below it are the finite numbers from 0
// up, in order.
func (f format) infinity() uint16 { return (1<<f.exponent - 1) << f.fraction }

// nearest returns the word closest to v by search among all, ties to the even one.
// What would follow the largest finite number stands for infinity.
func (f format) nearest(v float32) uint16 {
	sign := uint16(0)
	if math.Signbit(float64(v)) {
		sign = 0x8000
	}
	top := int(f.infinity())
	size := func(h int) float64 {
		if h == top {
			return 2*f.value(uint16(top-1)) - f.value(uint16(top-2))
		}
		return f.value(uint16(h))
	}
	x := math.Abs(float64(v))
	if math.IsInf(x, 0) {
		return sign | uint16(top)
	}
	above := 0 // the first word of at least x
	for step := 1 << 15; step > 0; step /= 2 {
		if above+step <= top && size(above+step-1) < x {
			above += step
		}
	}
	if above == 0 || size(above) < x {
		return sign | uint16(above)
	}
	low, high := x-size(above-1), size(above)-x
	if low < high || low == high && above&1 == 1 {
		above--
	}
	return sign | uint16(above)
}

func every16() []uint16 {
	all := make([]uint16, 1<<16)
	for i := range all {
		all[i] = uint16(i)
	}
	return all
}

// TestEachWordMeansWhatTheStandardSays: all 65,536 words become their values and,
// NaN made quiet, themselves again.
func TestEachWordMeansWhatTheStandardSays(t *testing.T) {
	words := every16()
	eachSet(t, func(t *testing.T) {
		for _, f := range formats {
			x, back := make([]float32, len(words)), make([]uint16, len(words))
			f.from(x, words)
			f.to(back, x)
			for i, h := range words {
				want, v := f.value(h), float64(x[i])
				if !(v == want && math.Signbit(v) == math.Signbit(want) || v != v && want != want) {
					t.Fatalf("From%s of %#04x is %v, want %v", f.name, h, v, want)
				}
				if want != want {
					h |= 1 << f.quietAt
					if math.Float32bits(x[i])&quietBit == 0 {
						t.Fatalf("From%s of %#04x is a signalling NaN", f.name, words[i])
					}
				}
				if back[i] != h {
					t.Fatalf("%s: %#04x goes to %v and comes back as %#04x", f.name, words[i], v, back[i])
				}
			}
		}
	})
}

// TestRoundingToNearestEven: every number that lies half way between two words,
// and its neighbours on both sides.
func TestRoundingToNearestEven(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		for _, f := range formats {
			top := f.infinity()
			var x []float32
			var want []uint16
			add := func(v float32, h uint16) {
				x, want = append(x, v, -v), append(want, h, h|0x8000)
			}
			for h := range top {
				next := f.value(h + 1)
				if h+1 == top {
					next = 2*f.value(h) - f.value(h-1)
				}
				tie := float32((f.value(h) + next) / 2)
				add(tie, h+h&1)
				add(math.Nextafter32(tie, 0), h)
				add(math.Nextafter32(tie, math.MaxFloat32), h+1)
			}
			got := make([]uint16, len(x))
			f.to(got, x)
			for i, h := range got {
				if h != want[i] {
					t.Fatalf("To%s of %v is %#04x, want %#04x", f.name, x[i], h, want[i])
				}
			}
		}
	})
}

// TestFloatsGoToTheNearestWord takes floats of every sign and exponent, and
// special ones, each against a search among all words.
func TestFloatsGoToTheNearestWord(t *testing.T) {
	const stride = 40009 // odd, so that low bits vary
	inf := float32(math.Inf(1))
	x := append(slices.Clone(special), inf, -inf, 65504, 65519.996, 65520, -65520, 65536, 1e5, 5.9604645e-8, 2.9802322e-8,
		2.980233e-8, 6.1035156e-5, 6.097555e-5, 3.3895314e38, 3.3961776e38, 3.3961775e38)
	for bits := uint64(0); bits < 1<<32; bits += stride {
		x = append(x, math.Float32frombits(uint32(bits)))
	}
	got := make([]uint16, len(x))
	eachSet(t, func(t *testing.T) {
		for _, f := range formats {
			f.to(got, x)
			for i, v := range x {
				switch h := got[i]; {
				case v != v:
					low := h & (1<<f.fraction - 1)
					if h&^low&0x7fff != f.infinity() || low>>f.quietAt == 0 || h>>15 != uint16(math.Float32bits(v)>>31) {
						t.Fatalf("To%s of NaN %#08x is %#04x", f.name, math.Float32bits(v), h)
					}
				case h != f.nearest(v):
					t.Fatalf("To%s of %v is %#04x, want %#04x", f.name, v, h, f.nearest(v))
				}
			}
		}
	})
}

// TestSetsGiveTheSameWords holds each set against the reference bit for bit, NaN
// with all payloads included.
func TestSetsGiveTheSameWords(t *testing.T) {
	var x []float32
	for _, exponent := range []uint32{0, 1, 0x66, 0x70, 0x71, 0x8e, 0x8f, 0xfe, 0xff} {
		for fraction := uint32(0); fraction < 1<<23; fraction += 61 {
			x = append(x, math.Float32frombits(exponent<<23|fraction), math.Float32frombits(1<<31|exponent<<23|fraction))
		}
	}
	words := every16()
	eachSet(t, func(t *testing.T) {
		for _, f := range formats {
			got, want := make([]uint16, len(x)), make([]uint16, len(x))
			f.to(got, x)
			f.goTo(want, x)
			for i, h := range got {
				if h != want[i] {
					t.Fatalf("To%s of bits %#08x is %#04x, want %#04x", f.name, math.Float32bits(x[i]), h, want[i])
				}
			}
			y, exact := make([]float32, len(words)), make([]float32, len(words))
			f.from(y, words)
			f.goFrom(exact, words)
			for i, v := range y {
				if math.Float32bits(v) != math.Float32bits(exact[i]) {
					t.Fatalf("From%s of %#04x is %#08x, want %#08x", f.name, i, math.Float32bits(v), math.Float32bits(exact[i]))
				}
			}
		}
	})
}

// guarded returns n words at an offset, in a buffer full of guards.
func guarded(offset, n int) (buffer, x []uint16) {
	buffer = slices.Repeat([]uint16{0xabcd}, guards+offset+n+guards)
	return buffer, buffer[guards+offset : guards+offset+n : guards+offset+n]
}

// TestSixteenAtEachPlace: every length at every offset, and nothing outside.
func TestSixteenAtEachPlace(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		for _, f := range formats {
			r := source(14)
			eachPlace(func(n, offset int) {
				src := fieldOf(15-offset, sprinkle(r, values(r, n)))
				want := make([]uint16, n)
				f.goTo(want, src.x)
				buffer, words := guarded(offset, n)
				f.to(words, src.x)
				if !slices.Equal(words, want) {
					t.Fatalf("To%s: %s: %#04x, want %#04x", f.name, place(n, offset), words, want)
				}
				copy(words, slices.Repeat([]uint16{0xabcd}, n))
				if slices.ContainsFunc(buffer, func(h uint16) bool { return h != 0xabcd }) {
					t.Fatalf("To%s: %s: wrote outside the slice", f.name, place(n, offset))
				}

				copy(words, want)
				exact, back := make([]float32, n), newField(15-offset, n)
				f.goFrom(exact, words)
				f.from(back.x, words)
				for i, v := range back.x {
					if math.Float32bits(v) != math.Float32bits(exact[i]) {
						t.Fatalf("From%s: %s: element %d is %v, want %v", f.name, place(n, offset), i, v, exact[i])
					}
				}
				back.intact(t, "From"+f.name+": "+place(n, offset))
			})
		}
	})
}

// TestSixteenOfLongSlices crosses the pieces in which the assembly is called.
func TestSixteenOfLongSlices(t *testing.T) {
	const n = 2*chunk + 13
	x, words, back := make([]float32, n), make([]uint16, n), make([]float32, n)
	for i := range x {
		x[i] = float32(i%251) - 100 // both formats hold it
	}
	eachSet(t, func(t *testing.T) {
		for _, f := range formats {
			clear(back)
			f.to(words, x)
			f.from(back, words)
			if !slices.Equal(back, x) {
				t.Errorf("%s: a long slice comes back with other values", f.name)
			}
		}
	})
}

func TestSixteenRefusesWrongLengths(t *testing.T) {
	for _, f := range formats {
		mustPanic(t, "To"+f.name, func() { f.to(make([]uint16, 3), make([]float32, 2)) })
		mustPanic(t, "From"+f.name, func() { f.from(make([]float32, 2), make([]uint16, 3)) })
	}
}

func TestSixteenDoesNotAllocate(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		var x [37]float32
		var words [37]uint16
		if n := testing.AllocsPerRun(10, func() {
			ToHalf(words[:], x[:])
			FromHalf(x[:], words[:])
			ToBrain(words[:], x[:])
			FromBrain(x[:], words[:])
		}); n != 0 {
			t.Errorf("%v allocations per call", n)
		}
	})
}

// BenchmarkSixteen runs the conversions, on 16 KiB of floats,
// which fits a first-level cache, and on 256 KiB.
func BenchmarkSixteen(b *testing.B) {
	for _, kib := range []int{16, 256} {
		n := kib << 10 / 4
		x, words := values(source(15), n), make([]uint16, n)
		run := func(name string, f func()) {
			b.Run(fmt.Sprintf("%s/%dKiB", name, kib), func(b *testing.B) {
				b.SetBytes(int64(6 * n))
				for b.Loop() {
					f()
				}
			})
		}
		for _, set := range Sets() {
			pin(b, set)
			for _, f := range formats {
				run(set+"/To"+f.name, func() { f.to(words, x) })
				run(set+"/From"+f.name, func() { f.from(x, words) })
			}
		}
	}
}
