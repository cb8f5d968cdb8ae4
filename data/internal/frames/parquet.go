package frames

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// pageBytesMost bounds a page, packed or not: what writes Parquet makes them of about 1 MiB, and a dictionary is one.
const pageBytesMost = 256 << 20

// Limits bound what a file may ask for.
type Limits struct {
	Rows    int64
	Columns int
	Bytes   int64 // of memory at a time, and of the values of one row group's columns together
}

// parquetFile is one file; Chunks of it are read at any places, by several goroutines.
type parquetFile struct {
	r       *file.Reader
	columns []Column
	limits  Limits
	next    int

	mu    sync.Mutex
	spare map[int][]*columnReader // by column; of row groups that have been read
}

// OpenParquet reads the schema and where row groups are. The reader below stays its owner's.
func OpenParquet(at io.ReaderAt, size int64, limits Limits) (f File, err error) {
	defer caught(&err)
	props := parquet.NewReaderProperties(newAllocator(limits.Bytes))
	props.BufferedStreamEnabled = true
	props.MaxCompressedPageSize, props.MaxUncompressedPageSize = min(pageBytesMost, size), min(pageBytesMost, limits.Bytes)
	r, err := file.NewParquetReader(io.NewSectionReader(at, 0, size), file.WithReadProps(props))
	if err != nil {
		return nil, err
	}
	p := &parquetFile{r: r, limits: limits, spare: map[int][]*columnReader{}}
	s := r.MetaData().Schema
	switch rows := r.NumRows(); {
	case rows < 0:
		return nil, fmt.Errorf("it claims %d rows", rows)
	case rows > limits.Rows:
		return nil, fmt.Errorf("it claims %d rows, the limit is %d", rows, limits.Rows)
	case s.NumColumns() > limits.Columns:
		return nil, fmt.Errorf("it has %d columns, the limit is %d", s.NumColumns(), limits.Columns)
	}
	total := int64(0)
	for i := range r.NumRowGroups() {
		n := r.MetaData().RowGroup(i).NumRows()
		if total += n; n < 0 || total > r.NumRows() {
			return nil, errors.New("its row groups have other rows than it claims")
		}
	}
	if total != r.NumRows() {
		return nil, errors.New("its row groups have other rows than it claims")
	}
	for i := range s.NumColumns() {
		c := s.Column(i)
		p.columns = append(p.columns, Column{Name: strings.ToValidUTF8(c.Path(), "\ufffd"), Odd: oddParquet(c)})
	}
	return p, nil
}

// oddParquet is why a column cannot be read.
func oddParquet(c *schema.Column) string {
	_, uuid := c.LogicalType().(schema.UUIDLogicalType)
	_, interval := c.LogicalType().(schema.IntervalLogicalType)
	_, clock := c.LogicalType().(schema.TimeLogicalType)
	switch {
	case c.MaxRepetitionLevel() > 0:
		return "holds lists"
	case c.PhysicalType() == parquet.Types.FixedLenByteArray && scaleOf(c) < 0 && !isHalf(c), uuid, interval:
		return "holds bytes that are neither numbers nor text"
	case clock:
		return "holds times of day"
	}
	return ""
}

// scaleOf is the scale of decimals, -1 of other columns.
func scaleOf(c *schema.Column) int {
	if d, ok := c.LogicalType().(schema.DecimalLogicalType); ok {
		return int(d.Scale())
	}
	return -1
}

func isHalf(c *schema.Column) bool {
	_, half := c.LogicalType().(schema.Float16LogicalType)
	return half
}

// Columns implements File.
func (p *parquetFile) Columns() []Column { return p.columns }

// Next implements File.
func (p *parquetFile) Next() (Chunk, error) {
	if p.next == p.r.NumRowGroups() {
		return nil, io.EOF
	}
	p.next++
	return &rowGroup{of: p, at: p.next - 1}, nil
}

// rowGroup is one of a file.
type rowGroup struct {
	of    *parquetFile
	at    int
	begun map[int]*columnReader // by column; what has its first rows, which a Read has yielded and gone no further
}

// Close implements Chunk.
func (g *rowGroup) Close() { g.begun = nil }

// Rows implements Chunk.
func (g *rowGroup) Rows() int { return int(g.of.r.MetaData().RowGroup(g.at).NumRows()) }

// Read implements Chunk. One that is left at its first rows has them for the next.
func (g *rowGroup) Read(columns []int) iter.Seq2[[]Vector, error] {
	return func(yield func([]Vector, error) bool) {
		readers, err := g.open(columns)
		if err != nil {
			yield(nil, err)
			return
		}
		out := make([]Vector, len(columns))
		for row := 0; row < g.Rows(); row += RowsMost {
			for i, r := range readers {
				if out[i], err = r.next(min(g.Rows()-row, RowsMost)); err != nil {
					yield(nil, fmt.Errorf("row group %d, column %s: %w", g.at+1, g.of.columns[columns[i]].Name, early(err)))
					return
				}
			}
			if !yield(out, nil) {
				if row == 0 {
					g.keep(columns, readers)
				}
				return
			}
		}
		g.of.done(columns, readers)
	}
}

