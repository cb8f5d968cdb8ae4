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

// A unitReader reads inputs of one format. A unit is what one worker takes at a time: a block of lines, a row group, a
// batch of images.
type unitReader interface {
	// units opens the inputs and hands out their units in order, each as one piece or several. head is the first input,
	// already open; nil for a folder.
	units(head *source.Stream) error
	// join returns the set of all pieces.
	join() (*Set, error)
}

// A reader reads inputs of any format. The caller's goroutine cuts them into units, and workers turn units into rows.
// The pieces are joined at the end, or each goes separately to a flow. Units are handed out in order, and the first
// failure stops that. So every unit before a failed one is read, and the first error in the order of the input is
// known.
//
// Invariants: pieces has an entry for each unit, in the order of the input. A piece is written by the worker that
// received its unit, and read only after read has waited for all workers (TestFirstErrorInOrder, TestCancelledRead).
// The layout is made before the first unit is handed out and never changed.
//
// Rejected: files divided among workers by offset, which compressed streams and standard input do not allow; and ids in
// one shared map: workers would wait for it, and the numbers would depend on timing.
type reader struct {
	ctx     context.Context
	kind    Kind
	ins     []source.Input
	opt     *Options
	flow    *flow // receives the rows of each piece; nil: the pieces are joined
	source  int   // the input that is being cut
	files   int   // files read, label files included
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
	columns *lines.RatingColumns // for ratings
	labels  columns.LevelTables  // for labels that are text, else nil
	words   bags.Index           // index of Options.Words, made when it is needed
	bags    []lines.BagHeader    // the header of each bag of words begun
	known   []string             // bags in a flow: their vocabulary
	beyond  string               // LDA-C in a flow: the hint for a word outside the vocabulary
	numbers []int32              // the numbers in Options.Words of the words in known
}

// A worker is the state that one goroutine keeps between units.
type worker struct {
	layout.Numbers
	number  int
	scratch lines.Piece
	parser  lines.Parser
	inner   lines.Parser  // the parser, or the one that it wraps
	cells   *frames.Cells // for columnar files
}

// A piece holds the rows of one unit and their place in the input.
type piece struct {
	lines.Piece        // empty for ratings: reader.columns has them
	number      int    // of the unit
	worker      int    // the worker that made the rows
	source      int    // the input that it is from
	rows        int    // rows in the unit
	lines       int    // newlines in the unit, header lines included
	entries     int    // docword: lines in the unit
	promised    *int   // docword: the entries of the whole input, in its last unit
	err         *Error // first defect, with its line counted from the unit's start
	twice       error  // docword: the error for a document that has a word twice; it comes before err
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

// read reads all inputs. It returns no set if their rows went to a flow.
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
	if err := r.opt.contextErr(r.ctx); err != nil {
		return nil, err
	}
	if r.flow != nil {
		return nil, r.flow.outcome(r)
	}
	if err := r.firstError(); err != nil {
		return nil, err
	}
	r.opt.Meter.Begin(progress.Part{Doing: "joining what was read", Total: int64(len(r.pieces))})
	set, err := in.join()
	if ended := r.opt.contextErr(r.ctx); ended != nil {
		return nil, ended
	}
	return set, err
}

// dispatch hands out a unit with its pieces. It reports whether reading continues.
func (r *reader) dispatch(work func(w *worker), pieces ...*piece) bool {
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

// place gives pieces of the current input the next numbers.
func (r *reader) place(pieces ...*piece) {
	for _, p := range pieces {
		p.number, p.source = r.units, r.source
		r.units++
	}
}

// stops reports whether no more units are handed out.
func (r *reader) stops() bool { return r.failed.Load() || r.opt.contextErr(r.ctx) != nil }

// fail records an error that comes after all units handed out so far.
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

// A position is a place in the inputs, given by the number of things before it.
type position struct {
	rows int64
	// in this source
	source  int
	lines   int // of the source
	entries int // in this source, if it is a bag of words
}

// advance moves the position past a piece and returns the first defect in the piece, at its place in the input.
func (at *position) advance(r *reader, p *piece) error {
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
		r.opt.addHeaderHint(p.err)
		return p.err
	case p.promised != nil && *p.promised != at.entries:
		return bags.CountError(r.ins[p.source].Shown(), at.entries, *p.promised)
	}
	return nil
}

// firstError returns the first defect in the order of the input.
func (r *reader) firstError() error {
	var at position
	for _, p := range r.pieces {
		if err := at.advance(r, p); err != nil {
			return err
		}
		if at.rows > r.opt.Limits.Rows {
			return &Error{File: r.ins[p.source].Shown(), What: fmt.Sprintf("there are more than %d rows", r.opt.Limits.Rows), How: "raise the limit on rows, or read fewer files"}
		}
	}
	if at.rows == 0 {
		return r.noRowsError()
	}
	return nil
}

func (r *reader) noRowsError() error {
	if r.out.Load() > 0 {
		return &Error{File: r.ins[0].Shown(), What: "all rows have the weight 0, which leaves them out", How: "give the rows that are to count a weight above 0"}
	}
	return &Error{File: r.ins[0].Shown(), What: "there are no rows", How: "name a file with data below its header"}
}

// addHeaderHint adds a hint where a header was probably taken for a row.
func (o *Options) addHeaderHint(e *Error) {
	if e.Line == 1 && o.Header == HeaderNo && !strings.Contains(e.How, "--header no") {
		e.How += "; if this line names the columns, leave out --header no"
	}
}
