// Package bags collects documents as word counts: it adds tokens or entries, merges documents, and drops rare, frequent
// and stop words.
//
// The caller's duties, in order: New; then for each document Add with its tokens in any order, or Open and then Put for
// each entry; then Sort, which finds repeated words in a document; then Prune, or Renumber into another vocabulary.
// After that the slices belong to the caller. Documents of a text are appended to a Text instead, which gives the bags.
//
// The package refuses only words given twice. The reader of the input checks its numbers.
package bags

import (
	"fmt"
	"math/bits"
	"slices"
)

// Bags holds documents: document d has Count[i] tokens of Word[i] for i from Offset[d] to Offset[d+1]-1.
type Bags struct {
	Offset []int64 // documents + 1
	Word   []int32
	Count  []int32

	seen tokens
}

// New returns no documents, with room for a number of entries.
func New(entries int) *Bags {
	return &Bags{Offset: []int64{0}, Word: make([]int32, 0, entries), Count: make([]int32, 0, entries)}
}

// Len returns the number of documents.
func (b *Bags) Len() int { return len(b.Offset) - 1 }

// Add appends one document, given by its tokens. The argument words gives the size of the vocabulary.
func (b *Bags) Add(tokens []int32, words int) {
	if b.seen.grow(words); len(b.seen.top) > topMost*len(tokens) {
		b.addSorted(tokens)
	} else {
		b.Word, b.Count = b.seen.count(tokens, b.Word, b.Count)
	}
	b.Open(b.Len() + 1)
}

// topMost bounds the parts of the vocabulary that are scanned per token of a document. Above it, sorting the tokens is
// less work.
const topMost = 8

// addSorted appends the tokens of a document to the last one. It sorts tokens in place.
func (b *Bags) addSorted(tokens []int32) {
	slices.Sort(tokens)
	for i, w := range tokens {
		if i > 0 && w == tokens[i-1] {
			b.Count[len(b.Count)-1]++
			continue
		}
		b.Word, b.Count = append(b.Word, w), append(b.Count, 1)
	}
}

// tokens counts the tokens of one document after another: a bit for each word, by which they are read out in order, and
// a bit for each 64 of those bits. It takes a few operations per token, while sorting takes a logarithmic number.
//
// Invariant: between two documents everything is 0.
type tokens struct {
	times    []int32 // by word
	bit, top []uint64
}

// grow makes room for a vocabulary.
func (t *tokens) grow(words int) {
	if words > len(t.times) {
		t.times, t.bit, t.top = make([]int32, words), make([]uint64, words/64+1), make([]uint64, words/4096+1)
	}
}

// count appends a document's words, ascending, and their counts.
func (t *tokens) count(tokens, word, count []int32) (w, c []int32) {
	for _, w := range tokens {
		t.times[w]++
		t.bit[w>>6] |= 1 << (w & 63)
		t.top[w>>12] |= 1 << (w >> 6 & 63)
	}
	for i, top := range t.top {
		t.top[i] = 0
		for ; top != 0; top &= top - 1 {
			k := i<<6 + bits.TrailingZeros64(top)
			for set := t.bit[k]; set != 0; set &= set - 1 {
				w := int32(k<<6 + bits.TrailingZeros64(set))
				word, count = append(word, w), append(count, t.times[w])
				t.times[w] = 0
			}
			t.bit[k] = 0
		}
	}
	return word, count
}

// Open appends empty documents until there are n.
func (b *Bags) Open(n int) {
	for b.Len() < n {
		b.Offset = append(b.Offset, int64(len(b.Word)))
	}
}

// Put appends an entry to the last document.
func (b *Bags) Put(word, count int32) {
	b.Word, b.Count = append(b.Word, word), append(b.Count, count)
	b.Offset[len(b.Offset)-1] = int64(len(b.Word))
}

// Twice is the error for a document that has a word twice. Both count from 0.
type Twice struct{ Doc, Word int }

