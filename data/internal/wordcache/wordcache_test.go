package wordcache

import (
	"math/rand/v2"
	"testing"
)

// TestCacheGivesNoWrongNumber asks for words beyond its room. The cache remembers the right numbers, and a word that
// was asked for is there.
func TestCacheGivesNoWrongNumber(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	var m Cache
	forgot := 0
	for words := range 4000 {
		m.Grow(words)
		w := Word{1 + rng.Uint64N(5000), rng.Uint64N(2)}
		want := int32(w.Lo<<1 | w.Hi)
		m.Touch([]Word{w})
		at, ok := m.Find(w)
		if !ok {
			forgot++
			m.Add(w, want)
			at, ok = m.Find(w)
		}
		if !ok || at != want {
			t.Fatalf("word %d: %d and %v, not %d", words, at, ok, want)
		}
	}
	if forgot == 4000 {
		t.Error("nothing was remembered")
	}
}

// TestLen counts the bytes of words of every length.
func TestLen(t *testing.T) {
	t.Parallel()
	w := Word{}
	for n := range 16 {
		if n < 8 {
			w.Lo |= 'a' << (8 * n)
		} else {
			w.Hi |= 'a' << (8 * (n - 8))
		}
		if w.Len() != n+1 {
			t.Errorf("a word of %d bytes has %d", n+1, w.Len())
		}
	}
}
