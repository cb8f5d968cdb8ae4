package partition

import (
	"math"

	"bellows"
	"bellows/core/delta"
	"bellows/core/planted"
	"bellows/link/wire"
)

// backlog is what records have made count and is not part of the state yet.
//
// A recorded chunk is applied in one of three ways: at once; with its whole clock, if the table has a
// barrier (Reach, applyClocks); or after the leases that are out, which see one version (postpone,
// catchUp). In each it counts when it is written and not before.
//
// Invariants:
//
//   - open has no chunk of a complete clock, unless a lease keeps it out
//     (TestClocksDelayedByLeaseCountAtEnd).
//   - deferred is in the order of the records; what is visible meanwhile is lag.
//   - early is empty unless the partition is awaited.
type backlog struct {
	barrier  bool    // chunks wait for their clock
	open     []Entry // recorded, of clocks that are not complete
	deferred []Entry // recorded while a lease kept them out
	early    []Entry // what records ask for while the partition is awaited
	reached  bellows.Clock
	lag      wire.Need
	arrived  uint64 // chunks that have been put into open

	sums      []wire.Chunk // scratch
	spare     []*delta.Buffer
	newBuffer func() *delta.Buffer
}

// Entry is one chunk of a recorded flush, or a mark between them.
type Entry struct {
	Flush   Flush
	Chunk   *wire.Chunk
	Clock   bellows.Clock
	Number  bellows.CommitNumber // the record; 0: it came with a copy
	order   uint64               // among the chunks of open
	kind    entryKind
	barrier bool // of a consistencyMark
}

// entryKind says what an entry is.
type entryKind uint8

const (
	chunkEntry      entryKind = iota
	clockMark                 // the clocks up to Clock are complete
	keepMark                  // an image is to be kept
	cutMark                   // a cut
	consistencyMark           // the table's consistency changes
)

// lastClock is above every clock.
const lastClock = math.MaxInt32

// buffer returns an empty buffer for sums, in memory of earlier ones.
func (b *backlog) buffer() *delta.Buffer {
	n := len(b.spare)
	if n == 0 {
		return b.newBuffer()
	}
	d := b.spare[n-1]
	b.spare = b.spare[:n-1]
	return d
}

// giveBuffer takes a buffer back.
func (b *backlog) giveBuffer(d *delta.Buffer) {
	d.Reset()
	b.spare = append(b.spare, d)
}

// wait puts a chunk among those of open clocks.
func (b *backlog) wait(e Entry) {
	b.arrived++
	e.order = b.arrived
	b.open = append(b.open, e)
}

// postpone puts an entry after the leases that are out. Readers still see the version before the
// entry's record.
func (b *backlog) postpone(e Entry) {
	if len(b.deferred) == 0 {
		b.lag = wire.Need{Commit: e.Number - 1, Clock: b.reached}
	}
	b.deferred = append(b.deferred, e)
}

// odd reports whether the clock that was reached is odd.
func (b *backlog) odd() bool { return b.reached&1 != 0 }

// collect appends the chunks of one open clock to a list.
func (b *backlog) collect(c bellows.Clock, to []wire.Chunk) []wire.Chunk {
	for i := range b.open {
		if b.open[i].Clock == c {
			to = append(to, *b.open[i].Chunk)
		}
	}
	return to
}

// first returns the first open clock that has chunks, if it is one up to c.
func (b *backlog) first(c bellows.Clock) (bellows.Clock, bool) {
	if len(b.open) == 0 {
		return 0, false
	}
	first := b.open[0].Clock
	for i := range b.open[1:] {
		first = min(first, b.open[1+i].Clock)
	}
	return first, first <= c
}

// WaitsFor returns where a chunk of a flush waits: kept out by leases, or for its clock.
func (p *Partition) WaitsFor(id bellows.FlushID) (leases, clock bool) {
	has := func(list []Entry) bool {
		for i := range list {
			if list[i].Flush != nil && list[i].Flush.ID() == id {
				return true
			}
		}
		return false
	}
	return has(p.backlog.deferred), has(p.backlog.open)
}

// Accept takes in a chunk of a recorded flush. With a barrier all of it waits for its clock, leased
// or not: the sum along the tree needs every chunk of the clock, and the rule runs once.
func (p *Partition) Accept(e Entry, fx *Effects) {
	p.applied = e.Number
	switch b := &p.backlog; {
	case b.barrier && !planted.On("visible-when-recorded"):
		b.wait(e)
	case (p.Leases.Active() || len(b.deferred) > 0) && !planted.On("commit-under-lease"):
		b.postpone(e)
	default:
		p.applyChunk(&e, fx)
		p.Out.drain(fx)
	}
}

// apply makes an entry part of the state, now that no lease keeps it out.
func (p *Partition) apply(e *Entry, fx *Effects) error {
	switch e.kind {
	case clockMark:
		return p.applyClocks(e.Clock, e.Number, fx)
	case keepMark:
		p.State.keep()
	case cutMark:
		p.cutNow(e.Number)
	default:
		p.applyChunk(e, fx)
	}
	p.Out.drain(fx)
	return nil
}

