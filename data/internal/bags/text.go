package bags

// PairJoin joins the two words of a pair. No word contains it.
const PairJoin = '_'

// Text is documents by their words in the order of the text.
//
// With Pairs, each two adjacent words of a document are one more word, joined by PairJoin. Words and pairs are numbered
// by first appearance, a pair after its second word.
type Text struct {
	Words []int32  // of all documents, one after the other
	Ends  []int64  // where each document ends
	Names []string // of the words, by their numbers
	Pairs bool
}

// A Pair is two words, or one word and none.
type Pair struct{ first, second int32 }

// Append appends documents, by their words and where each ends among them.
func (t *Text) Append(words []int32, ends []int64) {
	before := int64(len(t.Words))
	t.Words = append(t.Words, words...)
	for _, end := range ends {
		t.Ends = append(t.Ends, before+end)
	}
}

// Known returns the documents as bags of known words, and how many of their words and pairs are not known.
func (t *Text) Known(known Index) (b *Bags, dropped int64) {
	b = New(len(t.Words))
	numbers, tokens, name, from := known.Numbers(t.Names), []int32(nil), []byte(nil), 0
	for _, end := range t.Ends {
		tokens = tokens[:0]
		for i := from; i < int(end); i++ {
			if at := numbers[t.Words[i]]; at >= 0 {
				tokens = append(tokens, at)
			} else {
				dropped++
			}
			if !t.Pairs || i == from {
				continue
			}
			name = t.appendName(name[:0], Pair{t.Words[i-1], t.Words[i]})
			if at, ok := known[string(name)]; ok {
				tokens = append(tokens, at)
			} else {
				dropped++
			}
		}
		b.addSorted(tokens)
		b.Open(b.Len() + 1)
		from = int(end)
	}
	return b, dropped
}

// Pruned returns the documents as bags without rare and common words, the words that are left, and how many were rare
// and common.
func (t *Text) Pruned() (b *Bags, vocab []string, rare, common int) {
	var kept []int32
	if !t.Pairs {
		b = New(len(t.Words))
		from := int64(0)
		for _, end := range t.Ends {
			b.Add(t.Words[from:end], len(t.Names))
			from = end
		}
		kept, rare, common = b.Prune(len(t.Names))
		vocab = make([]string, len(kept))
		for i, w := range kept {
			vocab[i] = t.Names[w]
		}
		return b, vocab, rare, common
	}
	b, words, dropped := t.paired()
	kept, rare, common = b.Prune(len(words))
	return b, t.names(words, kept), rare + dropped, common
}

// paired returns the documents with the pairs that are not rare, all words and pairs by their numbers, and how many
// pairs were dropped.
func (t *Text) paired() (b *Bags, words []Pair, dropped int) {
	least := int32(1)
	if len(t.Ends) >= pruneDocs {
		least = rareDocs
	}
	pairs := t.findShared(least)
	b = New(2 * len(t.Words))
	numbers := make([]int32, len(t.Names)+len(pairs.list)) // of words, then of pairs
	for i := range numbers {
		numbers[i] = none
	}
	take := func(at int, p Pair) int32 {
		if numbers[at] == none {
			numbers[at] = int32(len(words))
			words = append(words, p)
		}
		return numbers[at]
	}
	var tokens []int32
	from := 0
	for _, end := range t.Ends {
		tokens = tokens[:0]
		for i := from; i < int(end); i++ {
			w := t.Words[i]
			tokens = append(tokens, take(int(w), Pair{w, none}))
			if at := pairs.at[i]; at != none {
				tokens = append(tokens, take(len(t.Names)+int(at), pairs.list[at]))
			}
		}
		b.Add(tokens, len(numbers))
		from = int(end)
	}
	return b, words, pairs.dropped
}

// names returns the names of some words and pairs, in one string, since a string for each would take more memory.
func (t *Text) names(words []Pair, kept []int32) []string {
	var all []byte
	ends := make([]int, len(kept))
	for i, at := range kept {
		all = t.appendName(all, words[at])
		ends[i] = len(all)
	}
	text, names, from := string(all), make([]string, len(kept)), 0
	for i, end := range ends {
		names[i], from = text[from:end], end
	}
	return names
}

func (t *Text) appendName(to []byte, p Pair) []byte {
	if to = append(to, t.Names[p.first]...); p.second == none {
		return to
	}
	return append(append(to, PairJoin), t.Names[p.second]...)
}
