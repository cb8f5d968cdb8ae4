package transport

import (
	"io"
	"sync/atomic"

	"bellows/link/wire"
)

// readerSize is what one read of the stream may bring: many small frames. Larger payloads do not pass through it.
const readerSize = 64 << 10

// Reader cuts a stream into frames. Implementations of Conn read through it.
type Reader struct {
	stream     io.Reader
	both       BothReader // the stream, where it is one
	buffer     []byte
	begin, end int  // what of the buffer is read and not yet taken
	large      bool // whether the last payload was
	err        error
	arrived    atomic.Uint64
}

// NewReader returns a Reader at the beginning of a frame.
func NewReader(stream io.Reader) *Reader {
	r := &Reader{buffer: make([]byte, readerSize)}
	r.stream = counted{stream, &r.arrived}
	r.both, _ = stream.(BothReader)
	return r
}

// BothReader is a stream that fills two pieces of memory in one read.
type BothReader interface {
	// ReadBoth is Read into first and, once that is full, into second. It may leave second as it is.
	ReadBoth(first, second []byte) (int, error)
}

// Arrived returns how many bytes of the stream have been read, from any goroutine.
func (r *Reader) Arrived() uint64 { return r.arrived.Load() }

// counted is a stream that counts its bytes.
type counted struct {
	io.Reader
	bytes *atomic.Uint64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.bytes.Add(uint64(n))
	return n, err
}

// Frame implements ReadFrame of Conn: the header is checked before memory is taken for the payload. The end of the
// stream is io.EOF between frames and io.ErrUnexpectedEOF within one. After an error every call fails with it.
func (r *Reader) Frame() (wire.Header, []byte, error) {
	if r.err != nil {
		return wire.Header{}, nil, r.err
	}
	h, payload, err := r.frame()
	r.err = err
	return h, payload, err
}

func (r *Reader) frame() (wire.Header, []byte, error) {
	if err := r.fill(wire.HeaderSize); err != nil {
		return wire.Header{}, nil, err
	}
	h, err := wire.ParseHeader(r.buffer[r.begin : r.begin+wire.HeaderSize])
	if err != nil {
		return wire.Header{}, nil, err
	}
	r.begin += wire.HeaderSize
	payload := h.Payload()
	if err := r.payload(payload); err != nil {
		return wire.Header{}, nil, mid(err)
	}
	return h, payload, nil
}

// fill reads until the buffer holds n bytes, and takes as many more as come along. After a large payload it asks for few:
// another is likely to follow, and what of it is read here is copied once more.
func (r *Reader) fill(n int) error {
	if r.end-r.begin >= n {
		return nil
	}
	r.end = copy(r.buffer, r.buffer[r.begin:r.end])
	r.begin = 0
	limit := len(r.buffer)
	if r.large {
		limit = max(n, beside)
	}
	got, err := io.ReadAtLeast(r.stream, r.buffer[r.end:limit], n-r.end)
	if r.end > 0 && err != nil {
		err = mid(err)
	}
	r.end += got
	return err
}

const (
	direct = readerSize / 4 // payloads from here on are read into their own memory
	beside = 4 << 10        // read together with the next header
)

// payload fills b from the buffer, and from the stream.
func (r *Reader) payload(b []byte) error {
	n := copy(b, r.buffer[r.begin:r.end])
	r.begin += n
	rest := b[n:]
	r.large = len(b) >= direct
	if r.large {
		return r.rest(rest)
	}
	if err := r.fill(len(rest)); err != nil {
		return err
	}
	r.begin += copy(rest, r.buffer[r.begin:r.end])
	return nil
}

// rest reads what the buffer does not have of a large payload and, in the same read, the next header if it has come.
func (r *Reader) rest(b []byte) error {
	if r.both == nil || len(b) == 0 {
		_, err := io.ReadFull(r.stream, b)
		return err
	}
	r.begin, r.end = 0, 0
	for {
		n, err := r.both.ReadBoth(b, r.buffer[:beside])
		r.arrived.Add(uint64(n))
		if n >= len(b) { // an error shows again in the next read
			r.end = n - len(b)
			return nil
		}
		b = b[n:]
		if err != nil {
			return err
		}
	}
}
