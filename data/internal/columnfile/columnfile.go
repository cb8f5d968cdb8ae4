// Package columnfile writes and maps into memory the columns of a cached set, and lists of names, as Arrow IPC files.
//
// The caller's duties, in order:
//
//  1. WriteColumns and WriteNames into a file that is not in use yet; keep its
//     length, checksum and Layout (see Locate) elsewhere, and move it into
//     place when it is complete.
//  2. Map the file, compare length and checksum, then ReadColumns with the
//     Contents and the Layout that were written. The columns point into the
//     mapping: a write to them ends the process, and they are gone when the
//     mapping is closed.
//
// Every file is one uncompressed record batch without nulls, so that pyarrow and others read it. Ratings are the
// columns user, item (int32, positions in the lists of names) and rating (float32). Examples are label (float32) and
// features, a fixed_size_list<float32> where rows are dense, and a large_list<struct<index: int32, value: float32>>
// where they are sparse. Documents are words, a large_list<struct<word: int32, count: int32>>, words by their positions
// in the list of names. After them may follow a time (float64), and for examples a weight (float32) and a numeral
// (int32), the position of the row's label in a list of labels.
//
// The package refuses layouts that do not fit the file, and positions that point outside their list or width: the
// reader of the columns may trust them.
package columnfile

import (
	"errors"
	"fmt"
	"io"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Contents describes the columns of a file.
type Contents struct {
	Ratings   bool
	Documents bool
	Sparse    bool // examples only
	Times     bool // a time, float64, follows the other columns
	Weights   bool // examples only: a weight, float32, follows
	Numerals  int  // examples only: the bound of the numerals, int32, the last column; 0: none
	Features  int  // examples: at least 1; documents: the bound of the words' positions
	Users     int  // ratings only: the bound of the users' positions
	Items     int
}

// Columns are the rows of a set. Ratings use the first three fields. Examples use Label and either Dense, or Offset
// (rows+1 positions in Index and Value), Index and Value. Documents use Offset, Index and Count, which is at least 1.
type Columns struct {
	User, Item []int32
	Rating     []float32
	Time       []float64

	Label  []float32
	Dense  []float32
	Offset []int64
	Index  []int32
	Value  []float32
	Count  []int32
	Weight []float32 // above 0

	Numeral []int32 // positions in a list of labels
}

// Rows returns the number of rows.
func (c *Columns) Rows() int { return max(len(c.Label), len(c.Rating), len(c.Offset)-1) }

// tally is the type of one word of a document.
var tally = arrow.StructOf(required("word", arrow.PrimitiveTypes.Int32), required("count", arrow.PrimitiveTypes.Int32))

// entry is the type of one feature of a sparse row.
var entry = arrow.StructOf(required("index", arrow.PrimitiveTypes.Int32),
	required("value", arrow.PrimitiveTypes.Float32))

func required(name string, t arrow.DataType) arrow.Field { return arrow.Field{Name: name, Type: t} }

// schema returns the Arrow schema of the columns.
func (s Contents) schema(meta map[string]string) *arrow.Schema {
	var fields []arrow.Field
	switch {
	case s.Ratings:
		fields = []arrow.Field{required("user", arrow.PrimitiveTypes.Int32),
			required("item", arrow.PrimitiveTypes.Int32), required("rating", arrow.PrimitiveTypes.Float32)}
	case s.Documents:
		fields = []arrow.Field{required("words", arrow.LargeListOfNonNullable(tally))}
	case s.Sparse:
		fields = []arrow.Field{required("label", arrow.PrimitiveTypes.Float32),
			required("features", arrow.LargeListOfNonNullable(entry))}
	default:
		fields = []arrow.Field{required("label", arrow.PrimitiveTypes.Float32),
			required("features", arrow.FixedSizeListOfNonNullable(int32(s.Features), arrow.PrimitiveTypes.Float32))}
	}
	if s.Times {
		fields = append(fields, required("time", arrow.PrimitiveTypes.Float64))
	}
	if s.Weights {
		fields = append(fields, required("weight", arrow.PrimitiveTypes.Float32))
	}
	if s.Numerals > 0 {
		fields = append(fields, required("numeral", arrow.PrimitiveTypes.Int32))
	}
	m := arrow.MetadataFrom(meta)
	return arrow.NewSchema(fields, &m)
}

// spans returns the number of buffers of the columns.
func (s Contents) spans() int {
	n := 2
	switch {
	case s.Ratings, s.Documents:
		n = 3
	case s.Sparse:
		n = 4
	}
	if s.Times {
		n++
	}
	if s.Weights {
		n++
	}
	if s.Numerals > 0 {
		n++
	}
	return n
}

// WriteColumns writes one file. meta goes into its schema.
func WriteColumns(w io.Writer, s Contents, c *Columns, meta map[string]string) error {
	var columns []arrow.ArrayData
	rows := c.Rows()
	switch {
	case s.Ratings:
		columns = []arrow.ArrayData{column(arrow.PrimitiveTypes.Int32, c.User),
			column(arrow.PrimitiveTypes.Int32, c.Item), column(arrow.PrimitiveTypes.Float32, c.Rating)}
	case s.Documents:
		columns = []arrow.ArrayData{c.runs(tally, column(arrow.PrimitiveTypes.Int32, c.Index),
			column(arrow.PrimitiveTypes.Int32, c.Count))}
	case s.Sparse:
		columns = []arrow.ArrayData{column(arrow.PrimitiveTypes.Float32, c.Label),
			c.runs(entry, column(arrow.PrimitiveTypes.Int32, c.Index), column(arrow.PrimitiveTypes.Float32, c.Value))}
	default:
		list := arrow.FixedSizeListOfNonNullable(int32(s.Features), arrow.PrimitiveTypes.Float32)
		values := column(arrow.PrimitiveTypes.Float32, c.Dense)
		columns = []arrow.ArrayData{column(arrow.PrimitiveTypes.Float32, c.Label),
			array.NewData(list, rows, []*memory.Buffer{nil}, []arrow.ArrayData{values}, 0, 0)}
	}
	if s.Times {
		columns = append(columns, column(arrow.PrimitiveTypes.Float64, c.Time))
	}
	if s.Weights {
		columns = append(columns, column(arrow.PrimitiveTypes.Float32, c.Weight))
	}
	if s.Numerals > 0 {
		columns = append(columns, column(arrow.PrimitiveTypes.Int32, c.Numeral))
	}
	return write(w, s.schema(meta), columns, rows)
}

// runs returns a column of lists: row r has the entries of two columns between two offsets.
func (c *Columns) runs(of arrow.DataType, index, value arrow.ArrayData) arrow.ArrayData {
	entries := array.NewData(of, len(c.Index), []*memory.Buffer{nil}, []arrow.ArrayData{index, value}, 0, 0)
	return array.NewData(arrow.LargeListOfNonNullable(of), len(c.Offset)-1,
		[]*memory.Buffer{nil, memory.NewBufferBytes(bytesOf(c.Offset))}, []arrow.ArrayData{entries}, 0, 0)
}

// column wraps a slice without copying it.
func column[T int32 | float32 | float64](t arrow.DataType, values []T) arrow.ArrayData {
	return array.NewData(t, len(values), []*memory.Buffer{nil, memory.NewBufferBytes(bytesOf(values))}, nil, 0, 0)
}

func write(w io.Writer, schema *arrow.Schema, columns []arrow.ArrayData, rows int) error {
	arrays := make([]arrow.Array, len(columns))
	for i, data := range columns {
		arrays[i] = array.MakeFromData(data)
	}
	out, err := ipc.NewFileWriter(w, ipc.WithSchema(schema))
	if err != nil {
		return err
	}
	if err := out.Write(array.NewRecordBatch(schema, arrays, int64(rows))); err != nil {
		return err
	}
	return out.Close()
}

// WriteNames writes a list of names as one large_utf8 column, name.
func WriteNames(w io.Writer, names []string) error {
	offset := make([]int64, 1, len(names)+1)
	var text []byte
	for _, name := range names {
		text = append(text, name...)
		offset = append(offset, int64(len(text)))
	}
	data := array.NewData(arrow.BinaryTypes.LargeString, len(names),
		[]*memory.Buffer{nil, memory.NewBufferBytes(bytesOf(offset)), memory.NewBufferBytes(text)}, nil, 0, 0)
	return write(w, namesSchema, []arrow.ArrayData{data}, len(names))
}

var namesSchema = arrow.NewSchema([]arrow.Field{required("name", arrow.BinaryTypes.LargeString)}, nil)

// A Span is the place of one buffer in a file.
type Span struct{ Offset, Bytes int64 }

// A Layout has the places of the columns of a file, in this order: user, item, rating; or label, values; or label,
// offsets, indices, values; or offsets, words, counts. The times follow, and then the weights, if there are any. For
// names they are offsets and text.
type Layout struct {
	Rows  int
	Spans []Span
}

// Locate finds the columns of a file that this process has just written. It runs the Arrow reader, which allocates
// memory on the claim of the file. So it must not be used for files from elsewhere; their layout was kept with them.
func Locate(file []byte) (Layout, error) {
	in, err := ipc.NewMappedFileReader(file, ipc.WithBodySizeLimit(0))
	if err != nil {
		return Layout{}, err
	}
	defer in.Close()
	batch, err := in.RecordBatch(0)
	if err != nil {
		return Layout{}, err
	}
	l := Layout{Rows: int(batch.NumRows())}
	for i := range int(batch.NumCols()) {
		if err := l.add(file, batch.Column(i).Data()); err != nil {
			return Layout{}, err
		}
	}
	return l, nil
}

// add adds the buffers of a column, except the first, which would mark nulls, and then those of its children.
func (l *Layout) add(file []byte, data arrow.ArrayData) error {
	for _, buffer := range data.Buffers()[1:] {
		var b []byte
		if buffer != nil {
			b = buffer.Bytes()
		}
		if len(b) == 0 {
			l.Spans = append(l.Spans, Span{})
			continue
		}
		at := int64(uintptr(unsafe.Pointer(&b[0])) - uintptr(unsafe.Pointer(&file[0])))
		if at < 0 || at+int64(len(b)) > int64(len(file)) {
			return errors.New("columnfile: a column was copied, not mapped")
		}
		l.Spans = append(l.Spans, Span{Offset: at, Bytes: int64(len(b))})
	}
	for _, child := range data.Children() {
		if err := l.add(file, child); err != nil {
			return err
		}
	}
	return nil
}

// ReadNames reads a list of names. The strings do not refer to file.
func ReadNames(file []byte, l Layout) ([]string, error) {
	if l.Rows < 0 || len(l.Spans) != 2 {
		return nil, fmt.Errorf("columnfile: %d names in %d buffers", l.Rows, len(l.Spans))
	}
	v := viewer{file: file, Layout: l}
	offset, text := view[int64](&v, 0, int64(l.Rows)+1), string(v.bytes(1))
	if v.checkOffsets(offset, int64(len(text))); v.err != nil {
		return nil, v.err
	}
	names := make([]string, l.Rows)
	for i := range names {
		names[i] = text[offset[i]:offset[i+1]]
	}
	return names, nil
}

// ReadColumns returns the columns of a file. They point into it.
func ReadColumns(file []byte, l Layout, s Contents) (*Columns, error) {
	if l.Rows < 0 || !s.Ratings && !s.Documents && (s.Features < 1 || l.Rows > math.MaxInt64/s.Features) ||
		len(l.Spans) != s.spans() {
		return nil, fmt.Errorf("columnfile: %d rows of %d features in %d buffers", l.Rows, s.Features, len(l.Spans))
	}
	c, v, rows := &Columns{}, viewer{file: file, Layout: l}, int64(l.Rows)
	switch {
	case s.Ratings:
		c.User, c.Item, c.Rating = view[int32](&v, 0, rows), view[int32](&v, 1, rows), view[float32](&v, 2, rows)
		v.checkBelow(c.User, s.Users)
		v.checkBelow(c.Item, s.Items)
	case s.Documents:
		if c.Offset = view[int64](&v, 0, rows+1); v.err == nil {
			v.checkOffsets(c.Offset, int64(len(file)))
		}
		if v.err == nil {
			c.Index, c.Count = view[int32](&v, 1, c.Offset[rows]), view[int32](&v, 2, c.Offset[rows])
		}
		v.checkBelow(c.Index, s.Features)
		v.checkCounts(c.Count)
	case s.Sparse:
		c.Label, c.Offset = view[float32](&v, 0, rows), view[int64](&v, 1, rows+1)
		v.checkOffsets(c.Offset, int64(len(file)))
		if v.err == nil {
			c.Index, c.Value = view[int32](&v, 2, c.Offset[rows]), view[float32](&v, 3, c.Offset[rows])
		}
		v.checkBelow(c.Index, s.Features)
	default:
		c.Label, c.Dense = view[float32](&v, 0, rows), view[float32](&v, 1, rows*int64(s.Features))
	}
	last := s.spans() - 1
	if s.Numerals > 0 {
		c.Numeral = view[int32](&v, last, rows)
		v.checkBelow(c.Numeral, s.Numerals)
		last--
	}
	if s.Weights {
		c.Weight = view[float32](&v, last, rows)
		v.checkWeights(c.Weight)
		last--
	}
	if s.Times {
		c.Time = view[float64](&v, last, rows)
	}
	if v.err != nil {
		return nil, v.err
	}
	return c, nil
}

// A viewer reads a file by its layout, and keeps the first error. After an error it returns nothing.
type viewer struct {
	Layout
	file []byte
	err  error
}

// fail notes an error.
func (v *viewer) fail(format string, args ...any) {
	if v.err == nil {
		v.err = fmt.Errorf("columnfile: "+format, args...)
	}
}

// bytes returns the bytes of span i.
func (v *viewer) bytes(i int) []byte {
	s, size := v.Spans[i], int64(len(v.file))
	if s.Offset < 0 || s.Bytes < 0 || s.Offset > size || s.Bytes > size-s.Offset {
		v.fail("bytes %d to %d+%d of %d", s.Offset, s.Offset, s.Bytes, size)
	}
	if v.err != nil {
		return nil
	}
	return v.file[s.Offset : s.Offset+s.Bytes : s.Offset+s.Bytes]
}

// padding is the multiple to which Arrow pads buffers.
const padding = 8

// view returns span i as n values.
func view[T int32 | int64 | float32 | float64](v *viewer, i int, n int64) []T {
	b := v.bytes(i)
	var zero T
	size := int64(unsafe.Sizeof(zero))
	switch {
	case v.err != nil:
		return nil
	case n == 0:
		return []T{}
	case n < 0 || int64(len(b))/size < n || int64(len(b))-n*size >= padding:
		v.fail("%d bytes are not %d values of %d", len(b), n, size)
		return nil
	case uintptr(unsafe.Pointer(&b[0]))%uintptr(size) != 0:
		v.fail("values of %d bytes begin at %d", size, v.Spans[i].Offset)
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
}

func bytesOf[T int32 | int64 | float32 | float64](values []T) []byte {
	if len(values) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), len(values)*int(unsafe.Sizeof(values[0])))
}

// checkOffsets checks that offsets start at 0, ascend, and stay within n.
func (v *viewer) checkOffsets(offset []int64, n int64) {
	previous := int64(0)
	for i, at := range offset {
		if at < previous || i == 0 && at != 0 {
			v.fail("offset %d of row %d", at, i)
		}
		previous = at
	}
	if previous > n {
		v.fail("rows end at %d of %d", previous, n)
	}
}

// checkBelow checks that values are 0 to n-1.
func (v *viewer) checkBelow(values []int32, n int) {
	worst := uint32(0)
	for _, at := range values {
		worst = max(worst, uint32(at))
	}
	if len(values) > 0 && int64(worst) >= int64(n) {
		v.fail("position %d of %d", int32(worst), n)
	}
}

// checkCounts checks that values are at least 1.
func (v *viewer) checkCounts(values []int32) {
	for _, n := range values {
		if n < 1 {
			v.fail("count %d", n)
			return
		}
	}
}

// checkWeights checks that values are finite and above 0.
func (v *viewer) checkWeights(values []float32) {
	for _, w := range values {
		if !(w > 0 && w <= math.MaxFloat32) {
			v.fail("weight %v", w)
			return
		}
	}
}
