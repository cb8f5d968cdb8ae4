package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/parquet-go/parquet-go/encoding/bitpacked"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// Bytes of a column chunk that are read at a time, of a page's header that are looked at first, and of a header at most.
const (
	aheadBytes      = 64 << 10
	headerBytes     = 512
	headerBytesMost = 16 << 20
)

// decodeSlack is how far the library's kernels may read beyond the bytes that they decode.
const decodeSlack = 64

// pages reads the pages of a column chunk, one after the other. A page has two forms: indexes of the dictionary, or values in the layout of the plain
// encoding, to which the other encodings are decoded. Its memory is kept for the next page and the next chunk.
//
// parquet-go's own pages are not used: they take memory by the sizes and counts that headers and runs claim.
type pages struct {
	leaf   *Leaf
	memory *Budget
	file   *File

	from, end  int64 // what is unread of the chunk
	ahead      []byte
	start      int // what was read ahead, and not used yet, is ahead[start:]
	codec      format.CompressionCodec
	left       int64 // rows of the chunk in pages that follow
	headers    *thrift.Decoder
	headerFrom thrift.BytesReader
	header     format.PageHeader
	gzip       *gzip.Reader
	brotli     *brotli.Reader
	unpacked   []byte

	rows, row int    // of the page, and how many of them were used
	levels    []byte // of the page's rows; nil if no value is missing
	index     []int32
	indexed   bool   // the page has indexes
	flat      []byte // values, if it has none
	value     int    // which value is next; of byte arrays, its offset in flat
	levelRoom []byte
	flatRoom  []byte
	i32       []int32
	lengths   []int32
	i64       []int64
	take      func(flat []byte, n int) error // takes the dictionary
	known     bool                           // there is a dictionary
}

// grow returns a slice of n items, s if it has room for them. It does not keep the items of s. It panics with ErrLimit beyond the limit.
func grow[T any](m *Budget, s []T, n, itemBytes int) []T {
	if cap(s) >= n+decodeSlack {
		return s[:n]
	}
	room := n + n/8 + decodeSlack
	m.Take((room - cap(s)) * itemBytes)
	return make([]T, n, room)
}

// begin starts with a chunk of so many rows.
func (p *pages) begin(f *File, c *format.ColumnChunk, rows int64) error {
	m := &c.MetaData
	start := m.DataPageOffset
	if d := m.DictionaryPageOffset; d > 0 && d < start {
		start = d
	}
	switch {
	case c.CryptoMetadata.Value != nil || len(c.EncryptedColumnMetadata) > 0:
		return errors.New("it is encrypted")
	case c.FilePath != "":
		return errors.New("its values are in another file")
	case m.Type != p.leaf.Kind:
		return fmt.Errorf("it is damaged: its type is %s, and %s in the schema", m.Type, p.leaf.Kind)
	case start < int64(len(magic)) || m.TotalCompressedSize < 0 || start > f.size || m.TotalCompressedSize > f.size-start:
		return errors.New("it is damaged: its pages are outside of the file")
	}
	p.file, p.from, p.end = f, start, min(f.size, start+m.TotalCompressedSize+chunkSlack)
	p.ahead, p.start, p.codec, p.left = p.ahead[:0], 0, m.Codec, rows
	p.known, p.rows, p.row = false, 0, 0
	return nil
}

// read returns the next bytes of the chunk without using them: n at least, or all that are left.
func (p *pages) read(n int) ([]byte, error) {
	have := len(p.ahead) - p.start
	if have >= n || p.from == p.end {
		return p.ahead[p.start:], nil
	}
	want := max(n, aheadBytes)
	old := p.ahead[p.start:]
	if p.ahead = p.ahead[:cap(p.ahead)]; len(p.ahead) < want+decodeSlack {
		p.ahead = grow(p.memory, p.ahead, want, 1)
	}
	copy(p.ahead, old)
	more := int(min(int64(want-have), p.end-p.from))
	p.ahead, p.start = p.ahead[:have+more], 0
	if err := readAt(p.file.at, p.ahead[have:], p.from); err != nil {
		return nil, err
	}
	p.from += int64(more)
	return p.ahead, nil
}

