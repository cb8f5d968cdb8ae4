package data

import (
	"context"
	"errors"
	"sync"

	"bellows/data/internal/idx"
	"bellows/data/internal/source"
)

// idxFlow gives the rows of IDX files away block by block: one goroutine, the caller's, reads them and their labels side by side, and others take the blocks.
// Nothing of images depends on other rows but the labels, which are numbers.
type idxFlow struct {
	ctx    context.Context
	opt    *Options
	flow   *flow
	blocks chan *Block
	number int
	rows   int
	width  int
	files  int
	open   []*source.Stream
}

// streamIDX reads IDX files; head is the first, open. What went wrong is the flow's.
func streamIDX(ctx context.Context, ins []source.Input, head *source.Stream, opt *Options, f *flow) error {
	if err := opt.forPixels(ins[0], "IDX files"); err != nil {
		head.Close()
		return err
	}
	r := &idxFlow{ctx: ctx, opt: opt, flow: f, blocks: make(chan *Block)}
	var all sync.WaitGroup
	for range opt.Workers {
		all.Go(func() {
			for b := range r.blocks {
				r.take(b)
			}
		})
	}
	err := r.inputs(ins, head)
	close(r.blocks)
	all.Wait()
	if ended := opt.ended(ctx); ended != nil {
		return ended
	}
	f.found.Files = r.files
	if first := f.out.Err(); first != nil {
		return first
	}
	return err
}

// take gives a block away.
func (r *idxFlow) take(b *Block) {
	err := r.flow.take(b)
	if err == nil && b.Turn() == nil {
		r.flow.detected(b.Set)
	}
	r.flow.out.End(b.number, err)
}

// inputs reads all of them.
func (r *idxFlow) inputs(ins []source.Input, head *source.Stream) error {
	for n := 0; n < len(ins); n++ {
		used, err := r.file(ins[n], head, ins[n+1:])
		for _, s := range r.open {
			s.Close()
		}
		r.open, head = r.open[:0], nil
		if err != nil {
			return err
		}
		n += used
	}
	return nil
}

// array opens one file; s is its stream when it is open already.
func (r *idxFlow) array(in source.Input, s *source.Stream) (*idx.Rows, error) {
	if s == nil {
		var err error
		if s, err = source.Open(r.ctx, in, r.opt.source()); err != nil {
			return nil, err
		}
	}
	r.open = append(r.open, s)
	return idx.Open(s, idx.Limits{Rows: r.opt.Limits.Rows, Features: r.opt.Limits.Features})
}

// file reads images and their labels. used is how many of the further inputs it took.
func (r *idxFlow) file(in source.Input, head *source.Stream, further []source.Input) (used int, err error) {
	values, err := r.array(in, head)
	if err != nil {
		return 0, err
	}
	if err := values.Check(r.width, r.rows, r.opt.Features, r.opt.Limits.Rows); err != nil {
		return 0, err
	}
	labels, used, err := idx.OpenLabels(r.opt.places, values, further, r.opt.Label, r.opt.Unlabelled, func(in source.Input) (*idx.Rows, error) { return r.array(in, nil) })
	if err != nil {
		return 0, err
	}
	if r.width, r.files = values.Width, r.files+1; labels != nil {
		r.files++
	}
	for values.Left() > 0 {
		if err := r.opt.ended(r.ctx); err != nil {
			return 0, err
		}
		if r.flow.out.Err() != nil {
			return 0, errors.New("what takes the rows has failed") // whoever asks is told why
		}
		x, y, err := values.Batch(labels)
		if err != nil {
			return 0, err
		}
		e, n := &ExampleSet{Features: values.Width, Label: y, Dense: x}, len(y)
		set := &Set{Kind: Examples, Examples: e, Detected: Detection{Format: IDX.Shown(), Files: 1, Rows: n}, Reading: &Reading{Format: IDX, FormatGiven: r.opt.Format != ""}}
		if describe(&set.Detected, e); labels == nil {
			set.Detected.Classes = 0
		}
		r.blocks <- &Block{Set: set, Row: int64(r.rows), number: r.number, out: r.flow.out}
		r.rows, r.number = r.rows+n, r.number+1
	}
	if err := values.End(); err != nil || labels == nil {
		return used, err
	}
	return used, labels.End()
}
