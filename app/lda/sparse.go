package lda

import (
	"math/bits"
	"slices"

	"bellows/app/lda/internal/dense"
	"bellows/app/lda/internal/dirichlet"
)

// sparse is SparseLDA (Yao, Mimno and McCallum 2009): the probability of a topic falls into three sums,
//
//	(n_dk+α_k)(n_kw+β)/(n_k+Vβ) = α_kβ/(n_k+Vβ) + n_dkβ/(n_k+Vβ) + (n_dk+α_k)n_kw/(n_k+Vβ),
//
// where s runs over all topics and is kept up to date, r over the topics of the document, and q over those of the word.
// Most draws fall into q, whose topics are about in descending order.
//
// A word's topics are packed count<<bits | topic. The current token stays in its row while its topic is drawn, and its
// part is subtracted; a topic that does not change then costs no update at all. Rejected: sorting rows exactly, which
// costs more than the shorter walks save.
type sparse struct {
	coef  []float32 // (n_dk + α_k) / (n_k + Vβ)
	rows  []uint32  // for all words in the portion
	start []int32   // of each word's row
	size  []int32   // topics in it
	s, r  float64
	few   dense.Few
	peak  float32 // at least α_k/(n_k+Vβ) of every topic
	lost  bool    // a token's topic was not among its word's: the tables disagree
}

// reachOf returns the number of topics that a word's row may come to have.
func reachOf(has, tokens, topics int) int { return min(topics, has+tokens) }

// loadSparse packs the counts of the portion's words, or copies them from the lists that the tasks of a round share.
func (w *space) loadSparse(t source, u *portion, shared round) {
	x := &w.sparse
	x.coef = reserve(x.coef, w.p.stride())
	clear(x.coef[w.p.topics:])
	w.dense.Begin(len(u.words), w.p.stride())
	x.start, x.size = reserve(x.start, len(u.words)), reserve(x.size, len(u.words))
	x.rows, x.lost = x.rows[:0], false
	x.s, x.peak = 0, 0
	for k, a := range w.alpha {
		x.coef[k] = a * w.inv[k]
		x.peak = max(x.peak, x.coef[k])
		x.s += float64(a * float32(w.p.beta) * w.inv[k])
	}
	w.p.eachPart(t, wordTable, u.words, func(b, from, end int, part []int32) {
		list := shared.enter(b)
		defer list.leave()
		for j := from; j < end; j++ {
			at, word, dense := len(x.rows), int(u.words[j])-w.p.firstWord(b), int32(0)
			x.rows, dense = w.appendRow(x.rows, list, part, word)
			size := len(x.rows) - at
			x.start[j], x.size[j] = int32(at), int32(size)
			if dense > 0 {
				w.dense.Add(j, w.p.rowsOf(part, word), dense)
				continue
			}
			reach := reachOf(size, int(u.count[j]), w.p.topics)
			x.rows = slices.Grow(x.rows, reach)[:at+reach]
		}
	})
}

// appendRow appends the packed topics of a word, by its number in its partition, or returns the tokens of a dense word. A
// task without a list packs its words alone.
func (w *space) appendRow(rows []uint32, shared *list, part []int32, word int) (all []uint32, dense int32) {
	if shared != nil {
		row, dense := shared.row(w, part, word)
		return append(rows, row...), dense
	}
	found := w.found.find(w.p.countsOf(part, word))
	if dense = w.p.denseTokens(found); dense > 0 {
		return rows, dense
	}
	return pack(rows, found, w.p.bits), 0
}

// pack appends the topics of a word, those of larger counts before those of counts with fewer bits.
func pack(rows []uint32, word present, shift uint) []uint32 {
	var places [33]int32
	for _, n := range word.count {
		places[bits.Len32(uint32(n))]++
	}
	at := int32(len(rows))
	rows = append(rows, word.blank...)
	for size := len(places) - 1; size > 0; size-- {
		n := places[size]
		places[size] = at
		at += n
	}
	for i, n := range word.count {
		to := &places[bits.Len32(uint32(n))]
		rows[*to] = uint32(n)<<shift | uint32(word.topic[i])
		*to++
	}
	return rows
}