// keep keeps readers that have read the first rows.
func (g *rowGroup) keep(columns []int, readers []*columnReader) {
	g.begun = map[int]*columnReader{}
	for i, r := range readers {
		r.begun = true
		g.begun[columns[i]] = r
	}
}

// open makes a reader of each column.
func (g *rowGroup) open(columns []int) (readers []*columnReader, err error) {
	defer caught(&err)
	group, bytes := g.of.r.RowGroup(g.at), int64(0)
	for _, at := range columns {
		chunk, err := group.MetaData().ColumnChunk(at)
		if err != nil {
			return nil, err
		}
		if bytes += max(0, chunk.TotalUncompressedSize()) + 4*group.NumRows(); bytes > g.of.limits.Bytes {
			return nil, fmt.Errorf("row group %d: %w", g.at+1, ErrLimit)
		}
		if c := g.begun[at]; c != nil {
			readers = append(readers, c)
			continue
		}
		r, err := group.Column(at)
		if err != nil {
			return nil, err
		}
		readers = append(readers, g.of.reader(at, r))
	}
	g.begun = nil
	return readers, nil
}

// reader is one for a column, with the memory of one that is done with if there is any.
func (p *parquetFile) reader(at int, r file.ColumnChunkReader) *columnReader {
	p.mu.Lock()
	defer p.mu.Unlock()
	spare := p.spare[at]
	if len(spare) == 0 {
		return newColumnReader(r)
	}
	c := spare[len(spare)-1]
	p.spare[at] = spare[:len(spare)-1]
	c.r = r
	return c
}

// done keeps the memory of readers.
func (p *parquetFile) done(columns []int, readers []*columnReader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, c := range readers {
		c.r = nil
		clear(c.bytes) // which are of pages, as the two others are
		clear(c.fixed)
		clear(c.out.Text[:cap(c.out.Text)])
		clear(c.out.Wide[:cap(c.out.Wide)])
		p.spare[columns[i]] = append(p.spare[columns[i]], c)
	}
}

// columnReader reads one column of one row group, RowsMost values at a time.
type columnReader struct {
	r     file.ColumnChunkReader
	c     *schema.Column
	defs  []int16 // nil where no value can be missing
	null  []bool
	out   Vector
	begun bool   // out is still to be taken
	text  []byte // of dates
	ends  []int
	i32   []int32
	i96   []parquet.Int96
	bools []bool
	bytes []parquet.ByteArray
	fixed []parquet.FixedLenByteArray
}

func newColumnReader(r file.ColumnChunkReader) *columnReader {
	c := &columnReader{r: r, c: r.Descriptor()}
	if c.c.MaxDefinitionLevel() > 0 {
		c.defs, c.null = make([]int16, RowsMost), make([]bool, RowsMost)
	}
	return c
}

// next reads n values.
func (c *columnReader) next(n int) (v Vector, err error) {
	if c.begun {
		c.begun = false
		return c.out, nil
	}
	defer caught(&err)
	levels, read, err := c.batch(n)
	switch {
	case err != nil:
		return v, err
	case c.r.Err() != nil:
		return v, c.r.Err()
	case levels != int64(n) || read > n:
		return v, io.ErrUnexpectedEOF
	}
	if c.out.Null = nil; c.defs != nil && read < n {
		c.out.Null = c.null[:n]
		for i, d := range c.defs[:n] {
			c.null[i] = d < c.c.MaxDefinitionLevel()
		}
	}
	c.convert(read)
	switch {
	case c.out.F32 != nil:
		c.out.F32, err = spaced(c.out.F32, c.out.Null, n, read)
	case c.out.F64 != nil:
		c.out.F64, err = spaced(c.out.F64, c.out.Null, n, read)
	case c.out.I64 != nil:
		c.out.I64, err = spaced(c.out.I64, c.out.Null, n, read)
	case c.out.U64 != nil:
		c.out.U64, err = spaced(c.out.U64, c.out.Null, n, read)
	case c.out.Wide != nil:
		c.out.Wide, err = spaced(c.out.Wide, c.out.Null, n, read)
	default:
		c.out.Text, err = spaced(c.out.Text, c.out.Null, n, read)
	}
	return c.out, err
}

// spaced moves values that stand one behind the other to their rows.
func spaced[T any](values []T, null []bool, n, read int) ([]T, error) {
	values = values[:n]
	if null == nil {
		return values, nil
	}
	var zero T
	from := read
	for i := n - 1; i >= 0; i-- {
		if null[i] {
			values[i] = zero
			continue
		}
		if from--; from < 0 {
			return nil, errors.New("it is damaged: it has fewer values than it says")
		}
		values[i] = values[from]
	}
	if from != 0 {
		return nil, errors.New("it is damaged: it has more values than it says")
	}
	return values, nil
}

// room is a slice of RowsMost values.
func room[T any](s []T) []T {
	if s == nil {
		s = make([]T, RowsMost)
	}
	return s[:RowsMost]
}

