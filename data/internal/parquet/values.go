package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/bytestreamsplit"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/plain"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"
)

// The encodings have no state.
var (
	plainValues plain.Encoding
	deltaValues delta.BinaryPackedEncoding
	splitValues bytestreamsplit.Encoding
	indexValues rle.DictionaryEncoding
)

var errMoreValues = errors.New("it is damaged: its values have other lengths than they say")

// plainDictionary is the encoding PLAIN_DICTIONARY, as older writers name both that of a dictionary and that of indexes into it.
const plainDictionary format.Encoding = 2

// values takes the values of a page: so many as are there.
func (p *pages) values(e format.Encoding, b []byte, n int) (err error) {
	p.indexed, p.flat, p.value = false, nil, 0
	l := p.leaf
	switch {
	case e == plainDictionary || e == format.RLEDictionary:
		return p.indexes(b, n)
	case n == 0:
		return nil
	case e == format.Plain && l.Kind == format.Boolean:
		p.flat, err = p.bools(b, n)
		return err
	case e == format.Plain:
		p.flat = b
	case e == format.RLE && l.Kind == format.Boolean:
		p.flat, err = p.runBools(b, n)
		return err
	case e == format.ByteStreamSplit && l.width > 1:
		if len(b) != n*l.width {
			return io.ErrUnexpectedEOF
		}
		p.flatRoom = grow(p.memory, p.flatRoom, len(b), 1)
		p.flat, err = splitValues.DecodeFixedLenByteArray(p.flatRoom, b, l.width)
	case e == format.DeltaBinaryPacked && (l.Kind == format.Int32 || l.Kind == format.Int64):
		err = p.packedNumbers(b, n)
	case e == format.DeltaLengthByteArray && l.Kind == format.ByteArray:
		err = p.lengthened(b, n)
	case e == format.DeltaByteArray && (l.Kind == format.ByteArray || l.Kind == format.FixedLenByteArray):
		err = p.prefixed(b, n)
	default:
		return fmt.Errorf("the encoding %s of values of the type %s is not supported", e, l.Kind)
	}
	if err != nil {
		return err
	}
	return p.fit(p.flat, n)
}

// indexes takes indexes of the dictionary.
func (p *pages) indexes(b []byte, n int) error {
	p.indexed = true
	p.index = p.index[:0]
	switch {
	case n == 0:
		return nil
	case !p.known:
		return errors.New("it is damaged: its dictionary is missing")
	case len(b) == 0:
		return io.ErrUnexpectedEOF
	}
	width := int(b[0])
	if width > 32 {
		return fmt.Errorf("it is damaged: indexes of %d bits", width)
	}
	coded, err := runs(b[1:], width, n)
	if err != nil {
		return err
	}
	p.index = grow(p.memory, p.index, n, 4)
	if width == 0 {
		clear(p.index)
		return nil
	}
	index, err := indexValues.DecodeInt32(p.index[:0], b[:1+len(coded)])
	if err == nil && len(index) < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	p.index = index[:n]
	return nil
}

// bools makes a byte of each bit.
func (p *pages) bools(b []byte, n int) ([]byte, error) {
	if n > 8*len(b) {
		return nil, io.ErrUnexpectedEOF
	}
	p.flatRoom = grow(p.memory, p.flatRoom, n, 1)
	for i := range p.flatRoom {
		p.flatRoom[i] = b[i>>3] >> (i & 7) & 1
	}
	return p.flatRoom, nil
}

// runBools makes a byte of each bit of runs. The library's decoder of booleans takes a run for whole bytes.
func (p *pages) runBools(b []byte, n int) ([]byte, error) {
	if len(b) < 4 || int64(binary.LittleEndian.Uint32(b)) > int64(len(b)-4) {
		return nil, io.ErrUnexpectedEOF
	}
	coded, err := runs(b[4:][:binary.LittleEndian.Uint32(b)], 1, n)
	if err != nil {
		return nil, err
	}
	p.flatRoom = grow(p.memory, p.flatRoom, n, 1)
	flat, err := (&rle.Encoding{BitWidth: 1}).DecodeLevels(p.flatRoom[:0], coded)
	if err == nil && len(flat) < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	return flat[:n], nil
}

