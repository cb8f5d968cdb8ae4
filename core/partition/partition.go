package partition

import (
	"cmp"

	"bellows"
	"bellows/core/audit"
	"bellows/core/checkpoint"
	"bellows/core/delta"
	"bellows/core/planted"
	"bellows/core/rowstore"
	"bellows/link/padding"
	"bellows/link/wire"
	"bellows/table"
)

// Partition is one partition at its lane: its rows, and what is to become of them.
//
// It is awaited from the record that gives it to the lane until its state is here, and gone from the
// record that gives it to another lane. Chunks that were recorded before that are still applied:
// their clients wait for it, and the audit counts them. A partition that another lane is copying here is a
// shadow: no record has given it to this lane, and nothing can ask for it.
type Partition struct {
	Ref        bellows.PartitionRef
	Generation bellows.Generation

	State       State
	Log         Log
	Leases      Leases
	Subscribers Subscribers
	Ledger      Ledger
	Out         Outgoing
	In          Incoming
	backlog     backlog
	cut         cut
	columns     padding.Columns // of leases

	applied bellows.CommitNumber // the newest record that concerns it: its own, since it may move
	gone    bool
	awaited bool
}

// Config describes a new partition.
type Config struct {
	Ref        bellows.PartitionRef
	Generation bellows.Generation
	Schema     *table.Schema
	Cut        table.Cut
	Blank      bool // its rows come from elsewhere: it is not filled by the initialiser
	Barrier    bool // the deltas of a clock become visible together (BSP)
	Complete   bellows.Clock
	KeySeed    uint64            // of its index of keys
	Digits     int               // see store.SortDigits; 0: the default
	LogMax     int               // bytes that the log keeps for its cursors; 0: LogMax
	Direct     int               // see delta.NewBuffer; 0: the default
	Cuts       *checkpoint.Giver // which gives its cuts away
}

// New makes a partition.
func New(c Config) (*Partition, error) {
	filled := rowstore.New
	if c.Blank {
		filled = rowstore.Blank
	}
	st, err := filled(c.Schema, c.Cut, c.Ref.Partition)
	if err != nil {
		return nil, err
	}
	st.SeedKeys(c.KeySeed)
	if c.Digits > 0 {
		st.SortDigits(c.Digits)
	}
	width := c.Schema.Width
	p := &Partition{Ref: c.Ref, Generation: c.Generation, columns: padding.Find(width, c.Schema.Padding)}
	p.Log = Log{store: st, max: cmp.Or(c.LogMax, LogMax)}
	p.Ledger = Ledger{Sample: audit.SampleOf(c.Ref, len(st.Values())), of: c.Ref.Partition, width: width, store: st}
	p.State = State{log: &p.Log, store: st, sample: p.Ledger.Sample}
	p.backlog = backlog{barrier: c.Barrier, reached: c.Complete,
		newBuffer: func() *delta.Buffer { return delta.NewBuffer(c.Schema, st.Rows(), c.Direct) }}
	p.Subscribers = Subscribers{log: &p.Log, store: st, width: width, keysMax: c.Cut.SubscribedMost(width)}
	p.cut = cut{giver: c.Cuts, state: &p.State}
	p.Out = Outgoing{Copy: newCopy(p)}
	p.Log.Attach(&p.Ledger)
	p.Log.Attach(&p.cut)
	return p, nil
}

// Frontier is how far a lane is by the records that it has taken.
type Frontier struct {
	Applied  bellows.CommitNumber // the last record
	Barrier  bellows.CommitNumber // the record that completed the last clock
	Complete bellows.Clock        // the last complete clock
}

// Pair returns the partition as the lane owns it.
func (p *Partition) Pair() wire.Pair { return wire.Pair{Ref: p.Ref, Generation: p.Generation} }

// Barrier reports whether the deltas of a clock become visible together.
func (p *Partition) Barrier() bool { return p.backlog.barrier }

// Gone reports whether a record has given the partition to another lane.
func (p *Partition) Gone() bool { return p.gone }

// Awaited reports whether the partition is the lane's and its state is not here yet.
func (p *Partition) Awaited() bool { return p.awaited }

// Applied returns the newest record that concerns the partition.
func (p *Partition) Applied() bellows.CommitNumber { return p.applied }

