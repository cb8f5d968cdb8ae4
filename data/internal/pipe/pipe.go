// Package pipe reads what may keep its reader waiting for ever, so that the reader can leave.
//
// Its caller gives New a function that opens the input, reads, and calls Close. The package refuses to take a system call back that waits: it
// goes on until something comes or the process ends.
package pipe

import (
	"context"
	"io"
)

// Pipe reads what may keep its reader waiting for ever: standard input, and files that are not regular, such as named pipes, where
// opening waits too. A goroutine of its own opens and reads, so that whoever is interrupted leaves at once (TestAReadThatWaitsCanBeLeft of package data).
// What it waits for then is lost with the read, and it stays until that comes or the process ends: a system call that waits cannot be taken back.
//
// Invariant: serve has buf from the moment it was asked until it has answered, and the reader at all other times.
type Pipe struct {
	ctx   context.Context
	buf   []byte
	asked chan struct{}
	got   chan gulp // has room, so that nobody need be there
	rest  []byte    // of buf
	err   error     // behind rest
}

// gulp is what one read gave.
type gulp struct {
	bytes int
	err   error
}

const gulpBytes = 256 << 10

// New begins to open an input.
func New(ctx context.Context, open func() (io.ReadCloser, error)) *Pipe {
	p := &Pipe{ctx: ctx, buf: make([]byte, gulpBytes), asked: make(chan struct{}), got: make(chan gulp, 1)}
	go p.serve(open)
	return p
}

// serve reads once for each time it is asked.
func (p *Pipe) serve(open func() (io.ReadCloser, error)) {
	from, err := open()
	if err == nil {
		defer from.Close()
	}
	for range p.asked {
		var g gulp
		if g.err = err; err == nil {
			g.bytes, g.err = from.Read(p.buf)
		}
		p.got <- g
	}
}

// Read implements io.Reader. Its errors are those of the read, of opening, or the context's.
func (p *Pipe) Read(to []byte) (int, error) {
	if len(p.rest) == 0 && p.err == nil {
		select {
		case p.asked <- struct{}{}:
		case <-p.ctx.Done():
			return 0, p.ctx.Err()
		}
		select {
		case g := <-p.got:
			p.rest, p.err = p.buf[:g.bytes], g.err
		case <-p.ctx.Done():
			p.err = p.ctx.Err()
		}
	}
	n := copy(to, p.rest)
	if p.rest = p.rest[n:]; n > 0 {
		return n, nil
	}
	return 0, p.err
}

// Close lets the goroutine end. Nothing may be read afterwards.
func (p *Pipe) Close() error {
	close(p.asked)
	return nil
}
