// Package pipe reads inputs that may block for ever (pipes, terminals), so that a cancelled read can still return.
//
// The caller gives New a function that opens the input, calls Read, and calls Close. The package cannot interrupt a
// blocked system call: the call continues until data arrives or the process ends.
package pipe

import (
	"context"
	"io"
)

// Pipe reads an input that may block for ever: standard input, and files that are not regular, such as named pipes,
// whose opening blocks too. A separate goroutine opens and reads, so that a cancelled reader returns at once
// (TestAReadThatWaitsCanBeLeft of package data). The data that the goroutine waits for is lost with the read. The
// goroutine stays until the data arrives or the process ends, because a blocked system call cannot be interrupted.
//
// Invariant: serve holds buf from a request to its answer, and the reader holds it at all other times.
type Pipe struct {
	ctx   context.Context
	buf   []byte
	asked chan struct{}
	got   chan chunk // has room, so that serve never blocks on it
	rest  []byte     // the unread part of buf
	err   error      // returned after rest
}

// A gulp is the result of one read.
type chunk struct {
	bytes int
	err   error
}

const chunkBytes = 256 << 10

// New starts to open an input.
func New(ctx context.Context, open func() (io.ReadCloser, error)) *Pipe {
	p := &Pipe{ctx: ctx, buf: make([]byte, chunkBytes), asked: make(chan struct{}), got: make(chan chunk, 1)}
	go p.serve(open)
	return p
}

// serve reads once per request.
func (p *Pipe) serve(open func() (io.ReadCloser, error)) {
	from, err := open()
	if err == nil {
		defer from.Close()
	}
	for range p.asked {
		var g chunk
		if g.err = err; err == nil {
			g.bytes, g.err = from.Read(p.buf)
		}
		p.got <- g
	}
}

// Read implements io.Reader. Its errors are those of reading, of opening, or the context's.
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

// Close lets the goroutine end. Read must not be called after it.
func (p *Pipe) Close() error {
	close(p.asked)
	return nil
}
