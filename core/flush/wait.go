package flush

import (
	"fmt"
	"iter"

	"bellows"
	"bellows/core/pending"
	"bellows/core/planted"
	"bellows/link/wire"
)

// The caller asks after waits that last, and names them: it knows how long they may last. The coordinator says what
// it waits for at each lane (Overdue), takes the lane's word about it (Stands), and names what some lane does not
// hold (Unheld).

// Overdue yields each wait at a lane that has lasted longer than a time: a push with a part that is not visible. It
// leaves out parts that wait for a route: no lane has them. The caller asks the lane about each wait.
func (c *Coordinator) Overdue(lane int, nowMillis, mostMillis int64) iter.Seq[pending.Wait] {
	return func(yield func(pending.Wait) bool) {
		for _, f := range c.flushes.open {
			for i := range f.pushes {
				p := &f.pushes[i]
				late := p.lane == lane && p.below(f, partVisible) && p.wait.Lasted(nowMillis) > mostMillis
				if !late || p.hasState(f, partStale) {
					continue
				}
				var pair wire.Pair
				if k := p.last(f); k != none { // else it is of nothing
					pair = f.parts[k].pair
				}
				p.asked = p.resent
				w := pending.Wait{Of: pending.Flush, Number: f.id.Seq, Ref: pair.Ref, Generation: pair.Generation}
				if !yield(w) {
					return
				}
			}
		}
	}
}

// last returns the part of a push that is least far: one may wait for room where another is held.
func (p *lanePush) last(f *flush) int {
	at := p.first
	for k := p.first; k != none; k = f.parts[k].next {
		if f.parts[k].state < f.parts[at].state {
			at = k
		}
	}
	return at
}

// Stands takes a lane's word about its part of a flush, or about one of its pushes of it. It returns what is lost;
// "": nothing.
func (c *Coordinator) Stands(lane int, w *pending.Wait) (lost string) {
	f := c.find(bellows.FlushID{Client: c.self.Node, Incarnation: c.process, Seq: w.Number})
	if f == nil {
		return ""
	}
	for i := range f.pushes {
		p := &f.pushes[i]
		state, brings := p.brings(f, wire.Pair{Ref: w.Ref, Generation: w.Generation})
		if p.lane != lane || p.asked < 0 || !brings || !p.below(f, partVisible) || c.outgrown(f, p) {
			continue // it was not asked about this one, which was perhaps sent again since
		}
		if p.wait.Update(w); p.contradicts(f, state, w) {
			return fmt.Sprintf("%v waits for %v to hold its part", f.id, c.lanes[lane])
		}
	}
	return ""
}

// brings reports whether a push brings a pair, and how far that part is. The push of a flush of nothing brings none,
// and is asked about by none.
func (p *lanePush) brings(f *flush, pair wire.Pair) (partState, bool) {
	for k := p.first; k != none; k = f.parts[k].next {
		if f.parts[k].pair == pair {
			return f.parts[k].state, true
		}
	}
	return partHeld, p.first == none && pair.Generation == 0
}

// contradicts reports whether a lane's answer about a push with a part that is not known to be visible means that a
// message is lost: the lane's earlier messages would have come before the answer. state is that of the part by which
// the lane was asked (TestLostResentPushEndsJob).
func (p *lanePush) contradicts(f *flush, state partState, w *pending.Wait) bool {
	switch w.Behind {
	case pending.Nothing: // Committed is lost, or the push
		return true
	case pending.Room: // Full is lost; or Room, or what was sent again before the question
		return (state == partFull) == (w.Who == 1) || w.Who == 1 && p.asked > 0 && p.asked == p.resent
	case pending.Record: // Held, which comes if other lanes have parts of it as well
		return f.writes.done != nil && state < partHeld
	}
	// Committed, which has the number.
	return p.visibleOnCommit && !p.hasState(f, partRecorded) && !p.hasState(f, partVisible)
}

// Unheld is a push that its lane has not said for long that it holds.
type Unheld struct {
	Flush  bellows.FlushID
	Lane   int
	Millis int64
	At     pending.At // what the lane has said of it
}

// NameUnheld yields each push that its lane has not said for longer than a time that it holds, once.
func (c *Coordinator) NameUnheld(nowMillis, mostMillis int64) iter.Seq[Unheld] {
	return func(yield func(Unheld) bool) {
		for _, f := range c.flushes.open {
			for i := range f.pushes {
				p := &f.pushes[i]
				held := p.wait.Known && p.wait.Behind != pending.Room || !p.below(f, partHeld)
				if held || p.hasState(f, partStale) || !p.wait.Exhausted(nowMillis, mostMillis) {
					continue
				}
				if planted.On("alone-unnamed") && len(f.pushes) == 1 {
					continue
				}
				if !yield(Unheld{f.id, p.lane, p.wait.Lasted(nowMillis), p.wait}) {
					return
				}
			}
		}
	}
}
