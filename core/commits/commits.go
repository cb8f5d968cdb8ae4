// Package commits applies flushes at a lane once a record has numbered them, and notifies their clients: the second
// phase of a commit.
//
// It is the second phase of a commit at a lane: package prepare has held the flush, and the controller has decided. The
// chunks of a flush go to their partitions, which apply them or keep them until their clock is complete or a lease
// has ended (package partition). A flush is open until the last of its chunks is part of the state. Until then the lane
// looks into its memory, which in one process is the client's own.
//
// The caller's duties, for each record: Open what prepare has held, Apply each flush, and carry out the effects. When
// the record's clock has been made visible it calls NoteShown. Whenever partitions have applied chunks it passes these
// to Finish, and after each message it calls Send, before any row leaves that may show a flush: a client must
// know the number by then, to lay its own deltas over rows that lack them, and over no others (docs/decisions/0007).
package commits

import (
	"slices"

	"bellows"
	"bellows/core/lanestate"
	"bellows/core/partition"
	"bellows/core/planted"
	"bellows/core/prepare"
	"bellows/link/wire"
)

// Flush is a flush that has a number, as it came in one push: parts for other partitions may have come in another. It
// is open until the last of its chunks is part of the state, and then memory for another.
type Flush struct {
	push   *wire.Push
	from   wire.Address
	named  bool // messages about it name its pairs
	number bellows.CommitNumber
	open   int      // chunks and lease ends not applied yet
	rows   []uint32 // memory for the numbers of the rows that its keys name
}

// ID returns the name of the flush.
func (f *Flush) ID() bellows.FlushID { return f.push.Flush }

// Client returns the client that sent the flush.
func (f *Flush) Client() wire.Address { return f.from }

// Shows reports whether reads may see some of the flush before all of it is visible. The flush is open.
func (f *Flush) Shows(at *lanestate.State) bool {
	for i := range f.push.Chunks {
		if !at.Barrier(f.push.Chunks[i].Ref) {
			return true
		}
	}
	return false
}

// Commits are the flushes of a lane that have a number and are open, and messages to their clients.
//
// Invariants:
//
//   - A flush is closed once, after the last of its chunks (TestAFlushClosesWithItsLastChunk).
//   - A client hears of each flush when it is closed, and before that if reads may see some of it
//     (TestClientsAreToldOfWhatShows).
type Commits struct {
	self wire.Address
	max  int // flushes in one message

	numbered []*Flush // by the last record
	news     []news   // to be sent
	spare    []*Flush
	rows     [][]uint32 // memory of flushes that were closed
}

// news is flushes of one client that count now.
type news struct {
	to        wire.Address
	committed *wire.Committed
}

// New returns the commits of a lane, which names so many flushes in one message.
func New(self wire.Address, most int) *Commits { return &Commits{self: self, max: most} }

// Reserve gives a row to every key of a push, and its chunks the rows' numbers, in memory that is kept with the flush.
// That is when memory is taken, and refused: what is recorded later is irrevocable.
func (c *Commits) Reserve(m *wire.Push, at *lanestate.State) ([]uint32, error) {
	total := 0
	for i := range m.Chunks {
		total += len(m.Chunks[i].Keys)
	}
	if total == 0 {
		return nil, nil
	}
	list := c.rowsFor(total)
	for i := range m.Chunks {
		k := &m.Chunks[i]
		if k.Keys == nil {
			continue
		}
		first := len(list)
		rows, err := at.Lookup(k.Ref).State.Reserve(k.Keys, list)
		if err != nil {
			return nil, err
		}
		list, k.Rows = rows, rows[first:len(rows):len(rows)]
	}
	return list, nil
}

// rowsFor returns memory for so many numbers of rows, of a flush that was closed if it suffices.
func (c *Commits) rowsFor(total int) []uint32 {
	if n := len(c.rows); n > 0 {
		rows := c.rows[n-1]
		c.rows = c.rows[:n-1]
		if cap(rows) >= total {
			return rows
		}
	}
	return make([]uint32, 0, total)
}

// Open returns a flush that a record has numbered, with all that is to be applied. There is one for each push in
// which the flush came.
func (c *Commits) Open(held []prepare.Held, number bellows.CommitNumber) []*Flush {
	for i := range held {
		h := &held[i]
		f := c.newFlush()
		*f = Flush{push: h.Push, from: h.From, named: h.Named, number: number, rows: h.Rows,
			open: len(h.Push.Chunks) + len(h.Push.Leases)}
		c.numbered = append(c.numbered, f)
	}
	return c.numbered
}

// newFlush returns an empty flush, in the memory of one that was closed if there is any.
func (c *Commits) newFlush() *Flush {
	if n := len(c.spare); n > 0 {
		f := c.spare[n-1]
		c.spare = c.spare[:n-1]
		return f
	}
	return new(Flush)
}

// Apply gives the chunks of a flush to their partitions, and ends its leases. One without either is closed at once: it
// is a flush of nothing, which completes a clock all the same.
func (c *Commits) Apply(f *Flush, at *lanestate.State, fx *partition.Effects) error {
	if f.open == 0 {
		c.close(f)
		return nil
	}
	m := f.push
	for i := range m.Chunks {
		k := &m.Chunks[i]
		at.Lookup(k.Ref).Accept(partition.Entry{Flush: f, Chunk: k, Clock: m.Clock, Number: at.Applied()}, fx)
	}
	for i := range m.Leases {
		e := &m.Leases[i]
		if err := at.Lookup(e.Ref).EndExclusive(f, e.Values, m.Clock, f.number, fx); err != nil {
			return err
		}
	}
	return nil
}

// Finish ends one chunk or lease end of each flush of a list: it is part of the state. With its last the flush is
// closed, and may not be looked at any more.
func (c *Commits) Finish(list []partition.Flush) {
	for _, one := range list {
		f := one.(*Flush)
		if f.open--; f.open == 0 {
			c.close(f)
		}
	}
}

// close gives the chunks' memory back: to the client by wire.Committed, and the push to its pool.
func (c *Commits) close(f *Flush) {
	c.note(f, false)
	wire.Free(f.push)
	if cap(f.rows) > 0 {
		c.rows = append(c.rows, f.rows[:0])
	}
	*f = Flush{}
	c.spare = append(c.spare, f)
}

// NoteShown notes the flushes of the last record of which reads may see some before all of it is visible.
func (c *Commits) NoteShown(at *lanestate.State) {
	for _, f := range c.numbered {
		if f.push != nil && f.Shows(at) && !planted.On("number-when-visible") {
			c.note(f, true)
		}
	}
	clear(c.numbered)
	c.numbered = c.numbered[:0]
}

// note keeps for Send that a flush counts: when all of it is visible, or, waiting, when reads may see some of it
// before that.
func (c *Commits) note(f *Flush, waiting bool) {
	one := wire.Commitment{Flush: f.push.Flush, Commit: f.number, Waiting: waiting}
	if f.named && !planted.On("pairs-unnamed") {
		one.Pairs = prepare.Pairs(f.push)
	}
	i := slices.IndexFunc(c.news, func(n news) bool {
		return n.to == f.from && len(n.committed.List) < c.max && n.committed.HasRoom(len(one.Pairs))
	})
	if i < 0 {
		i = len(c.news)
		c.news = append(c.news, news{f.from, wire.New[wire.Committed]()})
	}
	c.news[i].committed.Append(one)
}

// Send sends clients what has been noted, before rows that may show it.
func (c *Commits) Send(out *wire.Outbox) {
	for _, n := range c.news {
		out.Send(c.self, n.to, n.committed)
	}
	clear(c.news)
	c.news = c.news[:0]
}
