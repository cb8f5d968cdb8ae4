package data

import (
	"sync"

	"bellows/data/internal/lines"
)

// ratingColumns are the columns of ratings while they are read: each block's rows are put behind those of the block before it as soon as that is
// there, so that no row is kept twice. Ids are the numbers of the workers who parsed them until number gives those of the set.
//
// Its states: blocks are due one after the other; a block that is parsed before its turn waits in early, and its buffer with it: where one worker stands
// still the others come to an end of the buffers, and not of the memory. The block that is due has a buffer already, so that its turn comes. A block
// with a defect never has its turn, and the read fails.
//
// Invariant: rows stand in the order of the input (TestColumnsGrow). Turned down: columns made when all blocks are parsed, which needs the rows
// twice at the end.
type ratingColumns struct {
	mu    sync.Mutex
	set   RatingSet
	times []float64           // one a row, where they are asked for
	due   int32               // the block whose turn it is
	early map[int32]earlyRows // parsed before their turn
	spare []lines.Piece       // emptied, for who parses next
	free  chan<- []byte       // for buffers; it has room for all. nil: there are none
}

// earlyRows is a block that waits for its turn.
type earlyRows struct {
	lines.Piece
	buf []byte
}

func newRatingColumns(free chan<- []byte) *ratingColumns {
	return &ratingColumns{early: map[int32]earlyRows{}, free: free}
}

// add takes the rows of a block, and its buffer when the rows are in the columns. The block ends where that part of the input is read; 0 where nobody
// knows how much there is. When the block is early its memory stays here, and p gets other.
func (c *ratingColumns) add(block int32, p *lines.Piece, buf []byte, read float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if block != c.due {
		c.early[block], *p = earlyRows{*p, buf}, lines.Piece{}
		if last := len(c.spare) - 1; last >= 0 {
			*p, c.spare = c.spare[last], c.spare[:last]
		}
		return
	}
	c.take(p, read)
	c.back(buf)
	for next, found := c.early[c.due]; found; next, found = c.early[c.due] {
		delete(c.early, c.due)
		c.take(&next.Piece, read)
		c.back(next.buf)
		c.spare = append(c.spare, next.Piece)
	}
}

// back gives a buffer back. Files that keep columns apart have none.
func (c *ratingColumns) back(buf []byte) {
	if c.free != nil {
		c.free <- buf
	}
}

// take appends the rows of the block that is due.
func (c *ratingColumns) take(p *lines.Piece, read float64) {
	c.grow(len(p.Label), read)
	s := &c.set
	s.User, s.Item, s.Rating = append(s.User, p.User...), append(s.Item, p.Item...), append(s.Rating, p.Label...)
	c.times = append(c.times, p.Time...)
	c.due++
}

// grow makes room for n more rows; when it must, for as many as the whole input has if it goes on as it began. What is never written takes no memory.
func (c *ratingColumns) grow(n int, read float64) {
	const margin = 1.03
	rows := len(c.set.Rating) + n
	if rows <= cap(c.set.Rating) {
		return
	}
	room := rows + rows/2
	if read > 0 && read <= 1 {
		room = max(rows, int(float64(rows)/read*margin))
	}
	c.set.User, c.set.Item, c.set.Rating = grown(c.set.User, room), grown(c.set.Item, room), grown(c.set.Rating, room)
}

func grown[T any](column []T, room int) []T { return append(make([]T, 0, room), column...) }

// ratings are the columns with the ids of all workers numbered by their first appearance.
func (r *reader) ratings(starts []int) *RatingSet {
	out := &r.columns.set
	var userTables, itemTables [][]int32
	out.Users, userTables = r.merge(func(w *worker) *lines.IDs { return &w.users })
	out.Items, itemTables = r.merge(func(w *worker) *lines.IDs { return &w.items })
	r.eachPiece(func(n int, p *piece) {
		from, end := starts[n], starts[n]+p.rows
		translate(out.User[from:end], out.User[from:end], userTables[p.worker])
		translate(out.Item[from:end], out.Item[from:end], itemTables[p.worker])
	})
	return out
}
