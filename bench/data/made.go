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
	wanted     float64
	rows       int
	row        func(w *bufio.Writer, r *rand.Rand)
}

// formats are those files.
var formats = []made{
	{"libFM", "rows.libfm", data.Examples, wanted, 20_000, func(w *bufio.Writer, r *rand.Rand) {
		fmt.Fprintf(w, "%.3f", r.NormFloat64())
		for at := r.IntN(500); at < 17_561; at += 1 + r.IntN(500) {
			fmt.Fprintf(w, " %d:%.4g", at, r.Float64())
		}
		w.WriteByte('\n')
	}},
	{"LDA-C", "bags.ldac", data.Documents, wanted, 20_000, func(w *bufio.Writer, r *rand.Rand) {
		n := 40 + r.IntN(80)
		fmt.Fprintf(w, "%d", n)
		for at := 0; n > 0; n-- {
			at += 1 + r.IntN(300)
			fmt.Fprintf(w, " %d:%d", at, 1+r.IntN(4))
		}
		w.WriteByte('\n')
	}},
	{"Vowpal Wabbit", "rows.vw", data.Examples, wantedText, 20_000, func(w *bufio.Writer, r *rand.Rand) {
		fmt.Fprintf(w, "%d |user id_%d age:%.2f |words", 2*r.IntN(2)-1, r.IntN(5000), r.Float64())
		for range 20 + r.IntN(40) {
			w.WriteByte(' ')
			word(w, r)
		}
		fmt.Fprintf(w, " |numbers a:%.4g b:%.4g c:%.4g\n", r.Float64(), r.NormFloat64(), r.NormFloat64())
	}},
	{"text", "text.txt", data.Documents, wantedText, 20_000, func(w *bufio.Writer, r *rand.Rand) {
		words(w, r, 60+r.IntN(80))
		w.WriteByte('\n')
	}},
	{"JSON lines, a table", "table.jsonl", data.Examples, wantedText, 40_000, func(w *bufio.Writer, r *rand.Rand) {
		fmt.Fprintf(w, `{"label": %d`, r.IntN(2))
		for column := range 12 {
			fmt.Fprintf(w, `, "feature_%d": %.4f`, column, r.NormFloat64())
		}
		fmt.Fprintf(w, ", \"colour\": %q}\n", [...]string{"red", "green", "blue"}[r.IntN(3)])
	}},
	{"JSON lines, ratings", "ratings.jsonl", data.Ratings, wantedText, 150_000, func(w *bufio.Writer, r *rand.Rand) {
		fmt.Fprintf(w, "{\"user_id\": %d, \"item_id\": \"B00%06X\", \"rating\": %d.0, \"timestamp\": %d}\n", r.IntN(6040), r.IntN(3706), 1+r.IntN(5), 956_703_932+r.IntN(90_000_000))
	}},
	{"JSON lines, documents", "documents.jsonl", data.Documents, wantedText, 20_000, func(w *bufio.Writer, r *rand.Rand) {
		fmt.Fprintf(w, `{"id": %d, "text": "`, r.IntN(1e6))
		words(w, r, 60+r.IntN(80))
		w.WriteString("\"}\n")
	}},
}

// words writes random words; the first are the most frequent.
func words(w *bufio.Writer, r *rand.Rand, n int) {
	for i := range n {
		if i > 0 {
			w.WriteByte(' ')
		}
		if word(w, r); r.IntN(12) == 0 {
			w.WriteByte(',')
		}
	}
}

// word writes one of 30,000.
func word(w *bufio.Writer, r *rand.Rand) {
	u := r.Float64()
	at := uint32(u * u * u * 30_000)
	for h := at*2654435761 + 97; ; h /= 26 {
		w.WriteByte('a' + byte(h%26))
		if h < 26*26*26 {
			break
		}
	}
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
	return input{name: m.name, path: path, kind: m.kind, wanted: m.wanted}
}
