// Package fields encodes the fields of messages into protobuf payloads and decodes them, by one description of each
// message.
//
// A message describes itself to a Codec: Num, Text, List and the others in the order of their numbers, each with a pointer to what the
// field is. The same description writes (Codec.Write) and reads (Codec.Read). The package knows no message.
//
// Below that, Fields walks over what has come, field by field, and Writer adds fields as generated code does.
package fields

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// Errors in a protobuf payload.
var (
	ErrProto  = errors.New("it is no valid protobuf")
	ErrNumber = errors.New("a number is out of its range")
	ErrMany   = errors.New("a list has more than 262144 elements")
	ErrShort  = errors.New("a list has more elements than its message may have")
	ErrText   = errors.New("its text is not UTF-8")
)

// ListMax is the longest list of a control message. An element takes at most twelve times as many bytes in
// memory as on the wire.
const ListMax = 1 << 18

// TextMax is the longest text that is taken from a message, in bytes; what is longer is cut off.
const TextMax = 32 << 10

// The wire types of protobuf, as the low bits of Fields.Key.
const (
	Varint  = uint64(protowire.VarintType)
	Fixed64 = uint64(protowire.Fixed64Type)
	Sized   = uint64(protowire.BytesType)
)

// Fields walks over the fields of a protobuf message. After the first error there are no more fields and Err returns
// it. A field of a known number with another wire type is skipped, as generated code does.
type Fields struct {
	b    []byte
	at   int    // in b: where the next field begins
	Key  uint64 // number<<3 | wire type; 0: none
	Num  uint64 // of a varint, fixed64 or fixed32
	Data []byte // of a sized field
	Err  error
}

// Next moves to the next field.
func (f *Fields) Next() bool {
	b := f.b[f.at:]
	if f.Err != nil || len(b) == 0 {
		f.Key = 0
		return false
	}
	if len(b) > 1 && b[0] >= 1<<3 && b[0] < 0x80 { // a tag of one byte, and a number or a size of one or two: nearly all are
		n, size := uint64(b[1]), 2
		if n >= 0x80 {
			if len(b) == 2 || b[2] >= 0x80 {
				return f.next(b)
			}
			n, size = n&0x7f|uint64(b[2])<<7, 3
		}
		switch uint64(b[0] & 7) {
		case Varint:
			f.Key, f.Num, f.at = uint64(b[0]), n, f.at+size
			return true
		case Sized:
			if int(n) <= len(b)-size {
				f.Key, f.Data, f.at = uint64(b[0]), b[size:size+int(n)], f.at+size+int(n)
				return true
			}
		}
	}
	return f.next(b)
}

// next works like Next, for any field.
func (f *Fields) next(b []byte) bool {
	number, kind, n := protowire.ConsumeTag(b)
	if n < 0 {
		f.Fail(ErrProto)
		return false
	}
	b = b[n:]
	f.at += n
	f.Key = uint64(number)<<3 | uint64(kind)
	switch kind {
	case protowire.VarintType:
		f.Num, n = protowire.ConsumeVarint(b)
	case protowire.Fixed64Type:
		f.Num, n = protowire.ConsumeFixed64(b)
	case protowire.BytesType:
		f.Data, n = protowire.ConsumeBytes(b)
	default:
		n = protowire.ConsumeFieldValue(number, kind, b)
	}
	if n < 0 {
		f.Fail(ErrProto)
		return false
	}
	f.at += n
	return true
}

// Fail ends the walk, if it has not failed before; nil changes nothing.
func (f *Fields) Fail(err error) {
	if f.Err == nil && err != nil {
		f.Err, f.Key = err, 0
	}
}

// Fixed64s gives the content of a repeated fixed64 field, packed or not.
func (f *Fields) Fixed64s(take func(x uint64)) {
	if f.Key&7 == Fixed64 {
		take(f.Num)
		return
	}
	b := f.Data
	for ; len(b) >= 8; b = b[8:] {
		x, _ := protowire.ConsumeFixed64(b)
		take(x)
	}
	if len(b) > 0 {
		f.Fail(ErrProto)
	}
}

// Varints calls yield with the content of a repeated integer field, packed or not.
func (f *Fields) Varints(yield func(uint64)) {
	if f.Key&7 == Varint {
		yield(f.Num)
		return
	}
	for b := f.Data; len(b) > 0; {
		x, n := protowire.ConsumeVarint(b)
		if n < 0 {
			f.Fail(ErrProto)
			return
		}
		yield(x)
		b = b[n:]
	}
}