// next reads the next page of values.
func (p *pages) next() error {
	for {
		if err := p.readHeader(); err != nil {
			return err
		}
		h := &p.header
		packed, size := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
		switch {
		case packed < 0 || size < 0:
			return errors.New("it is damaged: a page has less than 0 bytes")
		case max(packed, size) > min(pageBytesMost, p.memory.Most):
			return fmt.Errorf("%w: a page of %d bytes, %d unpacked", ErrLimit, packed, size)
		case packed > int64(len(p.ahead)-p.start)+p.end-p.from:
			return io.ErrUnexpectedEOF
		}
		if done, err := p.page(int(packed)); done || err != nil {
			return err
		}
	}
}

// page takes a page of so many bytes, and reports whether it has values.
func (p *pages) page(packed int) (done bool, err error) {
	var b []byte
	if p.codec == format.Uncompressed || packed <= aheadBytes {
		if b, err = p.read(packed); err != nil {
			return false, err
		}
		b = b[:packed]
		p.start += packed
	} else {
		b = p.file.borrow(packed)
		defer p.file.giveBack(b)
		have := copy(b, p.ahead[p.start:])
		p.start += have
		if err := readAt(p.file.at, b[have:], p.from); err != nil {
			return false, err
		}
		p.from += int64(packed - have)
	}
	if sum := p.header.CRC; sum != 0 && crc32.ChecksumIEEE(b) != uint32(sum) {
		return false, errors.New("it is damaged: the checksum of a page differs")
	}
	switch p.header.Type {
	case format.DictionaryPage:
		return false, p.dictionary(b)
	case format.DataPage:
		return true, p.first(b)
	case format.DataPageV2:
		return true, p.second(b)
	}
	return false, nil
}

// readHeader reads the header of a page.
func (p *pages) readHeader() error {
	for want := headerBytes; ; want *= 8 {
		b, err := p.read(want)
		if err != nil {
			return err
		}
		n, err := thriftSize(b, headerBytesMost)
		if errors.Is(err, io.ErrUnexpectedEOF) && len(b) >= want && want < headerBytesMost {
			continue
		}
		if err != nil {
			return fmt.Errorf("the header of a page is damaged: %w", err)
		}
		if p.headers == nil {
			p.headerFrom = new(thrift.CompactProtocol).NewReaderFromBytes(nil)
			p.headers = thrift.NewDecoder(p.headerFrom)
		}
		p.headerFrom.ResetBytes(b[:n])
		p.header = format.PageHeader{}
		if err := p.headers.Decode(&p.header); err != nil {
			return fmt.Errorf("the header of a page is damaged: %w", early(err))
		}
		p.start += n
		return nil
	}
}

// unpack returns the bytes that a page, or a part of it, is packed from.
func (p *pages) unpack(packed []byte, size int) ([]byte, error) {
	if p.codec == format.Uncompressed {
		return packed, nil
	}
	if size == 0 {
		return nil, nil
	}
	p.unpacked = grow(p.memory, p.unpacked, size, 1)
	n, err := 0, error(nil)
	switch p.codec {
	case format.Zstd:
		var out []byte
		out, err = p.file.zstd.DecodeAll(packed, p.unpacked[:0:size])
		n = len(out)
	case format.Snappy:
		if n, err = snappy.DecodedLen(packed); err == nil && n == size {
			_, err = snappy.Decode(p.unpacked, packed)
		}
	case format.Lz4Raw:
		n, err = lz4.UncompressBlock(packed, p.unpacked)
	case format.Gzip:
		if p.gzip == nil {
			p.gzip = new(gzip.Reader)
		}
		if err = p.gzip.Reset(bytes.NewReader(packed)); err == nil {
			n, err = readAll(p.gzip, p.unpacked)
		}
	case format.Brotli:
		if p.brotli == nil {
			p.brotli = new(brotli.Reader)
		}
		if err = p.brotli.Reset(bytes.NewReader(packed)); err == nil {
			n, err = readAll(p.brotli, p.unpacked)
		}
	default:
		return nil, fmt.Errorf("its codec %s is not supported", p.codec)
	}
	if err == nil && n != size {
		err = errors.New("it has another size than its header says")
	}
	if err != nil {
		return nil, fmt.Errorf("it is damaged: a page cannot be unpacked: %w", err)
	}
	return p.unpacked, nil
}

