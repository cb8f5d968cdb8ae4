// Command mf holds matrix factorisation against LIBMF: ratings per second at rank 32, and the error on held-out ratings.
//
// It needs a built mf-train of LIBMF, named by --libmf; without one it prints recorded figures as such, and no ratio.
// Data are ml-1m-liked, jester1 and ml-100k.ua below --data; without --data, ratings made from a seed.
package main

import (
	"flag"
	"fmt"
	"os"
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

func main() {
	options := pair.Flags()
	dir := flag.String("data", "", "folder with the rating sets (default: ratings made from a seed)")
	libmf := flag.String("libmf", "", "path of LIBMF's mf-train")
	set := flag.String("set", "", "one set by name (default ml-1m-liked and jester1, with --full ml-100k.ua too)")
	threads := flag.Int("threads", min(2, runtime.NumCPU()), "most threads")
	pair.Exit(options.Parse(3, 7))
	options.Header(os.Stdout, fmt.Sprintf("mf: rank %d, kernels %s, against LIBMF", rank, vec.Kernels()))
	shelf, err := sets.Open(*dir)
	pair.Exit(err)
	defer shelf.Close()
	table := pair.NewTable(os.Stdout, options.JSON)
	defer table.Close()
	chosen, err := choose(shelf, *set, options.Full)
	if err == nil {
		err = all(bench{table, options, shelf, *libmf, *threads}, chosen)
	}
	if err != nil {
		shelf.Close()
		pair.Exit(err)
	}
}

// bench is what every figure needs.
type bench struct {
	table   *pair.Table
	options *pair.Options
	shelf   *sets.Shelf
	libmf   string
	threads int
}

func choose(shelf *sets.Shelf, name string, full bool) ([]sets.Pair, error) {
	if shelf.Generated() {
		p, err := shelf.Ratings(6040, 3706, 900_000)
		return []sets.Pair{p}, err
	}
	names := []string{"ml-1m-liked", "jester1"}
	if full {
		names = append(names, "ml-100k.ua")
	}
	if name != "" {
		names = []string{name}
	}
	var chosen []sets.Pair
	for _, n := range names {
		p, err := shelf.Find(n)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, p)
	}
	return chosen, nil
}

func all(b bench, chosen []sets.Pair) error {
	for _, p := range chosen {
		train, test, err := p.Read(data.Ratings)
		if err != nil {
			return err
		}
		b.table.Section(p.Origin + ", " + train.Detected.String())
		peer, err := newPeer(b, p.Name, train, test)
		if err != nil {
			return err
		}
		for threads := 1; threads <= b.threads; threads++ {
			if err := speed(b, peer, p.Name, train, threads); err != nil {
				return err
			}
		}
		if err := quality(b, peer, p.Name, train, test); err != nil {
			return err
		}
	}
	return nil
}

// speed races epochs. Ours is shown twice: the visits alone, as LIBMF's iterations are, and the whole job with the
// scoring of held-out ratings after each epoch, which LIBMF leaves out when it is quiet.
func speed(b bench, peer *peer, name string, train *data.Set, threads int) error {
	epochs := max(10, 10_000_000/train.Rows())
	setup := trial.Setup{App: mf.App{}, Data: train, Slots: threads, Settings: map[string]string{"rank": fmt.Sprint(rank)}}
	whole, visiting := setup.Sides("bellows", epochs)
	sides := []pair.Side{whole, visiting}
	if peer.program != "" {
		sides = append(sides, peer.side(threads, 2*epochs))
	}
	series, err := pair.Interleave(b.options.Turns, sides...)
	if err != nil {
		return err
	}
	row := pair.Row{Figure: fmt.Sprintf("visits, threads %d", threads), Unit: "ratings/s", Clock: pair.Wall, Target: 1,
		Ours: series[1], Peer: pair.Series{Name: "LIBMF"}}
	if known, ok := recorded[name]; ok && threads <= len(known.rate) {
		row.Recorded = known.rate[threads-1]
	}
	if len(series) > 2 {
		row.Peer = series[2]
	}
	b.table.Add(row)
	row.Figure, row.Ours, row.Target = fmt.Sprintf("visits and scoring, threads %d", threads), series[0], 0
	b.table.Add(row)
	return nil
}

// quality trains with the defaults and compares with the best that LIBMF reaches over settings and iterations, chosen on
// the test ratings themselves; our run does not see them.
func quality(b bench, peer *peer, name string, train, test *data.Set) error {
	setup := trial.Setup{App: mf.App{}, Data: train, Test: test, Slots: b.threads, Settings: map[string]string{"rank": fmt.Sprint(rank)}}
	out, err := setup.Train()
	if err != nil {
		return err
	}
	ours, err := out.Score(test, "rmse")
	if err != nil {
		return err
	}
	fact := pair.Fact{Figure: "held-out RMSE, our defaults", Ours: ours, Exact: true}
	if known, ok := recorded[name]; ok {
		fact.Peer, fact.Bound = "recorded LIBMF best", known.rmse
	}
	if peer.program != "" {
		best, err := peer.best(b.options.Full)
		if err != nil {
			return err
		}
		fact.Peer, fact.Bound = "LIBMF best of "+best.of, best.rmse
	}
	b.table.AddFact(fact)
	b.table.Note("%d epochs, %.2f s of training, %.2f s with scoring", len(out.Epochs), out.Trained.Seconds(), out.Total.Seconds())
	return nil
}
