package data

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"bellows/data/internal/bags"
	"bellows/data/internal/columns"
	"bellows/data/internal/frames"
	"bellows/data/internal/idx"
	"bellows/data/internal/layout"
	"bellows/data/internal/lines"
	"bellows/data/internal/source"
	"bellows/progress"
)

// Read reads the inputs, in order, as one set of the given kind. An input is a
// path, a file:// URI, a URI of a store that Options.Stores knows, a glob (its files sorted by name) or "-" for standard
// input; gzip and zstd are found by their first bytes. Bad data is an *Error,
// the first one in the order of the input; a cancelled context ends the read
// with the context's error.
func Read(ctx context.Context, inputs []string, kind Kind, opt Options) (*Set, error) {
	if err := opt.complete(kind); err != nil {
		return nil, err
	}
	ins, err := opt.expand(ctx, inputs)
	if err != nil {
		return nil, err
	}
	if err := opt.settleWords(ctx); err != nil {
		return nil, err
	}
	if err := opt.findImages(ctx, ins, kind); err != nil {
		return nil, err
	}
	slot := newSlot(ins, kind, &opt)
	if set, ok := slot.open(); ok {
		opt.leftOut(set)
		return set.settledAs(&opt), nil
	}
	opt.Meter.Begin(progress.Part{Doing: "reading " + source.Named(ins), Unit: "bytes", Total: source.Size(ins)})
	set, err := parseInputs(ctx, ins, kind, &opt, nil)
	if err != nil {
		return nil, err
	}
	set.Detected.CacheProblem = slot.store(set)
	if opt.Mapped && set.Detected.CacheProblem == "" {
		if stored, ok := slot.open(); ok {
			stored.Detected.FromCache = false
			set = stored
		}
	}
	if err := opt.ended(ctx); err != nil {
		return nil, err
	}
	opt.leftOut(set)
	return set.settledAs(&opt), nil
}

// ended is why the read is to end, if it is: its own context, or that of its meter.
func (o *Options) ended(ctx context.Context) error { return cmp.Or(ctx.Err(), o.Meter.Err()) }

// complete fills in defaults and refuses options that mean nothing.
func (o *Options) complete(kind Kind) error {
	o.Limits = o.Limits.withDefaults()
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.blockBytes <= 0 {
		o.blockBytes = blockBytes
	}
	o.blockBytes = min(o.blockBytes, o.Limits.LineBytes+1) // a line over the limit fills a buffer
	if kind != Ratings && kind != Examples && kind != Documents {
		return fmt.Errorf("data: %d is no kind of data", kind)
	}
	if o.Format != "" && o.Format.Shown() == "" {
		return &Error{File: "format " + strconv.Quote(string(o.Format)), What: "is not known", How: "use one of " + strings.Join(Formats(), ", ")}
	}
	if o.IndexBase != "" && o.IndexBase != "0" && o.IndexBase != "1" {
		return &Error{File: "index base " + strconv.Quote(o.IndexBase), What: "is neither 0 nor 1", How: "use 0 or 1"}
	}
	if o.Weight != "" && kind != Examples {
		return &Error{File: "column of weights " + strconv.Quote(o.Weight), What: "is for rows of examples, and these are " + kind.String(), How: "leave it out"}
	}
	if as := o.As; as != nil && o.Missing != nil && as.Missing != nil && !slices.Equal(o.Missing, as.Missing) {
		return &Error{File: "--missing " + strconv.Quote(strings.Join(o.Missing, ",")), What: "the model was trained with the words " + strconv.Quote(strings.Join(as.Missing, ",")), How: "leave out --missing: the model keeps its words"}
	}
	if o.Separator != "" {
		if _, err := lines.SeparatorOf(o.Separator); err != nil {
			return err
		}
	}
	return nil
}

