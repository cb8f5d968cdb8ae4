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

// wanted is the least speed of a reader, bytes of uncompressed text a second and core.
const wanted = 300e6

func main() {
	options := pair.Flags()
	files := flag.String("files", "", "files to read, separated by commas (default: made from a seed)")
	pair.Exit(options.Parse(5, 11))
	options.Header(os.Stdout, "data: readers on one worker, against counting the lines of the same text")
	shelf, err := sets.Open("")
	pair.Exit(err)
	defer shelf.Close()
	table := pair.NewTable(os.Stdout, options.JSON)
	defer table.Close()
	if err := all(table, options, shelf, *files); err != nil {
		shelf.Close()
		pair.Exit(err)
	}
}

// input is a file and what its rows are.
type input struct {
	name, path string
	kind       data.Kind
}

func all(table *pair.Table, options *pair.Options, shelf *sets.Shelf, files string) error {
	inputs, err := choose(shelf, files, options.Full)
	if err != nil {
		return err
	}
	table.Section("bytes of uncompressed text a second, one worker; the target is 300 MB/s of CPU time")
	for _, in := range inputs {
		if err := race(table, options.Turns, in); err != nil {
			return err
		}
	}
	return nil
}

func choose(shelf *sets.Shelf, files string, full bool) ([]input, error) {
	if files == "" {
		return generated(shelf, full)
	}
	var inputs []input
	for _, path := range strings.Split(files, ",") {
		kind := data.Examples
		if strings.Contains(filepath.Base(path), "tsv") {
			kind = data.Ratings
		}
		inputs = append(inputs, input{filepath.Base(path), path, kind})
	}
	return inputs, nil
}

func generated(shelf *sets.Shelf, full bool) ([]input, error) {
	scale := 1
	if full {
		scale = 8
	}
	ratings, err := shelf.Ratings(6040, 3706, 1_000_000*scale)
	if err != nil {
		return nil, err
	}
	documents, err := shelf.Documents(20_000*scale, 1, 17_561)
	if err != nil {
		return nil, err
	}
	numbers, err := shelf.Numbers(40_000*scale, 30)
	return []input{{"triples", ratings.Train, data.Ratings}, {"LIBSVM", documents.Train, data.Examples}, {"CSV", numbers.Train, data.Examples}}, err
}

func race(table *pair.Table, turns int, in input) error {
	text, err := os.ReadFile(in.path)
	if err != nil {
		return err
	}
	size := float64(len(text))
	if ext := filepath.Ext(in.path); ext == ".gz" || ext == ".zst" {
		return fmt.Errorf("%s is compressed: the figure is of uncompressed text, so unpack it first", in.path)
	}
	ours := pair.Side{Name: in.name, Run: pair.Measure(func() (float64, error) {
		set, err := data.Read(context.Background(), []string{in.path}, in.kind, data.Options{Workers: 1})
		if err != nil {
			return 0, err
		}
		return size, set.Close()
	})}
	lines := pair.Side{Name: "lines", Run: pair.Measure(func() (float64, error) { return size, countLines(in.path) })}
	both, err := pair.Interleave(turns, ours, lines)
	if err != nil {
		return err
	}
	table.Add(pair.Row{Figure: fmt.Sprintf("%s, %.1f MB", in.name, size/1e6), Unit: "B/s", Clock: pair.CPU, Ours: both[0], Peer: both[1]})
	table.AddFact(pair.Fact{Figure: "  of it, a second and core", Unit: "B/s", Ours: both[0].Rates(pair.CPU).Median, Peer: "limit", Bound: wanted, Least: true})
	return nil
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
