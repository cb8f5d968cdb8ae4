// Package sets finds the data sets of a benchmark in a folder that the user names, or makes some from a seed.
//
// The caller's duties, in order: open a Shelf with the folder (or an empty string), ask it for a set by name, print the
// set's Origin, and close the Shelf, which removes what it wrote. An error ends the command, as in package pair.
//
// The package refuses to mix: a set that the folder lacks is an error, never a generated stand-in.
package sets

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bellows/bench/internal/pair"
	"bellows/data"
)

// Shelf is where sets come from, and a folder for files that peers read.
type Shelf struct {
	dir     string // empty: sets are generated
	scratch string
}

// Open makes a shelf over a folder and all below it.
func Open(dir string) *Shelf {
	if dir != "" {
		pair.Must(os.Stat(dir))
	}
	return &Shelf{dir: dir, scratch: pair.Must(os.MkdirTemp("", "bellows-bench-"))}
}

// Generated reports whether sets are made from a seed, for want of a folder.
func (s *Shelf) Generated() bool { return s.dir == "" }

// Close removes the files that were written.
func (s *Shelf) Close() { os.RemoveAll(s.scratch) }

// Pair is a training file and its test file.
type Pair struct {
	Name        string
	Train, Test string // paths
	Origin      string // a sentence for the output
}

// Find returns the pair of a name: the first files in the folder that match name.train.* and name.test.*.
func (s *Shelf) Find(name string) Pair { return s.find(name, name+".train.*", name+".test.*") }

func (s *Shelf) find(name, train, test string) Pair {
	p := Pair{Name: name, Train: s.file(train), Test: s.file(test)}
	p.Origin = name + ": " + p.Train
	return p
}

// FindAs finds a set whose training file has another word than train in its name.
func (s *Shelf) FindAs(name, word string) Pair {
	return s.find(name, name+"."+word+".*", name+".test.*")
}

// Alone returns a set without a test file.
func (s *Shelf) Alone(name string) Pair {
	p := Pair{Name: name, Train: s.file(name + ".train.*")}
	p.Origin = name + ": " + p.Train
	return p
}

// Digits returns the pair of MNIST's image files, by their usual names; without a folder, as many images with so many
// to test on.
func (s *Shelf) Digits(tested int) Pair {
	if s.Generated() {
		return s.Images(60_000, tested, 28)
	}
	return s.find("mnist", "train-images*idx3-ubyte*", "t10k-images*idx3-ubyte*")
}

// Rated finds a rating set; without a folder, it makes ratings of the size of ml-1m-liked.
func (s *Shelf) Rated(name string) Pair {
	if s.Generated() {
		return s.Ratings(6040, 3706, 900_000)
	}
	return s.Find(name)
}

// Bag returns the path of a bag of words: the first file in the folder that matches docword.name*.txt*.
func (s *Shelf) Bag(name string) string { return s.file("docword." + name + "*.txt*") }

func (s *Shelf) file(pattern string) (found string) {
	err := filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || found != "" {
			return err
		}
		if ok, err := filepath.Match(pattern, entry.Name()); !ok || err != nil {
			return err
		}
		found = path
		return nil
	})
	if err == nil && found == "" {
		err = fs.ErrNotExist
	}
	if err != nil {
		pair.Check(fmt.Errorf("sets: %s below %s: %w", pattern, s.dir, err))
	}
	return found
}

// Read reads both files of a pair.
func (p Pair) Read(kind data.Kind) (train, test *data.Set) {
	train = pair.Must(data.Read(context.Background(), []string{p.Train}, kind, data.Options{}))
	return train, pair.Must(data.Read(context.Background(), []string{p.Test}, kind, data.Options{}.ForTest(train)))
}

// Plain returns the path of a file without compression: itself, or a copy in the shelf's own folder of what gzip
// packed. A race over reading is fair only when both sides read the same text.
func (s *Shelf) Plain(path string) string {
	stem, packed := strings.CutSuffix(path, ".gz")
	if !packed {
		return path
	}
	f := pair.Must(os.Open(path))
	defer f.Close()
	z := pair.Must(gzip.NewReader(f))
	return s.write(filepath.Base(stem), func(w *bufio.Writer) {
		if _, err := io.Copy(w, z); err != nil {
			pair.Check(fmt.Errorf("sets: unpack %s: %w", path, err))
		}
	})
}

// Path returns a place for a file of this name in the shelf's own folder.
func (s *Shelf) Path(name string) string { return filepath.Join(s.scratch, name) }

// write makes a file in the shelf's own folder.
func (s *Shelf) write(name string, fill func(w *bufio.Writer)) string {
	path := s.Path(name)
	Write(path, fill)
	return path
}

// Write makes a file. Errors of fill's writes are reported at the end.
func Write(path string, fill func(w *bufio.Writer)) {
	f := pair.Must(os.Create(path))
	w := bufio.NewWriterSize(f, 1<<20)
	fill(w)
	pair.Check(errors.Join(w.Flush(), f.Close()))
}

// Trained is the last line of `bellows train --json`, as far as benchmarks read it.
type Trained struct {
	Seconds  float64 // of training alone
	Examples float64
	Metrics  map[string]float64
	Stages   map[string]float64 `json:"stage_seconds"`
	Memory   struct{ Estimated, Peak float64 }
}

// Train runs `bellows train`, with the environment added, to a folder that is not there before. It returns the last line that the command printed, all its lines,
// and what the whole process took.
func (s *Shelf) Train(program string, env []string, words ...string) (Trained, [][]byte, pair.Turn) {
	out := s.Path("model")
	pair.Check(os.RemoveAll(out))
	text, turn := pair.RunProgram("bellows train", program, env, append(append([]string{"train"}, words...), "--out", out, "--json")...)
	lines := bytes.Split(bytes.TrimSpace(text), []byte{'\n'})
	var last Trained
	pair.Check(json.Unmarshal(lines[len(lines)-1], &last))
	return last, lines, turn
}

// Bellows builds the command itself and returns its path.
func (s *Shelf) Bellows() string {
	program := s.Path("bellows")
	pair.Build(program)
	return program
}
