// Package gather collects the pieces of one write (small fields and borrowed arrays) without copying them together,
// and cuts long frames. The small fields are a text, which its user keeps, and each other piece comes after a place in
// the text.
//
// Add pieces in the order of their places, call Buffers or, step by step, Next, and Reset when all is written. A
// message that is too long for one frame is Cut into several, whose further headers are also pieces. The package knows
// no message, and reads a piece only for its sum.
package gather

import "bellows/link/wire/internal/crc"

// Pieces are borrowed bytes. The zero Pieces are none.
type Pieces struct {
	list    []piece
	bytes   int // of all
	buffers [][]byte
	next    int // the first piece, and of the text the first byte, that Next has not given out
	at      int
}

// piece is borrowed bytes and their place: behind text[:at].
type piece struct {
	at     int
	data   []byte
	sum    uint32 // their checksum, if summed
	summed bool
	head   bool // a header, with which a further part of a message begins
}

// Len returns how many pieces there are.
func (p *Pieces) Len() int { return len(p.list) }

// Bytes returns how long they are together.
func (p *Pieces) Bytes() int { return p.bytes }

// Add borrows bytes, to be written behind text[:at].
func (p *Pieces) Add(at int, data []byte) { p.add(piece{at: at, data: data}) }

// AddSummed adds bytes whose checksum is known.
func (p *Pieces) AddSummed(at int, data []byte, sum uint32) {
	p.add(piece{at: at, data: data, sum: sum, summed: true})
}

func (p *Pieces) add(q piece) {
	p.list = append(p.list, q)
	p.bytes += len(q.data)
}

// Drop forgets the pieces from the nth on.
func (p *Pieces) Drop(n int) {
	for i := n; i < len(p.list); i++ {
		p.bytes -= len(p.list[i].data)
		p.list[i] = piece{}
	}
	p.list = p.list[:n]
}

// Reset forgets all pieces, and keeps the memory of the list.
func (p *Pieces) Reset() {
	p.Drop(0)
	clear(p.buffers)
	*p = Pieces{list: p.list, buffers: p.buffers[:0]}
}

// Sum returns the checksum of what follows text[:at], with the pieces from the nth on at their places.
func (p *Pieces) Sum(text []byte, at, n int) (sum uint32) {
	pieces := p.list[n:]
	if len(pieces) == 1 && pieces[0].summed && len(text) == at {
		return pieces[0].sum
	}
	for i := range pieces {
		q := &pieces[i]
		sum = crc.Update(sum, text[at:q.at])
		sum = crc.Update(sum, q.data)
		at = q.at
	}
	return crc.Update(sum, text[at:])
}

// Buffers returns the text and the pieces as they follow each other. The list is good until Buffers, Next or Reset is
// called.
func (p *Pieces) Buffers(text []byte) [][]byte {
	p.next, p.at = 0, 0
	return p.collect(text, false)
}

// Next returns Buffers in steps: each ends before the header of a further part of a message, or at the end. After the
// last it returns none.
func (p *Pieces) Next(text []byte) [][]byte { return p.collect(text, true) }

func (p *Pieces) collect(text []byte, turns bool) [][]byte {
	p.buffers = p.buffers[:0]
	for ; p.next < len(p.list); p.next++ {
		q := &p.list[p.next]
		if q.at > p.at {
			p.buffers = append(p.buffers, text[p.at:q.at])
			p.at = q.at
		}
		if turns && q.head && len(p.buffers) > 0 {
			return p.buffers
		}
		p.buffers = append(p.buffers, q.data)
	}
	if len(text) > p.at {
		p.buffers = append(p.buffers, text[p.at:])
		p.at = len(text)
	}
	return p.buffers
}