// Visible returns the version that a read sees. With a barrier that is the last complete clock and
// the record that completed it, or a later one that ended an exclusive lease
// (TestALeaseEndsInANewVersion). Without one it is every record that the lane has taken, whether or
// not it concerns this partition. While leases keep something out, it is what was visible before.
func (p *Partition) Visible(at Frontier) wire.Need {
	switch {
	case len(p.backlog.deferred) > 0:
		return p.backlog.lag
	case p.backlog.barrier:
		return wire.Need{Commit: max(at.Barrier, p.Leases.ended), Clock: at.Complete}
	}
	return wire.Need{Commit: at.Applied, Clock: at.Complete}
}

// Deferred reports whether leases keep something recorded out of the state.
func (p *Partition) Deferred() bool { return len(p.backlog.deferred) > 0 }

// Resume sets the last complete clock of a job that resumes.
func (p *Partition) Resume(c bellows.Clock) { p.backlog.reached = c }

// Torn reports whether the rows are neither as before an exclusive lease nor as after it: its holder
// works on the slab itself, and still runs or has died. Such a partition has no state to collect
// (TestAFencedExclusiveLeaseTearsItsPartition).
func (p *Partition) Torn() bool { return p.Leases.Exclusive() && !p.Leases.remote }

// Withholds reports whether subscribers wait: a lease keeps the newest rows out.
func (p *Partition) Withholds() bool { return p.Leases.Exclusive() || p.Deferred() }

// Gain makes the partition the lane's by record number; its state is still to come.
func (p *Partition) Gain(g bellows.Generation, number bellows.CommitNumber, complete bellows.Clock, barrier bool) {
	p.Generation, p.In.gained, p.awaited = g, number, true
	p.backlog.reached, p.backlog.barrier = complete, barrier
}

// Await notes that the state of a new partition is to come by Load.
func (p *Partition) Await() { p.awaited = true }

// Leave ends the lane's service of the partition, which record number has given to another lane. It
// returns the requests for leases that are to be made there.
func (p *Partition) Leave(number bellows.CommitNumber) []Request {
	p.Log.note(Change{Kind: Left, Commit: number})
	p.Out.stop()
	p.gone, p.awaited = true, false
	p.Subscribers.Forget(func(Subscriber) bool { return true })
	return p.Leases.abandon()
}

// Settle ends the wait for the state, and does now what records have asked for meanwhile.
func (p *Partition) Settle(at Frontier, fx *Effects) error {
	p.awaited = false
	early := p.backlog.early
	p.backlog.early = nil
	for _, e := range early {
		if planted.On("handoff-marks-lost") {
			break
		}
		var err error
		switch e.kind {
		case keepMark:
			p.State.keep()
		case cutMark:
			p.cutNow(e.Number)
		case consistencyMark:
			if p.backlog.barrier = e.barrier; !e.barrier {
				err = p.applyClocks(e.Clock, e.Number, fx)
			}
		default:
			err = p.Reach(e.Clock, e.Number, fx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Keep saves an image of the state for the driver. Chunks that a lease still keeps out belong in it: the
// lease's release may be on its way when the controller, which knows that no task is out, asks.
func (p *Partition) Keep(number bellows.CommitNumber, fx *Effects) {
	p.applied = number
	switch e := (Entry{kind: keepMark, Number: number}); {
	case p.gone:
	case p.awaited:
		p.backlog.early = append(p.backlog.early, e)
	case len(p.backlog.deferred) > 0 && !planted.On("keep-at-once"):
		p.backlog.deferred = append(p.backlog.deferred, e)
	default:
		p.State.keep()
		p.Out.drain(fx)
	}
}

// SetBarrier changes the consistency of the partition's table by a record, while no task is out. Without a barrier,
// what waits for its clock becomes visible now. With one it still waits: it is of clocks that some splits have
// completed and others have not begun, or it came with the image of a saved job (TestLoadedChunksWaitForTheirClock).
func (p *Partition) SetBarrier(barrier bool, number bellows.CommitNumber, fx *Effects) error {
	p.applied = number
	p.State.store.Detach()
	e := Entry{kind: consistencyMark, Number: number, Clock: lastClock, barrier: barrier}
	if p.awaited {
		p.backlog.early = append(p.backlog.early, e)
		return nil
	}
	var err error
	if p.backlog.barrier = barrier; !barrier {
		err = p.applyClocks(e.Clock, number, fx)
	}
	p.Log.note(Change{Kind: Consistency, Commit: number, Barrier: barrier})
	return err
}
