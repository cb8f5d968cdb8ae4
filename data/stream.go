package data

import (
	"context"
	"slices"

	"bellows/data/internal/bags"
	"bellows/data/internal/layout"
	"bellows/data/internal/lines"
	"bellows/data/internal/source"
	"bellows/progress"
)

// A Block holds consecutive rows of an input on their way through Stream.
type Block struct {
	Set    *Set  // belongs to take until it returns
	Row    int64 // number of rows before the block
	number int
	out    *lines.Turns
}

// Turn waits until all blocks before this one are done, so that the caller's next steps happen in the order of the
// input. If one of them has failed, Turn returns an error, which the caller must return.
func (b *Block) Turn() error { return b.out.Wait(b.number) }

// Stream reads inputs as Read does, and passes their rows on block by block, so that memory does not grow with the
// input. It calls take on several goroutines at once, each with the next block. The first error in the order of the
// input ends the reading. Rows above a defect are all passed on, including those of its block; rows below it are not.
//
// An input comes as a single block if no row can be read before all are known: if something depends on the whole, such
// as the values of a column of text, the mean for a missing value, or the words of documents. With the features, the
// base and the Reading of a model in Options, nothing does.
//
// The Detection does not count the users and items of ratings that come in several blocks.
func Stream(ctx context.Context, inputs []string, kind Kind, opt Options, take func(*Block) error) (Detection, error) {
	ins, err := opt.inputs(ctx, inputs, kind)
	if err != nil {
		return Detection{}, err
	}
	opt.Meter.Begin(progress.Part{Doing: "reading " + source.Named(ins), Unit: "bytes", Total: source.Size(ins)})
	f := &flow{take: take, in: lines.NewTurns(), out: lines.NewTurns()}
	set, err := parseInputs(ctx, ins, kind, &opt, f)
	if err != nil || set == nil {
		return f.found, err
	}
	defer set.Close()
	return set.Detected, take(&Block{Set: set, out: f.out})
}

// flows reports whether the rows of a block can be read without the other blocks.
func flows(p *layout.Layout, opt *Options) bool {
	switch {
	case p.Table != nil:
		return !slices.ContainsFunc(p.Table.Features, func(c Column) bool { return c.Open || !c.Text() && c.Fill == nil })
	case p.Format.Documents(), p.Words:
		return opt.Words != nil
	case p.Format.Indexed():
		return opt.Features > 0 && (opt.IndexBase != "" || p.Format == LibFM)
	}
	return true
}

// chooseFlow drops the flow if the settled layout does not allow the rows to be read block by block.
func (r *reader) chooseFlow() (err error) {
	if !flows(r.layout, r.opt) {
		r.flow = nil
		return nil
	}
	if r.kind == Documents {
		r.words = bags.NewIndex(r.opt.Words)
	}
	switch r.layout.Format {
	case Docword:
		r.known, err = r.vocabulary(r.bags[0].Words, true)
	case LDAC:
		r.known, r.beyond = r.opt.Words, "it has no vocabulary, and the model has no such word: put its "+
			"vocabulary next to it as "+bags.VocabularyName(true)+", or name it with --vocab"
		if r.vocabularyFound() {
			r.known, err = r.vocabulary(0, false)
			r.beyond = "its vocabulary has fewer words: name that of this bag with --vocab"
		}
	}
	if r.known != nil {
		r.numbers = r.words.Numbers(r.known)
	}
	return err
}

// A flow receives the rows of a stream. A worker joins the rows of a piece as if they were the whole input and calls
// pass. pass notes the piece's place in the order of the input, calls take, and then notes the outcome, also in that
// order.
//
// Invariants: every piece that was handed out passes in and out, whatever happens to it, so that no goroutine waits for
// ever. The fields below in are written in a piece's turn at in, the fields below out in its turn at out
// (TestStreamIsRead).
type flow struct {
	take func(*Block) error
	cut  *piece // the error of the goroutine that cuts the inputs; it comes after all pieces

	in *lines.Turns
	at position // before the next piece

	out     *lines.Turns
	found   Detection
	classes map[any]bool // labels so far, as keys of classKeys
	many    bool         // labels are no classes
}

