package lines

import (
	"math/bits"
	"math/rand/v2"
)

// pairs numbers two ids as one: a hash table with linear probing, whose length is a power of two. Since no id of a word has a PairJoin, two ids make one text and one text is of two ids, and texts need
// not be compared.
type pairs struct {
	table []pairPlace
	taken int
	seen  int32 // of nothing: what was looked at
}

// pairPlace is two numbers of ids, and 1 + the number of both; 0 when free.
type pairPlace struct{ first, second, at int32 }

// pairSeed differs from process to process, as hashSeed does and for the same reason.
var pairSeed = rand.Uint64()

// together is two ids that follow each other, and the place in a list where their number goes.
type together struct {
	first, second int32
	to            int
	hash          uint64
}

// number gives pairs their numbers in a list, the next ones where they are new. The table is far larger than any cache: the places of all are looked at first, so that waits for memory pass side by side.
func (m *pairs) number(in *IDs, list []together, to []int32, block int32) {
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
			in.names = doubled(in.names, len(in.name(t.first))+1+len(in.name(t.second)))
			in.names = append(append(append(in.names, in.name(t.first)...), PairJoin), in.name(t.second)...)
			*p = pairPlace{t.first, t.second, in.added(block) + 1}
		}
		to[t.to] = p.at - 1
	}
}

func hashOf(first, second int32) uint64 {
	high, low := bits.Mul64(uint64(first)<<32|uint64(uint32(second))^pairSeed, 0x9e3779b97f4a7c15)
	return high ^ low
}

// find is the place of two ids, or where they belong.
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
