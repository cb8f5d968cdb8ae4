package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/data"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// wantedParquet is the least part of the speed of pqarrow alone.
const wantedParquet = 0.8

// parquetColumns is how many columns the file has beside the label.
const parquetColumns = 30

// parquetFile writes four row groups of 64-bit floats and a label, packed by zstd.
func parquetFile(shelf *sets.Shelf, rows int) (path string) {
	path = shelf.Path("table.parquet")
	fields := []arrow.Field{{Name: "label", Type: arrow.PrimitiveTypes.Int64}}
	for i := range parquetColumns {
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("x%d", i), Type: arrow.PrimitiveTypes.Float64, Nullable: true})
	}
	s, r := arrow.NewSchema(fields, nil), rand.New(rand.NewPCG(33, 34))
	sets.Write(path, func(to *bufio.Writer) {
		w := pair.Must(pqarrow.NewFileWriter(s, to, parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd)), pqarrow.DefaultWriterProps()))
		for range 4 {
			b := array.NewRecordBuilder(memory.DefaultAllocator, s)
			for range rows / 4 {
				b.Field(0).(*array.Int64Builder).Append(r.Int64N(2))
				for i := range parquetColumns {
					b.Field(1 + i).(*array.Float64Builder).Append(float64(r.IntN(1_000_000)) / 1000)
				}
			}
			pair.Check(w.Write(b.NewRecordBatch()))
		}
		pair.Check(w.Close())
	})
	return path
}

// raceParquet reads the file to a data set on one worker, and to Arrow's arrays by pqarrow on one goroutine at a time.
func raceParquet(b *pair.Bench, path string, rows int) {
	values := float64(rows) * (parquetColumns + 1)
	ours := pair.Side{Name: "Parquet", Run: pair.Measure(func() (float64, error) {
		set, err := data.Read(context.Background(), []string{path}, data.Examples, data.Options{Workers: 1, Label: "label"})
		if err != nil {
			return 0, err
		}
		return values, set.Close()
	})}
	alone := pair.Side{Name: "pqarrow", Run: pair.Measure(func() (float64, error) { return values, readArrays(path) })}
	b.Race(pair.Row{Figure: fmt.Sprintf("Parquet, %d values; wanted is %.1f of pqarrow alone", int(values), wantedParquet), Unit: "values/s", Clock: pair.CPU}, ours, alone)
}

// readArrays reads all of a file by pqarrow.
func readArrays(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := file.NewParquetReader(f)
	if err != nil {
		return err
	}
	arrays, err := pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{BatchSize: 16 << 10}, memory.DefaultAllocator)
	if err != nil {
		return err
	}
	batches, err := arrays.GetRecordReader(context.Background(), nil, nil)
	if err != nil {
		return err
	}
	defer batches.Release()
	for batches.Next() {
	}
	return batches.Err()
}
