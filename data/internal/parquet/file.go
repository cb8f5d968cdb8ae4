// Package parquet decodes the columns of Parquet files: pages, encodings and compression; data/internal/frames makes
// rows of them. Values are as they are in the file, whatever the schema says that they mean.
//
// The caller's duties, in order:
//
//  1. Open a file; look at its Leaves.
//  2. Make a Column for a leaf that is not Odd, Begin it with a row group, and Read its rows. Columns may be read by different goroutines, each by one.
//  3. Turn panics into errors around both: damaged files cause them in the libraries below, and what exceeds the limit is a panic with ErrLimit.
//
// No claim of a file is believed before memory is taken for it: the sizes, lengths and counts of footers, headers, runs and packed differences are compared
// with the bytes that are there, and all memory has one limit.
//
// The package refuses lists and ciphers.
package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// magic begins and ends a file.
const magic = "PAR1"

// pageBytesMost bounds a page, packed or not. Writers make pages of about 1 MiB; a dictionary is one page.
const pageBytesMost = 256 << 20

// chunkSlack is how far a column chunk may reach beyond its recorded end: early versions of parquet-mr do not count the header of the dictionary.
const chunkSlack = 100

// ErrLimit is the error of a file that needs more memory than it may.
var ErrLimit = errors.New("it asks for more memory than a file of its size may need")

// A Budget bounds the memory that is taken at a time.
type Budget struct {
	Most  int64
	taken atomic.Int64
}

// Take counts bytes, which may be fewer than 0. Beyond the limit it panics with ErrLimit.
func (b *Budget) Take(n int) {
	if b.taken.Add(int64(n)) > b.Most {
		b.taken.Add(-int64(n))
		panic(ErrLimit)
	}
}

// Limits bound what a file may ask for.
type Limits struct {
	Rows    int64
	Columns int
	Bytes   int64 // of memory at a time, and of the values of one row group's columns together
}

// A File is an open file.
type File struct {
	Leaves []Leaf
	Meta   *format.FileMetaData
	Memory *Budget

	at   io.ReaderAt
	size int64
	zstd *zstd.Decoder

	mu    sync.Mutex
	loose [][]byte // room for packed pages
}

// Open reads the schema and where row groups are. The reader below stays its owner's.
func Open(at io.ReaderAt, size int64, limits Limits) (*File, error) {
	meta, err := readFooter(at, size, limits)
	if err != nil {
		return nil, err
	}
	f := &File{Meta: meta, Memory: &Budget{Most: limits.Bytes}, at: at, size: size}
	// DecodeAll starts no goroutine; as many workers as there are processors unpack at a time.
	f.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(pageBytesMost), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return nil, err
	}
	if f.Leaves, err = leavesOf(meta.Schema); err != nil {
		return nil, err
	}
	switch rows := meta.NumRows; {
	case rows < 0:
		return nil, fmt.Errorf("it claims %d rows", rows)
	case rows > limits.Rows:
		return nil, fmt.Errorf("it claims %d rows, the limit is %d", rows, limits.Rows)
	case len(f.Leaves) > limits.Columns:
		return nil, fmt.Errorf("it has %d columns, the limit is %d", len(f.Leaves), limits.Columns)
	}
	total := int64(0)
	for i := range meta.RowGroups {
		g := &meta.RowGroups[i]
		if total += g.NumRows; g.NumRows < 0 || total < 0 || total > meta.NumRows {
			return nil, errors.New("its row groups have other rows than it claims")
		}
		if len(g.Columns) != len(f.Leaves) {
			return nil, errors.New("its row groups have other columns than its schema")
		}
	}
	if total != meta.NumRows {
		return nil, errors.New("its row groups have other rows than it claims")
	}
	// A row group without rows may name pages that are nowhere.
	meta.RowGroups = slices.DeleteFunc(meta.RowGroups, func(g format.RowGroup) bool { return g.NumRows == 0 })
	return f, nil
}

// readFooter reads the description at the end of a file. Its claims are checked against its bytes before any memory is taken for them.
func readFooter(at io.ReaderAt, size int64, limits Limits) (*format.FileMetaData, error) {
	const tail = 8 // the footer's length, and the mark of the end
	if size < int64(len(magic))+tail {
		return nil, fmt.Errorf("file too small (size=%d)", size)
	}
	var end [tail]byte
	if err := readAt(at, end[:], size-tail); err != nil {
		return nil, err
	}
	length := int64(binary.LittleEndian.Uint32(end[:]))
	switch mark := string(end[4:]); {
	case mark == "PARE":
		return nil, errors.New("it is encrypted")
	case length > size-tail-int64(len(magic)):
		return nil, errors.New("file is smaller than indicated metadata size")
	case mark != magic:
		return nil, errors.New("the mark of its end is missing")
	case length > min(pageBytesMost, limits.Bytes):
		return nil, fmt.Errorf("%w: its footer has %d bytes", ErrLimit, length)
	}
	b := make([]byte, length)
	if err := readAt(at, b, size-tail-length); err != nil {
		return nil, err
	}
	if _, err := thriftSize(b, limits.Bytes); err != nil {
		return nil, fmt.Errorf("its footer is damaged: %w", err)
	}
	meta := new(format.FileMetaData)
	if err := thrift.NewDecoder(new(thrift.CompactProtocol).NewReaderFromBytes(b)).Decode(meta); err != nil {
		return nil, fmt.Errorf("its footer is damaged: %w", early(err))
	}
	return meta, nil
}

// readAt fills b with the bytes at an offset.
func readAt(at io.ReaderAt, b []byte, offset int64) error {
	n, err := at.ReadAt(b, offset)
	if n == len(b) {
		return nil
	}
	return early(err)
}

// early returns an error, with io.ErrUnexpectedEOF in place of io.EOF: the file ends where more is wanted.
func early(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// borrow returns room for the bytes of a packed page, which columns share: it is needed only until the page is unpacked.
func (p *File) borrow(n int) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b []byte
	if last := len(p.loose) - 1; last >= 0 {
		b, p.loose = p.loose[last], p.loose[:last]
	}
	return grow(p.Memory, b, n, 1)
}

// giveBack takes back what borrow has returned.
func (p *File) giveBack(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loose = append(p.loose, b)
}
