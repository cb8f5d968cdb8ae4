package crc

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// TestSumsAreThoseOfTheLibrary compares all lengths around the borders, at all alignments, in one piece and in two.
func TestSumsAreThoseOfTheLibrary(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	memory := make([]byte, 70_000)
	for i := range memory {
		memory[i] = byte(rng.Uint32())
	}
	for round := range 4000 {
		n := round
		if round >= 3000 {
			n = rng.IntN(len(memory) - 64)
		}
		b := memory[round%64:][:n]
		want := crc32.Checksum(b, castagnoli)
		if got := Sum(b); got != want {
			t.Fatalf("%d bytes at %d: %08x, want %08x", n, round%64, got, want)
		}
		cut := rng.IntN(n + 1)
		if got := Update(Sum(b[:cut]), b[cut:]); got != want {
			t.Fatalf("%d bytes at %d, cut at %d: %08x, want %08x", n, round%64, cut, got, want)
		}
	}
	// The check value of the polynomial, and 32 bytes of zeros and of ones (RFC 3720, B.4), long enough to be folded.
	if got := Sum([]byte("123456789")); got != 0xe3069283 {
		t.Errorf("the check value is %08x", got)
	}
	for _, fill := range []byte{0, 0xff} {
		b := make([]byte, 8<<10)
		for i := range b {
			b[i] = fill
		}
		if got, want := Sum(b), crc32.Checksum(b, castagnoli); got != want {
			t.Errorf("8 KiB of %02x: %08x, want %08x", fill, got, want)
		}
	}
}

// BenchmarkSum measures Sum and the library.
func BenchmarkSum(b *testing.B) {
	for _, kib := range []int{1, 64, 1024, 32768} {
		memory := make([]byte, kib<<10)
		for name, sum := range map[string]func([]byte) uint32{"ours": Sum, "library": func(m []byte) uint32 { return crc32.Checksum(m, castagnoli) }} {
			b.Run(fmt.Sprintf("%dKiB/%s", kib, name), func(b *testing.B) {
				b.SetBytes(int64(len(memory)))
				for b.Loop() {
					sum(memory)
				}
			})
		}
	}
}
