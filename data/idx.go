package data

import (
	"cmp"

	"bellows/data/internal/idx"
	"bellows/data/internal/source"
)

// idxReader reads IDX files: images with their labels. The label file is the one that Options.Label names, or an input
// with one dimension that follows the images, or the neighbour with labels-idx1 in its name for images-idx3.
//
// Its units are batches of images. Workers have nothing to do: the caller's goroutine reads the rows. Without a flow
// all rows are read into one column.
type idxReader struct {
	*reader
	open     []*source.Stream
	set      ExampleSet
	images   int
	labelled bool
}

func newIDXReader(r *reader) (*idxReader, error) {
	in := r.ins[0]
	if r.kind == Ratings {
		return nil, &Error{File: in.Shown(), What: "IDX files hold examples, not ratings", How: "name a file of user, item, rating; or train an app for examples"}
	}
	r.files = 0
	return &idxReader{reader: r, labelled: true, set: ExampleSet{Dense: []float32{}}}, r.opt.forPixels(in, "IDX files")
}

// units implements unitReader.
func (r *idxReader) units(head *source.Stream) error {
	for n := 0; n < len(r.ins); n++ {
		r.source = n
		used, err := r.file(head)
		for _, s := range r.open {
			s.Close()
		}
		if r.open, head = r.open[:0], nil; err != nil || r.stops() {
			return err
		}
		n += used
	}
	return nil
}

// array opens one file. s is its stream if it is open already.
func (r *idxReader) array(in source.Input, s *source.Stream) (*idx.Rows, error) {
	if s == nil {
		var err error
		if s, err = source.Open(r.ctx, in, r.opt.source()); err != nil {
			return nil, err
		}
	}
	r.open = append(r.open, s)
	return idx.Open(s, idx.Limits{Rows: r.opt.Limits.Rows, Features: r.opt.Limits.Features})
}

// file reads images and their labels. used is the number of further inputs that it consumed.
func (r *idxReader) file(head *source.Stream) (used int, err error) {
	values, err := r.array(r.ins[r.source], head)
	if err != nil {
		return 0, err
	}
	e := &r.set
	if err := values.Check(e.Features, r.images, r.opt.Features, r.opt.Limits.Rows); err != nil {
		return 0, err
	}
	labels, used, lacking := idx.OpenLabels(r.opt.places, values, r.ins[r.source+1:], r.opt.Label, r.opt.Unlabelled, func(in source.Input) (*idx.Rows, error) { return r.array(in, nil) })
	if lacking != nil && r.flow != nil {
		return 0, lacking
	}
	if e.Features, r.files = values.Width, r.files+1; labels == nil {
		r.labelled = false
	} else {
		r.files++
	}
	if r.flow == nil {
		e.Dense = values.Room(e.Dense)
	}
	for values.Remaining() > 0 && !r.stops() {
		if err := r.batch(values, labels); err != nil {
			return 0, err
		}
	}
	if r.stops() {
		return 0, nil
	}
	if err := cmp.Or(values.End(), lacking); err != nil || labels == nil { // a defect of the images comes first
		return used, err
	}
	return used, labels.End()
}

// batch reads a batch of images and their labels. The labels are 0 if labels is nil.
func (r *idxReader) batch(values, labels *idx.Rows) error {
	e := &r.set
	if r.flow != nil {
		e = &ExampleSet{Features: e.Features}
	}
	n, err := values.Batch(&e.Dense, &e.Label, labels)
	if err != nil {
		return err
	}
	p := &piece{rows: n}
	r.images += n
	r.dispatch(func(*worker) {
		if r.flow != nil {
			r.flow.pass(r.reader, p, r.described(e, 1, labels != nil), nil)
		}
	}, p)
	return nil
}

// described returns a set of images.
func (r *idxReader) described(e *ExampleSet, files int, labelled bool) *Set {
	set := &Set{Kind: Examples, Examples: e, Detected: Detection{Format: IDX.Shown(), Files: files, Rows: e.Rows()}, Reading: &Reading{Format: IDX, FormatGiven: r.opt.Format != ""}}
	if describe(&set.Detected, e); !labelled {
		set.Detected.Classes = 0 // not all classes are known
	}
	return set
}

// join implements unitReader.
func (r *idxReader) join() (*Set, error) { return r.described(&r.set, r.files, r.labelled), nil }
