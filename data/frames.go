package data

import (
	"cmp"
	"fmt"
	"io"

	"bellows/data/internal/frames"
	"bellows/data/internal/layout"
	"bellows/data/internal/lines"
	"bellows/data/internal/source"
)

// frameFormat returns the format of a columnar file by its first bytes, "" for other files.
func frameFormat(head []byte) Format { return formOf(frames.FormOf(head)) }

// formOf returns the Format for a form of package frames.
func formOf(form int) Format {
	switch form {
	case frames.Parquet:
		return Parquet
	case frames.Arrow:
		return Arrow
	}
	return ""
}

// isFrames reports whether an input is a columnar file, or should be one by its name or its option.
func isFrames(s *source.Stream, opt *Options) bool {
	return frameFormat(s.Head) != "" || opt.Format.Framed() || opt.Format == "" && layout.FormatOf(s.In.Name).Framed()
}

// framesReader reads columnar files, Parquet and Arrow. Its units are row groups or record batches, and their rows
// become pieces like rows of text. In a stream the units are parts of row groups or record batches, and a single row
// group or record batch is open at a time.
//
// Rejected: rows written as CSV for the parsers of text, which takes ten times as long; and one worker per column,
// because all would wait for the slowest.
type framesReader struct {
	*reader
	format Format
	files  frames.Files
}

func newFramesReader(r *reader, head *source.Stream) *framesReader {
	f, l := &framesReader{reader: r, format: frameFormat(head.Head)}, r.opt.Limits
	f.files = frames.Files{Ins: r.ins, Limits: frames.Limits{Rows: l.Rows, Columns: l.Features, Bytes: l.OutputBytes}, Check: f.check, Open: func(n int) (*source.Stream, error) { return source.Open(r.ctx, r.ins[n], r.opt.source()) },
		Done: func(bytes int64) { _ = r.opt.Meter.Add(bytes) }} // units checks the context
	return f
}

// units implements unitReader.
func (r *framesReader) units(head *source.Stream) error {
	defer r.files.Close()
	if err := r.begin(head); err != nil {
		return err
	}
	hand := r.dispatchPart
	if r.flow != nil {
		hand = r.streamParts()
	}
	for !r.stops() {
		part, err := r.files.Next()
		if err == io.EOF {
			return nil
		}
		r.source = r.files.Source()
		if err != nil {
			return err
		}
		hand(part)
	}
	return nil
}

// otherKind returns the error for a further input whose format differs from the first.
func (r *reader) otherKind(n int, format Format) *Error {
	first := "text"
	if r.layout != nil {
		first = r.layout.Format.Shown()
	}
	return &Error{File: r.ins[n].Shown(), What: fmt.Sprintf("the file is %s, %s is %s", cmp.Or(format.Shown(), "neither Parquet nor Arrow"), r.ins[0].Shown(), first), How: "read files of different kinds in separate runs"}
}

// check refuses an input whose format is not the expected one.
func (r *framesReader) check(n, form int) error {
	switch format := formOf(form); {
	case n > 0 && format != r.format:
		return r.otherKind(n, format)
	case format != "" && r.opt.Format != "" && r.opt.Format != format:
		return &Error{File: r.ins[n].Shown(), What: fmt.Sprintf("this is %s, and --format says %s", format.Shown(), r.opt.Format), How: "leave out --format"}
	}
	return nil
}

// begin opens the first input and settles the role of each column by its first rows.
func (r *framesReader) begin(head *source.Stream) error {
	keys, below, err := r.files.Begin(head, r.opt.sampleBytes())
	if err != nil {
		return err
	}
	d := &layout.Detector{Kind: r.kind, Opt: r.opt.layout(), In: r.ins[0]}
	p, f := d.Frames(keys, below, r.format)
	if f != nil {
		return &Error{File: r.ins[0].Shown(), What: f.What, How: f.How}
	}
	r.layout = p
	if r.flow != nil {
		if err := r.chooseFlow(); err != nil {
			return err
		}
	}
	return r.files.Settle(frames.Wanted{Keys: p.Keys, Used: p.Used, Label: p.Label, Strict: r.kind == Examples})
}

// dispatchPart hands out a part; one worker makes its rows.
func (r *framesReader) dispatchPart(part *frames.Part) {
	var pieces []*piece
	for left := part.Rows(); left > 0; left -= frames.RowsMost {
		pieces = append(pieces, &piece{})
	}
	if len(pieces) == 0 || !r.dispatch(func(w *worker) { r.readPart(w, part, pieces) }, pieces...) {
		part.Close()
	}
}

