package lda

import (
	"math"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/app/lda/internal/dirichlet"
	"bellows/data"
	"bellows/table"
	"bellows/train"
)

// memory is tables for a sampler, without a job around it.
type memory struct {
	p     *problem
	words []float32
}

func (m *memory) PullRange(_ train.Table, first, end bellows.RowID) []float32 {
	return m.words[int(first)*m.p.width : int(end)*m.p.width]
}
func (*memory) Prefetch(train.Table, bellows.RowID, bellows.RowID) {}

// problemOf returns the problem of an input, or the end of the test.
func problemOf(t *testing.T, in app.Input) *problem {
	t.Helper()
	c, err := newConfig(in)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProblem(in, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func setOf(docs [][]int32, words int) *data.Set {
	s := &data.DocumentSet{Offset: []int64{0}}
	for w := range words {
		s.Vocab = append(s.Vocab, string(rune('a'+w%26))+string(rune('a'+w/26)))
	}
	for _, d := range docs {
		for i, w := range d {
			if i > 0 && w == d[i-1] {
				s.Count[len(s.Count)-1]++
				continue
			}
			s.Word, s.Count = append(s.Word, w), append(s.Count, 1)
		}
		s.Offset = append(s.Offset, int64(len(s.Word)))
	}
	return &data.Set{Kind: data.Documents, Documents: s}
}

// posterior returns the probability of every way to give the document's tokens topics, the others' counts
// being as they are: the slow reference (Griffiths and Steyvers 2004, eq. 2 and 3). A state is its
// topics as digits of a number with the base of topics, the first token's the lowest.
func posterior(p *problem, words []int32, counts, totals []int32, alpha []float32) []float64 {
	k := p.topics
	states := int(math.Pow(float64(k), float64(len(words))))
	out, sum := make([]float64, states), 0.0
	lg := func(x float64) float64 { v, _ := math.Lgamma(x); return v }
	for s := range out {
		ndt, nkw, nk := make([]float64, k), make([]float64, len(counts)), make([]float64, k)
		for i, n := range counts {
			nkw[i] = float64(n)
		}
		for i, n := range totals {
			nk[i] = float64(n)
		}
		for i, rest := 0, s; i < len(words); i, rest = i+1, rest/k {
			t := rest % k
			ndt[t]++
			nk[t]++
			nkw[int(words[i])*k+t]++
		}
		log := 0.0
		for t := range k {
			log += lg(ndt[t]+float64(alpha[t])) - lg(nk[t]+p.beta*float64(len(p.vocab)))
		}
		for _, n := range nkw {
			log += lg(n + p.beta)
		}
		out[s] = math.Exp(log)
		sum += out[s]
	}
	for s := range out {
		out[s] /= sum
	}
	return out
}

// Both samplers, left to themselves, visit the topics of a document as often as the posterior says.
func TestSamplersDrawFromThePosterior(t *testing.T) {
	t.Parallel()
	doc := []int32{0, 1, 2, 3}
	for _, sampler := range []string{samplerSparse, samplerMH} {
		set := setOf([][]int32{doc, doc, doc}, 5)
		p := problemOf(t, app.Input{Data: set, Seed: 1, Settings: map[string]string{"topics": "3", "sampler": sampler, "beta": "0.5", "splits": "1"}})
		others := []int32{4, 0, 1, 0, 3, 0, 2, 2, 2, 0, 0, 0, 93, 90, 107} // 5 words x 3 topics
		totals := []int32{99, 95, 110}
		w := p.spaces.take(p)
		alpha := []float64{0.3, 1, 0.1}
		u := &portion{ends: []int32{4}, token: doc, words: doc, count: []int32{1, 1, 1, 1}}
		z := []int32{0, 0, 0, 0}
		counts, all := make([]int32, 15), make([]int32, 3)
		seen := make([]float64, 81)
		const sweeps = 200000
		for sweep := range sweeps {
			m := &memory{p: p, words: make([]float32, 15)}
			copy(counts, others)
			copy(all, totals)
			for i, k := range z {
				counts[int(doc[i])*3+int(k)]++
				all[k]++
			}
			copy(table.Counts(m.words), counts)
			w.begin(alpha, all, len(u.words))
			rng := newStream(7, 0, sweep, 0)
			if sampler == samplerSparse {
				w.loadSparse(m, u, round{})
				w.sampleSparse(doc, z, rng)
			} else {
				w.loadMH(m, u)
				w.sampleMH(doc, z, rng)
			}
			w.leave(false, len(doc))
			at := 0
			for i := len(z) - 1; i >= 0; i-- {
				at = at*3 + int(z[i])
			}
			seen[at]++
		}
		if w.sparse.lost {
			t.Error("a token was lost")
		}
		want := posterior(p, doc, others, totals, w.alpha)
		distance := 0.0
		for s, q := range want {
			distance += math.Abs(seen[s]/sweeps-q) / 2
		}
		if distance > 0.02 {
			t.Errorf("%s: total variation %.3f from the posterior", sampler, distance)
		}
	}
}

// The packed rows are the counts, whatever has been moved.
func TestRowsFollowTheirTokens(t *testing.T) {
	t.Parallel()
	var docs [][]int32
	rng := newStream(3, 0, 0, 0)
	for range 60 {
		d := make([]int32, 0, 40)
		for w := int32(0); w < 30; w++ {
			for range rng.below(3) {
				d = append(d, w)
			}
		}
		docs = append(docs, d)
	}
	dense := 0
	for _, topics := range []string{"5", "64", "200"} {
		p := problemOf(t, app.Input{Data: setOf(docs, 30), Seed: 1, Settings: map[string]string{"topics": topics, "splits": "1"}})
		u := &p.portions[0]
		z := make([]int32, len(u.token))
		stride := p.width * p.chunks
		m := &memory{p: p, words: make([]float32, len(p.vocab)*stride)}
		counts, totals := table.Counts(m.words), make([]int32, p.topics)
		for i, j := range u.token {
			z[i] = int32(rng.below(p.topics))
			counts[int(u.words[j])*stride+int(z[i])]++
			totals[z[i]]++
		}
		w := p.spaces.take(p)
		alpha := make([]float64, p.topics)
		for k := range alpha {
			alpha[k] = 0.1
		}
		w.begin(alpha, totals, len(u.words))
		w.loadSparse(m, u, round{})
		for i := range u.ends {
			at := int(u.ends[i]) - len(u.doc(i))
			w.sampleSparse(u.doc(i), z[at:u.ends[i]], newStream(1, 0, 1, i))
			w.leave(false, len(u.doc(i)))
		}
		want := make([]int32, len(counts))
		for i, j := range u.token {
			want[int(u.words[j])*stride+int(z[i])]++
		}
		x := &w.sparse
		for j, word := range u.words {
			got := make([]int32, stride)
			for _, v := range x.rows[x.start[j] : x.start[j]+x.size[j]] {
				got[v&(1<<p.bits-1)] += int32(v >> p.bits)
			}
			for k, n := range w.dense.Counts(int32(j)) {
				dense++
				got[k] += int32(n)
			}
			for k, n := range want[int(word)*stride : (int(word)+1)*stride] {
				if got[k] != n {
					t.Fatalf("topics=%s: word %d has %d tokens in topic %d, not %d", topics, word, got[k], k, n)
				}
			}
		}
		for k, n := range w.ndt {
			if n != 0 {
				t.Fatalf("%d tokens of topic %d left behind", n, k)
			}
		}
	}
	if dense == 0 {
		t.Error("no word is dense at 200 topics")
	}
}

func TestFinderFindsEveryCount(t *testing.T) {
	t.Parallel()
	rng := newStream(9, 0, 0, 0)
	var f finder
	for _, n := range []int{1, 7, 8, 9, 100, 1003, 50} {
		counts := make([]int32, n)
		for k := range counts {
			if rng.below(10) == 0 {
				counts[k] = int32(1 + rng.below(1000))
			}
		}
		found := f.find(counts)
		back := make([]int32, n)
		for i, k := range found.topic {
			back[k] = found.count[i]
		}
		for k, c := range counts {
			if back[k] != c {
				t.Fatalf("%d topics: count %d of topic %d is %d", n, c, k, back[k])
			}
		}
		if len(found.count) != len(found.topic) || len(found.blank) != len(found.topic) {
			t.Fatal("lengths differ")
		}
	}
}

// Documents of a Dirichlet with other weights teach α them.
func TestAlphaLearnsWhatMadeTheDocuments(t *testing.T) {
	t.Parallel()
	rng := newStream(11, 0, 0, 0)
	want := []float64{1.5, 0.5, 0.2}
	alpha := []float64{0.1, 0.1, 0.1}
	var docs [][]int
	for range 4000 { // Pólya's urn draws from the Dirichlet-multinomial
		n := make([]int, 3)
		for i := range 50 {
			u := rng.uniform() * (2.2 + float64(i))
			for k := range n {
				if u -= want[k] + float64(n[k]); u < 0 || k == 2 {
					n[k]++
					break
				}
			}
		}
		docs = append(docs, n)
	}
	for range 200 {
		stats := make([]float64, 4)
		for _, n := range docs {
			for k, c := range n {
				stats[k] += dirichlet.Rising(alpha[k], c)
			}
			stats[3] += dirichlet.Rising(alpha[0]+alpha[1]+alpha[2], 50)
		}
		dirichlet.Learn(alpha, stats)
	}
	for k, a := range alpha {
		if math.Abs(a-want[k]) > 0.1*want[k] {
			t.Errorf("α of topic %d is %.3f, not %.3f", k, a, want[k])
		}
	}
}

// A sweep takes memory for the portion, none for a token.
func TestSamplersTakeNoMemory(t *testing.T) {
	for _, sampler := range []string{samplerSparse, samplerMH} {
		p := problemOf(t, app.Input{Data: planted(50, 3, 1), Seed: 1, Settings: map[string]string{"topics": "40", "splits": "1", "sampler": sampler}})
		u := &p.portions[0]
		m := &memory{p: p, words: make([]float32, len(p.vocab)*p.width)}
		z, totals, alpha := make([]int32, len(u.token)), make([]int32, 40), make([]float64, 40)
		totals[0] = int32(len(z))
		for _, j := range u.token {
			table.Counts(m.words)[int(u.words[j])*p.width]++
		}
		for k := range alpha {
			alpha[k] = 0.1
		}
		w := p.spaces.take(p)
		sweep := func() {
			clear(z)
			w.begin(alpha, totals, len(u.words))
			load, sample := func(t source, u *portion) { w.loadSparse(t, u, round{}) }, w.sampleSparse
			if sampler == samplerMH {
				load, sample = w.loadMH, w.sampleMH
			}
			load(m, u)
			for i := range u.ends {
				at := int(u.ends[i]) - len(u.doc(i))
				sample(u.doc(i), z[at:u.ends[i]], newStream(1, 0, 1, i))
				w.leave(true, len(u.doc(i)))
			}
		}
		if n := testing.AllocsPerRun(5, sweep); n > 4 { // the functions that sweep makes
			t.Errorf("%s: %v allocations in a sweep of %d tokens", sampler, n, len(z))
		}
	}
}
