package client

import (
	"bellows"
	"bellows/core/gate"
	"bellows/link/wire"
)

// interest is what a client knows of its subscription to keys of a partition: how many, and whether it pays.
//
// It pays as long as keys are read about as often as they come. Each key that comes costs what two reads of a key earn: fewer bytes
// travel for a key that comes and is read in each clock than for one that is asked for, and no task waits; but keys that nobody reads
// any more come all the same. A debt of four times the keys of the subscription ends it, as five messages do that nobody
// reads.
type interest struct {
	most  int // keys to which the lane lets a client be subscribed
	asked int // with Subscribe: never fewer than the lane has
	debt  int // keys that came and have not been earned
}

// came counts keys that came unasked.
func (w *interest) came(n int) { w.debt += n }

// read counts keys that a task reads and that are cached.
func (w *interest) read(n int) { w.debt = max(0, w.debt-2*n) }

// idle reports whether a subscription with so much credit does not pay.
func (w *interest) idle(credit int) bool { return w.debt > credit }

// question writes to a list the keys that are asked for when some are wanted, and reports whether they are subscribed to.
//
// The first read of a key asks for it. When the cache has all that is wanted, in an older version, the question is for all that is
// cached, and begins a subscription, if so many may be subscribed to. Once there is one, keys that are wanted besides are added to it; in
// a partition without a barrier with all that is cached, if that is older: else the answer could not be joined with it.
func (p *part) question(wanted []bellows.Key, need wire.Need, to []bellows.Key) (list []bellows.Key, subscribe bool) {
	b := p.block
	if b == nil {
		return append(to, wanted...), false
	}
	fresh := lacking(b.keys, wanted)
	more := fresh
	switch {
	case p.subscribed:
	case fresh == 0:
		more = len(b.keys)
	default:
		return append(to, wanted...), false
	}
	if p.interest.asked+more > p.interest.most {
		return append(to, wanted...), false
	}
	p.interest.asked += more
	if fresh == 0 || !p.barrier && !gate.Admits(need, b.commit, b.complete) {
		return merged(b.keys, wanted, to), true
	}
	return append(to, wanted...), true
}