// sampleSparse draws the topics of one document anew.
func (w *space) sampleSparse(tokens, z []int32, rng stream) {
	x := &w.sparse
	beta, betaSum := float32(w.p.beta), w.betaSum()
	w.enter(z)
	r := 0.0
	for _, k := range w.present {
		n := float32(w.ndt[k])
		r += float64(n * beta * w.inv[k])
		x.coef[k] = (n + w.alpha[k]) * w.inv[k]
	}
	x.r = r
	few := w.dense.HasFew(len(w.present))
	for i, word := range tokens {
		old := z[i]

		// Take the token out, but for its word's row.
		s, r, inv, coef, n := x.s, x.r, w.inv[old], x.coef[old], w.ndt[old]
		invOut := 1 / (float32(w.total[old]-1) + betaSum)
		x.s += float64(w.alpha[old] * beta * (invOut - inv))
		x.r += float64(beta * (float32(n-1)*invOut - float32(n)*inv))
		w.inv[old], w.ndt[old] = invOut, n-1
		own := (float32(n-1) + w.alpha[old]) * invOut
		x.coef[old] = own
		x.peak = max(x.peak, w.alpha[old]*invOut)

		counts, k := w.dense.Counts(word), int32(0)
		if counts != nil && few {
			k = w.drawFew(word, old, own, &rng)
		} else if counts != nil {
			next := counts
			if i+1 < len(tokens) {
				next = w.dense.Counts(tokens[i+1])
			}
			k = w.dense.Draw(x.coef, counts, next, beta, old, own, float32(rng.uniform()))
		} else {
			row := x.rows[x.start[word] : x.start[word]+x.size[word]]
			q := max(0, rowSum(row, x.coef, w.p.bits)-own)
			k = w.draw(row, old, q, rng.uniform())
		}
		if k == old {
			x.s, x.r, w.inv[old], x.coef[old], w.ndt[old] = s, r, inv, coef, n
			continue
		}
		w.total[old]--
		z[i] = k
		w.join(k, beta, betaSum)
		if counts != nil {
			counts[old]--
			counts[k]++
		} else {
			x.shift(word, old, k, w.p.bits)
		}
		w.change(word, old, k)
	}
	for _, k := range w.present {
		x.coef[k] = w.alpha[k] * w.inv[k]
	}
}

// drawFew chooses a topic for a token of a dense word in a document with few topics.
func (w *space) drawFew(word, old int32, own float32, rng *stream) int32 {
	x, bound := &w.sparse, w.sparse.s+float64(w.sparse.peak)*float64(w.dense.Tokens(word))
	line := x.few.Begin(x.coef, w.dense.Counts(word), float32(w.p.beta), old, own, w.present, bound)
	for range 1000 { // an end for weights that are all 0
		if k, ok := x.few.Draw(&w.dense, float32(rng.uniform()*line)); ok {
			return k
		}
	}
	return old
}

// join puts the token in hand into a topic.
func (w *space) join(k int32, beta, betaSum float32) {
	x := &w.sparse
	n, inv := w.ndt[k], w.inv[k]
	if n == 0 {
		w.meet(k)
	}
	w.total[k]++
	now := 1 / (float32(w.total[k]) + betaSum)
	x.s += float64(w.alpha[k] * beta * (now - inv))
	x.r += float64(beta * (float32(n+1)*now - float32(n)*inv))
	w.inv[k], w.ndt[k] = now, n+1
	x.coef[k] = (float32(n+1) + w.alpha[k]) * now
}

