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
}

// pairPlace is two numbers of ids, and 1 + the number of both; 0 when free.
type pairPlace struct{ first, second, at int32 }

// pairSeed differs from process to process, as hashSeed does and for the same reason.
var pairSeed = rand.Uint64()

// pair is the number of two ids as one, the next one when they are new.
func (in *IDs) pair(first, second, block int32) int32 {
	m := &in.pairs
	if 2*m.taken >= len(m.table) {
		m.grow()
	}
	p := m.find(first, second)
	if p.at == 0 {
		m.taken++
		in.names = doubled(in.names, len(in.name(first))+1+len(in.name(second)))
		in.names = append(append(append(in.names, in.name(first)...), PairJoin), in.name(second)...)
		*p = pairPlace{first, second, in.added(block) + 1}
	}
	return p.at - 1
}

// find is the place of two ids, or where they belong.
func (m *pairs) find(first, second int32) *pairPlace {
	high, low := bits.Mul64(uint64(first)<<32|uint64(uint32(second))^pairSeed, 0x9e3779b97f4a7c15)
	for at, mask := high^low, uint64(len(m.table)-1); ; at++ {
		if p := &m.table[at&mask]; p.at == 0 || p.first == first && p.second == second {
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
			*m.find(p.first, p.second) = p
		}
	}
}
