package data

import (
	"bytes"

	"bellows/data/internal/bags"
	"bellows/data/internal/frames"
	"bellows/data/internal/layout"
	"bellows/data/internal/lines"
	"bellows/data/internal/source"
)

// blockBytes is the amount of text that one worker parses at a time. It is small enough for the processor's cache and
// for dividing small files among workers, and large enough to make the hand-over negligible.
const blockBytes = 256 << 10

// textReader reads lines of text. Its units are blocks of whole lines.
//
// Invariant: the number of buffers is the capacity of free, so that memory does not grow with the file.
type textReader struct {
	*reader
	free  chan []byte
	taken int64 // bytes of the inputs before the current one
	total int64 // bytes of all inputs; 0 if one is standard input
}

// A job is one block to parse.
type job struct {
	*piece
	text    []byte // whole lines
	buf     []byte // the buffer that text lies in
	skipped int    // lines of the block before text
	read    float64
	bag     lines.BagHeader
	part    bags.Part // docword
}

func newTextReader(r *reader) *textReader {
	t := &textReader{reader: r, free: make(chan []byte, 4*r.opt.Workers)}
	for range cap(t.free) {
		t.free <- nil
	}
	if r.waiting = r.opt.Workers; r.kind == Ratings {
		r.columns = lines.NewRatingColumns(t.free)
	}
	for _, in := range r.ins {
		if in.Path == "" {
			t.total = 0
			break
		}
		t.total += in.Size
	}
	return t
}

// units implements unitReader.
func (t *textReader) units(head *source.Stream) error {
	for n, in := range t.ins {
		t.source = n
		s := head
		if n > 0 {
			var err error
			if s, err = source.Open(t.ctx, in, t.opt.source()); err != nil {
				return err
			}
		}
		err := t.file(n, s)
		s.Close()
		t.taken += in.Size
		if err != nil || t.stops() {
			return err
		}
	}
	return nil
}

// file hands out the blocks of one input.
func (t *textReader) file(n int, s *source.Stream) error {
	if n > 0 && frames.FormOf(s.Head) != frames.Neither {
		return t.otherKind(n, frameFormat(s.Head))
	}
	blocks := &lines.Blocks{From: s, File: s.In.Shown(), LineMax: t.opt.Limits.LineBytes}
	for first := true; !t.stops(); first = false {
		buf := <-t.free
		if least := max(lines.HeaderBytes, t.opt.sampleBytes()); buf == nil || first && cap(buf) < least {
			buf = make([]byte, 0, max(t.opt.blockBytes, least))
		}
		buf, err := blocks.Next(buf)
		if err != nil {
			return err
		}
		j := &job{text: buf, buf: buf, piece: &piece{}}
		if first {
			if err := t.begin(n, j); err != nil {
				return err
			}
			if t.flow != nil && n == 0 { // nothing has been handed out
				if err := t.chooseFlow(); err != nil {
					return err
				}
			}
			if t.layout.Format == Docword {
				return t.bag(s, blocks, j)
			}
		}
		if len(buf) == 0 {
			t.free <- buf
			return nil
		}
		j.read = t.readPart(s)
		t.dispatch(func(w *worker) { w.parse(t, j) }, j.piece)
	}
	return nil
}

// readPart returns the fraction of all inputs that has been read, 0 if it is unknown.
func (t *textReader) readPart(s *source.Stream) float64 {
	if t.total == 0 {
		return 0
	}
	return float64(t.taken+s.Position()) / float64(t.total)
}

// bag hands out the blocks of a docword file. first is the block after the header.
func (t *textReader) bag(s *source.Stream, blocks *lines.Blocks, first *job) error {
	text, buf, skipped := first.text, first.buf, first.skipped
	c := &bags.Cutter{Docs: first.bag.Docs, Send: func(text []byte, part bags.Part) {
		if t.stops() {
			return
		}
		j := &job{piece: &piece{}, buf: append((<-t.free)[:0], text...), bag: first.bag, part: part, skipped: skipped, read: t.readPart(s)}
		if j.text, skipped = j.buf, 0; part.Last {
			j.promised = &first.bag.Entries
		}
		if !t.dispatch(func(w *worker) { w.parse(t, j) }, j.piece) {
			t.free <- j.buf
		}
	}}
	for !t.stops() {
		c.Add(text)
		t.free <- buf
		if buf = <-t.free; cap(buf) < t.opt.blockBytes {
			buf = make([]byte, 0, t.opt.blockBytes)
		}
		var err error
		if buf, err = blocks.Next(buf); err != nil {
			return err
		}
		if text = buf; len(text) == 0 {
			t.free <- buf
			c.End()
			return nil
		}
	}
	return nil
}

