package bags

import (
	"bytes"

	"bellows/data/internal/lines"
)

// A Part is a range of documents, numbered from 0 in their input: First to End-1. Some may have no entry.
type Part struct {
	First, End int
	Last       bool // of the input
}

// Cut drops the last document that has an entry, and those after it. Its next line has a defect, so the document may be
// incomplete.
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

// emptyMost bounds the documents without an entry in one part.
const emptyMost = 1 << 16

// Cutter cuts the text of a bag of words (docword) at ends of documents, so that each part can be read without the
// others.
//
// The caller's duties, in order: Add the lines after the header as they come, and End when there are no more. Send is
// called with each part, in order. The last document is sent alone, with documents without an entry after it: nothing
// may use it before the file has as many entries as its header states. Lines that are no entry go to the parser with
// the others, which reports them.
type Cutter struct {
	Docs int // the number in the header
	Send func(text []byte, part Part)

	first   int    // documents sent so far
	pending []byte // whole lines not sent yet
	doc     int    // the number in the text of their last document, or 0
}

// Add takes more lines, and sends the documents that have ended.
func (c *Cutter) Add(text []byte) {
	from, start := len(c.pending), 0
	c.pending = append(c.pending, text...)
	at, doc := len(c.pending), 0
	for at > from && start == 0 {
		line := bytes.LastIndexByte(c.pending[from:at-1], '\n') + 1 + from
		switch n := documentNumber(c.pending[line:at]); {
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
		c.sendUpTo(start, false)
	}
}

// End sends the rest.
func (c *Cutter) End() { c.sendUpTo(len(c.pending), true) }

// documentNumber returns the number at the start of a line, 0 for a blank line, and -1 for a line without a number,
// which the parser reports.
func documentNumber(line []byte) (n int) {
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

// sendUpTo sends the lines up to the end of a document, or the rest. If many documents without an entry come before or
// after them, these are sent separately.
func (c *Cutter) sendUpTo(at int, last bool) {
	text := c.pending[:at]
	filled := min(c.Docs, max(c.first, lastDoc(text)))
	end := filled
	if last {
		end = c.Docs
	}
	if n := firstDoc(text); n > 0 {
		c.sendEmpty(min(filled, max(c.first, n-1))-emptyMost, false)
	} else {
		c.sendEmpty(end-emptyMost, false)
	}
	if filled = max(filled, c.first); end-filled <= emptyMost {
		filled = end
	}
	c.send(text, filled, last && filled == end)
	c.sendEmpty(end, last)
	c.pending = append(c.pending[:0], c.pending[at:]...)
}

// sendEmpty sends documents without an entry, up to end.
func (c *Cutter) sendEmpty(end int, last bool) {
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

// firstDoc returns the number of the first document in some lines, or 0.
func firstDoc(text []byte) int {
	for line := range bytes.Lines(text) {
		if n := documentNumber(line); n != 0 {
			return max(0, n)
		}
	}
	return 0
}

// lastDoc returns the number of the last document in some lines, or 0.
func lastDoc(text []byte) int {
	for at := len(text); at > 0; {
		line := bytes.LastIndexByte(text[:at-1], '\n') + 1
		if n := documentNumber(text[line:at]); n != 0 {
			return max(0, n)
		}
		at = line
	}
	return 0
}
