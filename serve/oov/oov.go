// Package oov counts values in rows that are out of the vocabulary of a model: words, features, users and others that
// it has not seen in training. Rows come block by block.
//
// The caller's duties, in order: CountBlock for each block, on any goroutine, with a predictor that no other goroutine uses; Counter.Add, one
// goroutine at a time; Counter.Totals after the last block. A value with a name counts once, even if several blocks have it.
//
// The package refuses to keep names: it keeps their hashes.
package oov

import (
	"hash/maphash"
	"maps"
	"slices"

	"bellows/app"
	"bellows/data"
	"bellows/figures"
)

// A Block has the counts of one block, and the hashes of the names of values that have names.
type Block struct {
	counts map[string]int64
	names  map[string][]uint64 // hashes
}

var nameSeed = maphash.MakeSeed()

// CountBlock counts what the predictor's model does not know of a block. labelled says whether the rows have labels.
func CountBlock(p app.Predictor, set *data.Set, labelled bool) *Block {
	s := &Block{}
	of, ok := p.(app.Stranger)
	if !ok {
		return s
	}
	s.counts = of.Unknown(set, labelled)
	if named, ok := p.(app.Acquainted); ok {
		s.names = map[string][]uint64{}
		named.EachUnknown(set, func(what, name string) {
			s.names[what] = append(s.names[what], maphash.String(nameSeed, name))
		})
	}
	return s
}

// A Counter adds up the counts of blocks.
type Counter struct {
	unknown map[string]int64
	met     map[string]*distinct // by what they are: names
}

// Add adds a block.
func (c *Counter) Add(s *Block) {
	if c.unknown == nil {
		c.unknown, c.met = map[string]int64{}, map[string]*distinct{}
	}
	for what, n := range s.counts {
		if _, named := s.names[what]; !named {
			c.unknown[what] += n
		}
	}
	for what, hashes := range s.names {
		if c.met[what] == nil {
			c.met[what] = &distinct{}
		}
		c.met[what].add(hashes)
	}
}

// Totals returns the counts by sort of value, without zeros.
func (c *Counter) Totals() map[string]int64 {
	all := map[string]int64{}
	maps.Copy(all, c.unknown)
	for what, names := range c.met {
		all[what] = names.count()
	}
	maps.DeleteFunc(all, func(_ string, n int64) bool { return n == 0 })
	return all
}

// maxNames bounds the names of one sort that are told apart, and so memory. With more names it is the count.
const maxNames = 1 << 22

// distinct counts names, each once, by their hashes: two of 4 million have one hash with a chance of 5e-7.
type distinct struct{ seen map[uint64]struct{} }

func (d *distinct) add(hashes []uint64) {
	if d.seen == nil {
		d.seen = map[uint64]struct{}{}
	}
	for _, h := range hashes {
		if len(d.seen) == maxNames {
			return
		}
		d.seen[h] = struct{}{}
	}
}

func (d *distinct) count() int64 { return int64(len(d.seen)) }

// Describe returns counts in words, without zeros.
func Describe(counts map[string]int64) (parts []string) {
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[what]; n > 0 {
			parts = append(parts, figures.Grouped(n)+" of "+what)
		}
	}
	return parts
}
