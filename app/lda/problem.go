package lda

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"bellows"
	"bellows/app"
	"bellows/app/epochs"
	"bellows/app/lda/internal/dense"
	"bellows/data"
	"bellows/progress"
	"bellows/table"
	"bellows/train"
)

// problem is a run's data as its executors use it. newProblem measures all documents, and lays out the splits. In a job
// on several nodes each lays out the splits that are active there (prepare), from the columns of the data. Executors
// read what belongs to their split.
//
// Invariants: each training document is in one portion, and its tokens have consecutive places in its split's rows of
// the state table; all rows of a word are in one partition of the word table, so that a task reads a word at once.
//
// Rejected: topics of tokens in the executor's memory. A split that moves would begin with random topics; as rows of
// the split's own table they move with it.
type problem struct {
	config
	warm     *warm // nil without a model to begin with
	vocab    []string
	tokens   int64     // of training
	average  float64   // tokens of a training document
	portions []portion // per split and clock
	corpus   corpus
	growth   growth
	first    []float64 // α at first, by topic
	state    []bellows.RowID
	sampled  int64        // training tokens that are scored
	scored   []scoreBatch // per split
	held     int64        // scored tokens of held-out documents
	tested   int64        // scored tokens of test documents
	shown    bool         // test documents are scored and shown

	width  int // topics of a row of the word table
	chunks int // rows of a word
	bounds []bellows.RowID
	spaces spaces
	lists  lists
	bits   uint // of a topic in a packed entry
	base   float64
}

// portion is what one split samples in one clock: documents one after the other as tokens, each the number of a word
// among the portion's own.
type portion struct {
	size  int     // tokens
	ends  []int32 // after the last token of each document
	token []int32
	words []int32 // the portion's words, ascending
	count []int32 // tokens of each
	first int     // place of the first token in the split's state
	begin int     // number of the first document in the split
	train []int32 // scored documents, by place in ends
}

const (
	splitsLeast  = 8
	splitsMost   = 64
	splitTokens  = 100_000
	wideTopics   = 128      // above it, a word's counts are cut into rows of narrowWidth:
	narrowWidth  = 8        // most words change few of them, and a delta is a whole row (docs/decisions/0127)
	stateWidth   = 64       // tokens of a row of the state
	trainScored  = 200_000  // training tokens that are scored, about
	partitions   = 64       // of the word table, at most
	partitionMin = 64 << 10 // bytes
	countsMax    = 1 << 31  // of the word table
	shuffleSalt  = 0x6c6461 // keeps this shuffle apart from others of the seed
)

func newProblem(in app.Input, c config, from *warm) (*problem, error) {
	set := in.Data.Documents
	p := &problem{config: c, warm: from, vocab: set.Vocab, shown: in.Test != nil}
	train, held := p.divide(in, set)
	for _, d := range train {
		_, count := set.Doc(int(d))
		for _, n := range count {
			p.tokens += int64(n)
		}
	}
	if err := p.check(len(train)); err != nil {
		return nil, err
	}
	p.average = float64(p.tokens) / float64(len(train))
	if p.splits == 0 {
		p.splits = int(min(max(p.tokens/splitTokens&^1, splitsLeast), splitsMost))
		p.splits = max(p.splits, p.least)
	}
	p.splits = min(p.splits, len(train))
	p.clocks = min(p.clocks, len(train)/p.splits)
	begin := max(growTokens, growTopic*int64(p.topics))
	if p.warm != nil { // all topics are there
		begin = p.tokens
	}
	p.growth = newGrowth(p.splits, p.tokens, begin)
	p.first = p.firstAlpha()
	p.layout()
	p.lists = p.newLists()
	p.corpus = newCorpus(set, train, held, in.Test, p.vocab)
	if err := p.measure(); err != nil {
		return nil, err
	}
	freq := p.frequencies()
	if err := p.chooseSampler(slices.Max(freq)); err != nil {
		return nil, err
	}
	p.scored = make([]scoreBatch, p.splits)
	p.base = p.unigramOf(freq)
	if p.apart {
		return p, nil
	}
	all := make([]bellows.SplitID, p.splits)
	for s := range all {
		all[s] = bellows.SplitID(s)
	}
	err := p.prepare(all)
	p.corpus = corpus{} // it is needed no more
	return p, err
}

