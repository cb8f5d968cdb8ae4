package partition

import (
	"bellows"
	"bellows/core/handoff"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Copy sends the partition to one destination (package handoff): a reader of the log. It has two positions: that of its
// rows, which is the source's, and that of the recorded chunks that wait for their clock, which it sends as late as it
// can.
//
// It reads changes when they are made. A chunk's memory is its client's until then, and the pieces
// into which it is copied are all that the copy keeps: what may be on its way is limited
// (handoff.Limits.Behind), and above that the copy is given up.
//
// A partition has any number of copies, each with its own window and its own limit. One of them may be the move to
// another lane (Outgoing). The others last: they have no end, and pass changes on after all rows were sent
// (TestCopiesLast).
type Copy struct {
	source *handoff.Source // nil: the partition is not copied
	lasts  bool            // it is no move: it has no end and does not stop leases
	left   bool            // it lasted until the partition went to another lane
	passed uint64          // chunks of open clocks up to this one were sent, by their order
	pieces []*wire.Piece   // to be sent

	log     *Log
	state   *State
	leases  *Leases
	backlog *backlog
}

// NewCopy returns a copy that lasts. The caller offers it, begins it when the offer was taken, and then lets it Feed
// the destination, until it calls End or the partition has gone.
func NewCopy(p *Partition) *Copy {
	c := newCopy(p)
	c.lasts = true
	return &c
}

// newCopy returns a copy that ends with a move.
func newCopy(p *Partition) Copy {
	return Copy{log: &p.Log, state: &p.State, leases: &p.Leases, backlog: &p.backlog}
}

// Before sends what a change is made of.
func (o *Copy) Before(c *Change) {
	switch c.Kind {
	case LeaseBegin:
		o.source.Torn()
	case Delta:
		if !planted.On("handoff-chunk-lost") {
			o.chunk(c.Chunk, c.Clock, false)
		}
	case Clocks:
		if !planted.On("handoff-clocks-lost") {
			o.waiting(c.Clock)
			o.piece(o.source.Clocks(c.Clock))
		}
	}
}

// After sends that the driver has kept an image, so that the receiver keeps one. A copy that lasts copies all rows
// again after an exclusive lease, and ends when the partition goes to another lane.
func (o *Copy) After(c *Change) {
	switch {
	case c.Kind == Kept:
		o.piece(o.source.Keep(o.state.store))
	case c.Kind == LeaseEnd && o.lasts:
		o.source.Again()
	case c.Kind == Left && o.lasts:
		o.piece(o.source.Ended())
		o.left = true
		o.stop()
	}
}

// piece puts a piece, if it is one, among those to be sent.
func (o *Copy) piece(m *wire.Piece) {
	if m != nil {
		o.pieces = append(o.pieces, m)
	}
}

func (o *Copy) chunk(c *wire.Chunk, clock bellows.Clock, waits bool) {
	for m := range o.source.Chunk(o.state.store, c, clock, waits) {
		o.piece(m)
	}
}

// waiting sends the chunks of open clocks up to c that were not sent. That is as late as may be,
// when they become part of the state or when all rows are copied, since the rows that are copied
// meanwhile need none of them.
func (o *Copy) waiting(c bellows.Clock) {
	for i := range o.backlog.open {
		e := &o.backlog.open[i]
		if e.order <= o.passed || e.Clock > c || c == lastClock && planted.On("handoff-later-forgotten") {
			continue
		}
		o.chunk(e.Chunk, e.Clock, true)
	}
	if c == lastClock { // else the rest of them are about to leave the backlog
		o.passed = o.backlog.arrived
	}
}

// drain moves the pieces to the effects.
func (o *Copy) drain(fx *Effects) {
	if len(o.pieces) == 0 {
		return
	}
	for _, m := range o.pieces {
		fx.send(o.source.To, m)
	}
	clear(o.pieces)
	o.pieces = o.pieces[:0]
}

// rows sends as many rows as may be on their way.
func (o *Copy) rows(fx *Effects) {
	t, im := o.state.store, &o.state.image
	for m := o.source.Next(t, im); m != nil; m = o.source.Next(t, im) {
		o.piece(m)
	}
	if o.source.Copied(t) {
		o.waiting(lastClock)
	}
	o.drain(fx)
}

// Source returns the copy, or nil.
func (o *Copy) Source() *handoff.Source { return o.source }

// Offer offers a copy of the partition to the lane that is to own it.
func (o *Copy) Offer(s *handoff.Source, route bellows.RouteVersion, fx *Effects) {
	o.source = s
	fx.send(s.To, s.Offer(route))
}

// Begin begins the copy after its offer was taken.
func (o *Copy) Begin() {
	o.source.Begin(o.state.kept)
	if o.leases.Exclusive() {
		o.source.Torn()
	}
	o.passed = 0
	o.log.Attach(o)
}

// stop detaches the copy from the log.
func (o *Copy) stop() { o.log.Detach(o) }

// Feed sends what may be sent of a copy that lasts. It reports whether more changes are on their way than may be: then
// the caller calls End, and perhaps begins another copy.
func (o *Copy) Feed(fx *Effects) (overrun bool) {
	switch {
	case !o.source.Begun():
		return false
	case o.source.Lagging():
		return true
	case o.left:
		o.drain(fx)
		return false
	}
	o.rows(fx)
	return false
}

// End gives up a copy that lasts.
func (o *Copy) End(fx *Effects) {
	o.stop()
	fx.send(o.source.To, o.source.Void())
}
