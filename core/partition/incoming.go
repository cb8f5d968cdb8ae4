package partition

import (
	"fmt"

	"bellows"
	"bellows/core/handoff"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Incoming is a copy of the partition from the lane that owns it. It fills the partition by the code
// that fills one of this lane's own. The partition is served when its record and the last piece are
// here, whichever comes first.
type Incoming struct {
	Target *handoff.Target // nil: the partition was not copied here
	Due    *wire.Handoff   // it is awaited, and is to be copied to another lane after that; nil: it is not
	Lost   string          // why the state does not come; empty: it may

	gained bellows.CommitNumber
	served bool
}

// Served reports whether the partition has come here whole.
func (n *Incoming) Served() bool { return n.served }

// copied is a chunk that the lane which had the partition has taken. That lane answers its client. Or it came with the
// image of a saved job, and no client waits for it.
type copied struct {
	chunk wire.Chunk
	piece *wire.Piece // nil: it came with an image
}

// ID returns no name: nothing here knows the flush.
func (c *copied) ID() bellows.FlushID { return bellows.FlushID{} }

// TakePiece takes the next piece of the copy. The lane keeps pieces that are no part of the state:
// handoff.Void, Ended, and Last, which Serve wants.
func (p *Partition) TakePiece(m *wire.Piece, fx *Effects) error {
	take := func() error { return p.In.Target.Take(m, p.State.store, &p.State.image) }
	if m.Kind == handoff.Rows {
		err := p.State.put(m, take)
		if err == nil {
			wire.Free(m)
		}
		return err
	}
	err := take()
	if err != nil {
		return err
	}
	switch m.Kind {
	case handoff.Image:
		p.State.kept = true
	case handoff.Clocks:
		err = p.applyClocks(m.Clock, 0, fx)
	case handoff.Keep:
		p.State.keep()
	case handoff.Chunk:
		return p.takeChunk(m, fx)
	default:
		return nil
	}
	wire.Free(m)
	return err
}

// takeChunk takes a chunk that the owner of the partition has taken.
func (p *Partition) takeChunk(m *wire.Piece, fx *Effects) error {
	m, err := p.In.Target.Gather(m)
	if err != nil || m == nil {
		return err
	}
	f := &copied{piece: m}
	f.chunk = wire.Chunk{Pair: m.Pair, Subtree: m.Subtree, Rows: m.Rows, Keys: m.Keys, Values: m.Values}
	if m.Keys != nil {
		if f.chunk.Rows, err = p.State.Reserve(m.Keys, nil); err != nil {
			return err
		}
	}
	e := Entry{Flush: f, Chunk: &f.chunk, Clock: m.Clock}
	if m.Waits {
		p.backlog.wait(e)
		return nil
	}
	p.applyChunk(&e, fx)
	return nil
}

// Serve ends the copy when its record and last piece are here. It fails if these are not of one move, or
// if the bits are not those that were sent.
func (p *Partition) Serve() error {
	last, gained := p.In.Target.Last(), p.In.gained
	switch sum := p.State.store.Sum(); {
	case last.Commit != gained:
		return fmt.Errorf("the last piece of %v as of record %d, which was moved by record %d",
			p.Ref, last.Commit, gained)
	case sum != last.Sum:
		return fmt.Errorf("a copy of %v whose bits add up to %016x here, and to %016x there",
			p.Ref, uint64(sum), uint64(last.Sum))
	}
	p.applied = max(p.applied, last.Newest)
	if !planted.On("handoff-ended-forgotten") {
		p.Leases.ended = last.Ended
	}
	if planted.On("handoff-counted-twice") {
		p.Ledger.restart(p.Ledger.before)
	} else {
		p.Ledger.restart(p.State.store.Written())
	}
	wire.Free(last)
	p.In.served = true
	return nil
}
