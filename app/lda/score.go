package lda

import (
	"math"
	"slices"

	"bellows/data"
	"bellows/table"
	"bellows/train"
	"bellows/vec"

	"bellows/app"
)

// A document that is scored is completed: every other token, in the order of word numbers, estimates
// its mixture, and the rest is scored (document completion: Wallach et al. 2009, "Evaluation methods
// for topic models", §5.1). The mixture is a fixed point instead of a sample, so that scores repeat.

// foldSteps is how often the mixture of a document is improved: more change the third digit, in either direction.
const foldSteps = 10

// halves deals a document's tokens alternately to those that estimate and those that are scored. Both are counts by place in
// word.
func halves(count []int32) (fold, score []int32) {
	fold, score = make([]int32, len(count)), make([]int32, len(count))
	odd := int32(0)
	for i, c := range count {
		fold[i] = (c + 1 - odd) / 2
		score[i] = c - fold[i]
		odd = (odd + c) & 1
	}
	return fold, score
}

// bag is words, by place in a topicsOf, with counts.
type bag struct{ word, fold, score []int32 }

// scoreBatch is what one split scores in every epoch: held-out documents, then test documents, then its own training
// documents, with the words that all of them need.
type scoreBatch struct {
	words    []int32 // ascending
	held     []bag
	test     []bag
	portions [][]int32 // per clock: the portion's words as numbers in words
}

// fillScored lays out what a split scores.
func (p *problem) fillScored(split int, local []int32) {
	b, n, from := scoreBatch{}, p.scorers(), &p.corpus
	for _, d := range app.Part(from.held, split, n) {
		word, count := from.set.Doc(int(d))
		b.held = append(b.held, newBag(word, count, nil))
	}
	if t := from.test; t != nil {
		for d := app.Share(t.Rows(), split, n); d < app.Share(t.Rows(), split+1, n); d++ {
			word, count := t.Doc(d)
			b.test = append(b.test, newBag(word, count, from.number))
		}
	}
	b.number(p.portions[split*p.clocks:(split+1)*p.clocks], local)
	p.scored[split] = b
}

// scorers returns the number of splits that score: not all of them, since each needs the topics of most
// words. Documents were dealt at random, so that those of some splits stand for all.
func (p *problem) scorers() int { return (p.splits + 3) / 4 }

// newBag returns a document of another vocabulary, renumbered by table; nil: the same one.
func newBag(word, count, table []int32) bag {
	word, count = knownOf(word, count, table)
	b := bag{word: word}
	b.fold, b.score = halves(count)
	return b
}

// scoredOf returns how many tokens of the document newBag would score.
func scoredOf(word, count, table []int32) (n int64) {
	odd := int32(0)
	for i, c := range count {
		if table == nil || table[word[i]] >= 0 {
			n += int64((c + odd) / 2)
			odd = (odd + c) & 1
		}
	}
	return n
}

// knownOf returns the words of a document with a number in table, and their counts; both are copies.
func knownOf(word, count, table []int32) (known, counts []int32) {
	for i, w := range word {
		if table != nil {
			w = table[w]
		}
		if w >= 0 {
			known, counts = append(known, w), append(counts, count[i])
		}
	}
	return known, counts
}

// renumber returns the number in to of each word in from, -1: unknown; nil if they are the same.
func renumber(from, to []string) []int32 {
	if slices.Equal(from, to) {
		return nil
	}
	return data.WordNumbers(from, to)
}

// number collects the words of the batch and renumbers its documents by them. local is scratch of a vocabulary's
// length, all zeros.
func (b *scoreBatch) number(portions []portion, local []int32) {
	docs := append(append([]bag{}, b.held...), b.test...)
	for _, d := range docs {
		for _, w := range d.word {
			local[w] = 1
		}
	}
	for i := range portions {
		u := &portions[i]
		for _, d := range u.train {
			for _, j := range u.doc(int(d)) {
				local[u.words[j]] = 1
			}
		}
	}
	b.words, _ = numbered(local)
	for _, d := range docs {
		for i, w := range d.word {
			d.word[i] = local[w] - 1
		}
	}
	for i := range portions {
		names := make([]int32, len(portions[i].words))
		for j, w := range portions[i].words {
			names[j] = local[w] - 1
		}
		b.portions = append(b.portions, names)
	}
	for _, w := range b.words {
		local[w] = 0
	}
}

