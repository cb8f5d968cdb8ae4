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

// executor runs the tasks of one split. Its lasting state is the split's rows of the state table.
type executor struct{ p *problem }

// RunTask implements train.Executor.
func (e *executor) RunTask(t *train.Task) error {
	e.await(t)
	w := e.p.spaces.take(e.p)
	err := e.run(t, w)
	// The space of an unwound task is not reused: its content is unknown.
	e.p.spaces.give(w)
	return err
}

// await waits under BSP for all that the task reads and leases, so that it has a space only when nothing keeps it from computing: all tasks of a
// clock begin by waiting for the same counts, and each would have a space by then (TestATaskThatWaitsHasNoSpace).
//
// Where reads may differ tasks hardly wait, and what they have added lies over the counts in a copy: these are looked at once, in run.
func (e *executor) await(t *train.Task) {
	p, split := e.p, int(t.Split())
	at := p.work().Place(t.Clock())
	if at >= 0 && at < p.clocks && t.Args()[argAdd] != 0 {
		e.add(t)
	}
	if p.consistency != table.BSP {
		return
	}
	mode := train.Exclusive
	switch {
	case at == epochs.Opening && int(t.Clock()) < int(p.growth.joins[split]):
		return
	case at == epochs.Opening && t.Clock() == 0: // topics without counts
	case at == epochs.Opening:
		e.read(t, wordTable, topicTable, p.portionsOf(split), nil)
	case at == p.clocks && len(p.scored[split].words) == 0:
		return
	case at == p.clocks:
		words, topics, _ := e.scoredBy(t)
		e.read(t, words, topics, nil, p.scored[split].words)
		mode = train.Shared
	default:
		e.read(t, wordTable, topicTable, p.portionsOf(split)[at:at+1], nil)
	}
	e.state(t, mode)
}

// read waits for the totals of the topics, and for the counts of the words of some portions and of a list.
func (e *executor) read(t *train.Task, words, topics train.Table, portions []portion, list []int32) {
	t.Prefetch(topics, 0, 1)
	nothing := func(int, int, int, []int32) {}
	for i := range portions {
		e.p.eachPart(t, words, portions[i].words, nothing)
	}
	e.p.eachPart(t, words, list, nothing)
	t.PullRange(topics, 0, 1)
}

func (e *executor) run(t *train.Task, w *space) error {
	split := int(t.Split())
	switch at := e.p.work().Place(t.Clock()); at {
	case epochs.Opening:
		return e.opening(t, w)
	case e.p.clocks:
		e.score(t, w, split)
	default:
		return e.sweep(t, w, &e.p.portionsOf(split)[at])
	}
	return nil
}

// state returns the split's topics, for writing or for reading.
func (e *executor) state(t *train.Task, mode train.Mode) []int32 {
	return table.Counts(t.Lease(stateTable, bellows.PartitionID(t.Split()), mode))
}

// firstTopic returns a topic at random, or by the model that the run begins with.
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
		u := &e.p.portionsOf(int(t.Split()))[c]
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

// totals returns the tokens of each topic.
func (e *executor) totals(t *train.Task) []int32 { return table.Counts(t.PullRange(topicTable, 0, 1)) }

// sweep returns a task of an epoch.
func (e *executor) sweep(t *train.Task, w *space, u *portion) error {
	args := t.Args()
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
		w.loadSparse(t, u, e.p.round(t.Clock()))
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