// forget drops the ids and labels that the worker has met.
func (w *worker) forget() {
	w.Users.Reset()
	w.Items.Reset()
	if w.Labels != nil {
		w.Labels.Reset()
	}
	w.Numerals.Reset()
}

// pass passes on the rows of a piece. set holds them, or is nil. late is a defect found while joining them.
func (f *flow) pass(r *reader, p *piece, set *Set, late error) {
	_ = f.in.Wait(p.number) // which never fails
	row := f.at.rows
	defect := f.at.advance(r, p)
	f.in.End(p.number, nil)
	err := late
	// a bag with a wrong count of entries passes nothing on
	if err == nil && set != nil && p.rows > 0 && (defect == nil || p.err != nil || p.twice != nil) {
		err = f.take(&Block{Set: set, Row: row, number: p.number, out: f.out})
	}
	if err == nil {
		err = defect
	}
	if err != nil {
		r.failed.Store(true)
	} else if f.out.Wait(p.number) == nil && set != nil {
		f.addDetection(set)
	}
	f.out.End(p.number, err)
}

// joined returns the worker's rows as a set. The worker then forgets the ids and labels in them.
func (w *worker) joined(r *reader, p *piece) (*Set, error) {
	defer w.forget()
	if p.rows == 0 {
		return nil, nil
	}
	opt, how := *r.opt, *r.layout
	opt.Meter, opt.Workers = nil, 1 // the other workers have pieces too
	opt.Unlabelled = opt.Unlabelled || r.kind == Documents
	if how.Table != nil {
		table := *how.Table
		how.Table = &table
	}
	one := &reader{ctx: r.ctx, kind: r.kind, ins: r.ins, opt: &opt, layout: &how, workers: []*worker{w}, words: r.words, known: r.known, numbers: r.numbers,
		pieces: []*piece{{Piece: w.scratch, source: p.source, rows: p.rows}}}
	if r.kind == Ratings {
		s := w.scratch.Clone()
		one.columns = &lines.RatingColumns{User: s.User, Item: s.Item, Rating: s.Label, Time: s.Time}
	}
	return one.join()
}

// addDetection adds a block to the Detection of the stream. It is called in the order of the input.
func (f *flow) addDetection(set *Set) {
	d := set.Detected
	if f.found.Files == 0 {
		f.found, f.classes = d, map[any]bool{}
	} else {
		f.found.Rows, f.found.Tokens, f.found.Filled = f.found.Rows+d.Rows, f.found.Tokens+d.Tokens, f.found.Filled+d.Filled
		f.found.Missing += d.Missing
		f.found.Dropped, f.found.Unknown = f.found.Dropped+d.Dropped, f.found.Unknown+d.Unknown
		if d.Weight != "" {
			f.found.Weight = d.Weight
		}
		f.found.Users, f.found.Items, f.found.Constant, f.found.Counting = 0, 0, nil, nil
	}
	e := set.Examples
	if e == nil || f.many || f.found.Classes == 0 {
		return
	}
	if d.Classes == 0 || len(f.classes) > layout.ClassesMost {
		f.found.Classes, f.many = 0, true
		return
	}
	for _, class := range e.classKeys() {
		f.classes[class] = true
	}
	f.found.Classes = len(f.classes)
}

// outcome returns the outcome of the stream: the first error in the order of the input, if there is one.
func (f *flow) outcome(r *reader) error {
	if f.found.Weightless = int(r.out.Load()); f.found.Files > 0 {
		f.found.Files = r.files
	}
	if err := f.out.Err(); err != nil {
		return err
	}
	if f.cut != nil {
		return f.at.advance(r, f.cut)
	}
	if f.at.rows == 0 {
		return r.noRowsError()
	}
	if r.kind == Documents && f.found.Tokens == 0 && !r.opt.Unlabelled {
		return r.noWordsError(&f.found)
	}
	return nil
}