// divide keeps documents out of training and shuffles the others, leaving out empty ones.
func (p *problem) divide(in app.Input, set *data.DocumentSet) (training, held []int32) {
	training, held = data.HoldOut(p.seed, set.Rows(), data.HeldPercent(in.Test != nil, p.EarlyStop))
	training = slices.DeleteFunc(training, func(d int32) bool { return set.Offset[d+1] == set.Offset[d] })
	rng := rand.New(rand.NewPCG(p.seed, shuffleSalt))
	rng.Shuffle(len(training), func(i, j int) { training[i], training[j] = training[j], training[i] })
	return training, held
}

// firstAlpha returns α before training: as set, as a model has it, or the same for all topics.
func (p *problem) firstAlpha() []float64 {
	switch {
	case p.alpha == 0 && p.warm != nil:
		return p.warm.first()
	case p.alpha == 0:
		return slices.Repeat([]float64{min(alphaTotal/float64(p.topics), alphaEach)}, p.topics)
	}
	return slices.Repeat([]float64{p.alpha}, p.topics)
}

func (p *problem) check(documents int) error {
	if documents < 1 || p.tokens < 2 {
		return bellows.Errorf(bellows.BadData, "train", name, "%d documents with %d tokens are left for training", documents, p.tokens).
			Hinted("give more documents")
	}
	if p.tokens > math.MaxInt32 {
		return bellows.Errorf(bellows.BadData, "train", name, "%d tokens are more than the 2^31 that a table of topics can hold", p.tokens)
	}
	if int64(len(p.vocab))*int64(p.topics) > countsMax {
		return bellows.Errorf(bellows.Config, "set", name, "%d words times %d topics are more than 2^31 counts", len(p.vocab), p.topics).
			Hinted("set fewer topics, or leave rare words out")
	}
	return nil
}

// layout cuts the word table into rows and partitions, with all rows of a word in one partition. Rows of many topics are
// whole blocks, as the kernels want.
func (p *problem) layout() {
	p.width, p.chunks = p.topics, 1
	if p.topics > wideTopics {
		p.width = narrowWidth
		p.chunks = (p.topics + dense.Block - 1) / dense.Block * (dense.Block / narrowWidth)
	}
	words := len(p.vocab)
	n := min(partitions, words, max(1, words*p.chunks*p.width*4/partitionMin))
	p.bounds = make([]bellows.RowID, n+1)
	for i := range p.bounds {
		p.bounds[i] = bellows.RowID(words * i / n * p.chunks)
	}
	p.bits = uint(bits.Len(uint(p.topics - 1)))
}

// corpus is the documents that portions and scores are made of.
type corpus struct {
	set         *data.DocumentSet
	train, held []int32 // those that are trained on in the order of splits and clocks, those held out
	test        *data.DocumentSet
	number      []int32 // of the test's words; nil: the same
}

func newCorpus(set *data.DocumentSet, train, held []int32, test *data.Set, vocab []string) corpus {
	s := corpus{set: set, train: train, held: held}
	if test != nil {
		s.test = test.Documents
		s.number = renumber(s.test.Vocab, vocab)
	}
	return s
}

// every returns the divisor by which the scored documents of the splits are chosen.
func (p *problem) every() int {
	return int(max(1, p.tokens*int64(p.scorers())/int64(p.splits)/trainScored))
}

