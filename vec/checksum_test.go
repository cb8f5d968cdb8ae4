package vec

import (
	"math"
	"strconv"
	"testing"
)

// TestChecksumAgainstReference wants the sum of every length at every place in memory, of any bits, as the definition has it.
func TestChecksumAgainstReference(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		r := source(31)
		eachPlace(func(n, offset int) {
			x, at := fieldOf(offset, make([]float32, n)).x, r.Uint32()
			var want uint64
			for i := range x {
				x[i] = math.Float32frombits(r.Uint32())
				want += uint64(math.Float32bits(x[i])^0xb5297a4d) * uint64((at+uint32(i))*0x9e3779b1)
			}
			if got := Checksum(at, x); got != want {
				t.Fatalf("%s: %016x, want %016x", place(n, offset), got, want)
			}
		})
	})
}

// TestChecksumIsTheSumOfPieces also crosses the length that one call of assembly gets.
func TestChecksumIsTheSumOfPieces(t *testing.T) {
	x := values(source(32), 2*chunk+77)
	whole := Checksum(5, x)
	if whole != goChecksum(5, x) {
		t.Error("long slices have another sum than by the definition")
	}
	for _, cut := range []int{1, 7, 100, chunk, chunk + 3} {
		if got := Checksum(5+uint32(cut), x[cut:]) + Checksum(5, x[:cut]); got != whole {
			t.Errorf("cut at %d: %016x, want %016x", cut, got, whole)
		}
	}
}

// TestChecksumSeesSmallMistakes loses, swaps and changes single elements, zeros among them.
func TestChecksumSeesSmallMistakes(t *testing.T) {
	x := values(source(33), 60)
	x[3], x[4], x[40] = 0, 0, 0
	whole := Checksum(9, x)
	for i := range x {
		if got := Checksum(9, x[:i]) + Checksum(10+uint32(i), x[i+1:]); got == whole {
			t.Errorf("element %d may be lost", i)
		}
		for j := range i {
			x[i], x[j] = x[j], x[i]
			if x[i] != x[j] && Checksum(9, x) == whole {
				t.Errorf("elements %d and %d may change places", i, j)
			}
			x[i], x[j] = x[j], x[i]
		}
		old := x[i]
		x[i] = math.Float32frombits(math.Float32bits(old) ^ 1<<31)
		if Checksum(9, x) == whole {
			t.Errorf("element %d may change its sign", i)
		}
		x[i] = old
	}
}

func BenchmarkChecksum(b *testing.B) {
	for _, n := range []int{8, 10, 12, 16, 32, 128, 7850, 1 << 20} {
		x := values(source(34), n)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.SetBytes(4 * int64(n))
			var sum uint64
			for b.Loop() {
				sum += Checksum(1, x)
			}
			if sum == 1 {
				b.Log(sum)
			}
		})
	}
}
