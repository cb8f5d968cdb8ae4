package lda

import "bellows/app/lda/internal/alias"

// mh is Metropolis-Hastings in the manner of LightLDA (Yuan et al. 2015, §3): a topic is proposed
// from the document's part of the distribution, then from the word's, and each is accepted so that
// the chain keeps p(k) ∝ (n_dk+α_k)(n_kw+β)/(n_k+Vβ). Neither costs more for more topics.
//
// The document's proposal is the topic of one of its tokens, or one from α; the word's comes from an
// alias table of (n_kw+β)/(n_k+Vβ) as of the task's start. n_kw stays as it was pulled, but for the
// token in hand, as in WarpLDA (Chen et al. 2016, §4), so that no row is copied or kept up to date;
// n_dk and n_k are.
type mh struct {
	words  alias.Tables
	topics topicsOf     // of the portion's words, with the weights of their tables
	sum    []float32    // of each word's weights
	counts [][]int32    // of each word, by topic, as pulled
	inv    []float32    // 1 / (n_k+Vβ) at the start
	smooth alias.Tables // of β/(n_k+Vβ)
	rest   float32      // its sum
	prior  alias.Tables // of α
	names  []uint16     // all topics
	weight []float32    // scratch
}

// mhCycles is how often both proposals are made for a token: with one, a sweep costs half and mixes less than half as
// well.
const mhCycles = 2

// loadMH builds the tables of the portion's words.
func (w *space) loadMH(t source, u *portion) {
	x := &w.mh
	k := w.p.topics
	if len(x.names) != k {
		x.names, x.inv, x.weight = make([]uint16, k), make([]float32, k), make([]float32, k)
		for i := range x.names {
			x.names[i] = uint16(i)
		}
	}
	copy(x.inv, w.inv)
	x.smooth.Slots, x.prior.Slots, x.words.Slots = x.smooth.Slots[:0], x.prior.Slots[:0], x.words.Slots[:0]
	copy(x.weight, w.alpha)
	x.prior.Add(x.names, x.weight)
	for i, v := range x.inv {
		x.weight[i] = v * float32(w.p.beta)
	}
	x.rest = x.smooth.Add(x.names, x.weight)

	x.sum, x.counts = reserve(x.sum, len(u.words)), reserve(x.counts, len(u.words))
	x.topics.reset()
	w.p.eachWord(t, wordTable, u.words, func(j int, counts []int32) {
		x.topics.add(w.found.find(counts), x.inv)
		x.sum[j] = x.words.Add(x.topics.lookup(int32(j)))
		x.counts[j] = counts
	})
}

// sampleMH draws the topics of one document anew.
func (w *space) sampleMH(tokens, z []int32, rng stream) {
	x := &w.mh
	beta, betaSum := float32(w.p.beta), w.betaSum()
	w.enter(z)
	length := float32(len(tokens))
	all := length + float32(w.alphaSum)
	for i, word := range tokens {
		old := z[i]
		counts := x.counts[word]
		inv := w.inv[old]
		w.ndt[old]--
		w.inv[old] = 1 / (float32(w.total[old]-1) + betaSum)

		k := old
		phi := w.phi(counts, k, old, beta) // of the topic in hand
		for range mhCycles {
			r := rng.next()
			var to int32
			if at := float32(uint32(r>>32)>>8) * (1.0 / (1 << 24)) * all; at < length {
				to = z[min(int(at), len(z)-1)]
			} else {
				to = alias.Pick(x.prior.Slots, rng.next())
			}
			if to != k {
				next := w.phi(counts, to, old, beta)
				if float32(uint32(r)>>8)*(1.0/(1<<24))*phi < next {
					k, phi = to, next
					z[i] = k
				}
			}
			to = w.proposeWord(word, old, k, &rng)
			if to == k {
				continue
			}
			from := (float32(w.ndt[k]) + w.alpha[k]) * w.inv[k] * x.inv[to]
			into := (float32(w.ndt[to]) + w.alpha[to]) * w.inv[to] * x.inv[k]
			if float32(rng.next()>>40)*(1.0/(1<<24))*from < into {
				k, phi = to, w.phi(counts, to, old, beta)
				z[i] = k
			}
		}
		if k == old {
			w.inv[old] = inv
			w.ndt[old]++
			continue
		}
		if w.ndt[k] == 0 {
			w.meet(k)
		}
		w.total[old]--
		w.total[k]++
		w.ndt[k]++
		w.inv[k] = 1 / (float32(w.total[k]) + betaSum)
		w.change(word, old, k)
	}
}

// proposeWord draws from (n_kw+β)/(n_k+Vβ) as of the task's start, but for the token in hand: the table
// has it, so that a draw of its topic is this token with a chance of 1 in n_kw, and is drawn again. A
// proposal that knew where the token came from would favour the way back. After some draws that all were
// this token, the proposal is the topic in hand.
func (w *space) proposeWord(word, old, k int32, rng *stream) int32 {
	x := &w.mh
	own := x.counts[word][old]
	for range proposalsMost {
		r := rng.next()
		if float32(uint32(r)>>8)*(1.0/(1<<24))*(x.sum[word]+x.rest) >= x.sum[word] {
			return alias.Pick(x.smooth.Slots, rng.next())
		}
		to := alias.Pick(x.words.Slots[x.topics.start[word]:x.topics.start[word+1]], rng.next())
		if to != old || (r>>32)*uint64(own)>>32 != 0 {
			return to
		}
	}
	return k
}

const proposalsMost = 32

// phi returns (n_kw+β)/(n_k+Vβ) without the current token, whose topic was old.
func (w *space) phi(counts []int32, k, old int32, beta float32) float32 {
	n := counts[k]
	if k == old {
		n--
	}
	return (float32(n) + beta) * w.inv[k]
}
