package data

import (
	"context"

	"bellows/data/internal/idx"
	"bellows/data/internal/source"
)

// readIDX reads images and their labels. The label file is the one that
// Options.Label names, or an input with one dimension behind its images, or
// the neighbour whose name says labels-idx1 for images-idx3.
func readIDX(ctx context.Context, ins []source.Input, head *source.Stream, kind Kind, opt *Options) (*Set, error) {
	if kind == Ratings {
		head.Close()
		return nil, &Error{File: ins[0].Shown(), What: "IDX files hold examples, not ratings", How: "name a file of user, item, rating; or train an app for examples"}
	}
	set := &Set{Kind: Examples, Examples: &ExampleSet{Dense: []float32{}}}
	if err := opt.forPixels(ins[0], "IDX files"); err != nil {
		head.Close()
		return nil, err
	}
	e := set.Examples
	files, labelled := 0, true
	for n := 0; n < len(ins); n++ {
		images, err := readArray(ctx, ins[n], head, opt)
		head = nil
		if err != nil {
			return nil, err
		}
		if err := images.Check(e.Features, e.Rows(), opt.Features, opt.Limits.Rows); err != nil {
			return nil, err
		}
		labels, used, err := idx.Labels(opt.places, images, ins[n+1:], opt.Label, opt.Unlabelled, func(in source.Input) (*idx.Array, error) { return readArray(ctx, in, nil, opt) })
		if err != nil {
			return nil, err
		}
		n += used
		if files++; labels == nil {
			labels, labelled = make([]float32, images.Dims[0]), false
		} else {
			files++
		}
		e.Features = images.Width
		e.Label = append(e.Label, labels...)
		if len(e.Dense) == 0 {
			e.Dense = images.Values
		} else {
			e.Dense = append(e.Dense, images.Values...)
		}
	}
	set.Detected = Detection{Format: IDX.Shown(), Files: files, Rows: e.Rows()}
	if describe(&set.Detected, e); !labelled {
		set.Detected.Classes = 0 // nobody has looked for all of them
	}
	set.Reading = &Reading{Format: IDX, FormatGiven: opt.Format != ""}
	return set, nil
}

// readArray reads one IDX file; s is its stream when it is open already.
func readArray(ctx context.Context, in source.Input, s *source.Stream, opt *Options) (*idx.Array, error) {
	if s == nil {
		var err error
		if s, err = source.Open(ctx, in, opt.source()); err != nil {
			return nil, err
		}
	}
	defer s.Close()
	return idx.Read(ctx, s, idx.Limits{Rows: opt.Limits.Rows, Features: opt.Limits.Features})
}
