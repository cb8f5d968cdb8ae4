package handoff

import (
	"iter"
	"math"

	"bellows"
	"bellows/core/audit"
	"bellows/core/planted"
	"bellows/core/rowstore"
	"bellows/link/wire"
)

// The kinds of pieces (wire.Piece).
const (
	Offer  uint8 = iota // a copy begins, if its receiver accepts it
	Rows                // rows as they are, with the memory of their rule
	Image               // rows of the image that the driver has kept last
	Chunk               // a recorded chunk: it becomes part of the state now, or (Waits) with its clock
	Clocks              // the clocks up to Clock become part of the state
	Keep                // the driver keeps an image of the state as it is now
	Void                // the copy is given up
	Last                // nothing follows: the record Commit has given the partition to the receiver
	Ended               // nothing follows: the sender's job is over, and it has no record that gives the partition away
)

// Limits are how a partition is copied. None of them changes a result.
type Limits struct {
	Slab   int // values in a piece of rows
	Window int // bytes of rows on their way
	Behind int // bytes of changes on their way, above which the copy is given up
}

// A Source is the sending end of a copy; its lane has the partition.
//
// The copy is offered, begins when the offer is taken, and is ready when all rows are taken and little else is on its
// way. Rows that an exclusive lease may have changed in place are copied again (Torn), when the lane allows it (Again).
//
// Invariants: pieces are numbered without gaps; each row before the cursor has been sent since its last change, unless
// the change itself was sent (TestACopyHasTheSameBits).
type Source struct {
	Term   bellows.Term
	Number uint64 // of the move
	To     wire.Address
	Urgent bool

	limits Limits
	copy   uint64
	pair   wire.Pair
	begun  bool   // the offer was taken
	number uint64 // of the last piece
	onWay  []onWay
	rows   int // bytes of rows that have not been taken,
	pieces int // in so many pieces
	events int // bytes of changes that have not been taken, with what is around them
	cursor int // rows below it were copied
	sent   int // how many rows that were
	torn   bool
	image  int // rows of the image that were copied; -1: it need not be
	copied uint64
	said   bool   // to the controller, how far it is:
	told   uint64 // copied, as that was then
}

// onWay is a piece that has not been taken.
type onWay struct {
	number uint64
	bytes  int
	rows   bool
}

// around is about how many bytes a piece has around its lists.
const around = 64

// NewSource returns the copy of a partition with that number.
func NewSource(m *wire.Handoff, copy uint64, limits Limits) *Source {
	if m.Urgent {
		limits.Window *= 8
	}
	return &Source{Term: m.Term, Number: m.Number, To: m.NextOwner(), Urgent: m.Urgent, limits: limits, copy: copy, pair: m.Pair, image: -1}
}

// Copy returns the number of the copy.
func (s *Source) Copy() uint64 { return s.copy }

// Offer returns the first piece, by a route.
func (s *Source) Offer(v bellows.RouteVersion) *wire.Piece {
	m := s.piece(Offer)
	m.Number, m.Route = 0, v
	return m
}

// Begin records that the offer was taken. kept: the driver has kept an image, which is copied as well.
func (s *Source) Begin(kept bool) {
	s.begun = true
	if kept && !planted.On("handoff-image-forgotten") {
		s.image = 0
	}
}

// Begun reports whether changes are to be sent.
func (s *Source) Begun() bool { return s.begun }

// Taken records that pieces up to one are part of the copy. It reports whether that is possible.
func (s *Source) Taken(number uint64) bool {
	if !s.begun || number > s.number {
		return false
	}
	for len(s.onWay) > 0 && s.onWay[0].number <= number {
		p := s.onWay[0]
		s.onWay = s.onWay[1:]
		if p.rows {
			s.rows -= p.bytes
			s.pieces--
			s.copied += uint64(p.bytes)
		} else {
			s.events -= p.bytes + around
		}
	}
	return true
}

// Open reports whether rows are on their way in a piece after that one.
func (s *Source) Open(number uint64) bool {
	for i := len(s.onWay) - 1; i >= 0 && s.onWay[i].number > number; i-- {
		if s.onWay[i].rows {
			return true
		}
	}
	return false
}

func (s *Source) piece(k uint8) *wire.Piece {
	m := wire.New[wire.Piece]()
	m.Copy, m.Pair, m.Kind = s.copy, s.pair, k
	return m
}

