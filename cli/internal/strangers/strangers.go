// Package strangers counts what in rows a model does not know, where rows come block by block.
//
// The caller's duties, in order: Of for each block, on any goroutine, with a predictor that nobody else has; Add, one goroutine at a time; All when the
// last block was added. What has names counts once however many blocks have it.
//
// The package refuses to keep names: it keeps their hashes.
package strangers

import (
	"hash/maphash"
	"maps"
	"slices"

	"bellows/app"
	"bellows/data"
	"bellows/figures"
)

// Some are what a model does not know of a block's rows: how many, and of what has names also these.
type Some struct {
	counts map[string]int64
	names  map[string][]uint64 // hashes
}

var nameSeed = maphash.MakeSeed()

// Of is what the predictor's model does not know of a block; labelled says whether the rows have what is predicted.
func Of(p app.Predictor, set *data.Set, labelled bool) *Some {
	s := &Some{}
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

// Count adds up what blocks have.
type Count struct {
	unknown map[string]int64
	met     map[string]*distinct // by what they are: names
}

// Add adds a block.
func (c *Count) Add(s *Some) {
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

// All is how many there are by what they are; without zeros.
func (c *Count) All() map[string]int64 {
	all := map[string]int64{}
	maps.Copy(all, c.unknown)
	for what, names := range c.met {
		all[what] = names.count()
	}
	maps.DeleteFunc(all, func(_ string, n int64) bool { return n == 0 })
	return all
}

// Most bounds the names of one sort that are told apart, and so memory: of more, this number is the answer.
const Most = 1 << 22

// distinct counts names, each once, by their hashes: two of 4 million have one hash with a chance of 5e-7.
type distinct struct{ seen map[uint64]struct{} }

func (d *distinct) add(hashes []uint64) {
	if d.seen == nil {
		d.seen = map[uint64]struct{}{}
	}
	for _, h := range hashes {
		if len(d.seen) == Most {
			return
		}
		d.seen[h] = struct{}{}
	}
}

func (d *distinct) count() int64 { return int64(len(d.seen)) }

// Listed returns counts of what is unknown in words, those of 0 left out.
func Listed(counts map[string]int64) (parts []string) {
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[what]; n > 0 {
			parts = append(parts, figures.Grouped(n)+" of "+what)
		}
	}
	return parts
}
