package delta

import (
	"cmp"
	"math/bits"
)

// DirectMax is the number of rows of a partition up to which places are looked up by the row's number, by default.
const DirectMax = 4 << 10

// hashMin is the size of the smallest hash table.
const hashMin = 64

// places finds the place of a row in a list of rows. The zero places has none.
//
// A list that names a large part of its partition has one entry for each row of the partition. A short list of a
// large partition has a hash table with linear probing, at most half full. So the memory of a buffer grows with the
// rows that it has, not with the rows of the partition: a task that changes 200 of 16,000 rows takes 2 KiB, not
// 64 KiB, and finds its entries in the cache of the processor.
type places struct {
	rows   int     // of the partition
	hash   int     // size of its first hash table, a power of two; 0: the partition is small and gets none
	table  []int32 // 1 + the place of a row; 0: free
	hashed bool
}

// newPlaces returns places of a partition of that many rows. It gets hash tables if it has more than direct rows; 0:
// DirectMax. A smaller limit makes them smaller too, so that small partitions have both forms.
func newPlaces(rows, direct int) places {
	p := places{rows: rows}
	if direct = cmp.Or(direct, DirectMax); rows > direct {
		p.hash = min(hashMin, 2<<bits.Len(uint(direct-1)))
	}
	return p
}

// find returns the place of a row in ids, or -1.
func (p *places) find(ids []uint32, row uint32) int {
	if !p.hashed {
		if int(row) >= len(p.table) {
			return -1
		}
		return int(p.table[row]) - 1
	}
	mask := uint32(len(p.table) - 1)
	for at := p.home(row); ; at = (at + 1) & mask {
		n := p.table[at]
		if n == 0 || ids[n-1] == row {
			return int(n) - 1
		}
	}
}

// home returns the entry of a hash table at which the search for a row begins.
func (p *places) home(row uint32) uint32 {
	return row * 0x9e3779b1 >> (32 - uint(bits.TrailingZeros(uint(len(p.table)))))
}

// add enters the last row of ids, which is not there yet.
func (p *places) add(ids []uint32) {
	row := ids[len(ids)-1]
	switch {
	case p.hashed && 2*len(ids) <= len(p.table):
		p.insert(row, int32(len(ids)))
		return
	case p.hashed || p.table == nil && p.hash > 0:
		p.grow(ids)
		return
	case int(row) >= len(p.table):
		p.widen(int(row))
	}
	p.table[row] = int32(len(ids))
}

// insert enters 1 + the place of a row in the hash table.
func (p *places) insert(row uint32, n int32) {
	mask := uint32(len(p.table) - 1)
	at := p.home(row)
	for p.table[at] != 0 {
		at = (at + 1) & mask
	}
	p.table[at] = n
}

// grow enters ids in a larger hash table, or in one entry for each row if that takes no more memory.
func (p *places) grow(ids []uint32) {
	size := max(p.hash, 2*len(p.table))
	if p.hashed = size < p.rows; p.hashed {
		p.table = make([]int32, size)
		for i, row := range ids {
			p.insert(row, int32(i+1))
		}
		return
	}
	p.table = nil
	for i, row := range ids {
		if int(row) >= len(p.table) {
			p.widen(int(row))
		}
		p.table[row] = int32(i + 1)
	}
}

// widen makes room for a row: for all rows that the partition had, or for more.
func (p *places) widen(row int) {
	n := p.rows
	if row >= n {
		n = row + 1 + row/2
	}
	p.table = append(p.table, make([]int32, n-len(p.table))...)
}

// reset removes all rows, which are ids.
func (p *places) reset(ids []uint32) {
	switch {
	case !p.hashed:
		for _, row := range ids {
			p.table[row] = 0
		}
	case len(p.table) <= 16*len(ids):
		clear(p.table)
	default: // a table that was filled more once is too large for the cache of the processor
		p.table, p.hashed = nil, false
	}
}
