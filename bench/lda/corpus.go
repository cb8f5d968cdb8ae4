package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/data"
	"bellows/data/demo"
)

// corpus is documents, dealt to training and test as a run without a test file would deal them.
type corpus struct {
	train, test *data.Set
	origin      string // a sentence for the output
}

// The share of documents that are scored, in percent, and the seed that chooses them.
const (
	testPercent = 10
	seed        = 1
)

// read finds a set below --data, or makes one.
func (b *bench) read(name string) *corpus {
	if b.shelf.Generated() {
		return divide(pair.Must(demo.Make(data.Documents, seed)), "documents made from a seed")
	}
	path := b.shelf.Bag(name)
	return divide(pair.Must(data.Read(context.Background(), []string{path}, data.Documents, data.Options{})), path)
}

func divide(set *data.Set, origin string) *corpus {
	training, held := data.HoldOut(seed, set.Rows(), testPercent)
	return &corpus{train: set.Select(training), test: set.Select(held),
		origin: fmt.Sprintf("%s: %s; %d documents held out", origin, set.Detected.String(), len(held))}
}

// write makes the file that the peers read: see peer.py.
func (c *corpus) write(path string) {
	docs := c.train.Documents
	begins := make([]int32, len(docs.Offset))
	for i, at := range docs.Offset {
		begins[i] = int32(at)
	}
	sets.Write(path, func(w *bufio.Writer) {
		for _, part := range [][]int32{{int32(docs.Rows()), int32(len(docs.Vocab)), int32(len(docs.Word))}, begins, docs.Word, docs.Count} {
			binary.Write(w, binary.LittleEndian, part)
		}
	})
}
