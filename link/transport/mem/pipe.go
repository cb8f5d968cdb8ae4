package mem

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"bellows/link/transport"
)

// pipeSize is how many unread bytes a pipe holds: as much as a small socket.
const pipeSize = 64 << 10

// pipe carries bytes one way.
type pipe struct {
	mu       sync.Mutex
	bytes    []byte
	moved    chan struct{} // closed, and made anew, whenever something below or above changes
	ended    bool          // by either side
	readErr  error         // why, if the reading side ended it
	writeErr error         // why, if the writing side did
}

// stream is one end of a pair of pipes.
type stream struct {
	in, out *pipe
	config  transport.Config
}

// pair returns two ends that are joined, with the times of their owners.
func pair(near, far transport.Config) (a, b *stream) {
	there, back := &pipe{moved: make(chan struct{})}, &pipe{moved: make(chan struct{})}
	return &stream{in: back, out: there, config: near}, &stream{in: there, out: back, config: far}
}

func (s *stream) Read(b []byte) (int, error) {
	silence := s.config.ReadSilence
	for {
		n, moved, err := s.in.take(b)
		if n > 0 || err != nil || len(b) == 0 {
			return n, err
		}
		if !wait(moved, silence) {
			return 0, fmt.Errorf("no byte came for %v: %w", silence, os.ErrDeadlineExceeded)
		}
	}
}

func (s *stream) Write(b []byte) (int, error) {
	stall, sent := s.config.WriteStall, 0
	for sent < len(b) {
		n, moved, err := s.out.put(b[sent:])
		if err != nil {
			return sent, err
		}
		sent += n
		if n == 0 && !wait(moved, stall) {
			s.out.end(nil, fmt.Errorf("it took no byte for %v: %w", stall, os.ErrDeadlineExceeded))
		}
	}
	return sent, nil
}

// end closes both ways: this end fails with why, whatever it failed with before, and the other with a closed peer.
func (s *stream) end(why error) {
	s.in.end(why, nil)
	s.out.end(nil, why)
}

// wait waits until moved is closed, for the time d unless that is 0, and reports whether it was.
func wait(moved <-chan struct{}, d time.Duration) bool {
	if d == 0 {
		<-moved
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-moved:
		return true
	case <-t.C:
		return false
	}
}

// wake reports to all waiters that the pipe has changed. The lock is held.
func (p *pipe) wake() {
	close(p.moved)
	p.moved = make(chan struct{})
}

// end ends the pipe and tells the side that did so why. The other side gets what was written and then io.EOF, or may
// write no more.
func (p *pipe) end(read, write error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if read != nil {
		p.readErr = read
	}
	if write != nil {
		p.writeErr = write
	}
	p.wake()
}

// take moves bytes out. If there are none and no error, try again when moved is closed.
func (p *pipe) take(b []byte) (n int, moved chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.readErr != nil:
		return 0, nil, p.readErr
	case len(p.bytes) == 0 && p.ended:
		return 0, nil, io.EOF
	}
	if n = copy(b, p.bytes); n > 0 {
		p.bytes = p.bytes[:copy(p.bytes, p.bytes[n:])]
		p.wake()
	}
	return n, p.moved, nil
}

// put moves bytes in, as far as there is room. If there is none, try again when moved is closed.
func (p *pipe) put(b []byte) (n int, moved chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.writeErr != nil:
		return 0, nil, p.writeErr
	case p.ended:
		return 0, nil, io.ErrUnexpectedEOF
	}
	if n = min(len(b), pipeSize-len(p.bytes)); n > 0 {
		p.bytes = append(p.bytes, b[:n]...)
		p.wake()
	}
	return n, p.moved, nil
}
