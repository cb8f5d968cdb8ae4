package lines

import "sync"

// RatingColumns are the columns of ratings while they are read: each block's rows are put behind those of the block before it as soon as that is
// there, so that no row is kept twice. Ids are the numbers of the workers who parsed them until their reader gives them those of the set.
//
// Its states: blocks are due one after the other; a block that is parsed before its turn waits in early, and its buffer with it: where one worker stands
// still the others come to an end of the buffers, and not of the memory. The block that is due has a buffer already, so that its turn comes. A block
// with a defect never has its turn, and the read fails.
//
// Invariant: rows stand in the order of the input (TestColumnsGrow). Turned down: columns made when all blocks are parsed, which needs the rows
// twice at the end.
type RatingColumns struct {
	mu         sync.Mutex
	User, Item []int32
	Rating     []float32
	Time       []float64           // one a row, where they are asked for
	due        int32               // the block whose turn it is
	early      map[int32]earlyRows // parsed before their turn
	spare      []Piece             // emptied, for who parses next
	free       chan<- []byte       // for buffers; it has room for all. nil: there are none
}

// earlyRows is a block that waits for its turn.
type earlyRows struct {
	Piece
	buf []byte
}

// NewRatingColumns is for blocks of buffers that go back to free, which has room for all; nil: there are none.
func NewRatingColumns(free chan<- []byte) *RatingColumns {
	return &RatingColumns{early: map[int32]earlyRows{}, free: free}
}

// Add takes the rows of a block, and its buffer when the rows are in the columns. The block ends where that part of the input is read; 0 where nobody
// knows how much there is. When the block is early its memory stays here, and p gets other.
func (c *RatingColumns) Add(block int32, p *Piece, buf []byte, read float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if block != c.due {
		c.early[block], *p = earlyRows{*p, buf}, Piece{}
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
func (c *RatingColumns) back(buf []byte) {
	if c.free != nil {
		c.free <- buf
	}
}

// take appends the rows of the block that is due.
func (c *RatingColumns) take(p *Piece, read float64) {
	c.grow(len(p.Label), read)
	c.User, c.Item, c.Rating = append(c.User, p.User...), append(c.Item, p.Item...), append(c.Rating, p.Label...)
	c.Time = append(c.Time, p.Time...)
	c.due++
}

// grow makes room for n more rows; when it must, for as many as the whole input has if it goes on as it began. What is never written takes no memory.
func (c *RatingColumns) grow(n int, read float64) {
	const margin = 1.03
	rows := len(c.Rating) + n
	if rows <= cap(c.Rating) {
		return
	}
	room := rows + rows/2
	if read > 0 && read <= 1 {
		room = max(rows, int(float64(rows)/read*margin))
	}
	c.User, c.Item, c.Rating = grown(c.User, room), grown(c.Item, room), grown(c.Rating, room)
}

func grown[T any](column []T, room int) []T { return append(make([]T, 0, room), column...) }
