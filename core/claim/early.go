package claim

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/core/journal"
	"bellows/core/planted"
	"bellows/link/wire"
)

// early keeps the messages of flushes that are done before their turn. It keeps one message of a flush, and no more
// messages than claims are out, since each has finished one. So a client cannot fill the controller's memory.
type early struct {
	bySplit [][]journal.Arrival // by the first split of the flush that is behind
	count   int
}

// Postpone keeps the message of a flush that is early, and reports whether it has taken it. An error says
// that it has no room for it.
func (b *Book) Postpone(a journal.Arrival) (taken bool, err error) {
	s, behind := b.firstBehind(a.Done.Results)
	if !behind {
		return false, nil
	}
	if !b.early.keep(s, a, b.count) {
		return true, fmt.Errorf("%v refused: %d flushes wait for splits to catch up, and no more tasks are out",
			a.Done.Flush, b.early.count)
	}
	return true, nil
}

// TakeEarly returns the messages that wait for a split, after another unit of the split has counted. They are kept no
// longer.
func (b *Book) TakeEarly(s bellows.SplitID) []journal.Arrival { return b.early.take(s) }

// DropEarly drops the messages about flushes of a node that is lost.
func (b *Book) DropEarly(client bellows.NodeID) { b.early.drop(client) }

// keep keeps a message until its split has come so far. It reports whether there was room. Of two messages of the same
// flush it keeps one and frees the other.
func (e *early) keep(s bellows.SplitID, a journal.Arrival, most int) bool {
	for len(e.bySplit) <= int(s) {
		e.bySplit = append(e.bySplit, nil)
	}
	kept := e.bySplit[s]
	same := func(o journal.Arrival) bool { return o.Done.Flush == a.Done.Flush }
	if i := slices.IndexFunc(kept, same); i >= 0 {
		if a.Supersedes(kept[i]) && !planted.On("older-done-kept") {
			a, kept[i] = kept[i], a
		}
		wire.Free(a.Done)
		return true
	}
	if e.count >= most {
		return false
	}
	e.bySplit[s] = append(kept, a)
	e.count++
	return true
}

// take returns the messages that wait for a split, and forgets them.
func (e *early) take(s bellows.SplitID) []journal.Arrival {
	if int(s) >= len(e.bySplit) {
		return nil
	}
	kept := e.bySplit[s]
	e.bySplit[s] = nil
	e.count -= len(kept)
	return kept
}

// drop drops the messages about flushes of a client.
func (e *early) drop(client bellows.NodeID) {
	for s, kept := range e.bySplit {
		rest := slices.DeleteFunc(kept, func(a journal.Arrival) bool { return a.Done.Flush.Client == client })
		e.count -= len(kept) - len(rest)
		e.bySplit[s] = rest
	}
}
