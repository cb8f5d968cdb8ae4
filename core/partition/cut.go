package partition

import (
	"slices"

	"bellows"
	"bellows/core/checkpoint"
	"bellows/core/delta"
	"bellows/core/planted"
	"bellows/core/rowstore"
	"bellows/link/wire"
)

// cut gives the partition away as it was at a record, while it changes (package checkpoint): a
// reader of the log that sees changes before they are made, since a row that has not been given away
// is copied before it is written. The copies are its own: what they may take is the giver's limit
// (checkpoint.Giver.Most), at which the cut is given up.
type cut struct {
	giver *checkpoint.Giver
	mark  checkpoint.Mark
	state *State
}

// Before copies what a change is about to replace.
func (c *cut) Before(change *Change) {
	switch change.Kind {
	case Delta, Sum:
		if !planted.On("cut-copied-late") {
			c.mark.Write(change.Rows)
		}
	case LeaseBegin:
		if change.InPlace {
			c.giver.InPlace(&c.mark, c.state.store)
		}
	case LeaseEnd:
		c.mark.Write(nil)
		c.mark.Ended()
	case Kept:
		c.mark.Keep(&c.state.image)
	}
}

// After copies rows too late, which is a bug that tests plant.
func (c *cut) After(change *Change) {
	if (change.Kind == Delta || change.Kind == Sum) && planted.On("cut-copied-late") {
		c.mark.Write(change.Rows)
	}
}

// At a cut's record each partition begins to be given away as it is there: after what shared leases
// keep out, and after the rest of its copy from another lane. Under an exclusive lease it is given
// away as it was before that, with what the lease keeps out, in a copy (docs/decisions/0063).

// Cut begins to give the partition away, as soon as it is as it was at the record of the cut.
func (p *Partition) Cut(number bellows.CommitNumber) {
	mark := Entry{kind: cutMark, Number: number}
	switch {
	case p.gone:
	case p.awaited:
		p.backlog.early = append(p.backlog.early, mark)
	case p.Leases.Exclusive() && !planted.On("cut-leased"):
		p.cutLeased(number)
	case len(p.backlog.deferred) > 0 && !planted.On("cut-deferred-late"):
		p.backlog.deferred = append(p.backlog.deferred, mark)
	default:
		p.cutNow(number)
	}
}

// cutNow gives the partition away as it is now, by the record of a cut. If that cut is over, another may have been
// recorded since, and the partition is given away at its record only (TestMarksOfEndedCutsAreIgnored).
func (p *Partition) cutNow(number bellows.CommitNumber) {
	if number != p.cut.giver.RecordNumber() {
		return
	}
	p.cut.begin(p.Ref, p.State.store, false, p.backlog.gathered(number, bellows.NoClock, p.State.store.Rows()))
	p.Log.note(Change{Kind: Cut, Commit: number})
}

// HidesFromCuts reports whether the partition cannot be cut: its holder works on the slab itself, and
// nothing has copied the rows before.
func (p *Partition) HidesFromCuts() bool { return p.Torn() && p.cut.mark.Before() == nil }

// begin gives rows away as the state of a partition, with the deltas that are gathered for open clocks. still: nothing
// writes to the rows.
func (c *cut) begin(ref bellows.PartitionRef, rows *rowstore.Store, still bool, gathered []rowstore.Gathered) {
	c.giver.Begin(ref, &c.mark, rows, still, c.state.kept, &c.state.image, gathered)
}

// gathered returns copies of the chunks that count by the record of a cut and wait for clocks after one. Their memory
// is their clients' until they are applied. The cut may come after leases, so that later chunks are there too
// (TestCutHasGatheredChunks).
func (b *backlog) gathered(cut bellows.CommitNumber, after bellows.Clock, rows int) (list []rowstore.Gathered) {
	for i := range b.open {
		e := &b.open[i]
		if e.Number > cut || e.Clock <= after || planted.On("half-forgotten-at-cut") {
			continue
		}
		c := e.Chunk
		if len(c.Values) == 0 {
			continue // it adds nothing
		}
		one := rowstore.Gathered{Clock: e.Clock, Of: c.Subtree, Values: slices.Clone(c.Values)}
		switch {
		case c.Keys != nil:
			one.Keys = slices.Clone(c.Keys)
		case c.Rows != nil:
			one.Rows = slices.Clone(c.Rows)
		default:
			for row := range rows {
				one.Rows = append(one.Rows, uint32(row))
			}
		}
		list = append(list, one)
	}
	return list
}

// cutLeased gives away what the partition would be if its exclusive lease had not begun.
func (p *Partition) cutLeased(number bellows.CommitNumber) {
	was := p.cut.mark.Before()
	if p.cut.giver.RecordNumber() > 0 && (p.Leases.remote || was == nil && planted.On("cut-old-lease")) {
		was = p.State.store.Clone()
	}
	if was == nil {
		p.cut.giver.Fail("an exclusive lease on " + p.Ref.String() + " was given before the lane was armed")
		return
	}
	for i := range p.backlog.deferred {
		switch e := &p.backlog.deferred[i]; {
		case planted.On("cut-without-deferred"):
		case e.kind == chunkEntry:
			was.Apply(e.Chunk.Rows, e.Chunk.Values)
		case e.kind == clockMark:
			p.backlog.sumInto(was, e.Clock)
		}
	}
	p.cut.begin(p.Ref, was, true, p.backlog.gathered(number, p.backlog.reached, was.Rows()))
}

// Load replaces the state by an image, as State.Load does, and takes the deltas that were gathered for open clocks
// there. No client of this job sends them: the audit counts them as sent by the lane (TestCutHasGatheredChunks).
func (p *Partition) Load(im *rowstore.Image) error {
	if err := p.State.Load(im); err != nil {
		return err
	}
	for i := range im.Gathered {
		g := &im.Gathered[i]
		f := &copied{chunk: wire.Chunk{Pair: p.Pair(), Subtree: g.Of, Rows: g.Rows, Keys: g.Keys, Values: g.Values}}
		if g.Keys != nil {
			rows, err := p.State.Reserve(g.Keys, nil)
			if err != nil {
				return err
			}
			f.chunk.Rows = rows
		}
		p.backlog.wait(Entry{Flush: f, Chunk: &f.chunk, Clock: g.Clock})
		p.Ledger.carry(&f.chunk, g.Clock)
	}
	return nil
}

// sumInto applies the sums of clocks to a copy. The chunks stay in the backlog, and nothing is counted.
func (b *backlog) sumInto(was *rowstore.Store, upTo bellows.Clock) {
	var clocks []bellows.Clock
	for i := range b.open {
		if c := b.open[i].Clock; c <= upTo && !slices.Contains(clocks, c) {
			clocks = append(clocks, c)
		}
	}
	slices.Sort(clocks)
	for _, c := range clocks {
		sum, twice := delta.Sum(b.collect(c, nil), b.buffer, b.giveBuffer, nil)
		if twice != nil {
			continue // applyClock reports it
		}
		was.Apply(sum.Chunk())
		b.giveBuffer(sum)
	}
}
