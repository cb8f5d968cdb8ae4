package data

import (
	"slices"
	"sync"
	"sync/atomic"

	"bellows/data/internal/columns"
	"bellows/data/internal/layout"
	"bellows/data/internal/lines"
)

// join implements unitReader: it joins the pieces, in order, into the columns of a set.
func (r *reader) join() (*Set, error) {
	rows := 0
	starts := make([]int, len(r.pieces)) // first row of each piece
	for n, p := range r.pieces {
		starts[n] = rows
		rows += p.rows
	}
	set := &Set{Kind: r.kind, Detected: Detection{
		Format: r.layout.Format.Shown(), Header: r.layout.Header && r.layout.Keys == nil, Files: len(r.ins), Rows: rows,
	}}
	r.layout.TimesFound(&set.Detected)
	r.layout.FoundCoarse(&set.Detected)
	if r.layout.Separator != "" && r.layout.Keys == nil {
		set.Detected.Separator = lines.SeparatorName(r.layout.Separator)
	}
	if r.kind == Ratings {
		set.Ratings, set.Detected.Columns = r.ratings(starts), r.layout.RatingColumns()
		set.Detected.Users, set.Detected.Items = len(set.Ratings.Users), len(set.Ratings.Items)
		set.Ratings.Origin = r.layout.Origin
		set.Reading, set.Time = r.reading(set), r.columns.Time
		return set, nil
	}
	if r.kind == Documents {
		set.Reading = r.reading(set)
		return set, r.documents(set)
	}
	if set.Examples = (&ExampleSet{Label: make([]float32, rows), LabelOrigin: r.layout.Origin}); r.layout.Times != nil {
		for _, p := range r.pieces {
			set.Time = append(set.Time, p.Time...)
		}
	}
	r.joinWeights(set, starts)
	if err := r.mergeLabels(set.Examples); err != nil {
		return nil, err
	}
	r.numerals(set.Examples)
	if r.layout.Table != nil {
		if err := r.joinTable(set, rows, starts); err != nil {
			return nil, err
		}
	} else {
		r.sparse(set, rows, starts)
		set.Detected.HashBits, set.Detected.Pairs = r.layout.Bits, r.layout.Ngrams == layout.Pairs
	}
	if set.Examples.Features == 0 {
		return nil, &Error{File: r.ins[0].Shown(), What: "there are labels but no features", How: "give each row at least one feature"}
	}
	if describe(&set.Detected, set.Examples); r.layout.Table != nil && r.layout.Label < 0 {
		set.Detected.Classes = 0 // the labels were not looked for
	}
	set.Reading = r.reading(set)
	return set, nil
}

// joinWeights joins the weights of rows. It does nothing if all weights are 1.
func (r *reader) joinWeights(set *Set, starts []int) {
	e := set.Examples
	for n, p := range r.pieces {
		set.Detected.Weightless += p.Weightless
		if len(p.Weight) == 0 {
			continue
		}
		if e.Weight == nil {
			e.Weight = slices.Repeat([]float32{1}, len(e.Label))
		}
		copy(e.Weight[starts[n]:], p.Weight)
	}
	if set.Detected.Weightless > 0 || e.Weight != nil {
		set.Detected.Weight = columns.OfImportance // a table says which column it is
	}
}

// describe fills in what the columns of a set say about it.
func describe(d *Detection, e *ExampleSet) {
	d.Features, d.IndexBase, d.Classes = e.Features, e.IndexBase, len(e.LabelNames)
	if e.LabelNames == nil {
		d.Classes = e.classCount()
	}
}

// eachPiece runs f for every piece, on all workers, until the meter ends the read.
func (r *reader) eachPiece(f func(n int, p *piece)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(r.opt.Workers, len(r.pieces)) {
		wg.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= len(r.pieces) || r.opt.Meter.Add(1) != nil {
					return
				}
				f(n, r.pieces[n])
			}
		})
	}
	wg.Wait()
}

// merge numbers the ids of all workers by first appearance. The tables map a worker's own numbers to the merged ones.
func (r *reader) merge(of func(*worker) *lines.IDs) (ids []string, tables [][]int32) {
	owner, own := make([]int, len(r.pieces)), make([]*lines.IDs, len(r.workers))
	for n, p := range r.pieces {
		owner[n] = p.worker
	}
	for n, w := range r.workers {
		own[n] = of(w)
	}
	return lines.MergeIDs(own, owner)
}

// translate renumbers ids. Without a table the ids keep their numbers.
func translate(to, from, table []int32) {
	if table == nil {
		copy(to, from)
		return
	}
	for i, id := range from {
		to[i] = table[id]
	}
}

// sparse joins rows of indexed or hashed features. It settles the index base and the width, and drops entries beyond a
// given width.
func (r *reader) sparse(set *Set, rows int, starts []int) {
	e := set.Examples
	if bits := r.layout.Bits; bits > 0 {
		e.Features = 1 << bits
		r.compressed(e, rows, starts)
		return
	}
	low, high := int32(1), int32(-1)
	for _, p := range r.pieces {
		if len(p.Index) > 0 {
			low, high = min(low, p.Low), max(high, p.High)
		}
	}
	e.IndexBase = r.base(low)
	e.Features = int(high) + 1 - e.IndexBase
	if high < 0 {
		e.Features = 0
	}
	if limit := r.opt.Features; limit > 0 {
		if e.Features > limit {
			set.Detected.Dropped = r.drop(int32(limit + e.IndexBase))
		}
		e.Features = limit
	}
	r.compressed(e, rows, starts)
}

// base returns the index of the first feature in the input.
func (r *reader) base(low int32) int {
	switch {
	case r.opt.IndexBase != "":
		return int(r.opt.IndexBase[0] - '0')
	case r.layout.Format == LibFM:
		return 0
	}
	return int(low)
}

// compressed copies the pieces into compressed sparse rows.
func (r *reader) compressed(e *ExampleSet, rows int, starts []int) {
	entries := int64(0)
	firsts := make([]int64, len(r.pieces)) // first entry of each piece
	for n, p := range r.pieces {
		firsts[n] = entries
		entries += int64(len(p.Index))
	}
	e.Offset = make([]int64, rows+1)
	e.Index, e.Value = make([]int32, entries), make([]float32, entries)
	base := int32(e.IndexBase)
	for _, o := range r.layout.Origins {
		if at := o.Feature - base; at >= 0 && int(at) < e.Features {
			e.Origins = append(e.Origins, Origin{Feature: at, Value: o.Value})
		}
	}
	r.eachPiece(func(n int, p *piece) {
		r.copyLabels(e.Label[starts[n]:], p)
		offset := e.Offset[starts[n]+1:]
		for i, end := range p.Ends {
			offset[i] = firsts[n] + end
		}
		copy(e.Value[firsts[n]:], p.Value)
		index := e.Index[firsts[n]:]
		for i, x := range p.Index {
			index[i] = x - base
		}
		*p = piece{}
	})
}

// drop removes the entries with an index of limit or more, and returns their number.
func (r *reader) drop(limit int32) int64 {
	var dropped atomic.Int64
	r.eachPiece(func(_ int, p *piece) {
		kept, from := 0, int64(0)
		for row, end := range p.Ends {
			for at := from; at < end; at++ {
				if p.Index[at] < limit {
					p.Index[kept], p.Value[kept] = p.Index[at], p.Value[at]
					kept++
				}
			}
			from = end
			p.Ends[row] = int64(kept)
		}
		dropped.Add(int64(len(p.Index) - kept))
		p.Index, p.Value = p.Index[:kept], p.Value[:kept]
	})
	return dropped.Load()
}