// next numbers a piece and counts what is on its way.
func (s *Source) next(m *wire.Piece, rows bool) *wire.Piece {
	s.number++
	m.Number = s.number
	n := m.Bytes()
	if s.onWay = append(s.onWay, onWay{s.number, n, rows}); rows {
		s.rows += n
		s.pieces++
	} else {
		s.events += n + around
	}
	return m
}

// Next returns the next piece of rows, or of the image that was kept; nil if all have left, or if the window is full.
func (s *Source) Next(p *rowstore.Store, image *rowstore.Image) *wire.Piece {
	if !s.begun || s.torn || s.rows+around*s.pieces >= s.limits.Window {
		return nil
	}
	most := max(1, s.limits.Slab/p.RowValues())
	for all := p.Numbers(); s.cursor < all; {
		first, end := s.cursor, min(s.cursor+most, all)
		s.cursor = end
		n := p.Count(first, end)
		if n == 0 {
			continue
		}
		m := s.piece(Rows)
		m.First, m.Count = uint32(first), uint32(n)
		m.Hold(s.keys(p, n), -1, n*p.RowValues())
		p.CopyRows(first, end, m.Keys, m.Values)
		s.sent += n
		return s.next(m, true)
	}
	if s.image < 0 {
		return nil
	}
	rows, beside := p.ImageRows(image)
	n := min(most, rows-s.image)
	m := s.piece(Image)
	m.First, m.Count = uint32(s.image), uint32(n)
	m.Hold(s.keys(p, n), -1, n*beside)
	p.CopyImage(image, s.image, n, m.Keys, m.Values)
	if s.image += n; s.image == rows {
		s.image = -1
	}
	return s.next(m, true)
}

// keys returns how many keys a piece of rows has; -1: rows have none.
func (s *Source) keys(p *rowstore.Store, n int) int {
	if p.Keyed() {
		return n
	}
	return -1
}

// Copied reports whether all rows, and the image, have left.
func (s *Source) Copied(p *rowstore.Store) bool {
	return s.begun && !s.torn && s.cursor >= p.Numbers() && s.image < 0
}

// Ready reports whether all rows have been taken, and little else is on its way.
func (s *Source) Ready(p *rowstore.Store) bool {
	return s.Copied(p) && s.rows == 0 && s.events <= s.limits.Window
}

// Lagging reports whether more changes are on their way than allowed.
func (s *Source) Lagging() bool { return s.events > s.limits.Behind }

// ReportProgress returns the progress of the copy for the node that asked for the move: that the partition may go (whole), else
// the begin of the copy and each hundredth of it. Nil: that much was reported. Reports are observations: the next one
// replaces one that is lost.
func (s *Source) ReportProgress(p *rowstore.Store, image *rowstore.Image, whole bool) *wire.Prepared {
	copied, of := s.Progress(p, image)
	if !whole && s.said && copied-s.told < max(1, of/100) {
		return nil
	}
	s.said, s.told = true, copied
	return &wire.Prepared{Term: s.Term, Number: s.Number, Pair: s.pair, Copied: copied, Of: of, Whole: whole}
}

// Progress returns how many bytes of rows, and of the image, have been taken, and about how many will be: those that
// were taken, those on their way and those that have not left. Rows that are to be copied again count again. So copied
// only grows, is never more than of, and equals it when all has been taken (TestProgressGrowsToItsEnd).
func (s *Source) Progress(p *rowstore.Store, image *rowstore.Image) (copied, of uint64) {
	key, rows, more := 0, 0, 0
	if p.Keyed() {
		key = 8
	}
	if s.torn {
		rows = p.Rows()
	} else if s.cursor < p.Numbers() { // else what has come to count below it came by changes
		rows = max(0, p.Rows()-s.sent)
	}
	if s.image >= 0 {
		all, beside := p.ImageRows(image)
		more = (all - s.image) * (key + 4*beside)
	}
	return s.copied, s.copied + uint64(s.rows+rows*(key+4*p.RowValues())+more)
}

// Torn records that rows change in place: all are copied again, as soon as the lane allows it.
func (s *Source) Torn() {
	if !planted.On("handoff-lease-unseen") {
		s.torn = true
	}
}

