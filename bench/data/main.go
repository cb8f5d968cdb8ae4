// Command data shows how fast the readers of package data are: megabytes of uncompressed text a second and core, against
// reading the same bytes and counting lines.
//
// It needs no peer. Files are given by --files; without it, one of each format is made from a seed.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/data"
)

// The least speeds of readers, bytes of uncompressed text a second and core: of lines of numbers, and of lines of names and text.
const (
	wanted     = 300e6
	wantedText = 120e6
)

func main() {
	files := flag.String("files", "", "files to read, separated by commas (default: made from a seed)")
	pair.Main(5, 11, func(b *pair.Bench) {
		b.Header("data: readers on one worker, against counting the lines of the same text")
		shelf := sets.Open("")
		defer shelf.Close()
		inputs := choose(shelf, *files, b.Full)
		b.Section("bytes of uncompressed text a second, one worker; the target is 300 MB/s of CPU time, and 120 where lines are text")
		for _, in := range inputs {
			race(b, in)
		}
		if *files == "" {
			rows := 200_000
			if b.Full {
				rows *= 4
			}
			b.Section("values of a Parquet file a second, one worker, against reading them to rows by parquet-go alone")
			raceParquet(b, parquetFile(shelf, rows), rows)
		}
	})
}

// input is a file and what its rows are.
type input struct {
	name, path string
	kind       data.Kind
	wanted     float64
	opt        data.Options
}

func choose(shelf *sets.Shelf, files string, full bool) []input {
	if files == "" {
		return generated(shelf, full)
	}
	var inputs []input
	for _, path := range strings.Split(files, ",") {
		kind := data.Examples
		if strings.Contains(filepath.Base(path), "tsv") {
			kind = data.Ratings
		}
		inputs = append(inputs, input{name: filepath.Base(path), path: path, kind: kind, wanted: wanted})
	}
	return inputs
}

func generated(shelf *sets.Shelf, full bool) []input {
	scale := 1
	if full {
		scale = 8
	}
	inputs := []input{
		{"triples", shelf.Ratings(6040, 3706, 1_000_000*scale).Train, data.Ratings, wanted, data.Options{}},
		{"LIBSVM", shelf.Documents(20_000*scale, 1, 17_561).Train, data.Examples, wanted, data.Options{}},
		{"CSV", shelf.Numbers(40_000*scale, 30).Train, data.Examples, wanted, data.Options{}},
	}
	for _, m := range formats {
		in := m.make(shelf, scale)
		inputs = append(inputs, in)
		if m.file == "text.txt" {
			in.name, in.opt = "text, without stop words", data.Options{StopWords: data.English}
			inputs = append(inputs, in)
			in.name, in.opt = "text, with pairs, most of them new", data.Options{Ngrams: 2}
			inputs = append(inputs, in)
		}
	}
	return inputs
}

func race(b *pair.Bench, in input) {
	if ext := filepath.Ext(in.path); ext == ".gz" || ext == ".zst" {
		pair.Check(fmt.Errorf("%s is compressed: the figure is of uncompressed text, so unpack it first", in.path))
	}
	size := float64(pair.Must(os.Stat(in.path)).Size())
	ours := pair.Side{Name: in.name, Run: pair.Measure(func() (float64, error) {
		opt := in.opt
		opt.Workers = 1
		set, err := data.Read(context.Background(), []string{in.path}, in.kind, opt)
		if err != nil {
			return 0, err
		}
		return size, set.Close()
	})}
	lines := pair.Side{Name: "lines", Run: pair.Measure(func() (float64, error) { return size, countLines(in.path) })}
	both := b.Race(pair.Row{Figure: fmt.Sprintf("%s, %.1f MB", in.name, size/1e6), Unit: "B/s", Clock: pair.CPU}, ours, lines)
	b.AddFact(pair.Fact{Figure: "  of it, a second and core", Unit: "B/s", Ours: both[0].Rates(pair.CPU).Median, Peer: "limit", Bound: in.wanted, Least: true})
}

// countLines reads a file in blocks as the readers do, and looks at every byte once.
func countLines(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	block := make([]byte, 1<<20)
	lines := 0
	for {
		n, err := f.Read(block)
		lines += bytes.Count(block[:n], []byte{'\n'})
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