// topicsOf is words as mixtures need them: the topics of each, and in each n_kw / (n_k + Vβ).
type topicsOf struct {
	topic  []uint16
	weight []float32
	start  []int32 // per word, and one behind
}

func (x *topicsOf) reset() {
	x.topic, x.weight, x.start = x.topic[:0], x.weight[:0], append(x.start[:0], 0)
}

// add appends a word.
func (x *topicsOf) add(word present, inv []float32) {
	x.topic = append(x.topic, word.topic...)
	for i, k := range word.topic {
		x.weight = append(x.weight, float32(word.count[i])*inv[k])
	}
	x.start = append(x.start, int32(len(x.topic)))
}

// put appends a word with known weights.
func (x *topicsOf) put(topic []uint16, weight []float32) {
	x.topic, x.weight = append(x.topic, topic...), append(x.weight, weight...)
	x.start = append(x.start, int32(len(x.topic)))
}

func (x *topicsOf) lookup(word int32) ([]uint16, []float32) {
	lo, hi := x.start[word], x.start[word+1]
	return x.topic[lo:hi], x.weight[lo:hi]
}

// scoring is the memory for scores, and the model that they are of.
type scoring struct {
	words    topicsOf
	alpha    []float32
	alphaSum float64
	inv      []float32
	beta     float32
	theta    []float32 // n_dk + α_k of the document in hand
	next     []float32
	tally    []int32 // tokens of the document by word
	touched  []int32

	// Words of many topics, which words has without any. Empty where there can be none.
	many  [][]int32 // their counts in all topics, by word; nil for the others
	share []float32 // (n_dk + α_k) / (n_k + Vβ), as theta is
	gain  []float32 // what these words add to n_dk, times n_k + Vβ
	sums  []float32
}

func (x *scoring) begin(alpha, inv []float32, alphaSum, beta float64) {
	x.alpha, x.inv, x.alphaSum, x.beta = alpha, inv, alphaSum, float32(beta)
	x.theta, x.next = reserve(x.theta, len(alpha)), reserve(x.next, len(alpha))
	x.words.reset()
	x.many, x.share, x.gain = x.many[:0], x.share[:0], x.gain[:0]
}

// widen readies the scoring for words with all their counts, so many to a word.
func (x *scoring) widen(stride int) {
	x.share, x.gain, x.sums = reserve(x.share, stride), reserve(x.gain, stride), reserve(x.sums, stride/vec.CountBlock)
	clear(x.share)
}

// addWord appends a word: its topics, or all its counts if it has many.
func (x *scoring) addWord(word present, counts []int32, many bool) {
	if many {
		x.words.put(nil, nil)
	} else {
		x.words.add(word, x.inv)
		counts = nil
	}
	x.many = append(x.many, counts)
}

// countsOf returns the counts of a word of many topics, and nil for another.
func (x *scoring) countsOf(word int32) []int32 {
	if len(x.many) == 0 {
		return nil
	}
	return x.many[word]
}

// likelihood returns Σ_k (n_dk+α_k) φ_kw; floor is that of a word without counts.
func (x *scoring) likelihood(word int32, floor float32) float32 {
	if counts := x.countsOf(word); counts != nil {
		return vec.CountSums(x.share, counts, x.beta, x.sums)
	}
	topic, weight := x.words.lookup(word)
	var a, b float32
	for len(topic) >= 2 && len(weight) >= 2 {
		a += x.theta[topic[0]] * weight[0]
		b += x.theta[topic[1]] * weight[1]
		topic, weight = topic[2:], weight[2:]
	}
	for i, k := range topic {
		a += x.theta[k] * weight[i]
	}
	return a + b + floor
}

// floor returns β Σ_k (n_dk+α_k)/(n_k+Vβ), the part that every word has, and makes share follow theta.
func (x *scoring) floor() float32 {
	if len(x.share) > 0 {
		for k, t := range x.theta {
			x.share[k] = t * x.inv[k]
		}
	}
	sum := float32(0)
	for k, t := range x.theta {
		sum += t * x.inv[k]
	}
	return sum * x.beta
}

