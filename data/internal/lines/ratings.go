package lines

import "sync"

// RatingColumns are the columns of ratings while they are read. Each block's rows are appended as soon as those of the
// block before it are there, so that no row is kept twice. Ids are the numbers of the worker that parsed them, until
// the reader renumbers them for the set.
//
// Its states: blocks are due one after the other. A block parsed before its turn waits in early, and its buffer with
// it: if one worker stands still, the others run out of buffers instead of memory. The block that is due already has a
// buffer, so its turn comes. A block with a defect never has its turn, and the read fails.
//
// Invariant: rows stand in the order of the input (TestColumnsGrow). Rejected: columns allocated after all blocks are
// parsed, which needs memory for the rows twice at the end.
type RatingColumns struct {
	mu         sync.Mutex
	User, Item []int32
	Rating     []float32
	Time       []float64           // one per row, if times are wanted
	due        int32               // the block to take next
	early      map[int32]earlyRows // parsed before their turn
	spare      []Piece             // emptied pieces, for the next blocks
	free       chan<- []byte       // takes buffers back; it has room for all. nil: blocks have no buffers
}

// earlyRows is a block that waits for its turn.
type earlyRows struct {
	Piece
	buf []byte
}

// NewRatingColumns returns empty columns. Buffers of blocks are sent to free, which has room for all of them; nil:
// blocks have no buffers.
func NewRatingColumns(free chan<- []byte) *RatingColumns {
	return &RatingColumns{early: map[int32]earlyRows{}, free: free}
}

// Add takes the rows of a block, and returns its buffer to free when the rows are in the columns. read is the fraction
// of the input up to the block's end, 0 if unknown. The memory of an early block stays here, and p gets other memory.
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
	c.returnBuffer(buf)
	for next, found := c.early[c.due]; found; next, found = c.early[c.due] {
		delete(c.early, c.due)
		c.take(&next.Piece, read)
		c.returnBuffer(next.buf)
		c.spare = append(c.spare, next.Piece)
	}
}

// returnBuffer returns a buffer. Columnar files have none.
func (c *RatingColumns) returnBuffer(buf []byte) {
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

// grow makes room for n more rows. When it must allocate, it estimates the rows of the whole input from those so far.
// Memory that is never written is not resident.
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
