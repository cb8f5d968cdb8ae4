package lines

import (
	"math/bits"
	"math/rand/v2"
)

// pairs numbers pairs of ids, in a hash table with linear probing whose length is a power of two. No id of a word
// contains PairJoin. So different pairs have different joined texts, and texts need not be compared.
type pairs struct {
	table []pairPlace
	taken int
	seen  int32 // a dummy sum, so that the look-ahead reads are kept
}

// A pairPlace holds two ids, and 1 + the number of the pair, 0 if free.
type pairPlace struct{ first, second, at int32 }

// pairSeed differs from process to process, for the same reason as hashSeed.
var pairSeed = rand.Uint64()

// idPair holds two adjacent ids, and the place in a list where their number goes.
type idPair struct {
	first, second int32
	to            int
	hash          uint64
}

// number writes the numbers of pairs into a list; new pairs get the next numbers. The table is far larger than any
// cache. So number first reads the places of all pairs, and the waits for memory overlap.
func (m *pairs) number(in *IDs, list []idPair, to []int32, block int32) {
	for 2*(m.taken+len(list)) >= len(m.table) {
		m.grow()
	}
	mask := uint64(len(m.table) - 1)
	for i := range list {
		t := &list[i]
		t.hash = hashOf(t.first, t.second)
		m.seen += m.table[t.hash&mask].at
	}
	for _, t := range list {
		p := m.find(t.first, t.second, t.hash)
		if p.at == 0 {
			m.taken++
			in.names = growDoubling(in.names, len(in.name(t.first))+1+len(in.name(t.second)))
			in.names = append(append(append(in.names, in.name(t.first)...), PairJoin), in.name(t.second)...)
			*p = pairPlace{t.first, t.second, in.appendEnd(block) + 1}
		}
		to[t.to] = p.at - 1
	}
}

func hashOf(first, second int32) uint64 {
	high, low := bits.Mul64(uint64(first)<<32|uint64(uint32(second))^pairSeed, 0x9e3779b97f4a7c15)
	return high ^ low
}

// find returns the place of two ids, or the free place where they belong.
func (m *pairs) find(first, second int32, hash uint64) *pairPlace {
	for mask := uint64(len(m.table) - 1); ; hash++ {
		if p := &m.table[hash&mask]; p.at == 0 || p.first == first && p.second == second {
			return p
		}
	}
}

// grow doubles the table.
func (m *pairs) grow() {
	old := m.table
	m.table = make([]pairPlace, max(1024, 2*len(old)))
	for _, p := range old {
		if p.at != 0 {
			*m.find(p.first, p.second, hashOf(p.first, p.second)) = p
		}
	}
}
