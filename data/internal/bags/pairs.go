package bags

import (
	"math/bits"
	"math/rand/v2"
)

// shared is the pairs of adjacent words of a text that stay.
type shared struct {
	at      []int32 // by word: the pair that ends with it, or none
	list    []Pair  // in no order
	dropped int     // pairs that do not stay
}

const none = -1

// An occurrence is two adjacent words, in their document, and the place of the second.
type occurrence struct {
	key      uint64
	document int32
	place    uint32
}

// A group is all occurrences of one pair in a partition.
type group struct {
	key             uint64
	documents, last int32 // how many have it, and the last of them
	pair            int32
}

// pairSeed differs from process to process, so that no text can be made to collide. No result depends on it.
var pairSeed = rand.Uint64()

func pairHash(key uint64) uint64 {
	high, low := bits.Mul64(key^pairSeed, 0x9e3779b97f4a7c15)
	return high ^ low
}

// partitionRows is the mean number of occurrences in a partition: its table fits a second-level cache.
const (
	partitionRows  = 8 << 10
	partitionsMost = 1 << 12
)

// findShared finds the pairs that are in least documents or more.
//
// A hash table of all pairs would be far larger than any cache, and each look into it would wait for memory. So the
// occurrences are divided by the hash of their pair. Each partition has a separate small table.
func (t *Text) findShared(least int32) *shared {
	out := &shared{at: make([]int32, len(t.Words))}
	for i := range out.at {
		out.at[i] = none
	}
	dealt, begins := t.deal()
	most := 0
	for k := range len(begins) - 1 {
		most = max(most, begins[k+1]-begins[k])
	}
	room := make([]int32, 1<<bits.Len(uint(2*most)))
	var groups []group
	own := make([]int32, most) // the group of each occurrence
	for k := range len(begins) - 1 {
		part := dealt[begins[k]:begins[k+1]]
		table := room[:1<<bits.Len(uint(2*len(part)))]
		clear(table)
		groups = groups[:0]
		mask := uint64(len(table) - 1)
		for i := range part {
			o := &part[i]
			slot := pairHash(o.key) & mask
			for ; table[slot] != 0 && groups[table[slot]-1].key != o.key; slot = (slot + 1) & mask {
			}
			if table[slot] == 0 {
				groups = append(groups, group{key: o.key, last: none})
				table[slot] = int32(len(groups))
			}
			own[i] = table[slot] - 1
			if g := &groups[own[i]]; g.last != o.document {
				g.documents, g.last = g.documents+1, o.document
			}
		}
		for i := range groups {
			g := &groups[i]
			if g.pair = none; g.documents >= least {
				g.pair = int32(len(out.list))
				out.list = append(out.list, Pair{int32(g.key >> 32), int32(g.key)})
			} else {
				out.dropped++
			}
		}
		for i := range part {
			if pair := groups[own[i]].pair; pair != none {
				out.at[part[i].place] = pair
			}
		}
	}
	return out
}

// deal returns the occurrences of all pairs by partition, in their order within each, and where partitions begin.
func (t *Text) deal() (dealt []occurrence, begins []int) {
	count := 1
	for count < partitionsMost && count*partitionRows < len(t.Words) {
		count *= 2
	}
	shift := 64 - bits.Len(uint(count-1))
	begins = make([]int, count+1)
	t.each(func(_, _ int, key uint64) { begins[pairHash(key)>>shift+1]++ })
	for k := range count {
		begins[k+1] += begins[k]
	}
	dealt, next := make([]occurrence, begins[count]), append([]int(nil), begins...)
	t.each(func(document, place int, key uint64) {
		k := pairHash(key) >> shift
		dealt[next[k]] = occurrence{key: key, document: int32(document), place: uint32(place)}
		next[k]++
	})
	return dealt, begins
}

// each visits the pairs of adjacent words.
func (t *Text) each(visit func(document, place int, key uint64)) {
	from := 0
	for d, end := range t.Ends {
		for i := from + 1; i < int(end); i++ {
			visit(d, i, uint64(t.Words[i-1])<<32|uint64(uint32(t.Words[i])))
		}
		from = int(end)
	}
}
