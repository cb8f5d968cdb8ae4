package lda

import (
	"math/bits"
	"sync"

	"bellows"
	"bellows/app/lda/internal/dense"
	"bellows/table"
	"bellows/train"
)

// space is the memory in which a task works. Tasks take one and give it back, so that there are as many as compute
// slots, not splits; nothing in it outlives a task.
//
// Invariants between tasks: ndt and delta are zeros. Within one: alpha, total, inv and ndt are the model with every
// token in its topic except the current one; head and events hold for each word which of its tokens changed, and moved
// is the sum of that by topic (TestRowsFollowTheirTokens, TestSamplersDrawFromThePosterior).
//
// Rejected: a dense delta for each word of a portion, kept until the end. Most words change few of their topics, and
// the deltas of all would be as large as the counts of all.
type space struct {
	p *problem

	// The model without the token in hand.
	alpha    []float32
	alphaSum float64
	total    []int32   // n_k
	inv      []float32 // 1 / (n_k + Vβ)

	// The document in hand.
	ndt     []int32 // n_dk; zeros between documents
	present []int32 // topics that the document has, some perhaps no more

	// The task's changes: a chain of events for each word in the portion.
	head   []int32 // place of a word's last event + 1, or 0
	events []event
	moved  []float32 // deltas of the totals, as counts
	delta  []float32 // deltas of one word, zeros between words
	rows   []uint64  // a bit for each row of that word with deltas; zeros between words

	// Statistics for α, by topic, and their common denominator last.
	stats []float64

	found  finder
	sparse sparse
	dense  dense.Rows
	mh     mh
	score  scoring
}

// event is one token's change of topic.
type event struct {
	next     int32 // place + 1 of the word's event before, or 0
	from, to uint16
}

// spaces is workspaces that no task has: as many as have computed at once.
//
// Lock: mu guards the list, while a space is taken or given.
type spaces struct {
	mu   sync.Mutex
	free []*space
}

func (s *spaces) take(p *problem) *space {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		w := s.free[n-1]
		s.free = s.free[:n-1]
		return w
	}
	k := p.topics
	return &space{
		p: p, alpha: make([]float32, k), total: make([]int32, k), inv: make([]float32, k), ndt: make([]int32, k),
		moved: make([]float32, k), delta: make([]float32, p.stride()), rows: make([]uint64, p.chunks/64+1), stats: make([]float64, k+1),
	}
}

func (s *spaces) give(w *space) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, w)
}

// reserve returns memory for n values, what was there or more.
func reserve[T any](s []T, n int) []T {
	if cap(s) < n {
		s = make([]T, n+n/8)
	}
	return s[:n]
}

// begin readies the space for a task with the α that the driver gave; without one, symmetric.
func (w *space) begin(alpha []float64, totals []int32, words int) {
	w.alphaSum = 0
	for k, a := range alpha {
		w.alpha[k] = float32(a)
		w.alphaSum += a
	}
	copy(w.total, totals)
	w.smooth(w.p.beta)
	w.head = reserve(w.head, words)
	clear(w.head)
	w.events = w.events[:0]
	clear(w.moved)
	clear(w.stats)
}

// smooth makes inv for a β.
func (w *space) smooth(beta float64) {
	sum := float32(beta * float64(len(w.p.vocab)))
	for k, n := range w.total {
		w.inv[k] = 1 / (float32(n) + sum)
	}
}

func (w *space) betaSum() float32 { return float32(w.p.beta * float64(len(w.p.vocab))) }

// change notes that a token of the portion's word changed its topic.
func (w *space) change(word int32, from, to int32) {
	w.events = append(w.events, event{w.head[word], uint16(from), uint16(to)})
	w.head[word] = int32(len(w.events))
	moved := table.Counts(w.moved)
	moved[from]--
	moved[to]++
}

// gain notes that a token of the portion's word got its first topic.
func (w *space) gain(word int32, to int32) {
	w.change(word, to, to)
	table.Counts(w.moved)[to]++
}

