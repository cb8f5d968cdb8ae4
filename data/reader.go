package data

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"bellows/data/internal/bags"
	"bellows/data/internal/columns"
	"bellows/data/internal/frames"
	"bellows/data/internal/layout"
	"bellows/data/internal/lines"
	"bellows/data/internal/source"
	"bellows/progress"
)

// unitReader reads inputs of one format. A unit is what a worker takes at a time: a block of lines, a row group,
// a batch of images.
type unitReader interface {
	// units opens the inputs and hands out their units in order, each as a piece, or several. head is the first
	// input, open; nil for a folder.
	units(head *source.Stream) error
	// join returns the set of all pieces.
	join() (*Set, error)
}

// reader reads inputs of any format. The caller's goroutine cuts them into units, and workers make rows of these.
// The pieces are joined at the end, or each goes to a flow by itself. Units are handed out in order, and the
// first failure stops that. So each unit before one that failed is read, and the first error in the order of the
// input is known.
//
// Invariants: pieces has one for each unit, in the order of the input; a piece is written by the worker that was handed
// its unit and read only after read has waited for all workers (TestFirstErrorInOrder, TestCancelledRead). The layout is
// made before the first unit is handed out and never changed.
//
// Turned down: files cut among workers by offset, which a compressed stream and standard input do not allow; and ids in
// one map: workers would wait for it, and the numbers would depend on the order in which they came.
type reader struct {
	ctx     context.Context
	kind    Kind
	ins     []source.Input
	opt     *Options
	flow    *flow // where the rows of each piece go; nil: they are joined
	source  int   // the input that is cut
	files   int   // that were read, files of labels among them
	workers []*worker
	waiting int // units that may wait for a worker
	jobs    chan func(w *worker)
	wg      sync.WaitGroup
	pieces  []*piece
	units   int // handed out
	failed  atomic.Bool
	rows    atomic.Int64
	out     atomic.Int64 // rows of weight 0, which are left out

	layout  *layout.Layout
	columns *lines.RatingColumns // of ratings
	labels  columns.LevelTables  // of labels that are text, else nil
	words   bags.Index           // of Options.Words, once it is needed
	bags    []lines.BagHeader    // of each bag of words begun
	known   []string             // bags that flow: the vocabulary of the bags
	beyond  string               // LDA-C that flows: the remedy for a word that it lacks
	numbers []int32              // of known in Options.Words
}

// worker is what one goroutine keeps between units.
type worker struct {
	layout.Numbers
	number  int
	scratch lines.Piece
	parser  lines.Parser
	inner   lines.Parser  // it, or the one that it has its lines parsed by
	cells   *frames.Cells // of files that keep columns apart
}

// piece is what one unit holds and where it belongs.
type piece struct {
	lines.Piece        // of ratings nothing: their columns have it
	number      int    // of the unit
	worker      int    // the one that made the rows
	source      int    // which input it is from
	rows        int    // rows in the unit
	lines       int    // newlines in the unit, header lines included
	entries     int    // docword: lines in the unit
	promised    *int   // docword: the entries of the whole input, in its last unit
	err         *Error // first defect, with its line counted from the unit's start
	twice       error  // docword: the defect of a document that has a word twice, which stands before err
}

func newReader(ctx context.Context, kind Kind, ins []source.Input, opt *Options, f *flow) *reader {
	r := &reader{ctx: ctx, kind: kind, ins: ins, opt: opt, flow: f, files: len(ins)}
	if kind == Ratings {
		r.columns = lines.NewRatingColumns(nil)
	}
	for n := range opt.Workers {
		r.workers = append(r.workers, &worker{number: n})
	}
	return r
}

