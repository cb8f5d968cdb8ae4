package frames

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// An arrowFile is a stream of record batches. An Arrow file contains one, between its first eight bytes and the data
// after the stream's end.
type arrowFile struct {
	r       *ipc.Reader
	columns []Column
	rows    int64
	limits  Limits
}

// OpenArrowFile reads the footer and the schema of a file. size is the file's size.
func OpenArrowFile(at io.ReaderAt, size int64, limits Limits) (f File, err error) {
	defer recoverError(&err)
	foot, err := openFooter(at, size, limits)
	if err != nil {
		return nil, err
	}
	return openMessages(&messages{mem: newAllocator(limits.Bytes), limits: limits, size: size, marked: true,
		footed: foot})
}

// OpenArrow reads the schema of a stream. size is the size of an uncompressed file, else 0.
func OpenArrow(from io.Reader, size int64, limits Limits) (f File, err error) {
	defer recoverError(&err)
	head := bufio.NewReader(from)
	m := &messages{from: head, mem: newAllocator(limits.Bytes), limits: limits, size: size}
	if magic, _ := head.Peek(len(arrowMagic)); string(magic) == string(arrowMagic) {
		if _, err := head.Discard(len(arrowMagic)); err != nil {
			return nil, err
		}
		m.marked = true
	}
	f, err = openMessages(m)
	if err != nil && m.marked && strings.Contains(err.Error(), "want=Schema") {
		err = errNoSchema
	}
	return f, err
}

// openMessages reads the schema of messages.
func openMessages(m *messages) (File, error) {
	r, err := ipc.NewReaderFromMessageReader(m, ipc.WithAllocator(m.mem))
	if err != nil {
		return nil, truncated(err)
	}
	if err := m.settle(r.Schema()); err != nil {
		return nil, err
	}
	a := &arrowFile{r: r, limits: m.limits}
	if n := len(r.Schema().Fields()); n > m.limits.Columns {
		return nil, fmt.Errorf("it has %d columns, the limit is %d", n, m.limits.Columns)
	}
	for _, field := range r.Schema().Fields() {
		a.columns = append(a.columns, Column{Name: strings.ToValidUTF8(field.Name, "\ufffd"),
			Odd: arrowDefect(field.Type)})
	}
	return a, nil
}

// arrowDefect returns why a column cannot be read, "" if it can.
func arrowDefect(t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return arrowDefect(t.ValueType)
	case arrow.ExtensionType:
		return arrowDefect(t.StorageType())
	}
	switch t.ID() {
	case arrow.NULL, arrow.BOOL, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16,
		arrow.UINT32, arrow.UINT64,
		arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64, arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW, arrow.BINARY,
		arrow.LARGE_BINARY, arrow.BINARY_VIEW,
		arrow.DATE32, arrow.DATE64, arrow.TIMESTAMP, arrow.DECIMAL128, arrow.DECIMAL256:
		return ""
	case arrow.LIST, arrow.LARGE_LIST, arrow.FIXED_SIZE_LIST, arrow.LIST_VIEW, arrow.LARGE_LIST_VIEW, arrow.MAP:
		return "holds lists"
	}
	return "holds values of the type " + t.Name()
}

// Columns implements File.
func (a *arrowFile) Columns() []Column { return a.columns }

// Next implements File.
func (a *arrowFile) Next() (c Chunk, err error) {
	defer recoverError(&err)
	if !a.r.Next() {
		if err := a.r.Err(); err != nil && err != io.EOF {
			return nil, err
		}
		return nil, io.EOF
	}
	batch := a.r.RecordBatch()
	if a.rows += batch.NumRows(); a.rows > a.limits.Rows {
		return nil, fmt.Errorf("it has more rows than the limit, %d", a.limits.Rows)
	}
	batch.Retain()
	return &recordBatch{batch, a.columns}, nil
}

// A recordBatch is one batch of a stream.
type recordBatch struct {
	arrow.RecordBatch
	columns []Column
}

// Close implements Chunk.
func (b *recordBatch) Close() { b.Release() }

// Rows implements Chunk.
func (b *recordBatch) Rows() int { return int(b.NumRows()) }

// Read implements Chunk.
func (b *recordBatch) Read(columns []int) iter.Seq2[[]Vector, error] {
	return func(yield func([]Vector, error) bool) {
		out := make([]Vector, len(columns))
		for from := 0; from < b.Rows(); from += RowsMost {
			n := min(b.Rows()-from, RowsMost)
			for i, at := range columns {
				if err := vectorOf(b.Column(at), from, n, &out[i]); err != nil {
					yield(nil, fmt.Errorf("column %s: %w", b.columns[at].Name, err))
					return
				}
			}
			if !yield(out, nil) {
				return
			}
		}
	}
}

