package sock

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// sealed is TLS over a connection. One goroutine reads, and one writes.
type sealed struct {
	stream *tls.Conn
	below  *below
}

// begin sets the time limits of reads and writes, and gathers writes, from the end of the handshake on.
func (s *sealed) begin(in io.Reader, stall time.Duration) {
	s.below.in, s.below.stall = in, stall
	s.below.gathered = make([]byte, 0, gatheredMost+recordMost)
}

// Read reads what has been decrypted.
func (s *sealed) Read(b []byte) (int, error) { return s.stream.Read(b) }

// send encrypts buffers and sends all of them.
func (s *sealed) send(buffers [][]byte) error {
	for _, b := range buffers {
		if _, err := s.stream.Write(b); err != nil {
			return plain(err)
		}
	}
	return plain(s.below.pushOut())
}

// TLS records are gathered up to gatheredMost bytes before they are handed to the kernel: TLS itself would hand over
// each one. A record has at most 16 KiB of data, and up to 1 KiB that TLS adds.
const (
	gatheredMost = 128 << 10
	recordMost   = 17 << 10
)

// below is the connection under TLS: reads end after a silence, and writes when nothing leaves for a whole stall. Once
// the handshake is over, writes are gathered. TLS treats any timeout of a write as the end, and so the times are kept
// here.
//
// Lock: mu guards gathered: TLS also writes during a read, when the other side asks for a new key. It is held while
// gathered records are written.
type below struct {
	net.Conn
	in    io.Reader // nil: during the handshake
	stall time.Duration

	mu       sync.Mutex
	gathered []byte
}

func (b *below) Read(p []byte) (int, error) {
	if b.in == nil {
		return b.Conn.Read(p)
	}
	return b.in.Read(p)
}

func (b *below) Write(p []byte) (int, error) {
	if b.in == nil {
		return b.Conn.Write(p)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gathered = append(b.gathered, p...)
	if len(b.gathered) < gatheredMost {
		return len(p), nil
	}
	return len(p), b.send()
}

// pushOut sends what is gathered.
func (b *below) pushOut() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.send()
}

// send sends what is gathered, and gives up when nothing of it left for a whole stall. Its caller holds the lock.
func (b *below) send() error {
	rest := b.gathered
	b.gathered = b.gathered[:0]
	for len(rest) > 0 {
		b.Conn.SetWriteDeadline(time.Now().Add(b.stall)) // fails only where Write does
		n, err := b.Conn.Write(rest)
		rest = rest[n:]
		switch {
		case err == nil:
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		case n == 0:
			return fmt.Errorf("it took no byte for %v: %w", b.stall, os.ErrDeadlineExceeded)
		}
	}
	return nil
}
