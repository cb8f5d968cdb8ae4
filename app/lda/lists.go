package lda

import (
	"sync"

	"bellows"
	"bellows/table"
)

// lists are the packed topics of the words, by partition of the word table: what the tasks of one clock on a node share. Under BSP all of them read the
// same counts, so that the first that has a word packs it, and each copies it to where its own tokens move (TestTasksShareTheirLists).
//
// Where reads may differ, each task packs what it read.
type lists []list

// list is that of one partition, in the clock in which it was last asked for. No task keeps anything of it.
//
// Lock: mu guards all of it. Its holder packs and copies words, and waits for nothing.
type list struct {
	mu    sync.Mutex
	clock bellows.Clock
	start []int32 // in rows, by the partition's words; listUnknown or listDense
	size  []int32 // of the row; of a dense word its tokens
	rows  []uint32
}

// Values of start for a word without a list.
const (
	listUnknown = -1 // no task has asked for it in this clock
	listDense   = -2
)

// round is the lists of a clock. The zero round has none: its task is alone.
type round struct {
	lists lists
	clock bellows.Clock
}

// round returns what the tasks of a clock share.
func (p *problem) round(clock bellows.Clock) round {
	if p.consistency != table.BSP {
		return round{}
	}
	return round{p.lists, clock}
}

func (p *problem) newLists() lists {
	all := make(lists, len(p.bounds)-1)
	for b := range all {
		all[b].clock = -1
	}
	return all
}

// enter locks the list of a partition for the round's clock; nil where the task is alone.
func (r round) enter(b int) *list {
	if r.lists == nil {
		return nil
	}
	l := &r.lists[b]
	l.mu.Lock()
	if l.clock != r.clock {
		l.clock, l.rows = r.clock, l.rows[:0]
		for i := range l.start {
			l.start[i] = listUnknown
		}
	}
	return l
}

func (l *list) leave() {
	if l != nil {
		l.mu.Unlock()
	}
}

// row returns the packed topics of a word, by its number in the partition, or the tokens of a dense word; part has the
// partition's counts.
func (l *list) row(w *space, part []int32, word int) (row []uint32, dense int32) {
	if l.start == nil {
		words := len(part) / (w.p.width * w.p.chunks)
		l.start, l.size = make([]int32, words), make([]int32, words)
		for i := range l.start {
			l.start[i] = listUnknown
		}
	}
	if l.start[word] == listUnknown {
		if found := w.found.find(w.p.countsOf(part, word)); w.p.denseTokens(found) > 0 {
			l.start[word], l.size[word] = listDense, w.p.denseTokens(found)
		} else {
			at := int32(len(l.rows))
			l.rows = pack(l.rows, found, w.p.bits)
			l.start[word], l.size[word] = at, int32(len(l.rows))-at
		}
	}
	at := l.start[word]
	if at == listDense {
		return nil, l.size[word]
	}
	return l.rows[at : at+l.size[word]], 0
}
