// Package progress lets long work report how far it is, and lets its callers cancel it.
//
// The duties of the work, in order:
//
//  1. Begin a Part before each stretch of work that may take long: what is done, what is counted, and how much there is.
//  2. Add what is done, block by block, and stop with Add's error. A block should take a few milliseconds at most, since an
//     interrupt waits for the blocks that are under way.
//
// The waiting side makes a Meter with the context that ends the work, and reads it as often as it likes. The reader
// derives rates and remaining time: the package has no clock, starts nothing, and judges nothing.
package progress

import (
	"context"
	"io"
	"sync/atomic"
)

// Part is a stretch of work.
type Part struct {
	Doing string // in words: "reading ratings.tsv"
	Unit  string // what is counted: "bytes", "ratings"; "" where only the share tells something
	Total int64  // 0: unknown
}

// Reading is a meter at one moment.
type Reading struct {
	Part
	Number int // of parts begun, this one included
	Done   int64
}

// Meter counts the work of one command. Several goroutines may call its methods at once. A nil Meter counts nothing and
// ends nothing, so that work need not check for one.
//
// Invariants: a part's count only grows; after the context has ended every Add returns its error
// (TestWorkEndsWithItsContext). A late Add, when another part has begun, counts there: parts follow each other, and
// their workers are waited for in between.
//
// Rejected: a callback, which would run the reader's code in the measured loops; and a channel, which would have to be
// drained.
type Meter struct {
	ctx  context.Context
	part atomic.Pointer[part]
}

type part struct {
	Part
	number int
	done   atomic.Int64
}

// New makes a meter of work that ends with the context.
func New(ctx context.Context) *Meter {
	m := &Meter{ctx: ctx}
	m.part.Store(&part{})
	return m
}

// Begin says what is worked on from now on.
func (m *Meter) Begin(p Part) {
	if m != nil {
		m.part.Store(&part{Part: p, number: m.part.Load().number + 1})
	}
}

// Add counts n as done, and says why the work is to end, if it is. It costs an atomic addition.
func (m *Meter) Add(n int64) error {
	if m == nil {
		return nil
	}
	m.part.Load().done.Add(n)
	return m.ctx.Err()
}

// Counts returns w, counting the bytes that are written. The context does not end it: a file is saved completely.
func (m *Meter) Counts(w io.Writer) io.Writer {
	if m == nil {
		return w
	}
	return counting{w, m}
}

type counting struct {
	io.Writer
	meter *Meter
}

func (c counting) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	_ = c.meter.Add(int64(n))
	return n, err
}

// Err says why the work is to end, if it is.
func (m *Meter) Err() error {
	if m == nil {
		return nil
	}
	return m.ctx.Err()
}

// Context returns the context that ends the work; of a nil Meter, one that does not end.
func (m *Meter) Context() context.Context {
	if m == nil {
		return context.Background()
	}
	return m.ctx
}

// Read returns what is worked on, and how far that is.
func (m *Meter) Read() Reading {
	if m == nil {
		return Reading{}
	}
	p := m.part.Load()
	return Reading{Part: p.Part, Number: p.number, Done: p.done.Load()}
}