// read reads all inputs. There is no set if their rows went to a flow.
func (r *reader) read(in unitReader, head *source.Stream) (*Set, error) {
	r.jobs = make(chan func(w *worker), r.waiting)
	for _, w := range r.workers {
		r.wg.Go(func() {
			for work := range r.jobs {
				work(w)
			}
		})
	}
	if err := in.units(head); err != nil {
		r.fail(err)
	}
	close(r.jobs)
	r.wg.Wait()
	if err := r.opt.ended(r.ctx); err != nil {
		return nil, err
	}
	if r.flow != nil {
		return nil, r.flow.end(r)
	}
	if err := r.firstError(); err != nil {
		return nil, err
	}
	r.opt.Meter.Begin(progress.Part{Doing: "joining what was read", Total: int64(len(r.pieces))})
	set, err := in.join()
	if ended := r.opt.ended(r.ctx); ended != nil {
		return nil, ended
	}
	return set, err
}

// hand hands out a unit with its pieces. It reports whether the reading continues.
func (r *reader) hand(work func(w *worker), pieces ...*piece) bool {
	if r.stops() {
		return false
	}
	r.place(pieces...)
	if r.flow == nil {
		r.pieces = append(r.pieces, pieces...)
	}
	r.jobs <- work
	return true
}

// place gives pieces of the input that is cut the next numbers.
func (r *reader) place(pieces ...*piece) {
	for _, p := range pieces {
		p.number, p.source = r.units, r.source
		r.units++
	}
}

// stops reports whether nothing is handed out any more.
func (r *reader) stops() bool { return r.failed.Load() || r.opt.ended(r.ctx) != nil }

// fail records an error after all units that were handed out.
func (r *reader) fail(err error) {
	p := &piece{source: r.source, err: r.defect(r.source, err)}
	r.failed.Store(true)
	if r.flow != nil {
		r.flow.cut = p
		return
	}
	r.pieces = append(r.pieces, p)
}

// defect returns an error of an input as an *Error.
func (r *reader) defect(source int, err error) *Error {
	if e, ok := err.(*Error); ok {
		return e
	}
	return &Error{File: r.ins[source].Shown(), What: err.Error(), Err: err}
}

// rowsRead counts rows against the limit.
func (r *reader) rowsRead(n int) {
	if r.rows.Add(int64(n)) > r.opt.Limits.Rows && r.flow == nil {
		r.failed.Store(true)
	}
}

// position is a place in the inputs: how much stands before it.
type position struct {
	rows    int64
	source  int
	lines   int // of the source
	entries int // of the source, if it is a bag of words
}

// pass moves the position over a piece and returns the first defect in it, at its place in the input.
func (at *position) pass(r *reader, p *piece) error {
	if at.source != p.source {
		at.source, at.lines, at.entries = p.source, 0, 0
	}
	if p.err != nil && p.err.Line > 0 {
		p.err.Line += at.lines
	}
	at.rows, at.lines, at.entries = at.rows+int64(p.rows), at.lines+p.lines, at.entries+p.entries
	switch {
	case p.twice != nil:
		return p.twice
	case p.err != nil:
		r.opt.named(p.err)
		return p.err
	case p.promised != nil && *p.promised != at.entries:
		return bags.Promised(r.ins[p.source].Shown(), at.entries, *p.promised)
	}
	return nil
}

// firstError returns the first defect in the order of the input.
func (r *reader) firstError() error {
	var at position
	for _, p := range r.pieces {
		if err := at.pass(r, p); err != nil {
			return err
		}
		if at.rows > r.opt.Limits.Rows {
			return &Error{File: r.ins[p.source].Shown(), What: fmt.Sprintf("there are more than %d rows", r.opt.Limits.Rows), How: "raise the limit on rows, or read fewer files"}
		}
	}
	if at.rows == 0 {
		return r.rowless()
	}
	return nil
}

func (r *reader) rowless() error {
	if r.out.Load() > 0 {
		return &Error{File: r.ins[0].Shown(), What: "all rows have the weight 0, which leaves them out", How: "give the rows that are to count a weight above 0"}
	}
	return &Error{File: r.ins[0].Shown(), What: "there are no rows", How: "name a file with data below its header"}
}

// named adds what may be the matter where a first line is taken for a row.
func (o *Options) named(e *Error) {
	if e.Line == 1 && o.Header == HeaderNo && !strings.Contains(e.How, "--header no") {
		e.How += "; if this line names the columns, leave out --header no"
	}
}
