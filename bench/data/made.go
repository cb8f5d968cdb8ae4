package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"

	"bellows/bench/internal/sets"
	"bellows/data"
)

// made is a file of a format that the shelf has none of, made from a seed: so many rows.
type made struct {
	name, file string
	kind       data.Kind
	rows       int
	row        func(w *bufio.Writer, r *rand.Rand)
}

// formats are those files.
var formats = []made{
	{"libFM", "rows.libfm", data.Examples, 20_000, func(w *bufio.Writer, r *rand.Rand) {
		fmt.Fprintf(w, "%.3f", r.NormFloat64())
		for at := r.IntN(500); at < 17_561; at += 1 + r.IntN(500) {
			fmt.Fprintf(w, " %d:%.4g", at, r.Float64())
		}
		w.WriteByte('\n')
	}},
	{"LDA-C", "bags.ldac", data.Documents, 20_000, func(w *bufio.Writer, r *rand.Rand) {
		n := 40 + r.IntN(80)
		fmt.Fprintf(w, "%d", n)
		for at := 0; n > 0; n-- {
			at += 1 + r.IntN(300)
			fmt.Fprintf(w, " %d:%d", at, 1+r.IntN(4))
		}
		w.WriteByte('\n')
	}},
}

// make writes the file and returns what it is.
func (m made) make(shelf *sets.Shelf, scale int) input {
	path := shelf.Path(m.file)
	r := rand.New(rand.NewPCG(31, 32))
	sets.Write(path, func(w *bufio.Writer) {
		for range m.rows * scale {
			m.row(w, r)
		}
	})
	return input{m.name, path, m.kind}
}
