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

// Block is rows of an input that stand one behind the other, on their way through Stream.
type Block struct {
	Set    *Set  // whoever takes the block has it until he returns
	Row    int64 // rows of the inputs before it
	number int
	out    *lines.Turns
}

// Turn returns when every block before this one is done with: what follows happens in the order of the input. An error says that one of them has
// failed, and is to be returned.
func (b *Block) Turn() error { return b.out.Wait(b.number) }

// Stream reads inputs as Read does, and gives their rows away block by block, so that memory does not grow with the input: take is called on
// several goroutines at once, each with the block that is next, and the first error in the order of the input ends the reading. Behind a defect nothing is
// taken, and the rows above it all are, also those of its block.
//
// Inputs whose rows cannot be read alike before all of them are known come as a single block: what leaves a question open
// that only the whole answers, such as the values of a column of text, the mean that a missing value becomes, or the words of documents. Nothing is
// open where Options have the features, the base and the reading of a model.
//
// Of what was detected, the users and items of ratings that come in several blocks are not counted.
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

// flows reports whether the rows of a block can be read without the others.
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

// chooseFlow keeps the flow of an input whose layout is settled if its rows can be read so.
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
		r.known, r.beyond = r.opt.Words, "it has no vocabulary, and the model has no such word: put its vocabulary beside it as "+bags.VocabularyName(true)+", or name it with --vocab"
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

// flow is where the rows of a stream go. A worker joins those of a piece as if they were all, and calls pass. It notes the
// piece's place in the order of the input and calls take. Then it notes the outcome, also in that order.
//
// Invariants: in and out pass every piece that was handed out, whatever becomes of it, so that no goroutine waits for ever. The
// fields below in are written in a piece's turn there, and the fields below out in its turn at out (TestStreamIsRead).
type flow struct {
	take func(*Block) error
	cut  *piece // the error of the goroutine that cuts the inputs into units; it comes after all of them

	in *lines.Turns
	at position // before the next piece

	out     *lines.Turns
	found   Detection
	classes map[any]bool // labels so far, as classKeys has them
	many    bool         // they are no classes
}

// forget makes the worker one that has met no id and no label.
func (w *worker) forget() {
	w.Users.Reset()
	w.Items.Reset()
	if w.Labels != nil {
		w.Labels.Reset()
	}
	w.Numerals.Reset()
}

// pass gives away the rows of a piece, which are a set, or nil. late is a defect of the set.
func (f *flow) pass(r *reader, p *piece, set *Set, late error) {
	_ = f.in.Wait(p.number) // that never fails
	row := f.at.rows
	defect := f.at.pass(r, p)
	f.in.End(p.number, nil)
	err := late
	if err == nil && set != nil && p.rows > 0 && (defect == nil || p.err != nil || p.twice != nil) { // not of a bag that breaks its promise
		err = f.take(&Block{Set: set, Row: row, number: p.number, out: f.out})
	}
	if err == nil {
		err = defect
	}
	if err != nil {
		r.failed.Store(true)
	} else if f.out.Wait(p.number) == nil && set != nil {
		f.detected(set)
	}
	f.out.End(p.number, err)
}

// joined returns the rows that the worker has made as a set of their own. The worker forgets what it has met in them.
func (w *worker) joined(r *reader, p *piece) (*Set, error) {
	defer w.forget()
	if p.rows == 0 {
		return nil, nil
	}
	opt, how := *r.opt, *r.layout
	opt.Meter, opt.Workers = nil, 1 // the others have pieces of their own
	opt.Unlabelled = opt.Unlabelled || r.kind == Documents
	if how.Table != nil {
		table := *how.Table
		how.Table = &table
	}
	one := &reader{ctx: r.ctx, kind: r.kind, ins: r.ins, opt: &opt, layout: &how, workers: []*worker{w},
		words: r.words, known: r.known, numbers: r.numbers,
		pieces: []*piece{{Piece: w.scratch, source: p.source, rows: p.rows}}}
	if r.kind == Ratings {
		s := w.scratch.Clone()
		one.columns = &lines.RatingColumns{User: s.User, Item: s.Item, Rating: s.Label, Time: s.Time}
	}
	return one.join()
}

// detected adds up what the blocks say. It is called in their order.
func (f *flow) detected(set *Set) {
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

// end is what became of the stream: the first error in the order of the input, if there is one.
func (f *flow) end(r *reader) error {
	if f.found.Weightless = int(r.out.Load()); f.found.Files > 0 {
		f.found.Files = r.files
	}
	if err := f.out.Err(); err != nil {
		return err
	}
	if f.cut != nil {
		return f.at.pass(r, f.cut)
	}
	if f.at.rows == 0 {
		return r.rowless()
	}
	if r.kind == Documents && f.found.Tokens == 0 && !r.opt.Unlabelled {
		return r.wordless(&f.found)
	}
	return nil
}
