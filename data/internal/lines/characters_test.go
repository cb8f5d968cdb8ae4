package lines

import "testing"

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
