package sock

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"bellows/link/transport"
	"bellows/link/wire"
)

// Buffers up to joinMax bytes are copied together, up to scratchSize, since handing one to the kernel costs about as much
// as copying that many; larger ones are handed over where they are.
const (
	joinMax     = 4 << 10
	scratchSize = 64 << 10
	tryMost     = 8 // buffers that TryFrames hands over
)

// Bounds of one write: its buffers and its bytes. One of the scheduler's processors waits for the call (writeNow), a
// millisecond at most. With 512 KiB, pushes of 64 KiB cost a tenth more.
const (
	writeBuffers = 64
	writeBytes   = 2 << 20
)

type conn struct {
	net    net.Conn
	over   *sealed // encrypts what is written, decrypts what is read; nil: no TLS
	source *source
	reader *transport.Reader
	peer   transport.Hello
	remote string
	acked  acked

	raw    syscall.RawConn       // of net; nil: it has none
	trying [][]byte              // what try writes, and then what is left
	try    func(fd uintptr) bool // nil: nothing can be tried

	// The writer's.
	stall   time.Duration
	scratch []byte                // small buffers, joined
	vector  net.Buffers           // what leaves with the next call, parts of scratch among it
	rest    net.Buffers           // what of vector has not left
	write   func(fd uintptr) bool // nil: package net writes
	written int                   // bytes of rest that have left under the present deadline
	failed  error                 // of write
	broken  error                 // the stream ends in the middle of a frame, or is closed
}

func newConn(c net.Conn, over *sealed, config transport.Config, peer transport.Hello, place string) *conn {
	n := &conn{
		net:     c,
		over:    over,
		source:  &source{net: c, silence: config.ReadSilence},
		peer:    peer,
		remote:  transport.Name(peer, place),
		stall:   config.WriteStall,
		scratch: make([]byte, 0, scratchSize),
	}
	n.reader = transport.NewReader(n.source)
	if over != nil {
		over.begin(n.source, config.WriteStall)
		n.reader = transport.NewReader(over)
	}
	if s, ok := c.(syscall.Conn); ok {
		if raw, err := s.SyscallConn(); err == nil {
			n.raw = raw
			if over == nil { // else a try would be encrypted during a read
				n.try = n.tryWrite
			}
			if over == nil && writesNow {
				n.write = n.writeOn
			}
		}
	}
	return n
}

// BeforeWait implements transport.NonBlockingConn.
func (c *conn) BeforeWait(f func()) { c.source.setBefore(c.raw, f) }

// TryFrames implements transport.NonBlockingConn.
func (c *conn) TryFrames(buffers [][]byte) (rest [][]byte) {
	if len(buffers) == 0 || c.try == nil || c.broken != nil || len(buffers) > tryMost {
		return buffers
	}
	c.trying = buffers
	if err := c.raw.Write(c.try); err != nil && c.broken == nil {
		c.broken = plain(err)
	}
	rest, c.trying = c.trying, nil
	return rest
}

// tryWrite returns one write of what is to be tried; the connection's descriptor never waits.
func (c *conn) tryWrite(fd uintptr) (done bool) {
	n, err := writeNow(int(fd), c.trying)
	if err != nil {
		if err != syscall.EAGAIN && err != syscall.EINTR {
			c.broken = plain(err)
		}
		return true
	}
	c.trying = skip(c.trying, n)
	return true
}

// skip returns buffers without their first n bytes. It consumes the list.
func skip(buffers [][]byte, n int) [][]byte {
	for n > 0 {
		take := min(n, len(buffers[0]))
		n -= take
		if buffers[0] = buffers[0][take:]; len(buffers[0]) == 0 {
			buffers = buffers[1:]
		}
	}
	return buffers
}

// Arrived implements transport.Meter.
func (c *conn) Arrived() uint64 { return c.reader.Arrived() }

func (c *conn) Remote() string        { return c.remote }
func (c *conn) Peer() transport.Hello { return c.peer }

func (c *conn) Close() error {
	c.Acknowledged() // the system tells no more afterwards
	if err := c.net.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return transport.ConnFault("close", c.remote, plain(err))
	}
	return nil
}

func (c *conn) ReadFrame() (wire.Header, []byte, error) {
	h, payload, err := c.reader.Frame()
	if err != nil {
		return h, nil, transport.ConnFault("read from", c.remote, err)
	}
	return h, payload, nil
}

// source is the stream of a connection with a limit on silence.
type source struct {
	net     net.Conn
	silence time.Duration // 0: none

	// For setBefore.
	raw    syscall.RawConn // nil: not used
	before func()
	read   func(fd uintptr) bool
	first  []byte // of the read under way
	second []byte // takes what first has no room for
	n      int
	err    error
}

