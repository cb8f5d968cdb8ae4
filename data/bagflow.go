package data

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"bellows/data/internal/bags"
	"bellows/data/internal/lines"
	"bellows/data/internal/source"
)

// bagPart is documents of a docword that flows, numbered from 0 in their input: first to end-1. Some may have no entry.
type bagPart struct {
	flows      bool
	first, end int
	last       bool // of the input
}

// cut leaves the last document that has an entry out, and those behind it: its next line is a defect, so that it may not be whole.
func (b *bagPart) cut(p *lines.Piece) {
	if !b.flows {
		return
	}
	n := len(p.User)
	for n > 0 && p.User[n-1] == p.User[len(p.User)-1] {
		n--
	}
	b.end = b.first
	if n < len(p.User) {
		b.end = int(p.User[n])
	}
	p.User, p.Item, p.Label = p.User[:n], p.Item[:n], p.Label[:n]
}

// emptyMost bounds the documents without an entry that stand together in a block.
const emptyMost = 1 << 16

// bagCutter cuts the text of a docword where documents end.
type bagCutter struct {
	r       *reader
	job     job    // as the next is to be
	pending []byte // whole lines that were not handed out
	start   int    // where the last document of them begins
	doc     int    // its number in the text, 0 where there is none
}

// bag hands out the blocks of a docword; first is the one behind the header. The last document comes alone, with those without an entry behind it: nobody is
// given it before the file has as many entries as it promises.
func (r *reader) bag(ctx context.Context, s *source.Stream, blocks *lines.Blocks, first job) error {
	c := &bagCutter{r: r, job: first}
	text, buf := first.text, first.buf
	c.job.part.flows = true
	for ctx.Err() == nil && !r.failed.Load() {
		c.add(text)
		r.free <- buf
		if r.total > 0 {
			c.job.read = float64(r.taken+s.Position()) / float64(r.total)
		}
		if c.start > 0 {
			c.hand(c.start, false)
		}
		var err error
		if buf = <-r.free; cap(buf) < r.opt.blockBytes {
			buf = make([]byte, 0, r.opt.blockBytes)
		}
		if buf, err = blocks.Next(buf); err != nil {
			return err
		}
		if text = buf; len(text) == 0 {
			r.free <- buf
			c.hand(len(c.pending), true)
			return nil
		}
	}
	return nil
}

// add takes more lines, and finds where their last document begins.
func (c *bagCutter) add(text []byte) {
	from := len(c.pending)
	c.pending = append(c.pending, text...)
	at, doc := len(c.pending), 0
	for at > from {
		line := bytes.LastIndexByte(c.pending[from:at-1], '\n') + 1 + from
		switch n := docOf(c.pending[line:at]); {
		case n == 0: // blank
		case doc == 0:
			doc = n
		case n != doc:
			c.start, c.doc = at, doc
			return
		}
		at = line
	}
	if doc != 0 && doc != c.doc {
		c.start, c.doc = from, doc
	}
}

// docOf is the number that a line begins with, 0 where it is blank, and -1 where it begins with none: the parser says what is wrong.
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

// hand hands out the lines up to a place where a document ends, or all that is left. What comes before their first document without an entry goes ahead.
func (c *bagCutter) hand(at int, last bool) {
	text, most := c.pending[:at], c.job.bag.Docs
	end := most
	if !last {
		end = min(most, max(c.job.part.first, lastDoc(text)))
	}
	begin := end
	if n := firstDoc(text); n > 0 {
		begin = min(end, max(c.job.part.first, n-1))
	}
	for c.job.part.first+emptyMost < begin {
		c.send(nil, c.job.part.first+emptyMost, false)
	}
	rest := end
	if last { // those behind the last with an entry
		rest = min(end, max(c.job.part.first, lastDoc(text)))
	}
	if end-rest <= emptyMost {
		rest = end
	}
	c.send(text, rest, rest == end && last)
	for c.job.part.first < end {
		next := min(end, c.job.part.first+emptyMost)
		c.send(nil, next, next == end && last)
	}
	c.pending, c.start = append(c.pending[:0], c.pending[at:]...), 0
}

// send hands out one block.
func (c *bagCutter) send(text []byte, end int, last bool) {
	r, j := c.r, c.job
	j.buf = append((<-r.free)[:0], text...)
	j.text, j.block, j.piece = j.buf, r.blocks, &piece{source: c.job.piece.source}
	j.part.end, j.part.last = end, last
	c.job.part.first, c.job.skipped = end, 0
	r.blocks++
	r.jobs <- j
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

// partDocuments joins the entries of such documents. Where one has a word twice, the others before it are joined, and the worker has the error.
func (r *reader) partDocuments() *bags.Bags {
	p, first := r.pieces[0], r.part.first
	b := bags.New(len(p.Label))
	for i, d := range p.User {
		b.Open(int(d) - first + 1)
		b.Put(p.Item[i], int32(p.Label[i]))
	}
	b.Open(r.part.end - first)
	var twice *bags.Twice
	if err := b.Sort(); errors.As(err, &twice) {
		r.workers[0].late = r.twiceIn(p.source, &bags.Twice{Doc: first + twice.Doc, Word: twice.Word})
		b.Cut(twice.Doc)
	}
	return b
}

// promised is the error of a bag with another number of entries than its header has.
func (r *reader) promised(source, got, entries int) error {
	return &Error{File: r.ins[source].Shown(), What: fmt.Sprintf("the header promises %d entries, there are %d", entries, got),
		How: "the file is truncated, or its header belongs to another file"}
}
