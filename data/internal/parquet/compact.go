package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"unsafe"

	"github.com/parquet-go/parquet-go/format"
)

// Types of values in Thrift's compact protocol.
const (
	compactTrue   = 1
	compactFalse  = 2
	compactI8     = 3
	compactI16    = 4
	compactI32    = 5
	compactI64    = 6
	compactDouble = 7
	compactBinary = 8
	compactList   = 9
	compactSet    = 10
	compactMap    = 11
	compactStruct = 12
	compactUUID   = 13
)

// Bounds of what decoding an item of a list takes. A column chunk is the largest struct of the format.
const (
	structBytesMost = int64(unsafe.Sizeof(format.ColumnChunk{}))
	itemBytesMost   = 24
)

// compactWalk walks over a struct in Thrift's compact protocol without decoding it. The decoder takes memory for a list by the length that the list
// claims, and calls itself for each struct inside another; a panic by an overflowing stack cannot be caught.
type compactWalk struct {
	b    []byte
	at   int
	left int64 // bytes of memory that decoding may still take
}

// thriftSize returns the number of bytes of the struct that b begins with. The error is io.ErrUnexpectedEOF if b ends before the struct does, and
// ErrLimit if decoding the struct takes more memory than most.
func thriftSize(b []byte, most int64) (int, error) {
	w := compactWalk{b: b, left: most}
	err := w.fields(0)
	return w.at, err
}

func (w *compactWalk) fields(deep int) error {
	for {
		head, err := w.byte()
		if err != nil || head&15 == 0 {
			return err
		}
		if head>>4 == 0 { // the field's number is absolute
			if _, err := w.varint(); err != nil {
				return err
			}
		}
		if kind := head & 15; kind != compactTrue && kind != compactFalse {
			if err := w.value(kind, deep); err != nil {
				return err
			}
		}
	}
}

// value walks over a value outside of a field, where booleans take a byte.
func (w *compactWalk) value(kind byte, deep int) error {
	if deep > deepMost {
		return errors.New("it is nested too deeply")
	}
	switch kind {
	case compactTrue, compactFalse, compactI8:
		return w.skip(1)
	case compactI16, compactI32, compactI64:
		_, err := w.varint()
		return err
	case compactDouble:
		return w.skip(8)
	case compactUUID:
		return w.skip(16)
	case compactBinary:
		n, err := w.varint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case compactList, compactSet:
		head, err := w.byte()
		n := uint64(head >> 4)
		if err == nil && n == 15 {
			n, err = w.varint()
		}
		if err != nil {
			return err
		}
		return w.items(n, deep, head&15)
	case compactMap:
		n, err := w.varint()
		if err != nil || n == 0 {
			return err
		}
		kinds, err := w.byte()
		if err != nil {
			return err
		}
		return w.items(n, deep, kinds>>4, kinds&15)
	case compactStruct:
		return w.fields(deep + 1)
	}
	return fmt.Errorf("%d is no type of a value", kind)
}

// items walks over n items, each a value of every kind.
func (w *compactWalk) items(n uint64, deep int, kinds ...byte) error {
	if n > uint64(len(w.b)-w.at) { // each takes a byte at least
		return w.short(n)
	}
	for _, kind := range kinds {
		size := int64(itemBytesMost)
		if kind == compactStruct {
			size = structBytesMost
		}
		if w.left -= int64(n) * size; w.left < 0 {
			return fmt.Errorf("%w: a list claims %d items", ErrLimit, n)
		}
	}
	for range n {
		for _, kind := range kinds {
			if err := w.value(kind, deep+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// short returns the error of n bytes that are not there.
func (w *compactWalk) short(n uint64) error {
	if n > math.MaxInt32 {
		return fmt.Errorf("it claims a length of %d", n)
	}
	return io.ErrUnexpectedEOF
}

func (w *compactWalk) byte() (byte, error) {
	if w.at == len(w.b) {
		return 0, io.ErrUnexpectedEOF
	}
	w.at++
	return w.b[w.at-1], nil
}

func (w *compactWalk) skip(n uint64) error {
	if n > uint64(len(w.b)-w.at) {
		return w.short(n)
	}
	w.at += int(n)
	return nil
}

func (w *compactWalk) varint() (uint64, error) {
	x, n := binary.Uvarint(w.b[w.at:])
	switch {
	case n == 0:
		return 0, io.ErrUnexpectedEOF
	case n < 0:
		return 0, errors.New("a number has more than 64 bits")
	}
	w.at += n
	return x, nil
}
