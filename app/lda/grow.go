package lda

import (
	"bellows/train"
)

// growth is how a run reaches its first epoch. The splits join one after the other. The first of them get random topics
// and are swept alone until their topics mean something; then as many again get topics by those counts, all of them are
// swept, and so on.
//
// Topics that begin at random in all documents at once must first agree. That takes as many sweeps of all as of a few,
// and much of their chance agreement stays. A sweep of a few documents is cheap: on the NIPS papers at 100 topics the
// opening costs as much as five sweeps, and after 30 epochs held-out documents are predicted as well as after 200
// without it.
//
// Invariant: a split's tokens have topics from the clock joins[s] on, and none before (TestDocumentsJoinStepByStep).
//
// Rejected: drawing each token's first topic by those drawn before it. Splits draw in parallel, and would agree on
// nothing.
type growth struct {
	joins []int32 // by split: the opening clock in which its tokens get topics
	opens int     // opening clocks
}

const (
	growTokens = 100_000 // of the splits that begin, at least,
	growTopic  = 1000    // and as many times the topics: of fewer tokens they settle on what is too small, and stay worse
	growParts  = 4       // as many of them as begin there are, at least
	growFirst  = 16      // sweeps of those; half as many after each doubling,
	growLeast  = 4       // but for this many: later steps change less, and a sweep costs more
)

// newGrowth returns the growth of a run whose splits have so many tokens in all; the first ones have at least so many.
// If that is too large a part, all splits begin at once.
func newGrowth(splits int, tokens, least int64) growth {
	g := growth{joins: make([]int32, splits), opens: 1}
	n := 1
	for n < splits && int64(n)*tokens < least*int64(splits) {
		n *= 2
	}
	if growParts*n > splits {
		return g
	}
	for sweeps := growFirst; n < splits; n, sweeps = 2*n, max(sweeps/2, growLeast) {
		g.opens += sweeps
		for s := n; s < splits; s++ {
			g.joins[s] = int32(g.opens)
		}
		g.opens++
	}
	return g
}

// opening returns what a split does in an opening clock.
func (e *executor) opening(t *train.Task, w *space) error {
	split := int(t.Split())
	switch join := int(e.p.growth.joins[split]); {
	case int(t.Clock()) < join:
		return nil
	case t.Clock() == 0:
		e.giveTopics(t, w)
		return nil
	}
	for c := range e.p.clocks {
		u := &e.p.portions[split*e.p.clocks+c]
		if int(t.Clock()) == int(e.p.growth.joins[split]) {
			e.join(t, w, u)
		} else if err := e.draw(t, w, u, e.p.first, false); err != nil {
			return err
		}
	}
	return nil
}

// join gives the tokens of a portion their first topics: each a draw by its word and by the mixture of its document, under the counts of the
// splits that have joined before.
func (e *executor) join(t *train.Task, w *space, u *portion) {
	x := &w.score
	w.begin(e.p.first, e.totals(t), len(u.words))
	x.begin(w.alpha, w.inv, w.alphaSum, e.p.beta)
	e.p.eachWord(t, wordTable, u.words, func(_ int, counts []int32) { x.words.add(w.found.find(counts), w.inv) })
	z := e.state(t, train.Exclusive)[u.first:]
	x.tally = reserve(x.tally, len(u.words))
	clear(x.tally)
	var count []int32
	for i := range u.ends {
		tokens := u.doc(i)
		x.touched, count = x.touched[:0], count[:0]
		for _, word := range tokens {
			if x.tally[word]++; x.tally[word] == 1 {
				x.touched = append(x.touched, word)
			}
		}
		for _, word := range x.touched {
			count = append(count, x.tally[word])
			x.tally[word] = 0
		}
		x.fold(x.touched, count)
		floor, rng := x.floor(), newStream(e.p.seed, int(t.Split()), int(t.Clock()), u.begin+i)
		for j, word := range tokens {
			z[j] = x.draw(word, floor, rng.uniform())
			w.gain(word, z[j])
		}
		z = z[len(tokens):]
	}
	w.push(t, u, true)
}

// draw returns a topic of a word in the document with the current mixture: u is uniform on [0, 1). Rounding may carry
// it beyond the end; then the last topic is chosen.
func (x *scoring) draw(word int32, floor float32, u float64) int32 {
	topic, weight := x.words.lookup(word)
	at := float32(u) * x.likelihood(word, floor)
	for i, k := range topic {
		if at -= x.theta[k] * weight[i]; at < 0 {
			return int32(k)
		}
	}
	for k, t := range x.theta {
		if at -= t * x.inv[k] * x.beta; at < 0 {
			return int32(k)
		}
	}
	return int32(len(x.theta) - 1)
}