// byteOrderMark may begin a UTF-8 text.
var byteOrderMark = []byte("\xef\xbb\xbf")

// begin makes the layout of an input from its first block, and strips what comes before the first record.
func (r *reader) begin(n int, j *job) error {
	j.text = bytes.TrimPrefix(j.text, byteOrderMark)
	if r.kind == Documents && len(j.text) > 0 {
		return r.beginDocuments(n, j)
	}
	d := &layout.Detector{Kind: r.kind, Opt: r.opt.layout(), In: r.ins[n]}
	if separator, end := layout.SeparatorLine(j.text); end > 0 {
		if d.Opt.Separator == "" {
			d.Opt.Separator = separator
		}
		j.text, j.skipped = j.text[end:], 1
	}
	start, line := d.FirstRecord(j.text)
	if line != nil {
		d.Sample(j.text, start, r.opt.sampleBytes()-(len(j.buf)-len(j.text)))
	}
	if line == nil {
		what := "the file is empty"
		if len(j.text) > 0 {
			what = "the file has no rows, only blank lines and comments"
		}
		return &Error{File: r.ins[n].Shown(), What: what, How: "name a file with data, or leave it out"}
	}
	next, f := d.Begin(r.layout, line, r.ins[0].Shown())
	if f != nil {
		f.At += start
		e := lines.Locate(r.ins[n].Shown(), j.text, f)
		e.Line += j.skipped
		return e
	}
	if r.layout == nil { // workers read the layout from the first block on
		r.layout = next
	}
	if next.Header && next.Keys == nil {
		end := start + bytes.IndexByte(j.text[start:], '\n') + 1
		j.skipped += bytes.Count(j.text[:end], []byte("\n"))
		j.text = j.text[end:]
	}
	return nil
}

// parse parses one block into its piece, and returns its buffer to free when it is done.
func (w *worker) parse(t *textReader, j *job) {
	if w.parser == nil {
		w.parser, w.inner = t.layout.Parser(t.opt.layout(), &w.Numbers)
	}
	switch p := w.inner.(type) {
	case *lines.Triples:
		p.Block = int32(j.number)
	case *lines.Text:
		p.Block = int32(j.number)
	case *lines.Docword:
		p.Docs, p.Words, p.After = j.bag.Docs, j.bag.Words, j.part.First
	case *lines.LDAC:
		if t.known != nil {
			p.WordMax, p.Beyond = len(t.known)-1, t.beyond
		}
	}
	j.worker = w.number
	w.scratch.Reset()
	if f := w.parser.Parse(j.text, &w.scratch); f != nil {
		t.layout.HeaderAgain(j.text, f)
		j.err = lines.Locate(t.ins[j.source].Shown(), j.text, f)
		j.err.Line += j.skipped
		t.failed.Store(true)
		if t.flow == nil {
			t.free <- j.buf
			return
		}
		w.parseAbove(j, f.At)
	}
	if j.rows = len(w.scratch.Label); t.layout.Format == Docword {
		t.joinBag(j, &w.scratch)
	}
	j.lines = j.skipped + bytes.Count(j.text, []byte("\n"))
	t.rowsRead(j.rows)
	t.out.Add(int64(w.scratch.Weightless))
	switch {
	case t.flow != nil:
		set, late := w.joined(t.reader, j.piece)
		t.free <- j.buf
		t.flow.pass(t.reader, j.piece, set, late)
	case t.columns != nil:
		t.columns.Add(int32(j.number), &w.scratch, j.buf, j.read)
	default:
		j.Piece = w.scratch.Clone()
		t.free <- j.buf
	}
}

// joinBag makes documents of the entries of a docword block.
func (t *textReader) joinBag(j *job, p *lines.Piece) {
	if j.entries = len(p.Label); j.err != nil {
		j.part.Cut(p)
	}
	j.rows = j.part.End - j.part.First
	if twice := bags.Join(p, j.part); twice != nil {
		t.failed.Store(true)
		j.rows, j.twice = len(p.Ends), t.duplicateWordError(j.source, twice)
	}
}

// parseAbove parses again the lines of the block that stand above the one with a defect.
func (w *worker) parseAbove(j *job, at int) {
	j.text = j.text[:bytes.LastIndexByte(j.text[:min(at, len(j.text))], '\n')+1]
	w.forget()
	w.scratch.Reset()
	if w.parser.Parse(j.text, &w.scratch) != nil {
		w.scratch.Reset() // they were parsed before, and do not depend on what follows
	}
}
