package frames

import (
	"fmt"
	"io"
	"iter"
	"sync"

	"bellows/data/internal/parquet"
)

// Limits bound what a file may ask for.
type Limits = parquet.Limits

// A parquetFile is one file. Several goroutines read its Chunks at any places.
type parquetFile struct {
	*parquet.File
	columns []Column
	limits  Limits
	next    int

	mu    sync.Mutex
	spare map[int][]*columnReader // by column; from row groups that have been read
}

// OpenParquet reads the schema and the places of row groups. The caller keeps the ownership of the reader.
func OpenParquet(at io.ReaderAt, size int64, limits Limits) (f File, err error) {
	defer recoverError(&err)
	file, err := parquet.Open(at, size, limits)
	if err != nil {
		return nil, err
	}
	p := &parquetFile{File: file, limits: limits, spare: map[int][]*columnReader{}}
	for i := range file.Leaves {
		p.columns = append(p.columns, Column{Name: file.Leaves[i].Name, Odd: file.Leaves[i].Odd})
	}
	return p, nil
}

// Columns implements File.
func (p *parquetFile) Columns() []Column { return p.columns }

// Next implements File.
func (p *parquetFile) Next() (Chunk, error) {
	if p.next == len(p.Meta.RowGroups) {
		return nil, io.EOF
	}
	p.next++
	return &rowGroup{of: p, at: p.next - 1}, nil
}

// A rowGroup is one row group of a file.
type rowGroup struct {
	of    *parquetFile
	at    int
	begun map[int]*columnReader // by column: readers whose first rows were read, by a Read that stopped after them
}

// Close implements Chunk.
func (g *rowGroup) Close() {
	for at, c := range g.begun {
		g.of.done([]int{at}, []*columnReader{c})
	}
	g.begun = nil
}

// Rows implements Chunk.
func (g *rowGroup) Rows() int { return int(g.of.Meta.RowGroups[g.at].NumRows) }

// Read implements Chunk. After a Read that stopped at its first rows, the next one yields them again.
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
					yield(nil, fmt.Errorf("row group %d, column %s: %w", g.at+1, g.of.columns[columns[i]].Name,
						truncated(err)))
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
	defer recoverError(&err)
	group, bytes := &g.of.Meta.RowGroups[g.at], int64(0)
	for _, at := range columns {
		if bytes += max(0, group.Columns[at].MetaData.TotalUncompressedSize) +
			4*group.NumRows; bytes > g.of.limits.Bytes {
			return nil, fmt.Errorf("row group %d: %w", g.at+1, ErrLimit)
		}
	}
	for _, at := range columns {
		c := g.begun[at]
		if c == nil {
			c = g.of.reader(at)
			if err := c.Begin(&group.Columns[at], group.NumRows); err != nil {
				return nil, fmt.Errorf("row group %d, column %s: %w", g.at+1, g.of.columns[at].Name, err)
			}
		}
		readers = append(readers, c)
	}
	g.begun = nil
	return readers, nil
}

// reader returns a reader of a column, in the memory of an earlier one if there is any.
func (p *parquetFile) reader(at int) *columnReader {
	p.mu.Lock()
	defer p.mu.Unlock()
	spare := p.spare[at]
	if len(spare) == 0 {
		return &columnReader{Column: p.NewColumn(at, RowsMost)}
	}
	p.spare[at] = spare[:len(spare)-1]
	return spare[len(spare)-1]
}

// done keeps the memory of readers for later ones.
func (p *parquetFile) done(columns []int, readers []*columnReader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, c := range readers {
		c.begun = false
		p.spare[columns[i]] = append(p.spare[columns[i]], c)
	}
}
