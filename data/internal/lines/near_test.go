package lines

import (
	"math/rand/v2"
	"testing"
)

// TestNearIsRight asks for words beyond its room: what is remembered is right, and a word that was asked for just now
// is there.
func TestNearIsRight(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	var m wordCache
	forgot := 0
	for words := range 4000 {
		m.grow(words)
		lo, hi := 1+rng.Uint64N(5000), rng.Uint64N(2)
		want := int32(lo<<1 | hi)
		at, ok := m.find(lo, hi)
		if !ok {
			forgot++
			m.add(lo, hi, want)
			at, ok = m.find(lo, hi)
		}
		if !ok || at != want {
			t.Fatalf("word %d: %d and %v, not %d", words, at, ok, want)
		}
	}
	if forgot == 4000 {
		t.Error("nothing was remembered")
	}
}

// TestCharactersAreThoseOfFolded looks at each byte at each place of eight.
func TestCharactersAreThoseOfFolded(t *testing.T) {
	t.Parallel()
	for place := range 8 {
		for c := range 256 {
			for _, beside := range []uint64{'a' * ones, 0, 0xff * ones, 'Z' * ones} {
				word := beside&^(0xff<<(8*place)) | uint64(c)<<(8*place)
				others, letters := characters(word)
				if got, want := others>>(8*place+7)&1 == 0, folded[c] != 0; got != want {
					t.Fatalf("byte %#x at %d beside %#x belongs to words: %v", c, place, beside, got)
				}
				if got, want := letters>>(8*place+7)&1 == 1, folded[c]&letterBit != 0; got != want && folded[c] != 0 {
					t.Fatalf("byte %#x at %d beside %#x is a letter: %v", c, place, beside, got)
				}
			}
		}
	}
}
