// Package splitfile stores the columns of one split, and lists of names, as
// Arrow IPC files that map into memory.
//
// The caller's duties, in order:
//
//  1. WriteColumns and WriteNames into a file that nobody reads yet; keep its
//     length and checksum elsewhere, and move it into place when it is whole.
//  2. Map the file, compare length and checksum, then ReadColumns with the
//     Shape that was written. The columns point into the mapping: a write to
//     them ends the process, and they are gone when the mapping is closed.
//
// Every file is one uncompressed record batch without nulls, so that pyarrow
// and others read it. Ratings are the columns user, item (int32, positions in
// the lists of names) and rating (float32). Examples are label (float32) and
// features, a fixed_size_list<float32> where rows are dense, and a
// large_list<struct<index: int32, value: float32>> where they are sparse.
//
// The package refuses files of another shape, and positions that point outside
// their row, list or width: whoever walks the columns may trust them.
package splitfile

import (
	"fmt"
	"io"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Shape says which columns a file has.
type Shape struct {
	Ratings  bool
	Sparse   bool // examples only
	Features int  // examples only, at least 1
	Users    int  // ratings only: bound of the users' positions
	Items    int
}

// Columns are the rows of one split. Ratings use the first three, examples the
// rest: Dense, or Offset (rows+1 positions in Index and Value), Index, Value.
type Columns struct {
	User, Item []int32
	Rating     []float32

	Label  []float32
	Dense  []float32
	Offset []int64
	Index  []int32
	Value  []float32
}

// Rows is the number of rows.
func (c *Columns) Rows() int { return max(len(c.Label), len(c.Rating)) }

// entry is one feature of a sparse row.
var entry = arrow.StructOf(required("index", arrow.PrimitiveTypes.Int32), required("value", arrow.PrimitiveTypes.Float32))

func required(name string, t arrow.DataType) arrow.Field { return arrow.Field{Name: name, Type: t} }

// schema is the schema of a shape.
func (s Shape) schema(meta map[string]string) *arrow.Schema {
	var fields []arrow.Field
	switch {
	case s.Ratings:
		fields = []arrow.Field{required("user", arrow.PrimitiveTypes.Int32),
			required("item", arrow.PrimitiveTypes.Int32), required("rating", arrow.PrimitiveTypes.Float32)}
	case s.Sparse:
		fields = []arrow.Field{required("label", arrow.PrimitiveTypes.Float32),
			required("features", arrow.LargeListOfNonNullable(entry))}
	default:
		fields = []arrow.Field{required("label", arrow.PrimitiveTypes.Float32),
			required("features", arrow.FixedSizeListOfNonNullable(int32(s.Features), arrow.PrimitiveTypes.Float32))}
	}
	m := arrow.MetadataFrom(meta)
	return arrow.NewSchema(fields, &m)
}

// WriteColumns writes one file; meta goes into its schema.
func WriteColumns(w io.Writer, s Shape, c *Columns, meta map[string]string) error {
	var columns []arrow.ArrayData
	rows := c.Rows()
	switch {
	case s.Ratings:
		columns = []arrow.ArrayData{column(arrow.PrimitiveTypes.Int32, c.User),
			column(arrow.PrimitiveTypes.Int32, c.Item), column(arrow.PrimitiveTypes.Float32, c.Rating)}
	case s.Sparse:
		columns = []arrow.ArrayData{column(arrow.PrimitiveTypes.Float32, c.Label), c.sparse()}
	default:
		list := arrow.FixedSizeListOfNonNullable(int32(s.Features), arrow.PrimitiveTypes.Float32)
		values := column(arrow.PrimitiveTypes.Float32, c.Dense)
		columns = []arrow.ArrayData{column(arrow.PrimitiveTypes.Float32, c.Label),
			array.NewData(list, rows, []*memory.Buffer{nil}, []arrow.ArrayData{values}, 0, 0)}
	}
	return write(w, s.schema(meta), columns, rows)
}

// sparse is the features column; offsets of a view are moved to begin at 0.
func (c *Columns) sparse() arrow.ArrayData {
	offset := c.Offset
	from, to := offset[0], offset[len(offset)-1]
	if from != 0 {
		offset = make([]int64, len(c.Offset))
		for i, at := range c.Offset {
			offset[i] = at - from
		}
	}
	entries := array.NewData(entry, int(to-from), []*memory.Buffer{nil}, []arrow.ArrayData{
		column(arrow.PrimitiveTypes.Int32, c.Index[from:to]), column(arrow.PrimitiveTypes.Float32, c.Value[from:to])}, 0, 0)
	return array.NewData(arrow.LargeListOfNonNullable(entry), len(offset)-1,
		[]*memory.Buffer{nil, memory.NewBufferBytes(bytesOf(offset))}, []arrow.ArrayData{entries}, 0, 0)
}

// column wraps a slice without copying it.
func column[T int32 | float32](t arrow.DataType, values []T) arrow.ArrayData {
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

// ReadNames reads a list of names; the strings do not refer to file.
func ReadNames(file []byte) (names []string, err error) {
	err = read(file, namesSchema, func(rows int, columns []arrow.ArrayData) error {
		offset, err := view[int64](columns[0], 1, rows+1)
		if err != nil {
			return err
		}
		text := string(buffer(columns[0], 2))
		if err := checkOffsets(offset, len(text)); err != nil {
			return err
		}
		names = make([]string, rows)
		for i := range names {
			names[i] = text[offset[i]:offset[i+1]]
		}
		return nil
	})
	return names, err
}

// ReadColumns returns the columns of a file, which point into it.
func ReadColumns(file []byte, s Shape) (c *Columns, err error) {
	if !s.Ratings && s.Features < 1 {
		return nil, fmt.Errorf("splitfile: examples with %d features", s.Features)
	}
	c = &Columns{}
	err = read(file, s.schema(nil), func(rows int, columns []arrow.ArrayData) error {
		switch {
		case s.Ratings:
			return c.readRatings(rows, columns, s)
		case s.Sparse:
			return c.readSparse(rows, columns, s)
		}
		return c.readDense(rows, columns, s)
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Columns) readRatings(rows int, columns []arrow.ArrayData, s Shape) (err error) {
	if c.User, err = view[int32](columns[0], 1, rows); err != nil {
		return err
	}
	if c.Item, err = view[int32](columns[1], 1, rows); err != nil {
		return err
	}
	if c.Rating, err = view[float32](columns[2], 1, rows); err != nil {
		return err
	}
	if err := checkBelow(c.User, s.Users); err != nil {
		return err
	}
	return checkBelow(c.Item, s.Items)
}

func (c *Columns) readDense(rows int, columns []arrow.ArrayData, s Shape) (err error) {
	if c.Label, err = view[float32](columns[0], 1, rows); err != nil {
		return err
	}
	values, err := child(columns[1], 0)
	if err != nil {
		return err
	}
	if values.Len()/s.Features < rows {
		return fmt.Errorf("splitfile: %d values for %d rows of %d", values.Len(), rows, s.Features)
	}
	c.Dense, err = view[float32](values, 1, rows*s.Features)
	return err
}

func (c *Columns) readSparse(rows int, columns []arrow.ArrayData, s Shape) (err error) {
	if c.Label, err = view[float32](columns[0], 1, rows); err != nil {
		return err
	}
	if c.Offset, err = view[int64](columns[1], 1, rows+1); err != nil {
		return err
	}
	entries, err := child(columns[1], 0)
	if err != nil {
		return err
	}
	if err := checkOffsets(c.Offset, entries.Len()); err != nil {
		return err
	}
	n := int(c.Offset[rows])
	for i := range 2 {
		part, err := child(entries, i)
		if err != nil {
			return err
		}
		if i == 0 {
			c.Index, err = view[int32](part, 1, n)
		} else {
			c.Value, err = view[float32](part, 1, n)
		}
		if err != nil {
			return err
		}
	}
	return checkBelow(c.Index, s.Features)
}

// read opens a file of one record batch and hands out its columns. The Arrow
// reader is made for files that are what they say: what it does with others
// (it may panic) ends here as an error.
func read(file []byte, schema *arrow.Schema, use func(rows int, columns []arrow.ArrayData) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("splitfile: damaged file: %v", r)
		}
	}()
	in, err := ipc.NewMappedFileReader(file, ipc.WithBodySizeLimit(0), ipc.WithAllocator(sparing{}))
	if err != nil {
		return err
	}
	defer in.Close()
	if in.NumRecords() != 1 || in.NumDictionaries() != 0 || !sameFields(in.Schema(), schema) {
		return fmt.Errorf("splitfile: %d batches of %v, not one of %v", in.NumRecords(), in.Schema(), schema)
	}
	batch, err := in.RecordBatch(0)
	if err != nil {
		return err
	}
	columns := make([]arrow.ArrayData, batch.NumCols())
	for i := range columns {
		columns[i] = batch.Column(i).Data()
		if columns[i].NullN() != 0 || columns[i].Offset() != 0 || int64(columns[i].Len()) != batch.NumRows() {
			return fmt.Errorf("splitfile: column %d is not %d values", i, batch.NumRows())
		}
	}
	return use(int(batch.NumRows()), columns)
}

func sameFields(a, b *arrow.Schema) bool {
	if a.NumFields() != b.NumFields() {
		return false
	}
	for i, f := range a.Fields() {
		if g := b.Field(i); f.Name != g.Name || f.Nullable || !arrow.TypeEqual(f.Type, g.Type) {
			return false
		}
	}
	return true
}

// sparing is an allocator for readers that need not allocate: columns point
// into the file. A compressed body would ask for what its header claims.
type sparing struct{}

const sparingMax = 64 << 10

func (sparing) Allocate(size int) []byte {
	if size > sparingMax {
		panic(fmt.Sprintf("asks for %d bytes", size))
	}
	return make([]byte, size)
}

func (s sparing) Reallocate(size int, b []byte) []byte {
	out := s.Allocate(size)
	copy(out, b)
	return out
}

func (sparing) Free([]byte) {}

func child(data arrow.ArrayData, i int) (arrow.ArrayData, error) {
	children := data.Children()
	if i >= len(children) || children[i].NullN() != 0 || children[i].Offset() != 0 {
		return nil, fmt.Errorf("splitfile: column %v lacks part %d", data.DataType(), i)
	}
	return children[i], nil
}

func buffer(data arrow.ArrayData, i int) []byte {
	if buffers := data.Buffers(); i < len(buffers) && buffers[i] != nil {
		return buffers[i].Bytes()
	}
	return nil
}

// view is buffer i of a column as n values.
func view[T int32 | int64 | float32](data arrow.ArrayData, i, n int) ([]T, error) {
	b := buffer(data, i)
	var zero T
	size := int(unsafe.Sizeof(zero))
	if n == 0 {
		return []T{}, nil
	}
	if n < 0 || len(b)/size < n || uintptr(unsafe.Pointer(&b[0]))%uintptr(size) != 0 {
		return nil, fmt.Errorf("splitfile: %d bytes are not %d values of %d", len(b), n, size)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n), nil
}

func bytesOf[T int32 | int64 | float32](values []T) []byte {
	if len(values) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), len(values)*int(unsafe.Sizeof(values[0])))
}

// checkOffsets wants offsets from 0, ascending, within n.
func checkOffsets(offset []int64, n int) error {
	previous := int64(0)
	for i, at := range offset {
		if at < previous || i == 0 && at != 0 {
			return fmt.Errorf("splitfile: offset %d of row %d", at, i)
		}
		previous = at
	}
	if previous > int64(n) {
		return fmt.Errorf("splitfile: rows end at %d of %d", previous, n)
	}
	return nil
}

// checkBelow wants values of 0 to n-1.
func checkBelow(values []int32, n int) error {
	worst := uint32(0)
	for _, v := range values {
		worst = max(worst, uint32(v))
	}
	if len(values) > 0 && int64(worst) >= int64(n) {
		return fmt.Errorf("splitfile: position %d of %d", int32(worst), n)
	}
	return nil
}
