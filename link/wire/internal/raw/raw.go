// Package raw decodes raw payloads: numbers, and arrays of numbers in place. It also encodes values in fewer bytes than
// they have in memory.
//
// Make a Reader with Of, take what the payload must have, and ask End for the verdict: after the first thing that is wrong a Reader gives
// zeros. The package knows no message.
package raw

import (
	"encoding/binary"
	"errors"
	"math"

	"bellows"
	"bellows/link/wire/internal/fields"
	"bellows/link/wire/internal/memory"
)

// Errors in a raw payload of any kind.
var (
	ErrShort    = errors.New("it ends early")
	ErrLong     = errors.New("bytes are left at its end")
	ErrReserved = errors.New("reserved bytes are in use")
	ErrOrder    = errors.New("its rows are not ascending")
	ErrShape    = errors.New("its values do not divide among its rows")
	ErrFlag     = errors.New("a flag is neither 0 nor 1")
)

// NewReader returns a reader of a payload.
func NewReader(payload []byte) Reader { return Reader{Rest: payload, whole: len(payload)} }

// Reader takes numbers from a raw payload. After the first thing that is wrong it gives zeros, so that a
// decoder asks for err once, at its end.
type Reader struct {
	Rest  []byte // what has not been taken
	Err   error
	whole int // length of the payload
}

// Fail notes what is wrong, and takes the rest away.
func (r *Reader) Fail(err error) {
	if r.Err == nil {
		r.Err = err
	}
	r.Rest = nil
}

// Take cuts off the next n bytes; nil if there are fewer.
func (r *Reader) Take(n uint64) []byte {
	if uint64(len(r.Rest)) < n {
		r.Fail(ErrShort)
		return nil
	}
	b := r.Rest[:n:n]
	r.Rest = r.Rest[n:]
	return b
}

// U8 returns a number.
func (r *Reader) U8() uint8 {
	if b := r.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// Flag returns a byte that is 0 or 1.
func (r *Reader) Flag() bool {
	x := r.U8()
	if x > 1 {
		r.Fail(ErrFlag)
	}
	return x == 1
}

// U16 returns a number.
func (r *Reader) U16() uint16 {
	if b := r.Take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// U32 returns a number.
func (r *Reader) U32() uint32 {
	if b := r.Take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// U64 returns a number.
func (r *Reader) U64() uint64 {
	if b := r.Take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Span reads a range of items, which does not end before it begins.
func (r *Reader) Span() bellows.Range {
	begin, end := r.U64(), r.U64()
	if begin > end || end > math.MaxInt {
		r.Fail(fields.ErrNumber)
		return bellows.Range{}
	}
	return bellows.Range{Begin: int(begin), End: int(end)}
}

// Reserved passes over n bytes that are zero in this version.
func (r *Reader) Reserved(n uint64) {
	for _, b := range r.Take(n) {
		if b != 0 {
			r.Fail(ErrReserved)
			return
		}
	}
}

// Words takes an array of n numbers in place.
func Words[T memory.Word](r *Reader, n uint32) []T {
	b := r.Take(uint64(memory.Size[T]()) * uint64(n))
	if len(b) == 0 {
		return nil
	}
	if memory.Swapped {
		memory.Turn[T](b)
	}
	return memory.Words[T](b)
}

// AllRows stands for the length of a list of rows that is nil: all of them, in order. Any other length with
// the bit KeyList is that of a list of keys.
const (
	AllRows = ^uint32(0)
	KeyList = uint32(1) << 31
)

// IsKeys reports whether a length is that of a list of keys.
func IsKeys(n uint32) bool { return n&KeyList != 0 && n != AllRows }

// IDs takes a list of rows or of keys in place.
func (r *Reader) IDs(n uint32) (rows []uint32, list []bellows.Key) {
	switch {
	case !IsKeys(n):
		return r.Rows(n), nil
	case n == KeyList:
		return nil, []bellows.Key{}
	}
	r.Reserved(uint64(ToKeys(r.whole - len(r.Rest))))
	return nil, Words[bellows.Key](r, n&^KeyList)
}

// ToKeys returns how many bytes lie between a place in a payload and the next at which keys may begin.
func ToKeys(at int) int { return -at & 7 }

// Rows takes a list of n rows in place.
func (r *Reader) Rows(n uint32) []uint32 {
	switch n {
	case AllRows:
		return nil
	case 0:
		return []uint32{}
	}
	return Words[uint32](r, n)
}

// Ascending refuses a list that the receiver could not search.
func Ascending[T memory.Word](r *Reader, list []T) {
	for i := 1; i < len(list); i++ {
		if list[i] < list[i-1] {
			r.Fail(ErrOrder)
			return
		}
	}
}

// Values takes n values in place, which must divide among the rows or keys where these are listed.
func (r *Reader) Values(n, ids uint32) []float32 {
	r.Divided(n, ids)
	return Words[float32](r, n)
}

// Divided refuses values that do not divide among the rows or keys where these are listed.
func (r *Reader) Divided(n, ids uint32) {
	if ids == AllRows {
		return
	}
	ids &^= KeyList
	if (ids == 0 && n > 0) || (ids > 0 && n%ids != 0) {
		r.Fail(ErrShape)
	}
}

// End returns the result: nil if the payload was complete, with nothing after its end.
func (r *Reader) End() error {
	if r.Err == nil && len(r.Rest) > 0 {
		return ErrLong
	}
	return r.Err
}
