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

// frameFormat is the format of a file that keeps columns apart, by its first bytes; "" of others.
func frameFormat(head []byte) Format { return formOf(frames.Is(head)) }

// formOf is the format of a form.
func formOf(form int) Format {
	switch form {
	case frames.Parquet:
		return Parquet
	case frames.Arrow:
		return Arrow
	}
	return ""
}

// isFrames says whether an input is, or should be, a file that keeps columns apart.
func isFrames(s *source.Stream, opt *Options) bool {
	return frameFormat(s.Head) != "" || opt.Format.Framed() || opt.Format == "" && layout.FormatOf(s.In.Name).Framed()
}

// framesReader reads files that keep columns apart. Its units are row groups or record batches. Their rows become pieces
// as those of text do. Of a stream they are parts of these, and a single row group or record batch is open at a time.
//
// Turned down: rows written as CSV for the parsers of text, which takes ten times as long; and one worker for each column,
// because all would wait for the slowest.
type framesReader struct {
	*reader
	format Format
	files  frames.Files
}

func newFramesReader(r *reader, head *source.Stream) *framesReader {
	f, l := &framesReader{reader: r, format: frameFormat(head.Head)}, r.opt.Limits
	f.files = frames.Files{Ins: r.ins, Limits: frames.Limits{Rows: l.Rows, Columns: l.Features, Bytes: l.OutputBytes}, Check: f.check,
		Open: func(n int) (*source.Stream, error) { return source.Open(r.ctx, r.ins[n], r.opt.source()) },
		Done: func(bytes int64) { _ = r.opt.Meter.Add(bytes) }} // units looks at the context
	return f
}

// units implements unitReader.
func (r *framesReader) units(head *source.Stream) error {
	defer r.files.Close()
	if err := r.begin(head); err != nil {
		return err
	}
	hand := r.whole
	if r.flow != nil {
		hand = r.stepwise()
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

// otherKind is the error of a further input that is of another format than the first.
func (r *reader) otherKind(n int, format Format) *Error {
	first := "text"
	if r.layout != nil {
		first = r.layout.Format.Shown()
	}
	return &Error{File: r.ins[n].Shown(), What: fmt.Sprintf("the file is %s, %s is %s", cmp.Or(format.Shown(), "neither Parquet nor Arrow"), r.ins[0].Shown(), first),
		How: "read files of different kinds in separate runs"}
}

// check refuses an input of another format than is wanted.
func (r *framesReader) check(n, form int) error {
	switch format := formOf(form); {
	case n > 0 && format != r.format:
		return r.otherKind(n, format)
	case format != "" && r.opt.Format != "" && r.opt.Format != format:
		return &Error{File: r.ins[n].Shown(), What: fmt.Sprintf("this is %s, and --format says %s", format.Shown(), r.opt.Format), How: "leave out --format"}
	}
	return nil
}

// begin opens the first input and settles what becomes of its columns, by its first rows.
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

// whole hands out a part; one worker makes its rows.
func (r *framesReader) whole(part *frames.Part) {
	var pieces []*piece
	for left := part.Rows(); left > 0; left -= frames.RowsMost {
		pieces = append(pieces, &piece{})
	}
	if len(pieces) == 0 || !r.hand(func(w *worker) { r.rowsOf(w, part, pieces) }, pieces...) {
		part.Close()
	}
}

// rowsOf makes rows of a part.
func (r *framesReader) rowsOf(w *worker, part *frames.Part, pieces []*piece) {
	defer part.Close()
	row := part.Row
	for vs, err := range part.Read(part.Columns) {
		p := pieces[0]
		p.worker = w.number
		if row += r.make(w, p, vs, err, row); p.err != nil {
			return
		}
		if r.columns != nil {
			r.columns.Add(int32(p.number), &w.scratch, nil, 0)
		} else if r.layout.Table != nil { // it was made as long as it is
			p.Piece, w.scratch = w.scratch, lines.Piece{}
		} else {
			p.Piece = w.scratch.Clone()
		}
		pieces = pieces[1:]
	}
}

// make makes rows of vectors, or notes their error. row is the number of the first in the input, from 0. It returns the
// number of rows that it took from the input.
func (r *framesReader) make(w *worker, p *piece, vs []frames.Vector, err error, row int64) int64 {
	if w.cells == nil {
		w.cells = cells(r.layout, w, r.opt)
	}
	if w.cells.Block = int32(p.number); err != nil {
		w.scratch.Reset()
		p.err = frames.Explain(r.ins[p.source], err)
	} else {
		p.err = r.take(w, vs, p.source, row)
	}
	if p.err != nil {
		r.failed.Store(true)
	}
	p.rows = len(w.scratch.Label)
	r.rowsRead(p.rows)
	r.out.Add(int64(w.scratch.Weightless))
	return int64(frames.RowsOf(vs))
}

// stepwise returns what hands out the parts of a stream. The caller's goroutine makes their rows, so that one part is open at
// a time, and rows of large parts flow on all processors.
func (r *framesReader) stepwise() func(part *frames.Part) {
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
			row += r.make(w, p, vs, err, row)
			r.jobs <- func(*worker) {
				set, late := w.joined(r.reader, p)
				free <- w
				r.flow.pass(r.reader, p, set, late)
			}
		}
	}
}

// take makes rows of vectors, the first of which is a row of the input with that number, counted from 0. Of an error, which is that of the first row that has
// one, the rows above it are made.
func (r *framesReader) take(w *worker, vs []frames.Vector, source int, row int64) (err *Error) {
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

// cells is what a worker puts values where rows have them with.
func cells(p *layout.Layout, w *worker, opt *Options) *frames.Cells {
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