// measure deals the documents to portions, and counts what these and the scores will have.
func (p *problem) measure() error {
	p.meter.Begin(progress.Part{Doing: "counting tokens", Unit: "tokens", Total: p.tokens})
	p.portions = make([]portion, p.splits*p.clocks)
	p.state = make([]bellows.RowID, p.splits+1)
	docs, every := p.corpus.train, p.every()
	for s := range p.splits {
		own, lo := app.Part(docs, s, p.splits), app.Share(len(docs), s, p.splits)
		first := 0
		for c := range p.clocks {
			u := &p.portions[s*p.clocks+c]
			u.begin, u.first = app.Share(len(own), c, p.clocks), first
			for i, d := range app.Part(own, c, p.clocks) {
				_, count := p.corpus.set.Doc(int(d))
				tokens := 0
				for _, n := range count {
					tokens += int(n)
				}
				u.size += tokens
				if p.samples(s, lo+u.begin+i, every) {
					p.sampled += int64(tokens)
				}
			}
			if err := p.meter.Add(int64(u.size)); err != nil {
				return err
			}
			first += u.size
		}
		p.state[s+1] = p.state[s] + bellows.RowID((first+stateWidth-1)/stateWidth)
	}
	for _, d := range p.corpus.held {
		word, count := p.corpus.set.Doc(int(d))
		p.held += scoredOf(word, count, nil)
	}
	if t := p.corpus.test; t != nil {
		for d := range t.Rows() {
			word, count := t.Doc(d)
			p.tested += scoredOf(word, count, p.corpus.number)
		}
	}
	return p.meter.Err()
}

// portionsOf returns a split's portions, by clock.
func (p *problem) portionsOf(split int) []portion {
	return p.portions[split*p.clocks : (split+1)*p.clocks]
}

// samples reports whether the likelihood of a split's training document is scored, by its number among all.
func (p *problem) samples(split, number, every int) bool {
	return split < p.scorers() && number%every == 0
}

// prepare returns the job's Prepare where splits are laid out apart: it lays out some.
func (p *problem) prepare(active []bellows.SplitID) error {
	p.meter.Begin(progress.Part{Doing: "laying out documents", Total: int64(len(active))})
	local := make([]int32, len(p.vocab))
	for _, s := range active {
		if err := p.meter.Add(1); err != nil {
			return err
		}
		p.fill(int(s), local)
		if int(s) < p.scorers() {
			p.fillScored(int(s), local)
		}
	}
	return nil
}

// release implements the job's Release: it drops the layout of a split.
func (p *problem) release(split bellows.SplitID) {
	for c := range p.clocks {
		u := &p.portions[int(split)*p.clocks+c]
		u.ends, u.token, u.words, u.count, u.train = nil, nil, nil, nil, nil
	}
	p.scored[split] = scoreBatch{}
}

// fill makes the portions of a split. local is scratch of a vocabulary's length, all zeros.
func (p *problem) fill(split int, local []int32) {
	docs, every := p.corpus.train, p.every()
	own, lo := app.Part(docs, split, p.splits), app.Share(len(docs), split, p.splits)
	for c := range p.clocks {
		u := &p.portions[split*p.clocks+c]
		u.fill(p.corpus.set, app.Part(own, c, p.clocks), local)
		for i := range u.ends {
			if p.samples(split, lo+u.begin+i, every) {
				u.train = append(u.train, int32(i))
			}
		}
	}
}

// doc returns the tokens of document i of the portion.
func (u *portion) doc(i int) []int32 {
	from := int32(0)
	if i > 0 {
		from = u.ends[i-1]
	}
	return u.token[from:u.ends[i]]
}

// fill makes a portion of documents. local is scratch of a vocabulary's length, all zeros.
func (u *portion) fill(set *data.DocumentSet, docs, local []int32) {
	for _, d := range docs {
		word, count := set.Doc(int(d))
		for i, w := range word {
			local[w] += count[i]
		}
	}
	u.words, u.count = numbered(local)
	u.token, u.ends = make([]int32, 0, u.size), make([]int32, 0, len(docs))
	for _, d := range docs {
		word, count := set.Doc(int(d))
		for i, w := range word {
			for range count[i] {
				u.token = append(u.token, local[w]-1)
			}
		}
		u.ends = append(u.ends, int32(len(u.token)))
	}
	for _, w := range u.words {
		local[w] = 0
	}
}

// numbered numbers the words with a count in local, ascending, and replaces each count by 1 + the number.
func numbered(local []int32) (words, count []int32) {
	for w, n := range local {
		if n > 0 {
			words, count = append(words, int32(w)), append(count, n)
			local[w] = int32(len(words))
		}
	}
	return words, count
}

// frequencies returns how often each word occurs in the training documents.
func (p *problem) frequencies() []int64 {
	freq := make([]int64, len(p.vocab))
	for _, d := range p.corpus.train {
		word, count := p.corpus.set.Doc(int(d))
		for i, w := range word {
			freq[w] += int64(count[i])
		}
	}
	return freq
}

