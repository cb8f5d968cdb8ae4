// Package progress is how long work tells those who wait for it how far it is, and how they end it.
//
// Who works has these duties, in order:
//
//  1. Begin a Part before each stretch of work that may last: what is done, what is counted, and how much there is.
//  2. Add what is done, block by block, and stop with Add's error. Blocks should take a few milliseconds at most: whoever
//     interrupts the work waits for those that are under way.
//
// Who waits makes a Meter with the context that ends the work, and looks at it as often as it likes. Rates and the time that is left are the
// looker's to work out: the package has no clock, starts nothing, and refuses to judge.
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
	Total int64  // 0: nobody knows
}

// Reading is a meter at one moment.
type Reading struct {
	Part
	Number int // of parts begun, this one included
	Done   int64
}

// Meter counts the work of one command. All methods may be called by several goroutines at once, and a nil Meter counts nothing and
// ends nothing, so that who works need not ask.
//
// Invariants: a part's count only grows; after the context has ended every Add returns its error (TestWorkEndsWithItsContext). What is added late,
// when another part has begun, is counted there: parts follow each other, and their workers are waited for in between.
//
// Turned down: a function that the work calls, which would run the looker's code in the loops that are looked at; and a channel, which would
// have to be drained.
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

// Counts is w, and counts the bytes that are written. The context does not end it: what is saved is saved whole.
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
