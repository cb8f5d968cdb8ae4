// Package ratings compares matrix factorisation of ratings with LIBMF: ratings per second at rank 32, and the error on
// held-out ratings.
//
// It needs a built mf-train of LIBMF, named by --libmf; without one it prints recorded figures as such, and no ratio.
// Data are ml-1m-liked, jester1 and ml-100k.ua below --data; without --data, ratings made from a seed.
package ratings

import (
	"flag"
	"fmt"
	"runtime"

	"bellows/app/mf"
	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/bench/internal/trial"
	"bellows/data"
	"bellows/vec"
)

const rank = 32

// recorded is LIBMF on the machine that the figures come from: ratings per second on one and two threads, and
// its lowest held-out RMSE at rank 32.
var recorded = map[string]struct {
	rate [2]float64
	rmse float64
}{
	"ml-1m-liked": {[2]float64{32.8e6, 49.7e6}, 0.4120},
	"jester1":     {[2]float64{33.8e6, 54.6e6}, 3.985},
	"ml-100k.ua":  {[2]float64{31.4e6, 29.2e6}, 0.9328},
}

// Program is the measurement.
var Program = pair.Program{Name: "ratings", Turns: [2]int{3, 7}, Define: define}

func define(flags *flag.FlagSet) func(b *pair.Bench) {
	dir := flags.String("data", "", "folder with the rating sets (default: ratings made from a seed)")
	libmf := flags.String("libmf", "", "path of LIBMF's mf-train")
	set := flags.String("set", "", "one set by name (default ml-1m-liked and jester1, with --full ml-100k.ua too)")
	threads := flags.Int("threads", min(2, runtime.NumCPU()), "most threads")
	return func(p *pair.Bench) {
		p.Header("mf: rank %d, kernels %s, against LIBMF", rank, vec.Kernels())
		b := bench{p, sets.Open(*dir), *libmf, *threads}
		defer b.shelf.Close()
		for _, files := range b.choose(*set) {
			b.measureOn(files)
		}
	}
}

// bench is what every figure needs.
type bench struct {
	*pair.Bench
	shelf   *sets.Shelf
	libmf   string
	threads int
}

func (b bench) choose(name string) []sets.Pair {
	names := []string{"ml-1m-liked", "jester1"}
	if b.Full {
		names = append(names, "ml-100k.ua")
	}
	switch {
	case b.shelf.Generated():
		names = names[:1]
	case name != "":
		names = []string{name}
	}
	var chosen []sets.Pair
	for _, n := range names {
		chosen = append(chosen, b.shelf.Rated(n))
	}
	return chosen
}

func (b bench) measureOn(files sets.Pair) {
	train, test := files.Read(data.Ratings)
	b.Section(files.Origin + ", " + train.Detected.String())
	peer := newPeer(b, files.Name, train, test)
	for threads := 1; threads <= b.threads; threads++ {
		b.speed(peer, train, threads)
	}
	b.quality(peer, train, test)
}

// speed races epochs. Ours is shown twice: the visits alone, as LIBMF's iterations are, and the whole job with the
// scoring of held-out ratings after each epoch, which LIBMF leaves out when it is quiet.
func (b bench) speed(peer *peer, train *data.Set, threads int) {
	epochs := max(10, 10_000_000/train.Rows())
	row := pair.Row{Unit: "ratings/s", Peer: pair.Series{Name: "LIBMF"}}
	if known, ok := recorded[peer.name]; ok && threads <= len(known.rate) {
		row.Recorded = known.rate[threads-1]
	}
	var sides []pair.Side
	if peer.program != "" {
		sides = append(sides, peer.side(threads, 2*epochs))
	}
	trial.Setup{App: mf.New(), Data: train, Slots: threads, Settings: map[string]string{"rank": fmt.Sprint(rank)}}.Race(b.Bench, row, epochs,
		fmt.Sprintf("visits, threads %d", threads), fmt.Sprintf("visits and scoring, threads %d", threads), sides...)
}

// quality trains with the defaults and compares with the best that LIBMF reaches over settings and iterations, chosen on
// the test ratings themselves; our run does not see them.
func (b bench) quality(peer *peer, train, test *data.Set) {
	setup := trial.Setup{App: mf.New(), Data: train, Test: test, Slots: b.threads, Settings: map[string]string{"rank": fmt.Sprint(rank)}}
	out := setup.Train()
	fact := pair.Fact{Figure: "held-out RMSE, our defaults", Ours: out.Score(test, "rmse"), Exact: true}
	if known, ok := recorded[peer.name]; ok {
		fact.Peer, fact.Bound = "recorded LIBMF best", known.rmse
	}
	if peer.program != "" {
		best := peer.best(b.Full)
		fact.Peer, fact.Bound = "LIBMF best of "+best.of, best.rmse
	}
	b.AddFact(fact)
	b.Note("%d epochs, %s", len(out.Epochs), out.Times())
}