// Again copies all rows once more, since they change in place no more.
func (s *Source) Again() {
	if s.torn {
		s.torn, s.cursor, s.sent = false, 0, 0
	}
}

// IsTorn reports whether rows that were copied have changed in place.
func (s *Source) IsTorn() bool { return s.torn }

// Chunk returns a recorded chunk of a clock, in pieces no longer than those of rows: messages after a long one on a
// connection would wait for all of it, and so would the lane that makes or takes it (TestALargeChangeTravelsInPieces).
//
// Of a dense table it has only rows that were copied: the others will be copied with it. A chunk that waits for its
// clock is therefore passed on when the clock is complete, or when all rows are copied. Its receiver puts the pieces
// together (Target.Gather), since sums count it as one chunk.
func (s *Source) Chunk(p *rowstore.Store, c *wire.Chunk, clock bellows.Clock, waits bool) iter.Seq[*wire.Piece] {
	n, below := p.Numbers(), s.cursor
	switch {
	case c.Keys != nil:
		n = len(c.Keys)
	case c.Rows != nil:
		n = len(c.Rows)
	}
	switch {
	case p.Keyed(): // new keys come after the rows that were copied
		below = math.MaxInt
	case s.torn:
		below = 0
	}
	row := func(i int) int {
		if c.Rows == nil {
			return i
		}
		return int(c.Rows[i])
	}
	width := len(c.Values) / max(1, n)
	most := max(1, s.limits.Slab/max(1, width))
	total := 0 // that go
	for i := range n {
		if row(i) < below {
			total++
		}
	}
	return func(yield func(*wire.Piece) bool) {
		for at, sent := 0, 0; at < n || n == 0; {
			end, some := at, 0
			for ; end < n && some < most; end++ {
				if row(end) < below {
					some++
				}
			}
			if some == 0 && n > 0 {
				return
			}
			m := s.piece(Chunk)
			m.Clock, m.Subtree, m.Waits = clock, c.Subtree, waits
			if waits && some < total {
				m.First, m.Count = uint32(sent), uint32(total)
			}
			switch {
			case c.Keys != nil:
				m.Hold(some, -1, some*width)
			case c.Rows == nil && some == n:
				m.Hold(-1, -1, some*width)
			default:
				m.Hold(-1, some, some*width)
			}
			for i, to := at, 0; i < end; i++ {
				if row(i) >= below {
					continue
				}
				if c.Keys != nil {
					m.Keys[to] = c.Keys[i]
				} else if m.Rows != nil {
					m.Rows[to] = uint32(row(i))
				}
				copy(m.Values[to*width:(to+1)*width], c.Values[i*width:])
				to++
			}
			at, sent = end, sent+some
			if !yield(s.next(m, false)) || n == 0 || planted.On("handoff-cut-lost") {
				return
			}
		}
	}
}

// Clocks returns the piece that makes the clocks up to c part of the state.
func (s *Source) Clocks(c bellows.Clock) *wire.Piece {
	m := s.piece(Clocks)
	m.Clock = c
	return s.next(m, false)
}

// Keep returns the piece that makes the receiver keep an image of the state. If not all rows have left, it returns nil,
// and the image is copied after them instead.
func (s *Source) Keep(p *rowstore.Store) *wire.Piece {
	if (s.torn || s.cursor < p.Numbers()) && !planted.On("handoff-kept-early") {
		s.image = 0
		return nil
	}
	s.image = -1
	return s.next(s.piece(Keep), false)
}

// Void returns the piece that gives up the copy.
func (s *Source) Void() *wire.Piece { return s.next(s.piece(Void), false) }

// Ended returns the piece that ends the sender's job.
func (s *Source) Ended() *wire.Piece { return s.next(s.piece(Ended), false) }

// Last returns the piece by which a record gives the partition to the receiver, with everything that no other piece
// has.
func (s *Source) Last(commit, newest, ended bellows.CommitNumber, sum audit.Sum) *wire.Piece {
	m := s.piece(Last)
	m.Commit, m.Newest, m.Ended, m.Sum = commit, newest, ended, sum
	return s.next(m, false)
}

// Sent returns the number of the last piece.
func (s *Source) Sent() uint64 { return s.number }

// Arrived reports whether all that was sent has been taken.
func (s *Source) Arrived() bool { return s.begun && len(s.onWay) == 0 }