// readAll fills b, and returns more than its length if r has more.
func readAll(r io.Reader, b []byte) (int, error) {
	n, err := io.ReadFull(r, b)
	if err != nil {
		return n, early(err)
	}
	var more [1]byte
	if _, err = io.ReadFull(r, more[:]); err == io.EOF {
		return n, nil
	}
	return n + 1, err
}

// dictionary takes a page of the values that indexes stand for.
func (p *pages) dictionary(b []byte) error {
	h := &p.header.DictionaryPageHeader
	switch {
	case !h.Valid || h.V.NumValues < 0:
		return errors.New("it is damaged: its dictionary has no header")
	case p.known:
		return errors.New("it is damaged: it has two dictionaries")
	case h.V.Encoding != format.Plain && h.V.Encoding != plainDictionary:
		return fmt.Errorf("the encoding %s of its dictionary is not supported", h.V.Encoding)
	}
	b, err := p.unpack(b, int(p.header.UncompressedPageSize))
	if err != nil {
		return err
	}
	if err := p.fit(b, int(h.V.NumValues)); err != nil {
		return err
	}
	p.known = true
	return p.take(b, int(h.V.NumValues))
}

// fit returns an error if so many values do not fit into bytes.
func (p *pages) fit(b []byte, n int) error {
	least := p.leaf.width
	if p.leaf.Kind == format.ByteArray {
		least = 4 // its length
	}
	if n > len(b)/least {
		return fmt.Errorf("it is damaged: a page of %d bytes claims %d values", len(b), n)
	}
	return nil
}

// rowsOf takes the number of rows of a page.
func (p *pages) rowsOf(n int32) error {
	if n < 0 || int64(n) > p.left {
		return errors.New("it is damaged: its pages have more rows than the row group")
	}
	p.left -= int64(n)
	p.rows, p.row = int(n), 0
	return nil
}

// first takes a page of the first version: levels and values are packed together.
func (p *pages) first(b []byte) error {
	h := &p.header.DataPageHeader
	if !h.Valid {
		return errors.New("it is damaged: a page has no header")
	}
	if err := p.rowsOf(h.V.NumValues); err != nil {
		return err
	}
	b, err := p.unpack(b, int(p.header.UncompressedPageSize))
	if err != nil {
		return err
	}
	present := p.rows
	p.levels = nil
	if p.leaf.present > 0 {
		var levels []byte
		if levels, b, err = p.firstLevels(b, h.V.DefinitionLevelEncoding); err != nil {
			return err
		}
		present = p.found(levels)
	}
	return p.values(h.V.Encoding, b, present)
}

