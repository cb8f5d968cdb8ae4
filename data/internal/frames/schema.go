package frames

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// errSchema says that a schema's description of itself does not fit into its bytes.
var errSchema = errors.New("its schema is damaged: it counts more than it has")

// schemaMessage reads the first message of a stream, holds the counts in it against its bytes, and returns it. The library makes room for as many fields as
// a schema says that it has, before it looks for them.
func schemaMessage(from io.Reader) ([]byte, error) {
	head := make([]byte, 4, 8)
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, early(err)
	}
	if binary.LittleEndian.Uint32(head) == 1<<32-1 { // streams of before 2019 begin with the length
		head = head[:8]
		if _, err := io.ReadFull(from, head[4:]); err != nil {
			return nil, early(err)
		}
	}
	size := int64(binary.LittleEndian.Uint32(head[len(head)-4:]))
	if size > metadataBytesMost {
		return nil, fmt.Errorf("%w: its schema has %d bytes", ErrLimit, size)
	}
	message := bytes.NewBuffer(head)
	if n, err := io.CopyN(message, from, size); n < size {
		return nil, early(err)
	}
	s := described{b: message.Bytes()[len(head):]}
	s.left = len(s.b)
	if s.message(); s.bad {
		return nil, errSchema
	}
	return message.Bytes(), nil
}

// described is the bytes of a message, a FlatBuffer, whose vectors are held against them.
type described struct {
	b    []byte
	left int // of what may be visited: a table may be meant more than once
	deep int // fields around the one that is visited
	bad  bool
}

// deepMost bounds how deep fields lie in each other.
const deepMost = 64

// Places of fields in the tables of Arrow's format.
const (
	messageHeader  = 8
	schemaFields   = 6
	schemaMetadata = 8
	schemaFeatures = 10
	fieldChildren  = 14
	fieldMetadata  = 16
)

func (s *described) message() {
	message := s.follow(0)
	if header := s.field(message, messageHeader); header > 0 {
		at := s.follow(header)
		s.vector(at, schemaMetadata, 4, nil)
		s.vector(at, schemaFeatures, 8, nil)
		s.vector(at, schemaFields, 4, s.oneField)
	}
}

func (s *described) oneField(at int) {
	s.vector(at, fieldMetadata, 4, nil)
	if s.deep++; s.deep > deepMost {
		s.bad = true
	}
	s.vector(at, fieldChildren, 4, s.oneField)
	s.deep--
}

// u32 is the number at a place.
func (s *described) u32(at int) int {
	if s.bad = s.bad || at < 0 || at+4 > len(s.b); s.bad {
		return 0
	}
	return int(binary.LittleEndian.Uint32(s.b[at:]))
}

// follow is where an offset at a place points to.
func (s *described) follow(at int) int {
	to := at + s.u32(at)
	s.bad = s.bad || to <= at || to+4 > len(s.b)
	return to
}

// field is where a table has a field; 0: it has none.
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

// vector holds the vector of a table against the bytes, and visits the tables that it is of.
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