// parseInputs reads all inputs by parsing them. Where they have gone to a flow there is no set.
func parseInputs(ctx context.Context, ins []source.Input, kind Kind, opt *Options, f *flow) (*Set, error) {
	if ins[0].Folder {
		return parseImages(ctx, ins, nil, opt, f)
	}
	head, err := source.Open(ctx, ins[0], opt.sourceOf(kind))
	if err != nil {
		return nil, err
	}
	if is, err := opt.isImages(head, kind); err != nil {
		head.Close()
		return nil, err
	} else if is {
		return parseImages(ctx, ins, head, opt, f)
	}
	if kind == Documents && idx.Is(head.Head) {
		head.Close()
		return nil, &Error{File: ins[0].Shown(), What: "IDX files hold examples, not documents", How: "name a bag of words or a text; or train an app for examples"}
	}
	if kind != Documents && (opt.Format == IDX || opt.Format == "" && (idx.Is(head.Head) || layout.FormatOf(ins[0].Name) == IDX)) {
		if f != nil && kind == Examples {
			return nil, streamIDX(ctx, ins, head, opt, f)
		}
		return readIDX(ctx, ins, head, kind, opt)
	}
	if isFrames(head, opt) {
		return parseFrames(ctx, ins, head, kind, opt, f)
	}
	return parseText(ctx, ins, head, kind, opt, f)
}

// parseText reads inputs of lines; head is the first, open.
func parseText(ctx context.Context, ins []source.Input, head *source.Stream, kind Kind, opt *Options, f *flow) (*Set, error) {
	r := newReader(ctx, kind, ins, opt)
	r.flow = f
	r.start()
	r.text(ctx, head)
	r.stop()
	if r.flow == nil {
		return r.joined()
	}
	if err := opt.ended(ctx); err != nil {
		return nil, err
	}
	return nil, r.flow.end(r)
}

// joined is the set of all pieces, when all workers have ended.
func (r *reader) joined() (*Set, error) {
	if err := r.opt.ended(r.ctx); err != nil {
		return nil, err
	}
	if err := r.firstError(); err != nil {
		return nil, err
	}
	r.opt.Meter.Begin(progress.Part{Doing: "joining what was read", Total: int64(len(r.pieces))})
	set, err := r.assemble()
	if ended := r.opt.ended(r.ctx); ended != nil {
		return nil, ended
	}
	return set, err
}

// blockBytes is how much text one worker parses at a time: small enough for
// its cache and for sharing out small files, large enough to make the
// hand-over negligible.
const blockBytes = 256 << 10

// reader reads text inputs: one goroutine, the caller's, cuts them into
// blocks, workers parse the blocks. Blocks are handed out in order, and the
// first failure stops the handing out, so every block before a failed one is
// parsed and the first error in the order of the input is always known.
//
// Invariants: pieces has one for each block, in the order of the input; a piece is written by the worker that was handed its block
// and read only after stop, which waits for all (TestFirstErrorInOrder, TestCancelledRead). The layout is made before the first
// block is handed out and never changed; as many buffers are about as free has room for, so that memory does not follow the
// file's size.
//
// Turned down: files cut among workers by offset, which a packed stream and standard input do not allow; and ids in one map, at
// which workers would wait for each other, and whose numbers would depend on who came first.
type reader struct {
	ctx     context.Context
	kind    Kind
	ins     []source.Input
	opt     *Options
	layout  *layout.Layout
	bags    []lines.BagHeader // of each bag of words begun
	workers []*worker
	labels  columns.LevelTables // of labels that are text, else nil
	pieces  []*piece
	jobs    chan job
	free    chan []byte
	wg      sync.WaitGroup
	failed  atomic.Bool
	rows    atomic.Int64
	out     atomic.Int64         // rows of weight 0, which are left out
	columns *lines.RatingColumns // of ratings
	taken   int64                // bytes of the inputs before the one that is read
	total   int64                // bytes of all inputs; 0 where one is standard input
	blocks  int32                // handed out
	flow    *flow                // where the rows of each block go, else nil: they are joined
	words   bags.Index           // of Options.Words, once somebody has asked
	known   []string             // bags that flow: the vocabulary of the bags
	beyond  string               // LDA-C that flows: what to do about a word that it lacks
	numbers []int32              // of it in Options.Words
	part    bags.Part            // docword that flows: which documents the pieces are
}

