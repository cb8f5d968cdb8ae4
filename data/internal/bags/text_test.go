package bags

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// someText returns so many documents of words by their names, and as a Text. The first words are the most frequent.
func someText(seed uint64, documents, words int) (docs [][]string, t *Text) {
	r, numbers := rand.New(rand.NewPCG(seed, 1)), map[string]int32{}
	t = &Text{Pairs: true}
	for range documents {
		var doc []string
		var own []int32
		for range r.IntN(40) {
			u := r.Float64()
			name := fmt.Sprintf("w%d", int(u*u*float64(words)))
			at, ok := numbers[name]
			if !ok {
				at = int32(len(t.Names))
				numbers[name] = at
				t.Names = append(t.Names, name)
			}
			doc, own = append(doc, name), append(own, at)
		}
		docs = append(docs, doc)
		t.Append(own, []int64{int64(len(own))})
	}
	return docs, t
}

// plainPairs returns the words and the pairs of each document in their order, by a slow reference.
func plainPairs(docs [][]string) (all [][]string) {
	for _, doc := range docs {
		var list []string
		for i, w := range doc {
			if list = append(list, w); i > 0 {
				list = append(list, doc[i-1]+"_"+w)
			}
		}
		all = append(all, list)
	}
	return all
}

// plainBag returns the counts of words, by number, that a table has.
func plainBag(list []string, numbers map[string]int32) (word, count []int32, others int64) {
	counts := map[int32]int32{}
	for _, w := range list {
		if at, ok := numbers[w]; ok {
			counts[at]++
		} else {
			others++
		}
	}
	for w := range counts {
		word = append(word, w)
	}
	slices.Sort(word)
	for _, w := range word {
		count = append(count, counts[w])
	}
	return word, count, others
}

func checkBags(t *testing.T, b *Bags, docs [][]string, numbers map[string]int32) (others int64) {
	t.Helper()
	if b.Len() != len(docs) {
		t.Fatalf("%d documents, want %d", b.Len(), len(docs))
	}
	for d, list := range docs {
		word, count, n := plainBag(list, numbers)
		others += n
		lo, hi := b.Offset[d], b.Offset[d+1]
		if !slices.Equal(b.Word[lo:hi], word) || !slices.Equal(b.Count[lo:hi], count) {
			t.Fatalf("document %d has %v of %v, want %v of %v", d, b.Count[lo:hi], b.Word[lo:hi], count, word)
		}
	}
	return others
}

func TestPairsArePruned(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ documents, words int }{{0, 1}, {1, 5}, {pruneDocs - 1, 30}, {pruneDocs, 30}, {300, 4},
		{3000, 400}} {
		docs, text := someText(7, c.documents, c.words)
		lists, in := plainPairs(docs), map[string]int{}
		var order []string
		for _, list := range lists {
			seen := map[string]bool{}
			for _, w := range list {
				if in[w] == 0 && !seen[w] {
					order = append(order, w)
				}
				seen[w] = true
			}
			for w := range seen {
				in[w]++
			}
		}
		numbers, wantRare, wantCommon := map[string]int32{}, 0, 0
		var want []string
		for _, w := range order {
			switch {
			case c.documents >= pruneDocs && in[w] < rareDocs:
				wantRare++
			case c.documents >= pruneDocs && in[w]*100 > c.documents*commonPercent:
				wantCommon++
			default:
				numbers[w] = int32(len(want))
				want = append(want, w)
			}
		}
		b, vocab, rare, common := text.Pruned()
		if !slices.Equal(vocab, want) || rare != wantRare || common != wantCommon {
			t.Fatalf("%d documents: %d words, %d rare, %d common, want %d, %d, %d: %q, want %q", c.documents,
				len(vocab), rare, common, len(want), wantRare, wantCommon, vocab, want)
		}
		checkBags(t, b, lists, numbers)
	}
}

func TestKnownPairsAreCounted(t *testing.T) {
	t.Parallel()
	docs, text := someText(8, 200, 50)
	known := NewIndex([]string{"w3", "w0_w1", "w1", "w2_w2", "w49_w0", "w7", "other", "w1_other"})
	lists := plainPairs(docs)
	b, dropped := text.Known(known)
	if others := checkBags(t, b, lists, known); dropped != others {
		t.Errorf("%d dropped, want %d", dropped, others)
	}
	text.Pairs = false
	b, dropped = text.Known(known)
	if others := checkBags(t, b, docs, known); dropped != others {
		t.Errorf("%d dropped without pairs, want %d", dropped, others)
	}
}
