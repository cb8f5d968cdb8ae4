package data

import (
	"cmp"
	"context"
	"fmt"
	"sync"

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

// framesReader reads files that keep columns apart: each worker takes one row group or record batch after the other, and makes of the rows of each the
// pieces that blocks of text become.
//
// Invariants: pieces and their number are changed where files hand out, which they do for one at a time; the pieces themselves belong to the worker that took
// them until all have ended. Pieces stand in the order of the rows, and each worker takes its own in that order.
//
// Turned down: rows written as CSV for the parsers of text, which takes ten times as long; and one worker for each column, which would wait for the slowest.
type framesReader struct {
	*reader
	format Format
	files  frames.Files
}

// share is what a worker takes at a time.
type share struct {
	*frames.Part
	pieces []*piece
	block  int32 // the number of the first piece
}

// parseFrames reads inputs of columns; head is the first, open.
func parseFrames(ctx context.Context, ins []source.Input, head *source.Stream, kind Kind, opt *Options, f *flow) (*Set, error) {
	r := &framesReader{reader: newReader(ctx, kind, ins, opt), format: frameFormat(head.Head)}
	if r.flow = f; kind == Ratings {
		r.columns = lines.NewRatingColumns(nil)
	}
	l := opt.Limits
	r.files = frames.Files{Ins: ins, Limits: frames.Limits{Rows: l.Rows, Columns: l.Features, Bytes: l.OutputBytes}, Check: r.check,
		Open: func(n int) (*source.Stream, error) { return source.Open(ctx, ins[n], opt.source()) },
		Done: func(bytes int64) { _ = opt.Meter.Add(bytes) }} // whoever takes a part asks the context
	defer r.files.Close()
	if err := r.begin(head); err != nil {
		return nil, err
	}
	if r.flow != nil {
		r.stream()
		if err := opt.ended(ctx); err != nil {
			return nil, err
		}
		return nil, r.flow.end(r.reader)
	}
	var wg sync.WaitGroup
	for n, w := range r.workers {
		wg.Go(func() {
			for s := r.next(); s != nil; s = r.next() {
				r.share(n, w, s)
			}
		})
	}
	wg.Wait()
	return r.joined()
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

// next is the next share, nil behind the last, or when the read is to end.
func (r *framesReader) next() *share {
	if r.failed.Load() || r.opt.ended(r.ctx) != nil {
		return nil
	}
	s := &share{}
	part := r.files.Next(func(p *frames.Part) {
		s.block = int32(len(r.pieces))
		for left := p.Rows(); left > 0; left -= frames.RowsMost {
			s.pieces = append(s.pieces, &piece{source: p.Source})
		}
		r.pieces = append(r.pieces, s.pieces...)
	}, r.fail)
	if s.Part = part; part == nil {
		return nil
	}
	return s
}

// share makes the pieces of a share.
func (r *framesReader) share(n int, w *worker, s *share) {
	defer s.Close()
	if len(s.pieces) == 0 {
		return
	}
	if w.cells == nil {
		w.cells = cells(r.layout, w, r.opt)
	}
	i, row := 0, s.Row
	for vs, err := range s.Read(s.Columns) {
		p := s.pieces[i]
		p.worker = n
		if err != nil {
			p.err = frames.Explain(r.ins[p.source], err)
			r.failed.Store(true)
			return
		}
		w.cells.Block = s.block + int32(i)
		if p.err = r.take(w, vs, p.source, row); p.err != nil {
			r.failed.Store(true)
			return
		}
		p.rows = len(w.scratch.Label)
		r.out.Add(int64(w.scratch.Weightless))
		if r.rowsRead(p.rows); r.columns != nil {
			r.columns.Add(s.block+int32(i), &w.scratch, nil, 0)
		} else if r.layout.Table != nil { // it was made as long as it is
			p.Piece, w.scratch = w.scratch, lines.Piece{}
		} else {
			p.Piece = w.scratch.Clone()
		}
		i++
		row += int64(frames.RowsOf(vs))
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

// stream gives the rows away block by block: one goroutine, the caller's, makes rows of one part after the other, and others take them. So a single row group or
// record batch is open at a time, however large the files are, and rows flow from large ones on all processors.
func (r *framesReader) stream() {
	free, blocks := make(chan *worker, len(r.workers)+1), make(chan *job)
	free <- &worker{}
	for _, w := range r.workers {
		free <- w
	}
	var wg sync.WaitGroup
	for range r.workers {
		wg.Go(func() {
			for j := range blocks {
				r.rowsRead(j.piece.rows)
				r.out.Add(int64(j.by.scratch.Weightless))
				r.flow.pass(r.reader, j.by, j)
				free <- j.by
			}
		})
	}
	hand := func(w *worker, p *piece) {
		p.rows = len(w.scratch.Label)
		blocks <- &job{piece: p, block: r.blocks, buf: <-r.free, by: w}
		r.blocks++
	}
	for part := r.files.Next(func(*frames.Part) {}, r.fail); part != nil; part = r.files.Next(func(*frames.Part) {}, r.fail) {
		row := part.Row
		for vs, err := range part.Read(part.Columns) {
			if r.failed.Load() || r.opt.ended(r.ctx) != nil {
				break
			}
			w, p := <-free, &piece{source: part.Source}
			if w.cells == nil {
				w.cells = cells(r.layout, w, r.opt)
			}
			if w.cells.Block = r.blocks; err != nil {
				w.scratch.Reset()
				p.err = frames.Explain(r.ins[part.Source], err)
			} else {
				p.err = r.take(w, vs, part.Source, row)
				row += int64(frames.RowsOf(vs))
			}
			if p.err != nil {
				r.failed.Store(true)
			}
			hand(w, p)
		}
		if part.Close(); r.failed.Load() || r.opt.ended(r.ctx) != nil {
			break
		}
	}
	close(blocks)
	wg.Wait()
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

// rowsRead counts rows against the limit.
func (r *reader) rowsRead(n int) {
	if r.rows.Add(int64(n)) > r.opt.Limits.Rows && r.flow == nil {
		r.failed.Store(true)
	}
}
