package sock

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"bellows/transport"
	"bellows/wire"
)

// Buffers up to joinMax bytes are copied together, up to scratchSize, since handing one to the kernel costs about as much
// as copying that many; larger ones are handed over where they are.
const (
	joinMax     = 4 << 10
	scratchSize = 64 << 10
)

type conn struct {
	net    net.Conn
	reader *transport.Reader
	peer   transport.Hello
	remote string

	// The writer's.
	stall   time.Duration
	scratch []byte      // small buffers, joined
	vector  net.Buffers // what leaves with the next call, parts of scratch among it
	rest    net.Buffers // what of vector has not left
	broken  error       // the stream ends in the middle of a frame, or is closed
}

func newConn(c net.Conn, config transport.Config, peer transport.Hello, place string) *conn {
	return &conn{
		net:     c,
		reader:  transport.NewReader(&source{c, config.ReadSilence}),
		peer:    peer,
		remote:  transport.Name(peer, place),
		stall:   config.WriteStall,
		scratch: make([]byte, 0, scratchSize),
	}
}

func (c *conn) Remote() string        { return c.remote }
func (c *conn) Peer() transport.Hello { return c.peer }

func (c *conn) Close() error {
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
}

func (s *source) Read(b []byte) (int, error) {
	if s.silence > 0 {
		s.net.SetReadDeadline(time.Now().Add(s.silence)) // fails only where Read does
	}
	n, err := s.net.Read(b)
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
		c.broken = c.write(buffers)
	}
	if c.broken != nil {
		return transport.ConnFault("write to", c.remote, c.broken)
	}
	return nil
}

// write joins small buffers and sends all of them in their order.
func (c *conn) write(buffers [][]byte) error {
	joined := false // whether the last of vector ends where scratch does
	for _, b := range buffers {
		if len(b) == 0 {
			continue
		}
		small := len(b) <= joinMax
		if small && len(c.scratch)+len(b) > scratchSize {
			if err := c.flush(); err != nil {
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
	return c.flush()
}

// flush sends the vector, and gives up when nothing of it left for a whole stall.
func (c *conn) flush() error {
	c.rest = c.vector
	defer func() {
		clear(c.vector)
		c.vector, c.scratch = c.vector[:0], c.scratch[:0]
	}()
	for len(c.rest) > 0 {
		c.net.SetWriteDeadline(time.Now().Add(c.stall)) // fails only where WriteTo does
		n, err := c.rest.WriteTo(c.net)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return plain(err)
		case n == 0:
			return fmt.Errorf("it took no byte for %v: %w", c.stall, os.ErrDeadlineExceeded)
		}
	}
	return nil
}

// plain is the cause of an error of package net, without the addresses, which ours have already. What a dead peer or a
// vanished host leaves behind is the end of the stream.
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
