// Command lda compares topic models (app/lda) with gensim and scikit-learn, and its two samplers with each other.
//
//   - speed: tokens a second and core over the first sweeps, on 20 Newsgroups at 100 topics.
//   - peers: CPU time until our topics predict held-out documents as well as those of gensim and of scikit-learn do, for
//     each of some settings of theirs, compared with the CPU time of their fit. Their topics come back as probabilities and are scored by our definition.
//   - samplers: the NIPS papers at 1,000 topics: tokens a second, and CPU time until the likelihood is within half a percent of
//     the best that either sampler comes to.
//   - many: the NIPS papers at 1,000 topics with the default sampler, one run for each turn with its own seed: tokens a
//     second and core over the first 12 sweeps, in which words have hundreds of topics, and the likelihood after them; with
//     --full also over sweeps 51 to 100.
//
// It needs an interpreter with gensim and scikit-learn (Debian's python3-gensim and python3-sklearn, or another named
// by --python); without them there are no ratios. Data are docword.20news.txt* and docword.nips*.txt* below --data;
// without --data, documents made from a seed.
package main

import (
	"flag"

	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
)

func main() {
	dir := flag.String("data", "", "folder with docword files of 20news and nips (default: documents made from a seed)")
	python := flag.String("python", "/usr/bin/python3", "interpreter with gensim and sklearn")
	only := flag.String("only", "", "one part: speed, peers, samplers or many")
	some := flag.String("fit", "", "settings of the peers with this in their names, such as batch (default: the short ones; with --full all)")
	pair.Main(1, 3, func(p *pair.Bench) {
		p.Header("lda: one compute slot, against gensim and scikit-learn")
		b := &bench{Bench: p, shelf: sets.Open(*dir), python: *python, fit: *some}
		defer b.shelf.Close()
		b.Parts(*only, b.part("speed", "20news", b.speed), b.part("peers", "20news", b.peers), b.part("samplers", "nips", b.samplers), b.part("many", "nips", b.many))
	})
}

// bench is what every figure needs.
type bench struct {
	*pair.Bench
	shelf  *sets.Shelf
	python string
	fit    string
}

// part returns a part of the command that reads a set and does something with it.
func (b *bench) part(name, set string, do func(*corpus)) pair.Part {
	return pair.Part{Name: name, Run: func() {
		c := b.read(set)
		b.Section(name + ", " + c.origin)
		do(c)
	}}
}
