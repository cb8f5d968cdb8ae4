package data

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"bellows/data/internal/idx"
	"bellows/data/internal/layout"
	"bellows/data/internal/lines"
	"bellows/data/internal/source"
	"bellows/progress"
)

// Read reads the inputs, in order, as one set of the given kind. An input is a path, a file:// URI, a URI of a store in
// Options.Stores, a glob (its files sorted by name) or "-" for standard input. Gzip and zstd are recognised by their
// first bytes. For bad data Read returns an *Error, the first one in the order of the input. A cancelled context ends
// the read with the context's error.
func Read(ctx context.Context, inputs []string, kind Kind, opt Options) (*Set, error) {
	ins, err := opt.inputs(ctx, inputs, kind)
	if err != nil {
		return nil, err
	}
	slot := newSlot(ins, kind, &opt)
	if set, ok := slot.open(); ok {
		opt.notePartitions(set)
		return set.withModelColumns(&opt), nil
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
	if err := opt.contextErr(ctx); err != nil {
		return nil, err
	}
	opt.notePartitions(set)
	return set.withModelColumns(&opt), nil
}

// inputs completes the options and finds the inputs with the given names.
func (o *Options) inputs(ctx context.Context, names []string, kind Kind) ([]source.Input, error) {
	if err := o.complete(kind); err != nil {
		return nil, err
	}
	o.places = source.NewPlaces(ctx, o.Stores)
	ins, err := o.places.Expand(names)
	if err != nil {
		return nil, err
	}
	for _, in := range ins {
		o.paths = append(o.paths, in.Path)
	}
	if err := o.readStopWords(ctx); err != nil {
		return nil, err
	}
	return ins, o.findImages(ctx, ins, kind)
}

// contextErr returns the error of the read's context or of its meter's, if one of them has ended.
func (o *Options) contextErr(ctx context.Context) error { return cmp.Or(ctx.Err(), o.Meter.Err()) }

// complete fills in defaults and refuses options that have no meaning.
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
		return &Error{File: "format " + strconv.Quote(string(o.Format)), What: "is not known", How: "use one of " +
			strings.Join(Formats(), ", ")}
	}
	if o.IndexBase != "" && o.IndexBase != "0" && o.IndexBase != "1" {
		return &Error{File: "index base " + strconv.Quote(o.IndexBase), What: "is neither 0 nor 1", How: "use 0 or 1"}
	}
	if o.Weight != "" && kind != Examples {
		return &Error{File: "column of weights " + strconv.Quote(o.Weight), What: "is for rows of examples, and these are " + kind.String(), How: "leave it out"}
	}
	if as := o.As; as != nil && o.Missing != nil && as.Missing != nil && !slices.Equal(o.Missing, as.Missing) {
		return &Error{File: "--missing " + strconv.Quote(strings.Join(o.Missing, ",")), What: "the model was trained with the words " + strconv.Quote(strings.Join(as.Missing, ",")),
			How: "leave out --missing: the model keeps its words"}
	}
	if o.Separator != "" {
		if _, err := lines.SeparatorOf(o.Separator); err != nil {
			return err
		}
	}
	return nil
}

// parseInputs parses all inputs. It returns no set if the rows went to a flow.
func parseInputs(ctx context.Context, ins []source.Input, kind Kind, opt *Options, f *flow) (*Set, error) {
	r := newReader(ctx, kind, ins, opt, f)
	in, head, err := r.open()
	if err != nil {
		if head != nil {
			head.Close()
		}
		return nil, err
	}
	return r.read(in, head)
}

// open opens the first input and chooses the reader for all inputs. head is nil for a folder. It may be returned
// together with an error.
func (r *reader) open() (in unitReader, head *source.Stream, err error) {
	first, opt := r.ins[0], r.opt
	if !first.Folder {
		if head, err = source.Open(r.ctx, first, opt.sourceOf(r.kind)); err != nil {
			return nil, nil, err
		}
	}
	images, err := opt.isImages(head, r.kind)
	switch {
	case err != nil:
	case images:
		in, err = newImageReader(r)
	case r.kind == Documents && idx.HasMagic(head.Head):
		err = &Error{File: first.Shown(), What: "IDX files hold examples, not documents", How: "name a bag of words or a text; or train an app for examples"}
	case r.kind != Documents && (opt.Format == IDX || opt.Format == "" && (idx.HasMagic(head.Head) || layout.FormatOf(first.Name) == IDX)):
		in, err = newIDXReader(r)
	case isFrames(head, opt):
		in = newFramesReader(r, head)
	default:
		in = newTextReader(r)
	}
	return in, head, err
}