// readPart makes the rows of a part.
func (r *framesReader) readPart(w *worker, part *frames.Part, pieces []*piece) {
	defer part.Close()
	row := part.Row
	for vs, err := range part.Read(part.Columns) {
		p := pieces[0]
		p.worker = w.number
		if row += r.makeRows(w, p, vs, err, row); p.err != nil {
			return
		}
		if r.columns != nil {
			r.columns.Add(int32(p.number), &w.scratch, nil, 0)
		} else if r.layout.Table != nil { // it was allocated at its final length
			p.Piece, w.scratch = w.scratch, lines.Piece{}
		} else {
			p.Piece = w.scratch.Clone()
		}
		pieces = pieces[1:]
	}
}

// makeRows makes rows of vectors, or notes their error. row is the number of the first row in the input, from 0. It
// returns the number of rows that it took from the input.
func (r *framesReader) makeRows(w *worker, p *piece, vs []frames.Vector, err error, row int64) int64 {
	if w.cells == nil {
		w.cells = newCells(r.layout, w, r.opt)
	}
	if w.cells.Block = int32(p.number); err != nil {
		w.scratch.Reset()
		p.err = frames.Explain(r.ins[p.source], err)
	} else {
		p.err = r.takeRows(w, vs, p.source, row)
	}
	if p.err != nil {
		r.failed.Store(true)
	}
	p.rows = len(w.scratch.Label)
	r.rowsRead(p.rows)
	r.out.Add(int64(w.scratch.Weightless))
	return int64(frames.RowsOf(vs))
}

// streamParts returns the function that hands out the parts of a stream. The caller's goroutine makes their rows, so
// that one part is open at a time; the rows of a large part then flow on all processors.
func (r *framesReader) streamParts() func(part *frames.Part) {
	free := make(chan *worker, len(r.workers)+1)
	free <- &worker{}
	for _, w := range r.workers {
		free <- w
	}
	return func(part *frames.Part) {
		defer part.Close()
		row := part.Row
		for vs, err := range part.Read(part.Columns) {
			if r.stops() {
				return
			}
			w, p := <-free, &piece{}
			r.place(p)
			row += r.makeRows(w, p, vs, err, row)
			r.jobs <- func(*worker) {
				set, late := w.joined(r.reader, p)
				free <- w
				r.flow.pass(r.reader, p, set, late)
			}
		}
	}
}

// takeRows makes rows of vectors. row is the number of the first one in the input, from 0. If rows have errors, take
// returns that of the first such row, and makes the rows above it.
func (r *framesReader) takeRows(w *worker, vs []frames.Vector, source int, row int64) (err *Error) {
	for {
		w.scratch.Reset()
		f := w.cells.Take(vs, &w.scratch)
		if f == nil {
			return err
		}
		at := w.cells.Row
		err = &Error{File: r.ins[source].Shown(), What: fmt.Sprintf("row %d: %s", row+int64(at)+1, f.What), How: f.How}
		w.forget()
		if vs = frames.Above(vs, at); at == 0 {
			w.scratch.Reset()
			return err
		}
	}
}

// newCells returns what a worker uses to turn values into rows.
func newCells(p *layout.Layout, w *worker, opt *Options) *frames.Cells {
	c := &frames.Cells{Keys: p.Keys, Used: p.Used, Times: p.Times, Missing: p.Missing}
	switch {
	case p.Words:
		c.Words = p.TextParser(&w.Numbers)
	case p.Table == nil:
		w.Users.Missing, w.Items.Missing = p.Missing, p.Missing
		c.Users, c.Items, c.User, c.Item, c.Label, c.Origin = &w.Users, &w.Items, p.User, p.Item, p.Label, p.Origin
	default:
		if p.WordLabels {
			w.Labels = &lines.Levels{Max: layout.ClassesMost, Buckets: 1, Missing: p.Missing}
		} else if !opt.Unlabelled && !opt.Numbers {
			c.Numerals, w.Numerals.All = &w.Numerals, p.Origin != 0
		}
		c.Uses, c.Width = p.Uses(&w.Numbers), len(p.Table.Features)
		c.Weighs, c.Weight = p.Table.Weight >= 0, p.Table.Weight
	}
	return c
}
