package gather

import "bellows/link/wire/internal/crc"

// Cut divides what follows text[:at], with the pieces from the nth on at their places, into parts of most bytes and a last
// one that may be shorter. Before each but the first it puts a header, the next size bytes of heads, which must be as many
// as are needed. Pieces are divided where they lie.
func (p *Pieces) Cut(text []byte, at, n, most, size int, heads []byte) {
	end := len(p.list)
	p.bytes += len(heads)
	c := cutter{pieces: p, at: at, left: most, most: most, size: size, heads: heads}
	for i := n; i < end; i++ {
		q := p.list[i] // the list grows
		c.copied(q.at)
		c.borrowed(q.data)
	}
	c.copied(len(text))
	kept := n + copy(p.list[n:], p.list[end:])
	clear(p.list[kept:])
	p.list = p.list[:kept]
}

// cutter makes the pieces of a message in parts, behind those that it is made of.
type cutter struct {
	pieces     *Pieces
	at         int // of the text: what is before has been passed
	left       int // bytes that the part under way may have
	most, size int
	heads      []byte
}

// head begins a part.
func (c *cutter) head() {
	c.append(piece{at: c.at, data: c.heads[:c.size:c.size], head: true})
	c.heads = c.heads[c.size:]
	c.left = c.most
}

func (c *cutter) append(q piece) { c.pieces.list = append(c.pieces.list, q) }

// copied passes over the text up to end.
func (c *cutter) copied(end int) {
	for end-c.at > c.left {
		c.at += c.left
		c.head()
	}
	c.left -= end - c.at
	c.at = end
}

// borrowed passes over a piece.
func (c *cutter) borrowed(data []byte) {
	for len(data) > c.left {
		if c.left > 0 {
			c.append(piece{at: c.at, data: data[:c.left:c.left]})
			data = data[c.left:]
		}
		c.head()
	}
	if len(data) > 0 {
		c.append(piece{at: c.at, data: data})
		c.left -= len(data)
	}
}

// Parts yields the parts that Cut made, in order: the header of each, to be filled in, the length and the sum of the
// bytes after it, and whether it is the last. The first header is the last size bytes of text[:at].
func (p *Pieces) Parts(text []byte, at, n, size int, yield func(head []byte, length int, sum uint32, last bool)) {
	head, length, sum := text[at-size:at], 0, uint32(0)
	add := func(b []byte) {
		length += len(b)
		sum = crc.Update(sum, b)
	}
	for i := n; i < len(p.list); i++ {
		q := &p.list[i]
		add(text[at:q.at])
		at = q.at
		if q.head {
			yield(head, length, sum, false)
			head, length, sum = q.data, 0, 0
			continue
		}
		add(q.data)
	}
	add(text[at:])
	yield(head, length, sum, true)
}