// rowSum returns the sum over a word's topics of coef times count, in four partial sums.
func rowSum(row []uint32, coef []float32, shift uint) float32 {
	mask := uint32(1)<<shift - 1
	var a, b, c, d float32
	for len(row) >= 4 {
		v0, v1, v2, v3 := row[0], row[1], row[2], row[3]
		a += coef[v0&mask] * float32(v0>>shift)
		b += coef[v1&mask] * float32(v1>>shift)
		c += coef[v2&mask] * float32(v2>>shift)
		d += coef[v3&mask] * float32(v3>>shift)
		row = row[4:]
	}
	for _, v := range row {
		a += coef[v&mask] * float32(v>>shift)
	}
	return (a + b) + (c + d)
}

// draw chooses a topic: u is uniform on [0, 1). Rounding may carry it beyond the end of a sum; then
// the last topic of the sum is chosen.
func (w *space) draw(row []uint32, old int32, q float32, u float64) int32 {
	x := &w.sparse
	u *= x.s + x.r + float64(q)
	if u < float64(q) {
		return w.drawWord(row, old, float32(u))
	}
	u -= float64(q)
	if u < x.r {
		beta := float32(w.p.beta)
		last := old
		for _, k := range w.present {
			if w.ndt[k] == 0 {
				continue
			}
			last = k
			if u -= float64(float32(w.ndt[k]) * beta * w.inv[k]); u < 0 {
				break
			}
		}
		return last
	}
	u -= x.r
	for k, a := range w.alpha {
		if u -= float64(a * float32(w.p.beta) * w.inv[k]); u < 0 {
			return int32(k)
		}
	}
	return int32(len(w.alpha) - 1)
}

// drawWord chooses among the topics of the word, without the token in hand.
func (w *space) drawWord(row []uint32, old int32, u float32) int32 {
	coef, shift := w.sparse.coef, w.p.bits
	mask := uint32(1)<<shift - 1
	last := old
	for _, v := range row {
		k, n := v&mask, v>>shift
		if int32(k) == old {
			if n--; n == 0 {
				continue
			}
		}
		last = int32(k)
		if u -= coef[k] * float32(n); u < 0 {
			return last
		}
	}
	return last
}

// shift moves one of a word's tokens from one topic to another in the word's row.
func (x *sparse) shift(word, from, to int32, shift uint) {
	start, one := x.start[word], uint32(1)<<shift
	row := x.rows[start : start+x.size[word]]
	mask := one - 1
	out, in := -1, -1
	for i, v := range row {
		if k := int32(v & mask); k == from {
			out = i
		} else if k == to {
			in = i
		}
		if out >= 0 && in >= 0 {
			break
		}
	}
	if out < 0 {
		x.lost = true
		return
	}
	row[out] -= one
	switch gone := row[out] < one; {
	case gone && in < 0: // the place is free for the new topic
		row[out] = one | uint32(to)
		return
	case gone:
		last := len(row) - 1
		row[out] = row[last]
		if in == last {
			in = out
		}
		row = row[:last]
		x.size[word]--
	case in < 0:
		x.size[word]++
		x.rows[start+x.size[word]-1] = one | uint32(to)
		return
	}
	if row[in] += one; in > 0 && row[in-1] < row[in] {
		row[in-1], row[in] = row[in], row[in-1]
	}
}

// enter counts a document's topics.
func (w *space) enter(z []int32) {
	w.present = w.present[:0]
	for _, k := range z {
		if w.ndt[k] == 0 {
			w.present = append(w.present, k)
		}
		w.ndt[k]++
	}
}

// meet notes a topic that the document had not, or has no more.
func (w *space) meet(k int32) {
	for _, p := range w.present {
		if p == k {
			return
		}
	}
	w.present = append(w.present, k)
}

// leave adds the document to the statistics of α and forgets it.
func (w *space) leave(learn bool, tokens int) {
	for _, k := range w.present {
		if learn {
			w.stats[k] += dirichlet.Rising(float64(w.alpha[k]), int(w.ndt[k]))
		}
		w.ndt[k] = 0
	}
	if learn {
		w.stats[len(w.stats)-1] += dirichlet.Rising(w.alphaSum, tokens)
	}
}
