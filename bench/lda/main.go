// Command lda holds topic models against gensim and scikit-learn, and its two samplers against each other.
//
//   - speed: tokens a second and core over the first sweeps, on 20 Newsgroups at 100 topics.
//   - peers: CPU time until our topics predict held-out documents as well as those of gensim and of scikit-learn do, for
//     each of some settings of theirs, beside the CPU time of their fit. Their topics come back as probabilities and are scored by our definition.
//   - samplers: the NIPS papers at 1,000 topics: tokens a second, and CPU time until the likelihood is within half a percent of
//     the best that either sampler comes to.
//
// It needs an interpreter with gensim and scikit-learn (Debian's python3-gensim and python3-sklearn, or another
// named by --python); without them there are no ratios. Data are docword.20news.txt* and docword.nips*.txt* below
// --data; without --data, documents made from a seed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
)

func main() {
	options := pair.Flags()
	dir := flag.String("data", "", "folder with docword files of 20news and nips (default: documents made from a seed)")
	python := flag.String("python", "/usr/bin/python3", "interpreter with gensim and sklearn")
	only := flag.String("only", "", "one part: speed, peers or samplers")
	some := flag.String("fit", "", "the peers' settings whose names contain this, such as batch (default: the short ones; with --full all)")
	pair.Exit(options.Parse(1, 3))
	options.Header(os.Stdout, "lda: one compute slot, against gensim and scikit-learn")
	shelf, err := sets.Open(*dir)
	pair.Exit(err)
	defer shelf.Close()
	table := pair.NewTable(os.Stdout, options.JSON)
	defer table.Close()
	b := &bench{table: table, options: options, shelf: shelf, python: *python, fit: *some}
	if err := b.run(*only); err != nil {
		shelf.Close()
		pair.Exit(err)
	}
}

// bench is what every figure needs.
type bench struct {
	table   *pair.Table
	options *pair.Options
	shelf   *sets.Shelf
	python  string
	fit     string
}

func (b *bench) run(only string) error {
	known := only == ""
	for _, part := range []struct {
		name, set string
		do        func(*corpus) error
	}{{"speed", "20news", b.speed}, {"peers", "20news", b.peers}, {"samplers", "nips", b.samplers}} {
		if only != "" && only != part.name {
			continue
		}
		known = true
		c, err := b.read(part.set)
		if err != nil {
			return err
		}
		b.table.Section(part.name + ", " + c.origin)
		if err := part.do(c); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	if !known {
		return errors.New("--only is speed, peers or samplers")
	}
	return nil
}