// job is one block to parse.
type job struct {
	text    []byte // whole lines
	buf     []byte // the buffer that text lies in
	piece   *piece
	block   int32
	skipped int     // lines of the block before text
	read    float64 // which part of all inputs has been read at its end, 0 unknown
	bag     lines.BagHeader
	part    bags.Part // docword that flows
	by      *worker   // files that keep columns apart and flow: who has made rows of it
}

// worker is what one parsing goroutine keeps between blocks.
type worker struct {
	layout.Numbers
	scratch lines.Piece
	parser  lines.Parser
	inner   lines.Parser  // it, or the one that it has its lines parsed by
	cells   *frames.Cells // of files that keep columns apart
	late    error         // docword that flows: what is wrong with the document behind those that were joined
}

func newReader(ctx context.Context, kind Kind, ins []source.Input, opt *Options) *reader {
	r := &reader{ctx: ctx, kind: kind, ins: ins, opt: opt,
		jobs: make(chan job, opt.Workers), free: make(chan []byte, 4*opt.Workers)}
	for range cap(r.free) {
		r.free <- nil
	}
	if kind == Ratings {
		r.columns = lines.NewRatingColumns(r.free)
	}
	for _, in := range ins {
		if in.Path == "" {
			r.total = 0
			break
		}
		r.total += in.Size
	}
	for range opt.Workers {
		r.workers = append(r.workers, &worker{})
	}
	return r
}

// start starts the workers; stop ends them when their blocks are parsed.
func (r *reader) start() {
	for n, w := range r.workers {
		r.wg.Go(func() {
			for j := range r.jobs {
				j.piece.worker = n
				w.parse(r, &j)
			}
		})
	}
}

func (r *reader) stop() {
	close(r.jobs)
	r.wg.Wait()
}

// parse parses one block into its piece, and gives its buffer back when nobody needs it any more.
func (w *worker) parse(r *reader, j *job) {
	if w.parser == nil {
		w.parser, w.inner = r.layout.Parser(r.opt.layout(), &w.Numbers)
	}
	switch p := w.inner.(type) {
	case *lines.Triples:
		p.Block = j.block
	case *lines.Text:
		p.Block = j.block
	case *lines.Docword:
		p.Docs, p.Words, p.After = j.bag.Docs, j.bag.Words, j.part.First
	case *lines.LDAC:
		if r.known != nil {
			p.WordMax, p.Beyond = len(r.known)-1, r.beyond
		}
	}
	w.scratch.Reset()
	if f := w.parser.Parse(j.text, &w.scratch); f != nil {
		r.layout.HeaderAgain(j.text, f)
		j.piece.err = lines.Locate(r.ins[j.piece.source].Shown(), j.text, f)
		j.piece.err.Line += j.skipped
		r.failed.Store(true)
		if r.flow == nil {
			r.free <- j.buf
			return
		}
		w.above(j, f.At)
		j.part.Cut(&w.scratch)
	}
	j.piece.rows = len(w.scratch.Label)
	if j.part.Flows {
		j.piece.rows = j.part.End - j.part.First
	}
	j.piece.lines = j.skipped + bytes.Count(j.text, []byte("\n"))
	r.rowsRead(j.piece.rows)
	r.out.Add(int64(w.scratch.Weightless))
	if r.flow != nil {
		r.flow.pass(r, w, j)
		return
	}
	if r.columns != nil {
		r.columns.Add(j.block, &w.scratch, j.buf, j.read)
		return
	}
	j.piece.Piece = w.scratch.Clone()
	r.free <- j.buf
}

