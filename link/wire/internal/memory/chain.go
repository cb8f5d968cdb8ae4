package memory

// Chain is memory that comes in pieces and is wanted in one. The zero Chain is empty.
//
// Pieces stay where they are until all have come, so that they take no more memory than the pools gave for them; short
// ones share some. Joined, they are copied once.
type Chain struct {
	pieces [][]byte
	length int
}

// Len returns how many bytes have come.
func (c *Chain) Len() int { return c.length }

// Add takes a piece, which is the chain's from now on.
func (c *Chain) Add(b []byte) {
	c.length += len(b)
	if n := len(c.pieces); n > 0 {
		if last := c.pieces[n-1]; len(last)+len(b) <= cap(last)-stampSize && Pooled(last) {
			c.pieces[n-1] = append(last, b...)
			Put(b)
			return
		}
		if len(b) < shortMost { // to share with those that follow
			b, short := append(Get(min(c.length, shortMost))[:0], b...), b
			c.pieces = append(c.pieces, b)
			Put(short)
			return
		}
	}
	c.pieces = append(c.pieces, b)
}

// shortMost is the length below which pieces are gathered, in as much memory as all before them or this.
const shortMost = 64 << 10

// Join returns all that has come, in one, aligned to eight. The chain is empty then.
func (c *Chain) Join() []byte {
	all := Get(c.length)
	at := 0
	for _, b := range c.pieces {
		at += copy(all[at:], b)
	}
	c.Drop()
	return all
}

// Drop forgets what has come, and gives its memory back.
func (c *Chain) Drop() {
	for i, b := range c.pieces {
		Put(b)
		c.pieces[i] = nil
	}
	c.pieces, c.length = c.pieces[:0], 0
}
