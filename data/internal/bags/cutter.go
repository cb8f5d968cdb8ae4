package bags

import (
	"bytes"

	"bellows/data/internal/lines"
)

// Part is documents numbered from 0 in their input: First to End-1. Some may have no entry.
type Part struct {
	First, End int
	Last       bool // of the input
}

// Cut leaves the last document that has an entry out, and those behind it: its next line is a defect, so that it may
// not be whole.
func (b *Part) Cut(p *lines.Piece) {
	n := len(p.User)
	for n > 0 && p.User[n-1] == p.User[len(p.User)-1] {
		n--
	}
	b.End = b.First
	if n < len(p.User) {
		b.End = int(p.User[n])
	}
	p.User, p.Item, p.Label = p.User[:n], p.Item[:n], p.Label[:n]
}

// emptyMost bounds the documents without an entry that stand together in a part.
const emptyMost = 1 << 16

// Cutter cuts the text of a bag of words (docword) where documents end, so that each part can be read without the
// others.
//
// The caller's duties, in order: Add the lines behind the header as they come, and End when there are no more. Send is
// called with each part, in their order. The
// last document comes alone, with those without an entry behind it: nobody is to be given it before the file has as
// many entries as it promises. Lines that are
// no entry go to the parser with the others, which says what is wrong.
type Cutter struct {
	Docs int // that the header promises
	Send func(text []byte, part Part)

	first   int    // documents that were sent
	pending []byte // whole lines that were not
	doc     int    // the number of their last document in the text, 0 where there is none
}

// Add takes more lines, and sends those of documents that have ended.
func (c *Cutter) Add(text []byte) {
	from, start := len(c.pending), 0
	c.pending = append(c.pending, text...)
	at, doc := len(c.pending), 0
	for at > from && start == 0 {
		line := bytes.LastIndexByte(c.pending[from:at-1], '\n') + 1 + from
		switch n := docOf(c.pending[line:at]); {
		case n == 0: // blank
		case doc == 0:
			doc = n
		case n != doc:
			start, c.doc = at, doc
		}
		at = line
	}
	if start == 0 && doc != 0 && doc != c.doc {
		start, c.doc = from, doc
	}
	if start > 0 {
		c.hand(start, false)
	}
}

// End sends what is left.
func (c *Cutter) End() { c.hand(len(c.pending), true) }

// docOf is the number that a line begins with, 0 where it is blank, and -1 where it begins with none: the parser says
// what is wrong.
func docOf(line []byte) (n int) {
	line = bytes.TrimLeft(line, " \t\r\n")
	if len(line) == 0 {
		return 0
	}
	for i, b := range line {
		if b -= '0'; b > 9 {
			if i > 0 {
				return n
			}
			break
		}
		if n = 10*n + int(b); n > 1<<40 {
			break
		}
	}
	return -1
}

// hand sends the lines up to a place where a document ends, or all that is left; documents without an entry that are
// many go ahead, or behind.
func (c *Cutter) hand(at int, last bool) {
	text := c.pending[:at]
	filled := min(c.Docs, max(c.first, lastDoc(text)))
	end := filled
	if last {
		end = c.Docs
	}
	if n := firstDoc(text); n > 0 {
		c.empty(min(filled, max(c.first, n-1))-emptyMost, false)
	} else {
		c.empty(end-emptyMost, false)
	}
	if filled = max(filled, c.first); end-filled <= emptyMost {
		filled = end
	}
	c.send(text, filled, last && filled == end)
	c.empty(end, last)
	c.pending = append(c.pending[:0], c.pending[at:]...)
}

// empty sends documents without an entry up to an end.
func (c *Cutter) empty(end int, last bool) {
	for c.first < end {
		next := min(end, c.first+emptyMost)
		c.send(nil, next, last && next == end)
	}
}

func (c *Cutter) send(text []byte, end int, last bool) {
	part := Part{c.first, end, last}
	c.first = end
	c.Send(text, part)
}

// firstDoc and lastDoc are the numbers of the first and the last document of some lines, 0 where there is none.
func firstDoc(text []byte) int {
	for line := range bytes.Lines(text) {
		if n := docOf(line); n != 0 {
			return max(0, n)
		}
	}
	return 0
}

func lastDoc(text []byte) int {
	for at := len(text); at > 0; {
		line := bytes.LastIndexByte(text[:at-1], '\n') + 1
		if n := docOf(text[line:at]); n != 0 {
			return max(0, n)
		}
		at = line
	}
	return 0
}