// text hands out the blocks of all inputs; the first is open already.
func (r *reader) text(ctx context.Context, head *source.Stream) {
	for n, in := range r.ins {
		s := head
		if n > 0 {
			var err error
			if s, err = source.Open(ctx, in, r.opt.source()); err != nil {
				r.fail(n, err)
				return
			}
		}
		if n > 0 && frames.Is(s.Head) != frames.Neither {
			s.Close()
			r.fail(n, r.otherKind(n, frameFormat(s.Head)))
			return
		}
		err := r.file(ctx, n, s)
		s.Close()
		r.taken += in.Size
		if err != nil {
			r.fail(n, err)
			return
		}
		if r.failed.Load() || ctx.Err() != nil {
			return
		}
	}
}

// fail records an error in the place of the next block.
func (r *reader) fail(source int, err error) {
	e, ok := err.(*Error)
	if !ok {
		e = &Error{File: r.ins[source].Shown(), What: err.Error(), Err: err}
	}
	r.failed.Store(true)
	if r.flow != nil {
		r.flow.cut = &piece{source: source, err: e}
		return
	}
	r.pieces = append(r.pieces, &piece{source: source, err: e})
}

// file hands out the blocks of one input.
func (r *reader) file(ctx context.Context, n int, s *source.Stream) error {
	blocks := &lines.Blocks{From: s, File: s.In.Shown(), LineMax: r.opt.Limits.LineBytes}
	for first := true; ctx.Err() == nil && !r.failed.Load(); first = false {
		buf := <-r.free
		if least := max(lines.HeaderBytes, r.opt.sampleBytes()); buf == nil || first && cap(buf) < least {
			buf = make([]byte, 0, max(r.opt.blockBytes, least))
		}
		buf, err := blocks.Next(buf)
		if err != nil {
			return err
		}
		j := job{text: buf, buf: buf, piece: &piece{source: n}, block: r.blocks}
		if !first && r.bags != nil {
			j.bag = r.bags[len(r.bags)-1]
		}
		if first {
			if err := r.begin(n, &j); err != nil {
				return err
			}
			if r.flow != nil && n == 0 { // nothing has been handed out
				if err := r.chooseFlow(); err != nil {
					return err
				}
			}
			if r.flow != nil && r.layout.Format == Docword {
				return r.bag(ctx, s, blocks, j)
			}
		}
		if len(buf) == 0 {
			r.free <- buf
			return nil
		}
		if r.total > 0 {
			j.read = float64(r.taken+s.Position()) / float64(r.total)
		}
		if r.blocks++; r.flow == nil {
			r.pieces = append(r.pieces, j.piece)
		}
		r.jobs <- j
	}
	return nil
}

// byteOrderMark may begin a UTF-8 text.
var byteOrderMark = []byte("\xef\xbb\xbf")

// begin makes the layout of an input from its first block and takes what comes
// before the first record off it.
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
	if r.layout == nil { // workers look at it from the first block on
		r.layout = next
	}
	if next.Header && next.Keys == nil {
		end := start + bytes.IndexByte(j.text[start:], '\n') + 1
		j.skipped += bytes.Count(j.text[:end], []byte("\n"))
		j.text = j.text[end:]
	}
	return nil
}

// firstError is the first defect in the order of the input.
func (r *reader) firstError() error {
	before, source, rows := 0, 0, int64(0)
	for _, p := range r.pieces {
		if p.source != source {
			before, source = 0, p.source
		}
		if p.err != nil {
			if p.err.Line > 0 {
				p.err.Line += before
			}
			r.opt.named(p.err)
			return p.err
		}
		before += p.lines
		if rows += int64(p.rows); rows > r.opt.Limits.Rows {
			return &Error{File: r.ins[source].Shown(), What: fmt.Sprintf("there are more than %d rows", r.opt.Limits.Rows), How: "raise the limit on rows, or read fewer files"}
		}
	}
	if rows == 0 {
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
