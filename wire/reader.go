package wire

import (
	"encoding/binary"
	"errors"

	"bellows"
	"bellows/wire/internal/memory"
)

// What can be wrong with a raw payload.
var (
	errShort    = errors.New("it ends early")
	errLong     = errors.New("bytes are left at its end")
	errReserved = errors.New("reserved bytes are in use")
	errOrder    = errors.New("its rows are not ascending")
	errShape    = errors.New("its values do not divide among its rows")
	errMode     = errors.New("it names no lease mode")
	errSubtree  = errors.New("it names a subtree beyond the last split")
	errFlag     = errors.New("a flag is neither 0 nor 1")
	errKind     = errors.New("it names no kind of error")
	errFormat   = errors.New("its values are in a format that is not known")
	errDone     = errors.New("it is not done, and has results")
)

// reader takes numbers from a raw payload. After the first thing that is wrong it gives zeros, so that a
// decoder asks for err once, at its end.
type reader struct {
	b     []byte
	whole int // length of the payload, where it has lists of keys
	err   error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

// take cuts off the next n bytes; nil if there are fewer.
func (r *reader) take(n uint64) []byte {
	if uint64(len(r.b)) < n {
		r.fail(errShort)
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) u8() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

// flag is a byte that is 0 or 1.
func (r *reader) flag() bool {
	x := r.u8()
	if x > 1 {
		r.fail(errFlag)
	}
	return x == 1
}

func (r *reader) u16() uint16 {
	if b := r.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// reserved passes over n bytes that are zero in this version.
func (r *reader) reserved(n uint64) {
	for _, b := range r.take(n) {
		if b != 0 {
			r.fail(errReserved)
			return
		}
	}
}

// words takes an array of n numbers in place.
func words[T memory.Word](r *reader, n uint32) []T {
	b := r.take(uint64(memory.Size[T]()) * uint64(n))
	if len(b) == 0 {
		return nil
	}
	if swapped {
		memory.Turn[T](b)
	}
	return memory.Words[T](b)
}

// allRows stands for the length of a list of rows that is nil: all of them, in order. Any other length with
// the bit keyList is that of a list of keys.
const (
	allRows = ^uint32(0)
	keyList = uint32(1) << 31
)

func isKeys(n uint32) bool { return n&keyList != 0 && n != allRows }

// ids takes a list of rows or of keys in place.
func (r *reader) ids(n uint32) (rows []uint32, list []bellows.Key) {
	switch {
	case !isKeys(n):
		return r.rows(n), nil
	case n == keyList:
		return nil, []bellows.Key{}
	}
	r.reserved(uint64(toKeys(r.whole - len(r.b))))
	return nil, words[bellows.Key](r, n&^keyList)
}

// toKeys is how many bytes lie between a place in a payload and the next at which keys may begin.
func toKeys(at int) int { return -at & 7 }

// rows takes a list of n rows in place.
func (r *reader) rows(n uint32) []uint32 {
	switch n {
	case allRows:
		return nil
	case 0:
		return []uint32{}
	}
	return words[uint32](r, n)
}

// ascending refuses a list that the receiver could not search.
func ascending[T memory.Word](r *reader, list []T) {
	for i := 1; i < len(list); i++ {
		if list[i] < list[i-1] {
			r.fail(errOrder)
			return
		}
	}
}

// values takes n values in place, which must divide among the rows or keys where these are listed.
func (r *reader) values(n, ids uint32) []float32 {
	r.shape(n, ids)
	return words[float32](r, n)
}

// shape refuses values that do not divide among the rows or keys where these are listed.
func (r *reader) shape(n, ids uint32) {
	if ids == allRows {
		return
	}
	ids &^= keyList
	if (ids == 0 && n > 0) || (ids > 0 && n%ids != 0) {
		r.fail(errShape)
	}
}

// end is the verdict: all was there, and nothing else.
func (r *reader) end() error {
	if r.err == nil && len(r.b) > 0 {
		return errLong
	}
	return r.err
}
