package frames

import (
	"encoding/binary"
	"fmt"
)

// described holds the bytes of a message, a FlatBuffer, and checks its vectors against them.
type described struct {
	b    []byte
	left int     // visits left: a table may be referenced more than once
	deep int     // nesting depth of the field being visited
	ids  []int64 // of the dictionaries visited
	bad  bool
}

// deepMost bounds the nesting of fields.
const deepMost = 64

// The byte offsets of fields in the FlatBuffers vtables of Arrow's tables.
const (
	messageVersion  = 4
	messageType     = 6
	messageHeader   = 8
	messageBody     = 10
	messageMetadata = 12
	schemaFields    = 6
	schemaMetadata  = 8
	schemaFeatures  = 10
	fieldDictionary = 12
	fieldChildren   = 14
	fieldMetadata   = 16
	encodingID      = 4
	dictionaryID    = 4
	dictionaryBatch = 6
	batchRows       = 4
	batchNodes      = 6
	batchBuffers    = 8
	batchPacking    = 10
	batchFurther    = 12
	packingCodec    = 4
)

// The types of messages, and a codec.
const (
	isSchema     = 1
	isDictionary = 2
	isBatch      = 3
	codecZstd    = 1
)

// structBytes is the size of a node (its length and its number of missing values) and of a buffer (its offset and its
// length).
const structBytes = 16

// saying holds the claims of a message.
type saying struct {
	body    int64
	buffers []extent
	packed  bool
	codec   int
	err     error
}

// An extent is a buffer in a body.
type extent struct{ offset, length int64 }

// message checks a message against its bytes, and collects the dictionaries' numbers from a schema.
func (s *described) message(m *messages) (said saying) {
	at := s.follow(0)
	version, kind := s.number(s.field(at, messageVersion), 2), s.number(s.field(at, messageType), 1)
	said.body = s.number(s.field(at, messageBody), 8)
	s.vector(at, messageMetadata, 4, nil)
	header := s.field(at, messageHeader)
	if header > 0 {
		header = s.follow(header)
	}
	wrong := errBatch
	switch {
	case kind == isSchema:
		wrong = errSchema
		s.schema(header, m)
	case header == 0 || s.bad:
		s.bad = true
	case kind == isBatch && m.schema != nil:
		var n needs
		for _, f := range m.schema.Fields() {
			n.add(f.Type, int(version))
		}
		said.err = s.batch(header, n, &said, m.limits)
	case kind == isDictionary && m.schema != nil:
		values, known := m.values[s.number(s.field(header, dictionaryID), 8)]
		at := s.field(header, dictionaryBatch)
		if s.bad = s.bad || !known || at == 0; !s.bad {
			var n needs
			n.add(values, 0) // the library reads dictionaries like those of the first version
			said.err = s.batch(s.follow(at), n, &said, m.limits)
		}
	}
	if said.err == nil && (s.bad || said.body < 0) {
		said.err = wrong
	}
	return said
}

func (s *described) schema(at int, m *messages) {
	if at == 0 {
		s.bad = true
		return
	}
	s.vector(at, schemaMetadata, 4, nil)
	s.vector(at, schemaFeatures, 8, nil)
	s.ids = nil
	s.vector(at, schemaFields, 4, s.oneField)
	m.ids = s.ids
}

