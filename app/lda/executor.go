package lda

import (
	"bellows"
	"bellows/app/epochs"
	"bellows/table"
	"bellows/train"
)

// The arguments of a training task: whether α is to learn, whether the counts of the sweep before are added to the sums, then α by topic.
// A scoring task's are how many sweeps' counts are in the sums, then α.
const (
	argLearn = iota
	argAdd
	argAlpha
)

// argSamples and argScoreAlpha are a scoring task's.
const (
	argSamples = iota
	argScoreAlpha
)

// executor runs the tasks of one split. What lasts is the split's rows of the state table.
type executor struct{ p *problem }

// RunTask implements train.Executor.
func (e *executor) RunTask(t *train.Task) error {
	w := e.p.spaces.take(e.p)
	err := e.run(t, w)
	// A task that is unwound keeps its space: who knows what is in it.
	e.p.spaces.pool.Put(w)
	return err
}

func (e *executor) run(t *train.Task, w *space) error {
	split := int(t.Split())
	switch at := e.p.work().Place(t.Clock()); at {
	case epochs.Opening:
		return e.opening(t, w)
	case e.p.clocks:
		e.score(t, w, split)
	default:
		return e.sweep(t, w, &e.p.portions[split*e.p.clocks+at])
	}
	return nil
}

// state is the split's topics, for writing or for reading.
func (e *executor) state(t *train.Task, mode train.Mode) []int32 {
	return table.Counts(t.Lease(stateTable, bellows.PartitionID(t.Split()), mode))
}

// firstTopic is a topic at random, or by the model that the run begins with.
func (p *problem) firstTopic(word int32, rng *stream) int32 {
	if p.warm != nil {
		return p.warm.draw(word, rng)
	}
	return int32(rng.below(p.topics))
}

// giveTopics gives every token of the split its first topic.
func (e *executor) giveTopics(t *train.Task, w *space) {
	state := e.state(t, train.Exclusive)
	clear(w.moved)
	for c := range e.p.clocks {
		u := &e.p.portions[int(t.Split())*e.p.clocks+c]
		w.head = reserve(w.head, len(u.words))
		clear(w.head)
		w.events = w.events[:0]
		at := u.first
		for i := range u.ends {
			rng := newStream(e.p.seed, int(t.Split()), 0, u.begin+i)
			for _, word := range u.doc(i) {
				k := e.p.firstTopic(u.words[word], &rng)
				state[at] = k
				at++
				w.gain(word, k)
			}
		}
		w.push(t, u, true)
		clear(w.moved)
	}
}

// add adds the counts of the sweep before to the sums: every partition once, the splits by turns.
func (e *executor) add(t *train.Task) {
	for b := int(t.Split()); b+1 < len(e.p.bounds); b += e.p.splits {
		t.PushRange(sumTable, e.p.bounds[b], t.PullRange(wordTable, e.p.bounds[b], e.p.bounds[b+1]))
	}
	if t.Split() == 0 {
		t.PushRange(sumTopicTable, 0, t.PullRange(topicTable, 0, 1))
	}
}

// totals is the tokens of each topic.
func (e *executor) totals(t *train.Task) []int32 { return table.Counts(t.PullRange(topicTable, 0, 1)) }

// sweep is a task of an epoch.
func (e *executor) sweep(t *train.Task, w *space, u *portion) error {
	args := t.Args()
	if args[argAdd] != 0 {
		e.add(t)
	}
	learns := args[argLearn] != 0
	if err := e.draw(t, w, u, args[argAlpha:], learns); err != nil {
		return err
	}
	if learns {
		t.SignalTaskCompletion(w.stats...)
	}
	return nil
}

// draw draws the topics of a portion's tokens anew. The counts are read before the lease is taken.
func (e *executor) draw(t *train.Task, w *space, u *portion, alpha []float64, learns bool) error {
	w.begin(alpha, e.totals(t), len(u.words))
	sample := w.sampleSparse
	if e.p.sampler == samplerMH {
		w.loadMH(t, u)
		sample = w.sampleMH
	} else {
		w.loadSparse(t, u)
	}
	z := e.state(t, train.Exclusive)[u.first:]
	for i := range u.ends {
		tokens := u.doc(i)
		sample(tokens, z[:len(tokens)], newStream(e.p.seed, int(t.Split()), int(t.Clock()), u.begin+i))
		w.leave(learns, len(tokens))
		z = z[len(tokens):]
	}
	if w.sparse.lost {
		return bellows.Errorf(bellows.Bug, "sweep", name, "the counts of a word do not hold the topic of one of its tokens")
	}
	w.push(t, u, false)
	return nil
}