// setBefore makes reads call f before they wait. raw is nil if the connection cannot do that.
func (s *source) setBefore(raw syscall.RawConn, f func()) {
	s.raw, s.before, s.read = raw, f, s.readNow
}

// readNow returns one read that does not wait; false: nothing has come.
func (s *source) readNow(fd uintptr) (done bool) {
	for {
		s.n, s.err = readNow(int(fd), s.first, s.second)
		switch s.err {
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			s.before()
			return false
		}
		return true
	}
}

// next reads like net's Read, with a call before it waits.
func (s *source) next(first, second []byte) (int, error) {
	if s.raw == nil {
		return s.net.Read(first)
	}
	s.first, s.second, s.n, s.err = first, second, 0, nil
	err := s.raw.Read(s.read)
	s.first, s.second = nil, nil
	if err != nil {
		return 0, err
	}
	switch {
	case s.err != nil:
		return 0, s.err
	case s.n == 0 && len(first) > 0:
		return 0, io.EOF
	}
	return s.n, nil
}

func (s *source) Read(b []byte) (int, error) { return s.ReadBoth(b, nil) }

// ReadBoth implements transport.BothReader.
func (s *source) ReadBoth(first, second []byte) (int, error) {
	if s.silence > 0 {
		s.net.SetReadDeadline(time.Now().Add(s.silence)) // fails only where Read does
	}
	n, err := s.next(first, second)
	switch {
	case err == nil || err == io.EOF:
		return n, err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, fmt.Errorf("no byte came for %v: %w", s.silence, os.ErrDeadlineExceeded)
	}
	return n, plain(err)
}

func (c *conn) WriteFrames(buffers [][]byte) error {
	if c.broken == nil {
		c.broken = c.send(buffers)
	}
	if c.broken != nil {
		return transport.ConnFault("write to", c.remote, c.broken)
	}
	return nil
}

// send joins small buffers and sends all of them in their order.
func (c *conn) send(buffers [][]byte) error {
	joined := false // whether the last of vector ends where scratch does
	for _, b := range buffers {
		if len(b) == 0 {
			continue
		}
		small := len(b) <= joinMax
		if small && len(c.scratch)+len(b) > scratchSize {
			if err := c.sendVector(); err != nil {
				return err
			}
			joined = false
		}
		if !small {
			c.vector, joined = append(c.vector, b), false
			continue
		}
		begin := len(c.scratch)
		c.scratch = append(c.scratch, b...)
		if last := len(c.vector) - 1; joined {
			c.vector[last] = c.scratch[begin-len(c.vector[last]):]
		} else {
			c.vector, joined = append(c.vector, c.scratch[begin:]), true
		}
	}
	return c.sendVector()
}

// sendVector sends the vector, and gives up when nothing of it left for a whole stall.
func (c *conn) sendVector() error {
	c.rest = c.vector
	defer func() {
		clear(c.vector)
		c.vector, c.scratch = c.vector[:0], c.scratch[:0]
	}()
	if c.over != nil {
		return c.over.send(c.rest)
	}
	for len(c.rest) > 0 {
		c.net.SetWriteDeadline(time.Now().Add(c.stall)) // fails only where writing does
		n, err := c.writeRest()
		switch {
		case err == nil:
			c.net.SetWriteDeadline(time.Time{}) // TryFrames has none
			return nil
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return plain(err)
		case n == 0:
			return fmt.Errorf("it took no byte for %v: %w", c.stall, os.ErrDeadlineExceeded)
		}
	}
	return nil
}

// writeRest writes rest until all of it has left or the deadline has passed, and returns how many bytes have left.
func (c *conn) writeRest() (n int64, err error) {
	if c.write == nil {
		return c.rest.WriteTo(c.net)
	}
	c.written, c.failed = 0, nil
	if err = c.raw.Write(c.write); err == nil {
		err = c.failed
	}
	return int64(c.written), err
}

// writeOn writes rest as far as the system takes it at once; false: the rest must wait.
func (c *conn) writeOn(fd uintptr) (done bool) {
	for len(c.rest) > 0 {
		n, err := writeNow(int(fd), c.rest)
		c.rest = skip(c.rest, n)
		c.written += n
		switch {
		case err == syscall.EAGAIN:
			return false
		case err != nil && err != syscall.EINTR:
			c.failed = err
			return true
		}
	}
	return true
}

// plain returns the cause of an error of package net, without the addresses, which our errors already have. After a
// dead peer or a vanished host that is the end of the stream.
func plain(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Err != nil {
		err = op.Err
	}
	for _, dead := range []error{syscall.ECONNRESET, syscall.EPIPE, syscall.ETIMEDOUT} {
		if errors.Is(err, dead) {
			return fmt.Errorf("%w (%w)", io.ErrUnexpectedEOF, err)
		}
	}
	return err
}