func (t *Twice) Error() string {
	return fmt.Sprintf("document %d has the word %d twice", t.Doc+1, t.Word+1)
}

// Sort puts each document's words in ascending order. If a document repeats a word, it returns a *Twice.
func (b *Bags) Sort() error {
	var order []int64 // word, then count
	for d := range b.Len() {
		lo, hi := b.Offset[d], b.Offset[d+1]
		word, count := b.Word[lo:hi], b.Count[lo:hi]
		if !slices.IsSorted(word) {
			order = order[:0]
			for i, w := range word {
				order = append(order, int64(w)<<32|int64(count[i]))
			}
			slices.Sort(order)
			for i, o := range order {
				word[i], count[i] = int32(o>>32), int32(o)
			}
		}
		for i := 1; i < len(word); i++ {
			if word[i] == word[i-1] {
				return &Twice{d, int(word[i])}
			}
		}
	}
	return nil
}

// The limits for words which do not help to tell the subject of a document: those of almost no document, and those of
// most. Few documents do not show which words these are.
const (
	pruneDocs     = 20 // with fewer documents all stay
	rareDocs      = 2  // words in fewer documents are dropped
	commonPercent = 50 // words in a larger share of documents are dropped
)

// Cut keeps the first n documents.
func (b *Bags) Cut(n int) {
	b.Offset = b.Offset[:n+1]
	b.Word, b.Count = b.Word[:b.Offset[n]], b.Count[:b.Offset[n]]
}

// Prune drops rare and common words. The vocabulary has the given size. kept has the numbers of the others, ascending;
// their new numbers are their places in it.
func (b *Bags) Prune(words int) (kept []int32, rare, common int) {
	docs := make([]int, words)
	for _, w := range b.Word {
		docs[w]++
	}
	table := make([]int32, words)
	for w, n := range docs {
		table[w] = -1
		switch {
		case b.Len() >= pruneDocs && n < rareDocs:
			rare++
		case b.Len() >= pruneDocs && n*100 > b.Len()*commonPercent:
			common++
		default:
			table[w] = int32(len(kept))
			kept = append(kept, int32(w))
		}
	}
	b.renumber(table) // the numbers ascend, so that words stay sorted
	return kept, rare, common
}

// Renumber gives words the numbers of table, which must differ, and drops those of number -1. It returns the number of
// tokens dropped.
func (b *Bags) Renumber(table []int32) (dropped int64) {
	dropped = b.renumber(table)
	if err := b.Sort(); err != nil {
		panic("bags: the table gives two words one number")
	}
	return dropped
}

// renumber renumbers words and keeps their order in each document.
func (b *Bags) renumber(table []int32) (dropped int64) {
	kept, from := 0, int64(0)
	for d := range b.Len() {
		end := b.Offset[d+1]
		for i := from; i < end; i++ {
			if w := table[b.Word[i]]; w < 0 {
				dropped += int64(b.Count[i])
			} else {
				b.Word[kept], b.Count[kept] = w, b.Count[i]
				kept++
			}
		}
		from = end
		b.Offset[d+1] = int64(kept)
	}
	b.Word, b.Count = b.Word[:kept], b.Count[:kept]
	return dropped
}

// An Index maps the names of a list to their positions. Several goroutines may use one.
type Index map[string]int32

// NewIndex returns the index of a list of names, nil for a nil list.
func NewIndex(names []string) Index {
	if names == nil {
		return nil
	}
	x := make(Index, len(names))
	for i, w := range names {
		x[w] = int32(i)
	}
	return x
}

// Numbers returns the position of each word in from, or -1 if the index lacks it.
func (x Index) Numbers(from []string) []int32 {
	table := make([]int32, len(from))
	for i, w := range from {
		table[i] = -1
		if at, ok := x[w]; ok {
			table[i] = at
		}
	}
	return table
}

// Numbers returns the position in to of each word in from, or -1 if to lacks it.
func Numbers(from, to []string) []int32 { return NewIndex(to).Numbers(from) }
