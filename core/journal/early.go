package journal

import (
	"slices"

	"bellows"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Arrival is the message that a flush is done, and its sender.
type Arrival struct {
	From wire.Address
	Done *wire.Done
}

// Supersedes reports whether the message names a later owner of a partition than another one of the same flush: a
// part of the flush was sent again since.
func (a Arrival) Supersedes(b Arrival) bool {
	return slices.ContainsFunc(a.Done.Pairs, func(p wire.Pair) bool {
		return slices.ContainsFunc(b.Done.Pairs, func(q wire.Pair) bool {
			return p.Ref == q.Ref && p.Generation > q.Generation
		})
	})
}

// Early keeps the messages of flushes that are done before their turn: another unit of one of their splits was
// dispatched before and does not count yet. The zero value keeps none.
//
// Invariant: it keeps one message of a flush, and no more messages than tasks are out, since each has finished a
// task. So a client cannot fill the controller's memory (TestEarlyIsBounded).
type Early struct {
	bySplit [][]Arrival // by the first split of the flush that is behind
	count   int
}

// Len returns how many messages are kept.
func (e *Early) Len() int { return e.count }

// Keep keeps a message until its split has come so far; it reports whether there was room. Of two of the same flush it
// keeps one and frees the other.
func (e *Early) Keep(s bellows.SplitID, a Arrival, tasksOut int) bool {
	for len(e.bySplit) <= int(s) {
		e.bySplit = append(e.bySplit, nil)
	}
	list := e.bySplit[s]
	if i := slices.IndexFunc(list, func(o Arrival) bool { return o.Done.Flush == a.Done.Flush }); i >= 0 {
		if a.Supersedes(list[i]) && !planted.On("older-done-kept") {
			a, list[i] = list[i], a
		}
		wire.Free(a.Done)
		return true
	}
	if e.count >= tasksOut {
		return false
	}
	e.bySplit[s] = append(list, a)
	e.count++
	return true
}

// Take returns the messages that wait for a split, and keeps them no more.
func (e *Early) Take(s bellows.SplitID) []Arrival {
	if int(s) >= len(e.bySplit) {
		return nil
	}
	list := e.bySplit[s]
	e.bySplit[s] = nil
	e.count -= len(list)
	return list
}

// Drop drops the messages about flushes of a client that is lost.
func (e *Early) Drop(client bellows.NodeID) {
	for s, list := range e.bySplit {
		rest := slices.DeleteFunc(list, func(a Arrival) bool { return a.Done.Flush.Client == client })
		e.count -= len(list) - len(rest)
		e.bySplit[s] = rest
	}
}