// push sends what changed: rows of the word table that have a change, and the totals. first says
// that tokens got their first topics, so that nothing is taken away.
func (w *space) push(t *train.Task, u *portion, first bool) {
	counts := table.Counts(w.delta)
	width := w.p.width
	for j, at := range w.head {
		if at == 0 {
			continue
		}
		last := 0
		for ; at > 0; at = w.events[at-1].next {
			e := &w.events[at-1]
			to := int(e.to) / width
			counts[e.to]++
			w.rows[to>>6] |= 1 << (to & 63)
			last = max(last, to>>6)
			if !first {
				from := int(e.from) / width
				counts[e.from]--
				w.rows[from>>6] |= 1 << (from & 63)
				last = max(last, from>>6)
			}
		}
		row := bellows.RowID(int(u.words[j]) * w.p.chunks)
		for i, set := range w.rows[:last+1] {
			for ; set != 0; set &= set - 1 {
				c := i<<6 + bits.TrailingZeros64(set)
				d := w.delta[c*width : (c+1)*width]
				t.PushRange(wordTable, row+bellows.RowID(c), d)
				clear(d)
			}
		}
		clear(w.rows[:last+1])
	}
	t.PushRange(topicTable, 0, w.moved)
}

// source is what a task reads the counts from.
type source interface {
	PullRange(tab train.Table, first, end bellows.RowID) []float32
	Prefetch(tab train.Table, first, end bellows.RowID)
}

// eachWord calls f for every word in a list, ascending, with its counts in a table as the task pulled them: p.chunks
// rows, whose first p.topics values count.
func (p *problem) eachWord(t source, from train.Table, words []int32, f func(j int, counts []int32)) {
	p.eachPart(t, from, words, func(b, j, end int, part []int32) {
		for ; j < end; j++ {
			f(j, p.countsOf(part, int(words[j])-p.firstWord(b)))
		}
	})
}

// eachPart calls f for every partition with words in a list, ascending: words[from:end], and the partition's counts as
// the task pulled them.
func (p *problem) eachPart(t source, tab train.Table, words []int32, f func(b, from, end int, part []int32)) {
	if len(words) == 0 {
		return
	}
	t.Prefetch(tab, bellows.RowID(int(words[0])*p.chunks), bellows.RowID((int(words[len(words)-1])+1)*p.chunks))
	from := 0
	for b := 0; b+1 < len(p.bounds) && from < len(words); b++ {
		end, behind := from, p.firstWord(b+1)
		for end < len(words) && int(words[end]) < behind {
			end++
		}
		if end > from {
			f(b, from, end, table.Counts(t.PullRange(tab, p.bounds[b], p.bounds[b+1])))
		}
		from = end
	}
}

// firstWord returns the first word in a partition of the word table.
func (p *problem) firstWord(b int) int { return int(p.bounds[b]) / p.chunks }

// stride returns the number of counts in all rows of a word. The last ones may belong to no topic, and are 0.
func (p *problem) stride() int { return p.width * p.chunks }

// denseTopics is how many topics for each row of the word table make a word dense: the kernel takes as long for a row as
// a walk takes for so many topics.
const denseTopics = 3

// hasMany reports whether a word has so many topics that a kernel over all is faster than a walk over these.
func (p *problem) hasMany(word present) bool {
	return p.chunks > 1 && len(word.topic) >= denseTopics*p.stride()/dense.Block
}

// denseTokens returns the tokens of a word that is dense, and else 0: the topics of a dense word are drawn from all
// topics. The counts of a word add up to its tokens, which do not change.
func (p *problem) denseTokens(word present) int32 {
	if !p.hasMany(word) {
		return 0
	}
	tokens := int64(0)
	for _, n := range word.count {
		tokens += int64(n)
	}
	if tokens > dense.TokensMost {
		return 0
	}
	return int32(tokens)
}

// countsOf returns the counts of a word, by its number in its partition.
func (p *problem) countsOf(part []int32, word int) []int32 {
	return p.rowsOf(part, word)[:p.topics]
}

// rowsOf returns the counts in all rows of a word, by its number in its partition.
func (p *problem) rowsOf(part []int32, word int) []int32 {
	return part[word*p.stride():][:p.stride()]
}