// fold makes theta the mixture of a document, the fixed point of n_dk = Σ_w c_w p(k|w,d); it returns
// the tokens that it saw.
func (x *scoring) fold(word, count []int32) (tokens float64) {
	copy(x.theta, x.alpha)
	for _, c := range count {
		tokens += float64(c)
	}
	if tokens == 0 {
		return 0
	}
	for range foldSteps {
		floor := x.floor()
		common := float32(0)
		clear(x.next)
		clear(x.gain)
		for i, w := range word {
			if count[i] == 0 {
				continue
			}
			r := float32(count[i]) / x.likelihood(w, floor)
			common += r
			if counts := x.countsOf(w); counts != nil {
				vec.AxpyCounts(r, counts, x.gain)
				continue
			}
			topic, weight := x.words.lookup(w)
			for j, k := range topic {
				x.next[k] += r * weight[j]
			}
		}
		for k, v := range x.gain[:min(len(x.gain), len(x.next))] {
			x.next[k] += v * x.inv[k]
		}
		common *= x.beta
		for k, n := range x.next {
			x.theta[k] = x.alpha[k] + x.theta[k]*(n+common*x.inv[k])
		}
	}
	return tokens
}

// completed returns the log-likelihood of the half of a document that is scored.
func (x *scoring) completed(b bag) float64 {
	tokens := x.fold(b.word, b.fold)
	norm, floor := math.Log(tokens+x.alphaSum), x.floor()
	sum := 0.0
	for i, w := range b.word {
		if n := b.score[i]; n > 0 {
			sum += float64(n) * (math.Log(float64(x.likelihood(w, floor))) - norm)
		}
	}
	return sum
}

// The results of a scoring task.
const (
	gotHeld = iota
	gotTest
	gotTrain
	gotScore // how many
)

// score completes the split's documents under the current model.
func (e *executor) score(t *train.Task, w *space, split int) {
	b := &e.p.scored[split]
	if len(b.words) == 0 {
		t.SignalTaskCompletion(0, 0, 0)
		return
	}
	words, topics, beta := e.scoredBy(t)
	w.begin(t.Args()[argScoreAlpha:], table.Counts(t.PullRange(topics, 0, 1)), 0)
	w.smooth(beta)
	x := &w.score
	x.begin(w.alpha, w.inv, w.alphaSum, beta)
	if e.p.chunks > 1 {
		x.widen(e.p.stride())
	}
	e.p.eachWord(t, words, b.words, func(_ int, counts []int32) {
		found := w.found.find(counts)
		x.addWord(found, counts[:e.p.stride()], e.p.hasMany(found))
	})
	var held, test, trained float64
	for _, d := range b.held {
		held += x.completed(d)
	}
	for _, d := range b.test {
		test += x.completed(d)
	}
	z := e.state(t, train.Shared)
	for c, names := range b.portions {
		trained += e.scoreTrained(w, &e.p.portions[split*e.p.clocks+c], names, z)
	}
	t.SignalTaskCompletion(held, test, trained)
}

// scoredBy returns the tables of counts for a scoring task, and their β: the current ones, or sums of samples.
func (e *executor) scoredBy(t *train.Task) (words, topics train.Table, beta float64) {
	if samples := t.Args()[argSamples]; samples > 0 {
		return sumTable, sumTopicTable, samples * e.p.beta
	}
	return wordTable, topicTable, e.p.beta
}

// scoreTrained returns the log-likelihood of the portion's training documents that are scored, with the
// mixtures that their tokens' topics give.
func (e *executor) scoreTrained(w *space, u *portion, names, z []int32) float64 {
	x := &w.score
	x.tally = reserve(x.tally, len(u.words))
	clear(x.tally)
	sum := 0.0
	for _, d := range u.train {
		tokens := u.doc(int(d))
		at := u.first + int(u.ends[d]) - len(tokens)
		copy(x.theta, x.alpha)
		x.touched = x.touched[:0]
		for i, word := range tokens {
			x.theta[z[at+i]]++
			if x.tally[word]++; x.tally[word] == 1 {
				x.touched = append(x.touched, word)
			}
		}
		norm, floor := math.Log(float64(len(tokens))+x.alphaSum), x.floor()
		for _, word := range x.touched {
			sum += float64(x.tally[word]) * (math.Log(float64(x.likelihood(names[word], floor))) - norm)
			x.tally[word] = 0
		}
	}
	return sum
}
