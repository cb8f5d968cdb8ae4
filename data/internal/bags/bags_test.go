package bags

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// tokens writes a document out.
func (b *Bags) tokens(d int) (out []int32) {
	for i := b.Offset[d]; i < b.Offset[d+1]; i++ {
		for range b.Count[i] {
			out = append(out, b.Word[i])
		}
	}
	return out
}

// TestAddCountsTokens counts documents of small vocabularies and of large ones, where they are sorted, against the
// tokens themselves.
func TestAddCountsTokens(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for _, words := range []int{1, 12, 64, 65, 4096, 4097, 300_000, 3_000_000} {
		b := New(0)
		var want [][]int32
		for n := range 50 {
			doc := make([]int32, rng.IntN(30))
			for i := range doc {
				doc[i] = int32(rng.IntN(words))
				if n%2 == 0 {
					doc[i] = int32(max(0, words-1-rng.IntN(12)))
				}
			}
			b.Add(slices.Clone(doc), words)
			slices.Sort(doc)
			want = append(want, doc)
		}
		if err := b.Sort(); err != nil || b.Len() != len(want) {
			t.Fatal(b.Len(), err)
		}
		for d := range want {
			if !slices.Equal(b.tokens(d), want[d]) {
				t.Errorf("document %d of %d words is %v, not %v", d, words, b.tokens(d), want[d])
			}
		}
		if b.Word = b.Word[:0]; !slices.IsSorted(b.Offset) {
			t.Error("offsets do not ascend")
		}
	}
}

func TestSortFindsWordsGivenTwice(t *testing.T) {
	t.Parallel()
	b := New(4)
	b.Open(2)
	b.Put(7, 2)
	b.Put(3, 1)
	if err := b.Sort(); err != nil || !slices.Equal(b.tokens(1), []int32{3, 7, 7}) || len(b.tokens(0)) != 0 {
		t.Fatal(b, err)
	}
	b.Put(7, 1)
	if err := b.Sort(); err == nil || err.Error() != "document 2 has the word 8 twice" {
		t.Errorf("got %v", err)
	}
}

func TestPruneLeavesRareAndCommonWordsOut(t *testing.T) {
	t.Parallel()
	for _, docs := range []int{19, 20} {
		b := New(0)
		for d := range docs {
			b.Add([]int32{0, int32(1 + d%3), int32(10 + d)}, 100)
		}
		kept, rare, common := b.Prune(10 + docs)
		if docs < 20 {
			if len(kept) != 10+docs || rare+common != 0 {
				t.Errorf("%d documents: kept %d, rare %d, common %d", docs, len(kept), rare, common)
			}
			continue
		}
		if !slices.Equal(kept, []int32{1, 2, 3}) || common != 1 || rare != 26 ||
			!slices.Equal(b.tokens(4), []int32{1}) {
			t.Errorf("kept %v, rare %d, common %d, document 4 %v", kept, rare, common, b.tokens(4))
		}
	}
}

func TestRenumber(t *testing.T) {
	t.Parallel()
	b := New(0)
	b.Add([]int32{0, 1, 1, 2}, 3)
	b.Add([]int32{1}, 3)
	table := Numbers([]string{"a", "b", "c"}, []string{"c", "a"})
	if dropped := b.Renumber(table); dropped != 3 || !slices.Equal(b.tokens(0), []int32{0, 1}) || b.Len() != 2 ||
		len(b.tokens(1)) != 0 {
		t.Errorf("dropped %d, documents %v %v", dropped, b.tokens(0), b.tokens(1))
	}
}

func TestVocabulary(t *testing.T) {
	t.Parallel()
	words, defect, err := Vocabulary(strings.NewReader("one\r\ntwo\nthree"), 3, true, "bag")
	if !slices.Equal(words, []string{"one", "two", "three"}) || defect != nil || err != nil {
		t.Error(words, defect, err)
	}
	for text, line := range map[string]int{"a\n\nc\n": 2, "a\na\nc\n": 2, "a\nb\nc\nd\n": 4, "a\n": 0,
		"\xff\nb\nc\n": 1} {
		if _, defect, err := Vocabulary(strings.NewReader(text), 3, true, "bag"); err != nil || defect == nil ||
			defect.Line != line {
			t.Errorf("%q: %v, %v", text, defect, err)
		}
	}
	if words, defect, err := Vocabulary(strings.NewReader("one\ntwo\nthree\n"), 2, false, "bag"); err != nil ||
		defect != nil || len(words) != 3 {
		t.Error(words, defect, err)
	}
	if _, _, err := Vocabulary(iotest.ErrReader(iotest.ErrTimeout), 3, true, "bag"); err != iotest.ErrTimeout {
		t.Error(err)
	}
}