// applyChunk makes a chunk part of the state.
func (p *Partition) applyChunk(e *Entry, fx *Effects) {
	p.give(e.Chunk, e.Clock, e.Number, false)
	fx.apply(e.Flush, len(e.Chunk.Values)/p.Ledger.width)
}

// give writes one chunk of a clock as it came. summed: it is all that there is of the clock.
func (p *Partition) give(c *wire.Chunk, clock bellows.Clock, number bellows.CommitNumber, summed bool) {
	kind := Delta
	if summed {
		kind = Sum
	}
	one := Change{Kind: kind, Commit: number, Clock: clock, Rows: c.Rows, Keys: c.Keys, Deltas: c.Values, Chunk: c}
	p.State.write(one, p.backlog.odd())
}

// Reach makes the clocks up to c visible, by a record. If a lease keeps them out of a table with a
// barrier, a mark among the deferred entries does so later: catchUp takes these in the order of
// their records.
func (p *Partition) Reach(c bellows.Clock, number bellows.CommitNumber, fx *Effects) error {
	b, mark := &p.backlog, Entry{kind: clockMark, Clock: c, Number: number}
	if p.awaited {
		b.early = append(b.early, mark)
		return nil
	}
	if b.barrier && (p.Leases.Active() || len(b.deferred) > 0) {
		if !planted.On("clock-mark-lost") {
			b.postpone(mark)
		}
		b.reached = c
		return nil
	}
	b.reached = c
	if !b.barrier {
		return nil
	}
	return p.applyClocks(c, number, fx)
}

// applyClocks applies the recorded deltas of the clocks up to c, clock by clock, each summed along
// the tree and given to the rule once. There are several if a lease has kept them out, or if the
// table's consistency has changed (SetBarrier).
func (p *Partition) applyClocks(c bellows.Clock, number bellows.CommitNumber, fx *Effects) error {
	if len(p.backlog.open) == 0 {
		return nil
	}
	p.Log.note(Change{Kind: Clocks, Clock: c, Commit: number})
	p.Out.drain(fx)
	for {
		clock, complete := p.backlog.first(c)
		if !complete {
			return nil
		}
		if err := p.applyClock(clock, number, fx); err != nil {
			return err
		}
	}
}

// applyClock sums the chunks of a clock along the binary tree over split ids and writes the root:
// the same bits in whichever order the chunks came and whichever nodes sent them (P7). A chunk that
// is alone is written as it came. Two chunks of one split have no correct sum: a protocol error.
func (p *Partition) applyClock(clock bellows.Clock, number bellows.CommitNumber, fx *Effects) error {
	b := &p.backlog
	b.sums = b.collect(clock, b.sums[:0])
	if len(b.sums) == 1 {
		p.give(&b.sums[0], clock, number, true)
	} else if err := p.applySum(clock, number); err != nil {
		return err
	}
	rest := b.open[:0]
	for i := range b.open {
		if e := &b.open[i]; e.Clock != clock {
			rest = append(rest, *e)
		} else {
			fx.apply(e.Flush, len(e.Chunk.Values)/p.Ledger.width)
		}
	}
	b.open = rest
	return nil
}

// applySum writes the sum of the chunks in sums.
func (p *Partition) applySum(clock bellows.Clock, number bellows.CommitNumber) error {
	b := &p.backlog
	var leaf func(*delta.Buffer)
	if p.Ledger.Sample.Contains(clock) {
		leaf = p.Ledger.take
	}
	sum, twice := delta.Sum(b.sums, b.buffer, b.giveBuffer, leaf)
	if twice != nil {
		return &OverlapError{p.Ref, clock, twice}
	}
	p.Ledger.joined += int64(sum.Joined())
	rows, values := sum.Chunk()
	p.State.write(Change{Kind: Sum, Commit: number, Clock: clock, Rows: rows, Deltas: values}, b.odd())
	b.giveBuffer(sum)
	return nil
}

// catchUp applies what leases have kept out.
func (p *Partition) catchUp(fx *Effects) (err error) {
	for i := range p.backlog.deferred {
		if err = p.apply(&p.backlog.deferred[i], fx); err != nil {
			break
		}
	}
	p.backlog.deferred = p.backlog.deferred[:0]
	return err
}

// catchUpUnleased applies what leases have kept out, unless another lease is still out.
func (p *Partition) catchUpUnleased(fx *Effects) error {
	if p.Leases.Active() {
		return nil
	}
	return p.catchUp(fx)
}

// ApplyDeferred applies what leases have kept out of a job that is over. It is called when the state
// is asked for and not at the job's end, when a task of this node may still look at the slab.
func (p *Partition) ApplyDeferred(fx *Effects) error {
	if planted.On("leased-out-dropped") {
		return nil
	}
	return p.catchUp(fx)
}