// batch reads n values as they are in the file.
func (c *columnReader) batch(n int) (levels int64, read int, err error) {
	most := int64(n)
	switch r := c.r.(type) {
	case *file.Float32ColumnChunkReader:
		c.out.F32 = room(c.out.F32)
		return r.ReadBatch(most, c.out.F32, c.defs, nil)
	case *file.Float64ColumnChunkReader:
		c.out.F64 = room(c.out.F64)
		return r.ReadBatch(most, c.out.F64, c.defs, nil)
	case *file.Int64ColumnChunkReader:
		c.out.I64 = room(c.out.I64)
		return r.ReadBatch(most, c.out.I64, c.defs, nil)
	case *file.Int32ColumnChunkReader:
		c.i32 = room(c.i32)
		return r.ReadBatch(most, c.i32, c.defs, nil)
	case *file.Int96ColumnChunkReader:
		c.i96 = room(c.i96)
		return r.ReadBatch(most, c.i96, c.defs, nil)
	case *file.BooleanColumnChunkReader:
		c.bools = room(c.bools)
		return r.ReadBatch(most, c.bools, c.defs, nil)
	case *file.ByteArrayColumnChunkReader:
		c.bytes = room(c.bytes)
		return r.ReadBatch(most, c.bytes, c.defs, nil)
	case *file.FixedLenByteArrayColumnChunkReader:
		c.fixed = room(c.fixed)
		return r.ReadBatch(most, c.fixed, c.defs, nil)
	}
	return 0, 0, fmt.Errorf("its type %s is not known", c.c.PhysicalType())
}

// convert makes a Vector's slice of the first n values, by what the schema says of them.
func (c *columnReader) convert(n int) {
	scale := scaleOf(c.c)
	c.out.Scale = max(0, scale)
	switch logical := c.c.LogicalType().(type) {
	case schema.DateLogicalType:
		c.times(n, true, func(i int) time.Time { return time.Unix(int64(c.i32[i])*24*3600, 0) })
		return
	case schema.TimestampLogicalType:
		unit, raw := logical.TimeUnit(), c.out.I64
		c.times(n, false, func(i int) time.Time {
			switch unit {
			case schema.TimeUnitMillis:
				return time.UnixMilli(raw[i])
			case schema.TimeUnitMicros:
				return time.UnixMicro(raw[i])
			}
			return time.Unix(0, raw[i])
		})
		c.out.I64 = nil
		return
	case schema.IntLogicalType:
		if !logical.IsSigned() {
			c.unsigned(n)
			return
		}
	}
	switch c.r.(type) {
	case *file.Int32ColumnChunkReader:
		c.out.I64 = room(c.out.I64)
		for i, x := range c.i32[:n] {
			c.out.I64[i] = int64(x)
		}
	case *file.BooleanColumnChunkReader:
		c.out.I64 = room(c.out.I64)
		for i, x := range c.bools[:n] {
			if c.out.I64[i] = 0; x {
				c.out.I64[i] = 1
			}
		}
	case *file.Int96ColumnChunkReader:
		c.times(n, false, func(i int) time.Time { return c.i96[i].ToTime() })
	case *file.ByteArrayColumnChunkReader:
		if scale < 0 {
			c.out.Text = room(c.out.Text)
			for i, x := range c.bytes[:n] {
				c.out.Text[i] = x
			}
			return
		}
		c.out.Wide = room(c.out.Wide)
		for i, x := range c.bytes[:n] {
			c.out.Wide[i] = x
		}
		return
	case *file.FixedLenByteArrayColumnChunkReader:
		if scale < 0 { // as oddParquet has it
			c.out.F64 = room(c.out.F64)
			for i, x := range c.fixed[:n] {
				c.out.F64[i] = float64(float16.FromLEBytes(x).Float32())
			}
			return
		}
		c.out.Wide = room(c.out.Wide)
		for i, x := range c.fixed[:n] {
			c.out.Wide[i] = x
		}
	}
}

// unsigned takes whole numbers as unsigned ones.
func (c *columnReader) unsigned(n int) {
	if c.i32 != nil {
		c.out.I64 = room(c.out.I64)
		for i, x := range c.i32[:n] {
			c.out.I64[i] = int64(uint32(x))
		}
		return
	}
	c.out.U64 = room(c.out.U64)
	for i, x := range c.out.I64[:n] {
		c.out.U64[i] = uint64(x)
	}
	c.out.I64 = nil
}

// times makes text of instants or days.
func (c *columnReader) times(n int, day bool, of func(i int) time.Time) {
	c.text, c.ends, c.out.Text = c.text[:0], c.ends[:0], room(c.out.Text)
	for i := range n {
		c.text = appendTime(c.text, of(i), day)
		c.ends = append(c.ends, len(c.text))
	}
	cut(c.out.Text, c.text, c.ends)
}

// cut makes slices of a text by their ends.
func cut(to [][]byte, text []byte, ends []int) {
	from := 0
	for i, end := range ends {
		to[i], from = text[from:end:end], end
	}
}