// vectorOf makes a Vector of n values of an array.
func vectorOf(a arrow.Array, from, n int, v *Vector) (err error) {
	defer recoverError(&err)
	v.F32, v.F64, v.I64, v.U64, v.Wide, v.Text, v.Null, v.Scale = v.F32[:0], v.F64[:0], v.I64[:0], v.U64[:0],
		v.Wide[:0], v.Text[:0], nil, 0
	v.Truths = false
	if extended, ok := a.(array.ExtensionArray); ok {
		a = extended.Storage()
	}
	if a.NullN() > 0 {
		v.Null = make([]bool, n)
		for i := range n {
			v.Null[i] = a.IsNull(from + i)
		}
	}
	values, at := a, func(i int) int { return from + i }
	if d, ok := a.(*array.Dictionary); ok {
		values = d.Dictionary()
		if extended, ok := values.(array.ExtensionArray); ok {
			values = extended.Storage()
		}
		at = func(i int) int { return d.GetValueIndex(from + i) }
		for i := range n {
			if k := at(i); a.IsValid(from+i) && (k < 0 || k >= values.Len()) {
				return fmt.Errorf("it is damaged: value %d of %d is meant", k, values.Len())
			} else if a.IsValid(from+i) && values.IsNull(k) {
				if v.Null == nil {
					v.Null = make([]bool, n)
				}
				v.Null[i] = true
			}
		}
	}
	there := func(i int) bool { return v.Null == nil || !v.Null[i] }
	return v.take(values, n, at, there)
}

// take takes the values of an array at some places.
func (v *Vector) take(values arrow.Array, n int, at func(int) int, there func(int) bool) error {
	switch a := values.(type) {
	case *array.Null:
		v.I64 = gather(v.I64, n, there, func(int) int64 { return 0 })
		v.Null = make([]bool, n)
		for i := range v.Null {
			v.Null[i] = true
		}
	case *array.Float32:
		v.F32 = gather(v.F32, n, there, func(i int) float32 { return a.Value(at(i)) })
	case *array.Float16:
		v.F32 = gather(v.F32, n, there, func(i int) float32 { return a.Value(at(i)).Float32() })
	case *array.Float64:
		v.F64 = gather(v.F64, n, there, func(i int) float64 { return a.Value(at(i)) })
	case *array.Uint64:
		v.U64 = gather(v.U64, n, there, func(i int) uint64 { return a.Value(at(i)) })
	case *array.Decimal128:
		v.Scale = int(a.DataType().(*arrow.Decimal128Type).Scale)
		raw := make([]byte, 0, 16*n)
		v.Wide = gather(v.Wide, n, there, func(i int) []byte {
			x := a.Value(at(i))
			raw = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(raw, uint64(x.HighBits())), x.LowBits())
			return raw[len(raw)-16:]
		})
	case *array.Decimal256:
		v.Scale = int(a.DataType().(*arrow.Decimal256Type).Scale)
		raw := make([]byte, 0, 32*n)
		v.Wide = gather(v.Wide, n, there, func(i int) []byte {
			words := a.Value(at(i)).Array()
			for k := range words {
				raw = binary.BigEndian.AppendUint64(raw, words[len(words)-1-k])
			}
			return raw[len(raw)-32:]
		})
	case *array.Date32:
		v.times(n, true, there, func(i int) time.Time { return a.Value(at(i)).ToTime() })
	case *array.Date64:
		v.times(n, true, there, func(i int) time.Time { return a.Value(at(i)).ToTime() })
	case *array.Timestamp:
		unit := a.DataType().(*arrow.TimestampType).Unit
		v.times(n, false, there, func(i int) time.Time { return a.Value(at(i)).ToTime(unit) })
	default:
		return v.takeMore(values, n, at, there)
	}
	return nil
}

// takeMore works like take for whole numbers and text.
func (v *Vector) takeMore(values arrow.Array, n int, at func(int) int, there func(int) bool) error {
	var whole func(i int) int64
	switch a := values.(type) {
	case *array.Boolean:
		v.Truths = true
		whole = func(i int) int64 {
			if a.Value(at(i)) {
				return 1
			}
			return 0
		}
	case *array.Int8:
		whole = func(i int) int64 { return int64(a.Value(at(i))) }
	case *array.Int16:
		whole = func(i int) int64 { return int64(a.Value(at(i))) }
	case *array.Int32:
		whole = func(i int) int64 { return int64(a.Value(at(i))) }
	case *array.Int64:
		whole = func(i int) int64 { return a.Value(at(i)) }
	case *array.Uint8:
		whole = func(i int) int64 { return int64(a.Value(at(i))) }
	case *array.Uint16:
		whole = func(i int) int64 { return int64(a.Value(at(i))) }
	case *array.Uint32:
		whole = func(i int) int64 { return int64(a.Value(at(i))) }
	case interface{ Value(i int) []byte }:
		v.Text = gather(v.Text, n, there, func(i int) []byte { return a.Value(at(i)) })
		return nil
	case interface{ Value(i int) string }:
		v.Text = gather(v.Text, n, there, func(i int) []byte { return []byte(a.Value(at(i))) })
		return nil
	default:
		return fmt.Errorf("its type %s is not known", values.DataType())
	}
	v.I64 = gather(v.I64, n, there, whole)
	return nil
}

// gather appends n values, zero where a value is missing.
func gather[T any](to []T, n int, there func(int) bool, of func(int) T) []T {
	var zero T
	if cap(to) < n || to == nil {
		to = make([]T, 0, n)
	}
	for i := range n {
		if there(i) {
			to = append(to, of(i))
		} else {
			to = append(to, zero)
		}
	}
	return to
}

// times converts instants or days to text.
func (v *Vector) times(n int, day bool, there func(int) bool, of func(int) time.Time) {
	v.Text = gather(v.Text, n, there, func(i int) []byte { return appendTime(nil, of(i), day) })
}
