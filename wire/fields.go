package wire

import (
	"errors"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// What can be wrong with a protobuf payload.
var (
	errProto  = errors.New("it is no valid protobuf")
	errNumber = errors.New("a number is out of its range")
	errMany   = errors.New("a list has more than 262144 elements")
	errNoUnit = errors.New("an element names no unit")
)

// listMax is the longest list of a control message. An element takes at most twelve times as many bytes in
// memory as on the wire.
const listMax = 1 << 18

// The wire types of protobuf, as the low bits of fields.key.
const (
	varint  = uint64(protowire.VarintType)
	fixed64 = uint64(protowire.Fixed64Type)
	sized   = uint64(protowire.BytesType)
)

// fields walks over the fields of a protobuf message. After the first thing that is wrong there are no
// more fields and err says why. A field of a known number with another wire type is passed over, as
// generated code does.
type fields struct {
	b    []byte
	key  uint64 // number<<3 | wire type
	num  uint64 // of a varint, fixed64 or fixed32
	data []byte // of a sized field
	err  error
}

// next moves to the next field.
func (f *fields) next() bool {
	if f.err != nil || len(f.b) == 0 {
		return false
	}
	number, kind, n := protowire.ConsumeTag(f.b)
	if n < 0 {
		f.fail(errProto)
		return false
	}
	f.b = f.b[n:]
	f.key = uint64(number)<<3 | uint64(kind)
	switch kind {
	case protowire.VarintType:
		f.num, n = protowire.ConsumeVarint(f.b)
	case protowire.Fixed64Type:
		f.num, n = protowire.ConsumeFixed64(f.b)
	case protowire.BytesType:
		f.data, n = protowire.ConsumeBytes(f.b)
	default:
		n = protowire.ConsumeFieldValue(number, kind, f.b)
	}
	if n < 0 {
		f.fail(errProto)
		return false
	}
	f.b = f.b[n:]
	return true
}

func (f *fields) fail(err error) {
	if f.err == nil && err != nil {
		f.err = err
	}
}

// upTo is the varint of the field, which may be as large as limit.
func (f *fields) upTo(limit uint64) uint64 {
	if f.num > limit {
		f.fail(errNumber)
		return 0
	}
	return f.num
}

// sint32 is the varint of a field of that type.
func (f *fields) sint32() int32 {
	return int32(protowire.DecodeZigZag(f.upTo(math.MaxUint32)))
}

// text is the content of a string field.
func (f *fields) text() string {
	if !utf8.Valid(f.data) {
		f.fail(errText)
		return ""
	}
	return string(f.data)
}

// doubles appends the content of a repeated double field, packed or not.
func (f *fields) doubles(to []float64) []float64 {
	if f.key&7 == fixed64 {
		return append(to, math.Float64frombits(f.num))
	}
	b := f.data
	for ; len(b) >= 8; b = b[8:] {
		bits, _ := protowire.ConsumeFixed64(b)
		to = append(to, math.Float64frombits(bits))
	}
	if len(b) > 0 {
		f.fail(errProto)
	}
	return to
}

// varints calls yield with the content of a repeated integer field, packed or not.
func (f *fields) varints(yield func(uint64)) {
	if f.key&7 == varint {
		yield(f.num)
		return
	}
	for b := f.data; len(b) > 0; {
		x, n := protowire.ConsumeVarint(b)
		if n < 0 {
			f.fail(errProto)
			return
		}
		yield(x)
		b = b[n:]
	}
}

// count is how many fields of a key a message has, for taking memory once; at most as many as a list may have.
func count(b []byte, key uint64) (n int) {
	f := fields{b: b}
	for f.next() {
		if f.key == key {
			n++
		}
	}
	return min(n, listMax)
}

// room refuses a list that is full.
func (f *fields) room(n int) {
	if n >= listMax {
		f.fail(errMany)
	}
}
