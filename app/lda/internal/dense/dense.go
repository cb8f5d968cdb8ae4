// Package dense draws topics for words with many topics, for app/lda, with one kernel over all topics. The draw is
// from the full conditional:
//
//	p(k) ∝ (n_dk+α_k)/(n_k+Vβ) · (n_kw+β),
//
// a product of two rows over all topics. The caller keeps the first up to date, token by token; the second is a copy of
// the counts of the word, in which a change of topic is two additions. A kernel adds the products up in blocks; a draw
// chooses a block, and then a topic in it.
//
// While topics are random, each word has hundreds of them, and SparseLDA walks its row three times for each token. At
// 1,000 topics the kernel takes a fifth of that time. Each draw is exact, so that a sweep is worth as much.
//
// The caller's duties, in order: Begin for a task's words, Add for each dense word, and then for each token Counts,
// Draw, and the change of both counts. A word may have at most TokensMost tokens.
//
// Rejected: alias tables (AliasLDA, LightLDA), since a sweep costs as much at 1,000 topics and is worth less; and
// counts that stay as they were pulled, as in WarpLDA, which need no copy: on the NIPS papers twelve sweeps are then
// worth eleven (docs/decisions/0128-draw-topics-of-dense-words-with-a-kernel.md).
package dense

import (
	"math"

	"bellows/vec"
)

// TokensMost is the largest number of tokens of a dense word: counts have 16 bits.
const TokensMost = math.MaxUint16

// Block is the number of topics that a row of counts is a multiple of.
const Block = vec.CountBlock

// Rows is the counts of dense words. It is reused from task to task.
type Rows struct {
	counts []uint16  // rows of all topics, for the dense words
	row    []int32   // of each word, or -1: it is not dense
	tokens []float32 // of each dense word
	sums   []float32 // of the blocks of topics
}

// Begin readies the rows for a number of words, with stride counts to a dense word: topics, and zeros up to whole
// blocks. No word has become dense yet.
func (x *Rows) Begin(words, stride int) {
	if cap(x.row) < words {
		x.row = make([]int32, words)
	}
	if cap(x.sums) < stride/Block {
		x.sums = make([]float32, stride/Block)
	}
	x.tokens = x.tokens[:0]
	x.counts, x.row, x.sums = x.counts[:0], x.row[:words], x.sums[:stride/Block]
	for i := range x.row {
		x.row[i] = -1
	}
}

// Add makes a word dense: counts are those of its topics, and add up to its tokens.
func (x *Rows) Add(word int, counts []int32, tokens int32) {
	at := len(x.counts)
	x.tokens = append(x.tokens, float32(tokens))
	x.row[word] = int32(at / len(counts))
	if all := at + len(counts); all > cap(x.counts) {
		x.counts = append(make([]uint16, 0, 2*at+len(counts)), x.counts...)
	}
	x.counts = x.counts[:at+len(counts)]
	vec.NarrowCounts(x.counts[at:], counts)
}

// Counts returns the counts of a word, or nil if it is not dense.
func (x *Rows) Counts(word int32) []uint16 {
	row, stride := int(x.row[word]), len(x.sums)*Block
	if row < 0 {
		return nil
	}
	return x.counts[row*stride:][:stride]
}

// Tokens returns the number of tokens of a dense word.
func (x *Rows) Tokens(word int32) float32 { return x.tokens[x.row[word]] }

// Draw chooses a topic for a token with the topic old. weight has (n_dk+α_k)/(n_k+Vβ) without the token, and zeros
// beyond the topics; counts still has the token, and own is the weight of old. u is uniform on [0, 1). Rounding may
// carry it beyond the end; then the last topic of a block is chosen. next has the counts that are drawn from next, which
// the processor fetches meanwhile; nil: it is not known.
func (x *Rows) Draw(weight []float32, counts, next []uint16, beta float32, old int32, own, u float32) int32 {
	sums := x.sums
	if next == nil {
		next = counts
	}
	u *= max(0, vec.CountSumsAhead(weight, counts, beta, sums, next)-own)
	sums[old/Block] -= own
	return x.find(weight, counts, beta, old, own, u)
}

// find returns the topic at place u in the sum over all topics. x.sums holds the sums of its blocks.
func (x *Rows) find(weight []float32, counts []uint16, beta float32, old int32, own, u float32) int32 {
	sums, b := x.sums, 0
	for ; b < len(sums)-1 && u >= sums[b]; b++ {
		u -= sums[b]
	}
	first, last := b*Block, -1
	weights := (*[Block]float32)(weight[first:])
	for i, n := range (*[Block]uint16)(counts[first:]) {
		v := float32(weights[i] * (float32(n) + beta))
		if first+i == int(old) {
			v -= own
		}
		if v > 0 {
			last = i
		}
		if u -= v; u < 0 {
			break
		}
	}
	if last < 0 { // every product of the block was rounded to 0
		return old
	}
	return int32(first + last)
}
