// Command data measures how fast the readers of package data parse text, compared with a loop that only reads the same
// bytes. It prints megabytes of uncompressed text a second and core, also compared with counting lines. The target is a
// part of that loop's speed, so it is the same on every machine.
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

// The least speeds of readers, as parts of the speed of a loop that only reads the same bytes: of lines of numbers, and of lines of names and
// text. They are what 300 and 120 MB/s were on machine B of docs/results: on machine D, which reads at half that speed, they come to about 150
// and 60 MB/s.
const (
	wanted     = 0.18
	wantedText = 0.07
)

func main() {
	files := flag.String("files", "", "files to read, separated by commas (default: made from a seed)")
	pair.Main(5, 11, func(b *pair.Bench) {
		b.Header("data: readers on one worker, against a loop that only reads the same text, and against counting its lines")
		shelf := sets.Open("")
		defer shelf.Close()
		inputs := choose(shelf, *files, b.Full)
		b.Section(fmt.Sprintf("bytes of uncompressed text a second, one worker; wanted is %g of a loop that only reads, and %g where lines are text", wanted, wantedText))
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
	ours := pair.Side{Name: in.name, Run: pair.Measure(func() float64 {
		opt := in.opt
		opt.Workers = 1
		pair.Check(pair.Must(data.Read(context.Background(), []string{in.path}, in.kind, opt)).Close())
		return size
	})}
	only := func(name string, look func(block []byte) int) pair.Side {
		return pair.Side{Name: name, Run: pair.Measure(func() float64 { return readOnly(in.path, look) })}
	}
	series := b.Interleave(ours, only("only reading", ends), only("counting lines", func(block []byte) int { return bytes.Count(block, []byte{'\n'}) }))
	row := pair.Row{Figure: fmt.Sprintf("%s, %.1f MB", in.name, size/1e6), Unit: "B/s", Clock: pair.CPU, Ours: series[0], Peer: series[1], Target: in.wanted}
	b.Add(row)
	row.Figure, row.Peer, row.Target = "  the same", series[2], 0
	b.Add(row)
}

// isEnd is 1 for the bytes that end a word.
var isEnd = [256]uint8{' ': 1, ',': 1, ':': 1, '\t': 1, '\n': 1, '|': 1}

// ends counts the ends of words by a plain loop that looks at each byte: less than any reader can do.
func ends(block []byte) (n int) {
	for _, c := range block {
		n += int(isEnd[c])
	}
	return n
}

// readOnly reads a file in blocks as the readers do, looks at each block, and returns the bytes.
func readOnly(path string, look func(block []byte) int) (size float64) {
	f := pair.Must(os.Open(path))
	defer f.Close()
	block, found := make([]byte, 1<<20), 0
	for {
		n, err := f.Read(block)
		size, found = size+float64(n), found+look(block[:n])
		if err == io.EOF && found > 0 {
			return size
		}
		if err != nil {
			pair.Check(fmt.Errorf("%s, in which %d ends were found: %w", path, found, err))
		}
	}
}
