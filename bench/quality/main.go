// Command quality measures how good models with our defaults are, over many seeds.
//
//   - classes: log-loss of softmax regression on test rows, mean and worst over the seeds, compared with scikit-learn's logistic regression
//     with C chosen by cross-validation on the training rows; and on sets that scikit-learn takes minutes for, compared with what we had before.
//   - topics: the likelihood of held-out documents where a topic model's run ends by itself, compared with that of 200 epochs.
//   - staleness: what a topic model pays for the same bits in every run: time and likelihood without staleness compared with a staleness of 1.
//
// It needs an interpreter with scikit-learn (Debian's python3-sklearn, or another named by --python); without it
// recorded figures are printed as such. Data are the sets named below --data; without --data, only rows made from a
// seed.
package main

import (
	_ "embed"
	"flag"
	"runtime"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
)

//go:embed peer/peer.py
var peerSource string

func main() {
	dir := flag.String("data", "", "folder with the sets (default: only rows made from a seed)")
	python := flag.String("python", "/usr/bin/python3", "interpreter with sklearn")
	only := flag.String("only", "", "one part: classes, topics or staleness")
	set := flag.String("set", "", "one set of the classes by name")
	seeds := flag.Int("seeds", 8, "seeds of the classes, from 1")
	pair.Main(1, 3, func(p *pair.Bench) {
		p.Header("quality: our defaults, over seeds")
		b := &bench{Bench: p, shelf: sets.Open(*dir), set: *set, seeds: *seeds, slots: min(2, runtime.NumCPU())}
		defer b.shelf.Close()
		var err error
		if b.peer, err = p.Python("python", *python, peerSource, "python3-sklearn"); err != nil {
			b.Note("no peer: %v", err)
		}
		b.Parts(*only, pair.Part{Name: "classes", Run: b.classes}, pair.Part{Name: "topics", Run: b.topics}, pair.Part{Name: "staleness", Run: b.staleness})
		if b.peer != nil {
			pair.Check(b.peer.Close())
		}
	})
}

// bench is what every figure needs.
type bench struct {
	*pair.Bench
	shelf *sets.Shelf
	peer  *pair.Child // nil: none
	set   string      // empty: all
	seeds int
	slots int
}
