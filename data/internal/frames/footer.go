package frames

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The byte offsets of fields in the FlatBuffers vtable of Arrow's footer, and the size of a block, which has the place
// of a message.
const (
	footerVersion      = 4
	footerSchema       = 6
	footerDictionaries = 8
	footerBatches      = 10
	blockBytes         = 24
)

// markBytes is the size of the data after the footer: its length, and the mark of the end.
const markBytes = 10

// Errors of a file's footer.
var (
	errFooter   = errors.New("its footer is damaged: it names what the file does not have")
	errNoSchema = errors.New("its schema stands at its end, and this can only be read from its beginning")
)

// A block is the place of a message in a file.
type block struct{ offset, metadata, body int64 }

// footed is a file that is read by its footer: its schema, then its dictionaries, then its record batches, wherever
// they stand.
type footed struct {
	at     io.ReaderAt
	schema []byte // a message; nil after it was read
	blocks []block
}

// openFooter reads the footer of a file.
func openFooter(at io.ReaderAt, size int64, limits Limits) (*footed, error) {
	var mark [markBytes]byte
	if size < int64(len(arrowMagic))+markBytes {
		return nil, fmt.Errorf("the mark of its end is missing: %w", io.ErrUnexpectedEOF)
	}
	if _, err := at.ReadAt(mark[:], size-markBytes); err != nil {
		return nil, truncated(err)
	}
	if string(mark[4:]) != string(arrowMagic[:6]) {
		return nil, fmt.Errorf("the mark of its end is missing: %w", io.ErrUnexpectedEOF)
	}
	length := int64(int32(binary.LittleEndian.Uint32(mark[:])))
	switch {
	case length < 4 || length > size-markBytes-int64(len(arrowMagic)):
		return nil, errFooter
	case length > min(metadataBytesMost, limits.Bytes):
		return nil, fmt.Errorf("%w: its footer has %d bytes", ErrLimit, length)
	}
	b := make([]byte, length)
	if _, err := at.ReadAt(b, size-markBytes-length); err != nil {
		return nil, truncated(err)
	}
	d := described{b: b, left: len(b)}
	root := d.follow(0)
	schema := d.field(root, footerSchema)
	if schema == 0 || d.bad {
		return nil, errFooter
	}
	f := &footed{at: at, schema: schemaMessage(b, d.follow(schema), int16(d.number(d.field(root, footerVersion), 2)))}
	for _, slot := range []int{footerDictionaries, footerBatches} {
		from, n := d.structs(root, slot, blockBytes)
		for i := range n {
			place := from + i*blockBytes
			one := block{d.number(place, 8), int64(int32(d.u32(place + 8))), d.number(place+16, 8)}
			if one.offset < int64(len(arrowMagic)) || one.metadata <= 0 || one.body < 0 || one.offset > size ||
				one.metadata > size-one.offset || one.body > size-one.offset-one.metadata {
				d.bad = true
			}
			f.blocks = append(f.blocks, one)
		}
	}
	if d.bad {
		return nil, errFooter
	}
	return f, nil
}

// schemaMessage returns the message that begins a stream: a table that points at the schema in the footer that follows.
func schemaMessage(footer []byte, schema int, version int16) []byte {
	const (
		table  = 16 // after the offset of the table, and the places of its fields
		header = table + 8
		behind = table + 24 // a multiple of 8, as the footer's numbers need
	)
	b := make([]byte, behind, behind+len(footer))
	le := binary.LittleEndian
	le.PutUint32(b, table)
	// of the list of places and of the table; then of the version, the type, the header and the body
	for i, n := range []uint16{12, 24, 4, 6, 8, 16} {
		le.PutUint16(b[4+2*i:], n)
	}
	le.PutUint32(b[table:], table-4)
	le.PutUint16(b[table+4:], uint16(version))
	b[table+6] = isSchema
	le.PutUint32(b[header:], uint32(behind+schema-header))
	return append(b, footer...)
}

// next returns the next block, or io.EOF after the last.
func (f *footed) next() (block, error) {
	if len(f.blocks) == 0 {
		return block{}, io.EOF
	}
	b := f.blocks[0]
	f.blocks = f.blocks[1:]
	return b, nil
}

// described returns the description of the next message, and makes m read from its body.
func (f *footed) described(m *messages) (meta []byte, err error) {
	if meta = f.schema; meta != nil {
		f.schema = nil
		return meta, nil
	}
	b, err := f.next()
	if err != nil {
		return nil, err
	}
	m.from = io.NewSectionReader(f.at, b.offset, b.metadata)
	if meta, err = m.metadata(); err == io.EOF {
		err = errFooter // a block never ends the stream
	}
	m.from = io.NewSectionReader(f.at, b.offset+b.metadata, b.body)
	return meta, err
}