// batch checks a record batch against its bytes, its body, and the needs of the schema.
func (s *described) batch(at int, n needs, said *saying, l Limits) error {
	rows := s.number(s.field(at, batchRows), 8)
	nodes, nodeCount := s.structs(at, batchNodes, structBytes)
	buffers, bufferCount := s.structs(at, batchBuffers, structBytes)
	further, furtherCount := s.structs(at, batchFurther, 8)
	for i := 0; i < nodeCount && !s.bad; i++ {
		length, missing := s.number(nodes+structBytes*i, 8), s.number(nodes+structBytes*i+8, 8)
		s.bad = s.bad || length < 0 || length > l.Bytes || missing < 0 || missing > length
	}
	for i := 0; i < bufferCount && !s.bad; i++ {
		b := extent{s.number(buffers+structBytes*i, 8), s.number(buffers+structBytes*i+8, 8)}
		s.bad = s.bad || b.offset < 0 || b.length < 0 || b.offset > said.body || b.length > said.body-b.offset
		said.buffers = append(said.buffers, b)
	}
	for i := 0; i < furtherCount && !s.bad; i++ {
		k := s.number(further+8*i, 8)
		if s.bad = s.bad || k < 0 || k > int64(bufferCount); !s.bad {
			n.buffers += int(k)
		}
	}
	if packing := s.field(at, batchPacking); packing > 0 {
		said.packed = true
		said.codec = int(s.number(s.field(s.follow(packing), packingCodec), 1))
		s.bad = s.bad || said.codec > codecZstd
	}
	switch {
	case s.bad || rows < 0 || nodeCount < n.nodes || bufferCount < n.buffers || furtherCount < n.views:
		return errBatch
	case rows > l.Rows:
		return fmt.Errorf("it has more rows than the limit, %d", l.Rows)
	case rows > 0 && rows > l.Bytes/4/int64(max(1, n.nodes)): // like Parquet
		return fmt.Errorf("%w: a record batch claims %d rows", ErrLimit, rows)
	}
	return nil
}

// structs returns the start of a table's vector of structs of a size, and its length.
func (s *described) structs(table, slot, size int) (at, n int) {
	if at = s.field(table, slot); at == 0 || s.bad {
		return 0, 0
	}
	at = s.follow(at)
	if n = s.u32(at); s.bad || n > (len(s.b)-at-4)/size {
		s.bad = true
		return 0, 0
	}
	return at + 4, n
}

// number returns the whole number of the given size at a place, 0 if the place is 0.
func (s *described) number(at, size int) int64 {
	if at == 0 || s.bad {
		return 0
	}
	if s.bad = at < 0 || at+size > len(s.b); s.bad {
		return 0
	}
	switch size {
	case 1:
		return int64(s.b[at])
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(s.b[at:])))
	}
	return int64(binary.LittleEndian.Uint64(s.b[at:]))
}

func (s *described) oneField(at int) {
	s.vector(at, fieldMetadata, 4, nil)
	if encoding := s.field(at, fieldDictionary); encoding > 0 {
		s.ids = append(s.ids, s.number(s.field(s.follow(encoding), encodingID), 8))
	}
	if s.deep++; s.deep > deepMost {
		s.bad = true
	}
	s.vector(at, fieldChildren, 4, s.oneField)
	s.deep--
}

// u32 returns the number at a place.
func (s *described) u32(at int) int {
	if s.bad = s.bad || at < 0 || at+4 > len(s.b); s.bad {
		return 0
	}
	return int(binary.LittleEndian.Uint32(s.b[at:]))
}

// follow returns the target of an offset at a place.
func (s *described) follow(at int) int {
	to := at + s.u32(at)
	s.bad = s.bad || to <= at || to+4 > len(s.b)
	return to
}

// field returns the place of a field of a table, 0 if the table lacks it.
func (s *described) field(table, slot int) int {
	if s.bad {
		return 0
	}
	fields := table - int(int32(s.u32(table)))
	if s.bad = s.bad || fields < 0 || fields+4 > len(s.b); s.bad {
		return 0
	}
	if size := int(binary.LittleEndian.Uint16(s.b[fields:])); slot+2 > size {
		return 0
	}
	if s.bad = fields+slot+2 > len(s.b); s.bad {
		return 0
	}
	at := int(binary.LittleEndian.Uint16(s.b[fields+slot:]))
	if at == 0 {
		return 0
	}
	return table + at
}

// vector checks the vector of a table against the bytes, and visits the tables in it.
func (s *described) vector(table, slot, width int, visit func(at int)) {
	at := s.field(table, slot)
	if at == 0 || s.bad {
		return
	}
	at = s.follow(at)
	n := s.u32(at)
	if s.bad = s.bad || n > (len(s.b)-at-4)/width; s.bad || visit == nil {
		return
	}
	for i := range n {
		if s.left--; s.left < 0 {
			s.bad = true
		}
		if s.bad {
			return
		}
		if to := s.follow(at + 4 + 4*i); !s.bad {
			visit(to)
		}
	}
}