// packedNumbers decodes whole numbers that are packed as differences.
func (p *pages) packedNumbers(b []byte, n int) (err error) {
	size := 8 * p.leaf.width
	end, err := deltaBytes(b, n, size)
	if err != nil {
		return err
	}
	p.flatRoom = grow(p.memory, p.flatRoom, n*p.leaf.width, 1)
	if size == 32 {
		p.i32 = grow(p.memory, p.i32, n, 4)
		if p.i32, err = deltaValues.DecodeInt32(p.i32[:0], b[:end]); err == nil {
			p.flat, err = plainValues.EncodeInt32(p.flatRoom, p.i32)
		}
		return err
	}
	p.i64 = grow(p.memory, p.i64, n, 8)
	if p.i64, err = deltaValues.DecodeInt64(p.i64[:0], b[:end]); err == nil {
		p.flat, err = plainValues.EncodeInt64(p.flatRoom, p.i64)
	}
	return err
}

// deltaBytes returns how many bytes n numbers take that are packed as differences, and checks what the library's decoder takes for granted.
func deltaBytes(b []byte, n, size int) (end int, err error) {
	at := 0
	varint := func() uint64 {
		x, k := binary.Uvarint(b[at:])
		if k <= 0 {
			err = io.ErrUnexpectedEOF
			return 0
		}
		at += k
		return x
	}
	block, groups, total, _ := varint(), varint(), varint(), varint()
	const blockMost = 1 << 16
	switch {
	case err != nil:
		return 0, err
	case total != uint64(n):
		return 0, fmt.Errorf("it is damaged: %d values where %d are wanted", total, n)
	case groups == 0 || block == 0 || block > blockMost || block%128 != 0 || block%groups != 0 || block/groups%32 != 0:
		return 0, fmt.Errorf("it is damaged: blocks of %d values in %d groups", block, groups)
	}
	each := int(block / groups)
	for left := n - 1; left > 0; {
		varint() // the least difference
		if err != nil || uint64(len(b)-at) < groups {
			return 0, io.ErrUnexpectedEOF
		}
		widths := b[at:][:groups]
		at += int(groups)
		for _, width := range widths {
			if left <= 0 {
				break
			}
			if int(width) > size {
				return 0, fmt.Errorf("it is damaged: differences of %d bits", width)
			}
			if at += int(width) * each / 8; at > len(b) {
				return 0, io.ErrUnexpectedEOF
			}
			left -= each
		}
	}
	return at, nil
}

// numbersOf decodes n lengths, and returns what follows.
func (p *pages) numbersOf(b []byte, n int, room *[]int32) (rest []byte, err error) {
	end, err := deltaBytes(b, n, 32)
	if err != nil {
		return nil, err
	}
	*room = grow(p.memory, *room, n, 4)
	*room, err = deltaValues.DecodeInt32((*room)[:0], b[:end])
	return b[end:], err
}

// lengthened takes byte arrays after a list of all their lengths.
func (p *pages) lengthened(b []byte, n int) error {
	b, err := p.numbersOf(b, n, &p.lengths)
	if err != nil {
		return err
	}
	p.flatRoom = grow(p.memory, p.flatRoom, len(b)+4*n, 1)
	flat := p.flatRoom[:0]
	for _, length := range p.lengths {
		if length < 0 || int(length) > len(b) {
			return errMoreValues
		}
		flat = binary.LittleEndian.AppendUint32(flat, uint32(length))
		flat = append(flat, b[:length]...)
		b = b[length:]
	}
	p.flat = flat
	return nil
}

// prefixed takes byte arrays that share a prefix with their predecessor.
func (p *pages) prefixed(b []byte, n int) error {
	b, err := p.numbersOf(b, n, &p.i32)
	if err == nil {
		b, err = p.numbersOf(b, n, &p.lengths)
	}
	if err != nil {
		return err
	}
	prefixes, suffixes, fixed := p.i32, p.lengths, p.leaf.width
	total, last, rest := 0, 0, len(b)
	for i, prefix := range prefixes {
		suffix := int(suffixes[i])
		if prefix < 0 || int(prefix) > last || suffix < 0 || suffix > rest || fixed > 0 && int(prefix)+suffix != fixed {
			return errMoreValues
		}
		last, rest = int(prefix)+suffix, rest-suffix
		if total += 4 + last; total > pageBytesMost {
			return fmt.Errorf("%w: a page of more than %d bytes", ErrLimit, pageBytesMost)
		}
	}
	p.flatRoom = grow(p.memory, p.flatRoom, total, 1)
	flat, from := p.flatRoom[:0], 0
	for i, prefix := range prefixes {
		suffix := int(suffixes[i])
		if fixed == 0 {
			flat = binary.LittleEndian.AppendUint32(flat, uint32(int(prefix)+suffix))
		}
		begin := len(flat)
		flat = append(append(flat, flat[from:from+int(prefix)]...), b[:suffix]...)
		from, b = begin, b[suffix:]
	}
	p.flat = flat
	return nil
}