// firstLevels decodes the levels that a page of the first version begins with, and returns what follows.
func (p *pages) firstLevels(b []byte, e format.Encoding) (levels, rest []byte, err error) {
	width := bits.Len8(p.leaf.present)
	switch e {
	case format.RLE:
		if len(b) < 4 {
			return nil, nil, io.ErrUnexpectedEOF
		}
		n := binary.LittleEndian.Uint32(b)
		if b = b[4:]; int64(n) > int64(len(b)) {
			return nil, nil, io.ErrUnexpectedEOF
		}
		levels, err = p.runLevels(b[:n], width)
		return levels, b[n:], err
	case format.BitPacked:
		n := (p.rows*width + 7) / 8
		if n > len(b) {
			return nil, nil, io.ErrUnexpectedEOF
		}
		p.levelRoom = grow(p.memory, p.levelRoom, p.rows+8, 1)
		levels, err = (&bitpacked.Encoding{BitWidth: width}).DecodeLevels(p.levelRoom, b[:n])
		if err == nil && len(levels) < p.rows {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, nil, err
		}
		return levels[:p.rows], b[n:], nil
	}
	return nil, nil, fmt.Errorf("the encoding %s of levels is not supported", e)
}

// second takes a page of the second version: levels are not packed.
func (p *pages) second(b []byte) error {
	h := &p.header.DataPageHeaderV2
	if !h.Valid {
		return errors.New("it is damaged: a page has no header")
	}
	if err := p.rowsOf(h.V.NumValues); err != nil {
		return err
	}
	repetition, definition := int(h.V.RepetitionLevelsByteLength), int(h.V.DefinitionLevelsByteLength)
	if repetition < 0 || definition < 0 || repetition > len(b) || definition > len(b)-repetition {
		return errors.New("it is damaged: the levels of a page are longer than it")
	}
	coded, size := b[repetition:][:definition], int(p.header.UncompressedPageSize)-repetition-definition
	b = b[repetition+definition:]
	if size < 0 {
		return errors.New("it is damaged: the levels of a page are longer than it")
	}
	present := p.rows
	p.levels = nil
	if p.leaf.present > 0 {
		levels, err := p.runLevels(coded, bits.Len8(p.leaf.present))
		if err != nil {
			return err
		}
		present = p.found(levels)
	}
	if !h.V.IsCompressed.Valid || h.V.IsCompressed.V {
		var err error
		if b, err = p.unpack(b, size); err != nil {
			return err
		}
	} else if p.codec != format.Uncompressed { // the bytes are borrowed
		p.unpacked = grow(p.memory, p.unpacked, len(b), 1)
		copy(p.unpacked, b)
		b = p.unpacked
	}
	return p.values(h.V.Encoding, b, present)
}

// found counts the values that are there, and keeps the levels if not all are.
func (p *pages) found(levels []byte) int {
	present := bytes.Count(levels, []byte{p.leaf.present})
	if present < len(levels) {
		p.levels = levels
	}
	return present
}

// runLevels decodes a level for each row.
func (p *pages) runLevels(b []byte, width int) ([]byte, error) {
	b, err := runs(b, width, p.rows)
	if err != nil {
		return nil, err
	}
	p.levelRoom = grow(p.memory, p.levelRoom, p.rows, 1)
	levels, err := (&rle.Encoding{BitWidth: width}).DecodeLevels(p.levelRoom[:0], b)
	if err == nil && len(levels) < p.rows {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	return levels[:p.rows], nil
}

// runs returns the bytes of the runs that hold n numbers of so many bits. The library takes memory for what a run claims: no run may have more numbers
// than are wanted, but for those that fill up its last group of eight, or are there.
func runs(b []byte, width, n int) ([]byte, error) {
	at := 0
	for n > 0 {
		head, k := binary.Uvarint(b[at:])
		if k <= 0 {
			return nil, io.ErrUnexpectedEOF
		}
		at += k
		count, size := head>>1, uint64(width+7)/8
		if head&1 != 0 {
			count, size = 8*(head>>1), (head>>1)*uint64(width)
		}
		if head&1 == 0 && count > uint64(n) || head>>1 > uint64(n)+1<<16 {
			return nil, errors.New("it is damaged: it has more values than it says")
		}
		if size > uint64(len(b)-at) {
			return nil, io.ErrUnexpectedEOF
		}
		at += int(size)
		n -= int(min(count, uint64(n)))
	}
	return b[:at], nil
}
