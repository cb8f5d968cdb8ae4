package data

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"bellows/data/internal/frames"
	"bellows/data/internal/lines"
	"bellows/data/internal/source"
	"bellows/progress"
)

// frameFormat is the format of a file that keeps columns apart, by its first bytes; "" of others.
func frameFormat(head []byte) Format {
	switch frames.Is(head) {
	case frames.Parquet:
		return Parquet
	case frames.Arrow:
		return Arrow
	}
	return ""
}

// isFrames says whether an input is, or should be, a file that keeps columns apart.
func isFrames(s *source.Stream, opt *Options) bool {
	return frameFormat(s.Head) != "" || opt.Format.framed() || opt.Format == "" && formatOf(s.In.Name).framed()
}

// framesReader reads files that keep columns apart: each worker takes one row group or record batch after the other, and makes of the rows of each the
// pieces that blocks of text become.
//
// Invariants: what is below mu is changed under it alone, but for the pieces themselves, which belong to the worker that took them until all have ended. Pieces stand in the
// order of the rows, and each worker takes its own in that order.
//
// Turned down: rows written as CSV for the parsers of text, which takes ten times as long; and one worker for each column, which would wait for the slowest.
type framesReader struct {
	*reader
	format Format
	mu     sync.Mutex
	source int // the input that is read
	file   *openFile
	cols   []int          // of the file, those that are used, in the order of the layout's
	rows   int64          // of the file, handed out
	ahead  []frames.Chunk // of the first file: looked at, and not handed out yet
}

// openFile is a file that is read. It is closed when nobody reads of it, and all of it was handed out.
type openFile struct {
	frames.File
	close func() error
	users int // workers that read of it, and one while it is handed out
}

// leave closes a file that it was the last to use.
func (r *framesReader) leave(f *openFile) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left(f)
}

// left is leave for who has the lock.
func (r *framesReader) left(f *openFile) {
	if f == nil {
		return
	}
	if f.users--; f.users == 0 {
		_ = f.close() // nothing was written
	}
}

// share is what a worker takes at a time.
type share struct {
	file   *openFile
	chunk  frames.Chunk
	cols   []int
	pieces []*piece
	block  int32 // the number of the first piece
	row    int64 // how many rows of the file stand before it
}

