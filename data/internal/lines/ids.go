package lines

import (
	"hash/maphash"
	"slices"
	"unicode"
	"unicode/utf8"

	"bellows/data/internal/missing"
)

// smallIDs bounds the whole numbers that are found by position instead of by hash.
const smallIDs = 1 << 22

// IDs numbers ids by first appearance. Ids are text: "7" and "07" differ.
type IDs struct {
	small  []int32 // 1 + number of the id that is this decimal, 0 when unseen
	other  []place // hash table of the other ids; its length is a power of two
	texts  int     // entries in other
	names  []byte  // names holds all ids, concatenated. A string for each would take several times as much memory.
	ends   []int   // where each id ends in names
	first  []int32 // block of each id's first appearance, ascending
	resets int     // number of calls of Reset

	Missing *missing.Rule // which ids count as missing and are refused; nil: none
}

// name returns the id with a number.
func (in *IDs) name(at int32) []byte {
	from := 0
	if at > 0 {
		from = in.ends[at-1]
	}
	return in.names[from:in.ends[at]]
}

// List returns all ids by their numbers.
func (in *IDs) List() []string {
	names, from := string(in.names), 0
	ids := make([]string, len(in.ends))
	for at, end := range in.ends {
		ids[at], from = names[from:end], end
	}
	return ids
}

// place is an entry of an open-addressing hash table with linear probing. At 8 bytes per id the table fits the
// processor's cache longer than a map of strings does.
type place struct {
	hash  uint32
	taken int32 // 1 + number of the id, 0 when free
}

// hashSeed differs from process to process, so that no input can be made to collide. Numbers of ids do not depend on
// it.
var hashSeed = maphash.MakeSeed()

// number returns the number of the id that is the canonical decimal n < smallIDs, or -1 if it is new.
func (in *IDs) number(n int) int32 {
	if n < len(in.small) {
		return in.small[n] - 1
	}
	return -1
}

// addNumber gives the next number to the decimal n, written as id.
func (in *IDs) addNumber(n int, id []byte, block int32) int32 {
	for n >= len(in.small) {
		in.small = append(in.small, make([]int32, max(1024, len(in.small)))...)
	}
	at := in.add(id, block)
	in.small[n] = at + 1
	return at
}

// text returns the number of any other id; a new one gets the next number. ok is false if a new id is missing or not
// printable UTF-8.
func (in *IDs) text(id []byte, block int32) (at int32, ok bool) {
	if 2*in.texts >= len(in.other) {
		in.grow()
	}
	hash := uint32(maphash.Bytes(hashSeed, id))
	mask := uint32(len(in.other) - 1)
	slot := hash & mask
	for ; in.other[slot].taken != 0; slot = (slot + 1) & mask {
		if p := in.other[slot]; p.hash == hash && string(in.name(p.taken-1)) == string(id) {
			return p.taken - 1, true
		}
	}
	if in.IsMissing(id) || !printableID(id) {
		return 0, false
	}
	at = in.add(id, block)
	in.other[slot] = place{hash: hash, taken: at + 1}
	in.texts++
	return at, true
}

// grow doubles the hash table.
func (in *IDs) grow() {
	old := in.other
	in.other = make([]place, max(1024, 2*len(old)))
	mask := uint32(len(in.other) - 1)
	for _, p := range old {
		if p.taken == 0 {
			continue
		}
		slot := p.hash & mask
		for in.other[slot].taken != 0 {
			slot = (slot + 1) & mask
		}
		in.other[slot] = p
	}
}

func (in *IDs) add(id []byte, block int32) int32 {
	in.names = append(growDoubling(in.names, len(id)), id...)
	return in.appendEnd(block)
}

// appendEnd returns the number of the last id in names, and notes its block.
func (in *IDs) appendEnd(block int32) int32 {
	in.ends = append(growDoubling(in.ends, 1), len(in.names))
	in.first = append(growDoubling(in.first, 1), block)
	return int32(len(in.ends) - 1)
}

// growDoubling makes room for n more elements by doubling. Growing in smaller steps, as append does, leaves several
// times the size of a large list as garbage.
func growDoubling[T any](list []T, n int) []T {
	if len(list)+n > cap(list) {
		list = slices.Grow(list, len(list)+n)
	}
	return list
}

// Reset forgets all ids and keeps the memory.
func (in *IDs) Reset() {
	in.resets++
	for at := range in.ends {
		if n, small := smallID(in.name(int32(at))); small && n < len(in.small) {
			in.small[n] = 0
		}
	}
	clear(in.other)
	in.texts, in.names, in.ends, in.first = 0, in.names[:0], in.ends[:0], in.first[:0]
}

// IsMissing reports whether an id stands for a missing value. It is called only for new ids.
func (in *IDs) IsMissing(id []byte) bool { return in.Missing != nil && in.Missing.ID(id) }

// MissingID returns the fault of an id that stands for a missing value.
func MissingID(id []byte, noun string) *Fault {
	return &Fault{Width: len(id), What: noun + " " + Quote(id) + " stands for a missing value", How: "write an id for the " + noun + ", or leave the row out; if it is an id, keep it with --missing ''"}
}

func printableID(id []byte) bool {
	for len(id) > 0 {
		r, size := utf8.DecodeRune(id)
		if r == utf8.RuneError && size <= 1 || unicode.IsControl(r) {
			return false
		}
		id = id[size:]
	}
	return true
}

// MergeIDs numbers the ids of several workers by first appearance in the whole input. owner[b] is the worker of block
// b. Every worker took its blocks in ascending order. So its ids are sorted by block, and within a block by appearance,
// and a walk through the blocks in order meets every new id where the input has it. tables[w] maps a worker's numbers
// to the merged ones.
func MergeIDs(workers []*IDs, owner []int) (ids []string, tables [][]int32) {
	if len(workers) == 1 {
		return workers[0].List(), [][]int32{nil}
	}
	tables = make([][]int32, len(workers))
	for w, in := range workers {
		tables[w] = make([]int32, 0, len(in.ends))
	}
	var merged IDs
	for block, w := range owner {
		in := workers[w]
		for at := len(tables[w]); at < len(in.ends) && in.first[at] == int32(block); at++ {
			tables[w] = append(tables[w], merged.numberOf(in.name(int32(at))))
		}
	}
	return merged.List(), tables
}

// numberOf returns the number of an id that another IDs has accepted before.
func (in *IDs) numberOf(id []byte) int32 {
	at, _ := in.Take(id, 0)
	return at
}

// Take returns the number of an id in a block; a new one gets the next number. ok is false if a new id is missing or
// not printable UTF-8.
func (in *IDs) Take(id []byte, block int32) (at int32, ok bool) {
	n, small := smallID(id)
	if !small {
		return in.text(id, block)
	}
	if at := in.number(n); at >= 0 {
		return at, true
	}
	if in.IsMissing(id) {
		return 0, false
	}
	return in.addNumber(n, id, block), true
}