// chooseSampler settles the sampler: sparse packs a count and a topic into 32 bits. top is the count of the most
// frequent word.
func (p *problem) chooseSampler(top int64) error {
	fits := top < 1<<(32-p.bits)
	switch {
	case p.sampler == samplerSparse && !fits:
		return bellows.Errorf(bellows.Config, "set", name, "sampler=sparse with %d topics counts a word up to %d times, and one occurs %d times", p.topics, int64(1)<<(32-p.bits)-1, top).
			Hinted("set sampler=mh, or fewer topics")
	case p.sampler != "":
	case fits && p.topics <= topicsSparse:
		p.sampler = samplerSparse
	default:
		p.sampler = samplerMH
	}
	return nil
}

// The tables of a job, in their order.
const (
	wordTable     train.Table = iota // row w·chunks + c: counts of word w in the topics from c·width
	topicTable                       // one row: tokens of each topic
	stateTable                       // topics of the tokens, split by split, 64 a row
	sumTable                         // the sum of the last sweeps' word tables; only with early stopping
	sumTopicTable                    // of topic tables
)

func (p *problem) tables() []table.Schema {
	all := []table.Schema{
		{Name: "word_topic", Rows: len(p.vocab) * p.chunks, Width: p.width, DType: table.Int32, Bounds: p.bounds, Consistency: p.consistency},
		{Name: "topic", Rows: 1, Width: p.topics, DType: table.Int32, Consistency: p.consistency},
		{Name: "assignments", Rows: int(p.state[p.splits]), Width: stateWidth, DType: table.Int32, Bounds: p.state, Consistency: table.Async, BySplit: true},
	}
	if p.EarlyStop {
		words, topics := all[wordTable], all[topicTable]
		words.Name, topics.Name = "word_topic_sum", "topic_sum"
		all = append(all, words, topics)
	}
	return all
}

// work returns the layout of a run as its driver and its executors see it.
func (p *problem) work() epochs.Layout {
	return epochs.Layout{Opens: p.growth.opens, Splits: p.splits, Clocks: p.clocks}
}

// items implements train.Job.Items; an item is a token.
func (p *problem) items(s bellows.SplitID, clock bellows.Clock) bellows.Range {
	at := p.work().Place(clock)
	first, last := at, at
	switch at {
	case p.clocks:
		return bellows.Range{}
	case epochs.Opening:
		if int32(clock) < p.growth.joins[s] {
			return bellows.Range{}
		}
		first, last = 0, p.clocks-1
	}
	a, b := &p.portions[int(s)*p.clocks+first], &p.portions[int(s)*p.clocks+last]
	return bellows.Range{Begin: a.first, End: b.first + b.size}
}

// before returns how many tokens are visited before the first epoch.
func (p *problem) before() (tokens int64) {
	for c := range p.growth.opens {
		for s := range p.splits {
			tokens += int64(p.items(bellows.SplitID(s), bellows.Clock(c)).Len())
		}
	}
	return tokens
}

// unigram returns the likelihood of the scored tokens under the frequencies of words alone.
func (p *problem) unigram() *train.Metric {
	if math.IsNaN(p.base) {
		return nil
	}
	return &train.Metric{Name: "word frequencies", Value: p.base}
}

func (p *problem) unigramOf(freq []int64) float64 {
	all := float64(p.tokens) + p.beta*float64(len(p.vocab))
	sum, n := 0.0, 0.0
	add := func(set *data.DocumentSet, d int, number []int32) {
		word, count := set.Doc(d)
		b, scored := newBag(word, count, number), int64(0)
		for i, w := range b.word {
			scored += int64(b.score[i])
			sum += float64(b.score[i]) * math.Log((float64(freq[w])+p.beta)/all)
		}
		n += float64(scored)
	}
	if t := p.corpus.test; t != nil {
		for d := range t.Rows() {
			add(t, d, p.corpus.number)
		}
	} else {
		for _, d := range p.corpus.held {
			add(p.corpus.set, int(d), nil)
		}
	}
	return sum / n
}