// parseFrames reads inputs of columns; head is the first, open.
func parseFrames(ctx context.Context, ins []source.Input, head *source.Stream, kind Kind, opt *Options) (*Set, error) {
	r := &framesReader{reader: newReader(ctx, kind, ins, opt), format: frameFormat(head.Head)}
	if kind == Ratings {
		r.columns = newRatingColumns(nil)
	}
	defer func() { r.leave(r.file) }()
	if err := r.begin(head); err != nil {
		return nil, err
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
	if err := opt.ended(ctx); err != nil {
		return nil, err
	}
	if err := r.firstError(); err != nil {
		return nil, err
	}
	opt.Meter.Begin(progress.Part{Doing: "joining what was read", Total: int64(len(r.pieces))})
	set, err := r.assemble()
	if ended := opt.ended(ctx); ended != nil {
		return nil, ended
	}
	return set, err
}

// otherKind is the error of a further input that is of another format than the first.
func (r *reader) otherKind(n int, format Format) *Error {
	first := "text"
	if r.layout != nil {
		first = r.layout.format.shown()
	}
	return &Error{File: r.ins[n].Shown(), What: fmt.Sprintf("the file is %s, %s is %s", cmp.Or(format.shown(), "neither Parquet nor Arrow"), r.ins[0].Shown(), first),
		How: "read files of different kinds in separate runs"}
}

// open opens an input whose stream is given.
func (r *framesReader) open(s *source.Stream) error {
	if format := frameFormat(s.Head); format != "" && r.opt.Format != "" && r.opt.Format != format {
		s.Close()
		return &Error{File: s.In.Shown(), What: fmt.Sprintf("this is %s, and --format says %s", format.shown(), r.opt.Format), How: "leave out --format"}
	}
	f, end, err := frames.Open(s, frames.Limits{Rows: r.opt.Limits.Rows, Columns: r.opt.Limits.Features, Bytes: r.opt.Limits.OutputBytes})
	if err != nil {
		return err
	}
	r.file = &openFile{File: f, close: end, users: 1}
	return nil
}

// begin opens the first input and settles what becomes of its columns, by its first rows.
func (r *framesReader) begin(head *source.Stream) error {
	if err := r.open(head); err != nil {
		return err
	}
	var keys []string
	for _, c := range r.file.Columns() {
		keys = append(keys, c.Name)
	}
	if len(keys) == 0 {
		return &Error{File: r.ins[0].Shown(), What: "the file has no columns", How: "name a file with data, or leave it out"}
	}
	below, ahead, err := frames.Sample(r.file, r.opt.sampleBytes())
	if r.ahead = ahead; err != nil {
		return frames.Explain(r.ins[0], err)
	}
	d := &detector{kind: r.kind, opt: r.opt, in: r.ins[0]}
	p, f := d.frames(keys, below, r.format)
	if f != nil {
		return &Error{File: r.ins[0].Shown(), What: f.What, How: f.How}
	}
	r.layout = p
	return r.find(0)
}

// frames makes the layout of columns that have names, from some of their rows.
func (d *detector) frames(keys []string, below []byte, format Format) (*layout, *lines.Fault) {
	shown := format.shown()
	switch {
	case d.opt.Separator != "":
		return nil, &lines.Fault{What: "the columns of " + shown + " have no separator", How: "leave out --sep"}
	case d.opt.Header == HeaderNo:
		return nil, &lines.Fault{What: "the columns of " + shown + " have names", How: "leave out --header no"}
	case d.opt.HashBits > 0:
		return nil, &lines.Fault{What: shown + " has no names to be hashed", How: "leave out --hash-bits, which is for Vowpal Wabbit text"}
	case d.opt.IndexBase != "" && d.opt.As == nil:
		return nil, &lines.Fault{What: "the columns of " + shown + " have no indices that a base could count from", How: "leave out --base, which is for LIBSVM"}
	case d.kind == Examples && (d.opt.Features > 0 && d.opt.As.trained() == nil):
		return nil, &lines.Fault{What: "the features of the model have no names, and those of " + shown + " are found by their names", How: "give the rows in the form that training had"}
	case d.kind == Documents:
		p, f := d.textAmong(keys, "column")
		if f == nil {
			p.format = format
		}
		return p, f
	}
	p, f := d.named(keys, below)
	if f != nil {
		return nil, &lines.Fault{What: ofColumns.Replace(f.What), How: ofColumns.Replace(f.How)}
	}
	p.format = format
	return p, nil
}

// ofColumns is what is said of a header and the first line where there are columns with names.
var ofColumns = strings.NewReplacer("the first line has", "the file has", "The first line has", "The file has", "the header names", "the file names", "the header does not name", "the file does not name",
	"first line", "file", ", separated by comma", "")

// following makes the input at n the one that is read.
func (r *framesReader) following(n int) error {
	s, err := source.Open(r.ctx, r.ins[n], r.opt.source())
	if err != nil {
		return err
	}
	if format := frameFormat(s.Head); n > 0 && format != r.format {
		s.Close()
		return r.otherKind(n, format)
	}
	if err := r.open(s); err != nil {
		return err
	}
	return r.find(n)
}

// find finds the columns that are used in the file, which is the input at n.
func (r *framesReader) find(n int) error {
	r.source, r.rows, r.cols = n, 0, nil
	file := r.file.Columns()
	for k, key := range r.layout.keys {
		at := slices.IndexFunc(file, func(c frames.Column) bool { return c.Name == key })
		switch {
		case !r.layout.used[k]:
			continue
		case at < 0:
			return &Error{File: r.ins[n].Shown(), What: fmt.Sprintf("the column %s is missing, which %s has", lines.Quoted([]byte(key)), r.ins[0].Shown()), How: "give every file the same columns, in any order"}
		case file[at].Odd != "":
			how := "leave it out with --ignore " + key
			if !lines.IsPlain(key) {
				how = fmt.Sprintf("leave it out with --ignore %d", at+1)
			}
			if r.kind != Examples || k == r.layout.label {
				how = "name another column"
			}
			return &Error{File: r.ins[n].Shown(), What: fmt.Sprintf("the column %s %s, where numbers or text are wanted", lines.Quoted([]byte(key)), file[at].Odd), How: how}
		}
		r.cols = append(r.cols, at)
	}
	if r.kind == Examples {
		for _, c := range file {
			if !slices.Contains(r.layout.keys, c.Name) {
				return &Error{File: r.ins[n].Shown(), What: fmt.Sprintf("%s has no column %s", r.ins[0].Shown(), lines.Quoted([]byte(c.Name))), How: "give every file the same columns, in any order"}
			}
		}
	}
	return nil
}

// next is the next share, nil behind the last, or when the read is to end.
func (r *framesReader) next() *share {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.failed.Load() && r.opt.ended(r.ctx) == nil && r.source < len(r.ins) {
		chunk, err := r.ofFile()
		if err == nil {
			r.file.users++
			s := &share{file: r.file, chunk: chunk, cols: r.cols, block: int32(len(r.pieces)), row: r.rows}
			for left := chunk.Rows(); left > 0; left -= frames.RowsMost {
				s.pieces = append(s.pieces, &piece{source: r.source})
			}
			r.pieces = append(r.pieces, s.pieces...)
			r.rows += int64(chunk.Rows())
			return s
		}
		if err != io.EOF {
			r.fail(r.source, frames.Explain(r.ins[r.source], err))
			return nil
		}
		r.left(r.file)
		r.file = nil
		_ = r.opt.Meter.Add(r.ins[r.source].Size)
		if r.source++; r.source == len(r.ins) {
			return nil
		}
		if err := r.following(r.source); err != nil {
			r.fail(r.source, err)
			return nil
		}
	}
	return nil
}

// ofFile is the next part of the file.
func (r *framesReader) ofFile() (frames.Chunk, error) {
	if len(r.ahead) > 0 {
		chunk := r.ahead[0]
		r.ahead = r.ahead[1:]
		return chunk, nil
	}
	return r.file.Next()
}

// share makes the pieces of a share.
func (r *framesReader) share(n int, w *worker, s *share) {
	defer r.leave(s.file)
	defer s.chunk.Close()
	if len(s.pieces) == 0 {
		return
	}
	if w.cells == nil {
		w.cells = r.layout.cells(w)
	}
	i, row := 0, s.row
	for vs, err := range s.chunk.Read(s.cols) {
		p := s.pieces[i]
		p.worker = n
		if err != nil {
			p.err = frames.Explain(r.ins[p.source], err)
			r.failed.Store(true)
			return
		}
		w.scratch.Reset()
		w.cells.Block = s.block + int32(i)
		if f := w.cells.Take(vs, &w.scratch); f != nil {
			p.err = &Error{File: r.ins[p.source].Shown(), What: fmt.Sprintf("row %d: %s", row+int64(w.cells.Row)+1, f.What), How: f.How}
			r.failed.Store(true)
			return
		}
		p.rows = len(w.scratch.Label)
		if r.rowsRead(p.rows); r.columns != nil {
			r.columns.add(s.block+int32(i), &w.scratch, nil, 0)
		} else if r.layout.table != nil { // it was made as long as it is
			p.Piece, w.scratch = w.scratch, lines.Piece{}
		} else {
			p.Piece = w.scratch.Clone()
		}
		i++
		row += int64(p.rows)
	}
}

// cells is what a worker puts values where rows have them with.
func (p *layout) cells(w *worker) *frames.Cells {
	c := &frames.Cells{Keys: p.keys, Used: p.used, Times: p.times}
	switch {
	case p.words:
		c.Words = &w.items
	case p.table == nil:
		c.Users, c.Items, c.User, c.Item, c.Label = &w.users, &w.items, p.user, p.item, p.label
	default:
		if p.wordLabels {
			w.labels = &lines.Levels{Max: classesMax, Buckets: 1}
		}
		c.Uses, c.Width = p.uses(w), len(p.table.Features)
	}
	return c
}

// rowsRead counts rows against the limit.
func (r *reader) rowsRead(n int) {
	if r.rows.Add(int64(n)) > r.opt.Limits.Rows && r.flow == nil {
		r.failed.Store(true)
	}
}
