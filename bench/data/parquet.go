package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/data"

	"github.com/parquet-go/parquet-go"
)

// wantedParquet is the least part of the speed of parquet-go alone.
const wantedParquet = 0.85

// parquetColumns is how many columns the file has besides the label.
const parquetColumns = 30

// parquetFile writes four row groups of 64-bit floats and a label, packed by zstd.
func parquetFile(shelf *sets.Shelf, rows int) (path string) {
	path = shelf.Path("table.parquet")
	group := parquet.Group{"label": parquet.Encoded(parquet.Int(64), &parquet.RLEDictionary)}
	for i := range parquetColumns {
		group[fmt.Sprintf("x%02d", i)] = parquet.Optional(parquet.Leaf(parquet.DoubleType))
	}
	r := rand.New(rand.NewPCG(33, 34))
	sets.Write(path, func(to *bufio.Writer) {
		w := parquet.NewWriter(to, parquet.NewSchema("table", group), parquet.Compression(&parquet.Zstd), parquet.PageBufferSize(1<<20))
		for range 4 {
			block := make([]parquet.Row, rows/4)
			for k := range block {
				block[k] = parquet.Row{parquet.Int64Value(r.Int64N(2)).Level(0, 0, 0)}
				for i := range parquetColumns {
					block[k] = append(block[k], parquet.DoubleValue(float64(r.IntN(1_000_000))/1000).Level(0, 1, 1+i))
				}
			}
			pair.Must(w.WriteRows(block))
			pair.Check(w.Flush())
		}
		pair.Check(w.Close())
	})
	return path
}

// raceParquet reads the file to a data set on one worker, and to rows of 32-bit floats by parquet-go's pages.
func raceParquet(b *pair.Bench, path string, rows int) {
	values := float64(rows) * (parquetColumns + 1)
	ours := pair.Side{Name: "Parquet", Run: pair.Measure(func() float64 {
		pair.Check(pair.Must(data.Read(context.Background(), []string{path}, data.Examples, data.Options{Workers: 1, Label: "label"})).Close())
		return values
	})}
	alone := pair.Side{Name: "parquet-go", Run: pair.Measure(func() float64 { readRows(path); return values })}
	b.Race(pair.Row{Figure: fmt.Sprintf("Parquet, %d values; wanted is %.2f of parquet-go alone", int(values), wantedParquet), Unit: "values/s", Clock: pair.CPU}, ours, alone)
}

// readRows reads all of a file to rows of 32-bit floats by parquet-go's pages.
func readRows(path string) {
	f := pair.Must(os.Open(path))
	defer f.Close()
	file := pair.Must(parquet.OpenFile(f, pair.Must(f.Stat()).Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true)))
	table := make([]float32, file.NumRows()*(parquetColumns+1))
	for _, group := range file.RowGroups() {
		rows := table[:group.NumRows()*(parquetColumns+1)]
		table = table[len(rows):]
		for k, chunk := range group.ColumnChunks() {
			pages := chunk.Pages()
			readColumn(pages, rows[k:])
			pair.Check(pages.Close())
		}
	}
}

// readColumn writes the values of a column chunk to the first place of each row.
func readColumn(pages parquet.Pages, to []float32) {
	for {
		page, err := pages.ReadPage()
		if err == io.EOF {
			return
		}
		pair.Check(err)
		values := page.Data()
		if dictionary := page.Dictionary(); dictionary != nil {
			all := dictionary.Page().Data()
			of := all.Int64()
			for i, x := range values.Int32() {
				to[i*(parquetColumns+1)] = float32(of[x])
			}
		} else {
			doubles, next := values.Double(), 0
			for i, level := range page.DefinitionLevels() {
				x := float32(math.NaN())
				if level == 1 {
					x = float32(doubles[next])
					next++
				}
				to[i*(parquetColumns+1)] = x
			}
		}
		to = to[min(int(page.NumRows())*(parquetColumns+1), len(to)):]
		parquet.Release(page)
	}
}
