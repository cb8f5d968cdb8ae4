package frames

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/klauspost/compress/zstd"
)

// metadataBytesMost bounds the description of one message, windowMost the window of a compressed buffer.
const (
	metadataBytesMost = 64 << 20
	windowMost        = 128 << 20
)

// Errors of messages whose claims do not fit their bytes.
var (
	errSchema = errors.New("its schema is damaged: it counts more than it has")
	errBatch  = errors.New("a record batch is damaged: it counts more than it has")
)

// messages reads the messages of a stream. It checks each against its bytes and the file before the library sees it,
// because the library allocates whatever a message claims, and indexes nodes and buffers without checking their number.
// It is an ipc.MessageReader.
type messages struct {
	from   io.Reader
	mem    *allocator
	limits Limits
	size   int64   // of the file; 0: unknown
	marked bool    // it ends with a mark, as files do and streams may
	footed *footed // the file is read by its footer; nil: in its own order

	schema *arrow.Schema
	ids    []int64                  // of dictionaries, in the order of the fields
	values map[int64]arrow.DataType // types of their values, once the schema is known
	last   *ipc.Message
}

// settle sets what batches hold.
func (m *messages) settle(s *arrow.Schema) error {
	var types []arrow.DataType
	for _, f := range s.Fields() {
		types = dictionaries(f.Type, types)
	}
	if len(types) != len(m.ids) {
		return errSchema
	}
	m.schema, m.values = s, map[int64]arrow.DataType{}
	for i, id := range m.ids {
		m.values[id] = types[i]
	}
	return nil
}

// Retain implements ipc.MessageReader. The owner of messages releases it.
func (m *messages) Retain() {}

// Release implements ipc.MessageReader.
func (m *messages) Release() {
	if m.last != nil {
		m.last.Release()
		m.last = nil
	}
}

// Message implements ipc.MessageReader: it returns the next message, or io.EOF after the last. The message is valid
// until the next call.
func (m *messages) Message() (*ipc.Message, error) {
	m.Release()
	var meta []byte
	var err error
	if m.footed != nil {
		meta, err = m.footed.described(m)
	} else {
		meta, err = m.metadata()
	}
	if err != nil {
		return nil, err
	}
	d := described{b: meta, left: len(meta)}
	said := d.message(m)
	if said.err != nil {
		return nil, said.err
	}
	body, err := m.body(said.body)
	if err != nil {
		return nil, err
	}
	defer body.Release()
	if said.packed {
		if err := m.checkSizes(&said, body.Bytes()); err != nil {
			return nil, err
		}
	}
	m.last = ipc.NewMessage(memory.NewBufferBytes(meta), body)
	return m.last, nil
}

// metadata reads the description of the next message.
func (m *messages) metadata() ([]byte, error) {
	var head [4]byte
	if n, err := io.ReadFull(m.from, head[:]); err != nil {
		if err == io.EOF && n == 0 && !m.marked {
			return nil, io.EOF
		}
		if err == io.EOF {
			return nil, fmt.Errorf("the mark of its end is missing: %w", io.ErrUnexpectedEOF)
		}
		return nil, cutIn("what describes a message", err)
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size == 1<<32-1 { // streams from before 2019 begin with the length
		if _, err := io.ReadFull(m.from, head[:]); err != nil {
			return nil, cutIn("what describes a message", err)
		}
		size = binary.LittleEndian.Uint32(head[:])
	}
	switch {
	case size == 0:
		return nil, io.EOF
	case int64(size) > min(metadataBytesMost, m.limits.Bytes):
		return nil, fmt.Errorf("%w: a message is described by %d bytes", ErrLimit, size)
	}
	var meta bytes.Buffer // it grows with the data
	if n, err := io.CopyN(&meta, m.from, int64(size)); n < int64(size) {
		return nil, cutIn("what describes a message", err)
	}
	return meta.Bytes(), nil
}

// cutIn returns an error inside something; io.EOF becomes io.ErrUnexpectedEOF.
func cutIn(what string, err error) error {
	if err = truncated(err); err == io.ErrUnexpectedEOF {
		return fmt.Errorf("in %s: %w", what, err)
	}
	return err
}

// bodyStep is the size of the first read of a body whose size cannot be checked.
const bodyStep = 1 << 20

// body reads the bytes after a description.
func (m *messages) body(length int64) (*memory.Buffer, error) {
	switch {
	case m.size > 0 && length > m.size:
		return nil, fmt.Errorf("a message claims %d bytes, and the file has %d: %w", length, m.size,
			io.ErrUnexpectedEOF)
	case length > m.limits.Bytes:
		return nil, fmt.Errorf("%w: a message claims %d bytes", ErrLimit, length)
	}
	b := memory.NewResizableBuffer(m.mem)
	for got := int64(0); got < length; {
		next := length
		if m.size == 0 {
			next = min(length, max(bodyStep, 2*got))
		}
		b.Resize(int(next))
		if _, err := io.ReadFull(m.from, b.Bytes()[got:]); err != nil {
			b.Release()
			return nil, cutIn(fmt.Sprintf("the %d bytes of a message", length), err)
		}
		got = next
	}
	return b, nil
}

// checkSizes checks the claimed decompressed sizes of a body's buffers against the limit.
func (m *messages) checkSizes(said *saying, body []byte) error {
	total := int64(0)
	for _, b := range said.buffers {
		if b.length == 0 {
			continue
		}
		if b.length < 8 {
			return errBatch
		}
		part := body[b.offset : b.offset+b.length]
		size := int64(binary.LittleEndian.Uint64(part))
		if size == -1 { // it is not compressed
			continue
		}
		if size < 0 || size > m.limits.Bytes-total {
			return fmt.Errorf("%w: buffers of a record batch claim to unpack to %d bytes", ErrLimit, size)
		}
		total += size
		var h zstd.Header
		if said.codec == codecZstd && h.Decode(part[8:]) == nil &&
			(h.WindowSize > windowMost || h.SingleSegment && h.FrameContentSize > uint64(size)) {
			return fmt.Errorf("%w: a buffer needs a window of more than %d MiB", ErrLimit, windowMost>>20)
		}
	}
	return nil
}
