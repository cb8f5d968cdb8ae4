package lines

import (
	"cmp"
	"slices"
)

// unsorted is scratch memory to sort a row whose indices do not ascend.
type unsorted []entry

// An entry is a feature of a row.
type entry struct {
	index int32
	value float32
}

// sort sorts a row by its indices. twice is the least index that occurs twice, -1 if there is none.
func (u *unsorted) sort(indices []int32, values []float32) (twice int32) {
	row := (*u)[:0]
	for i, index := range indices {
		row = append(row, entry{index, values[i]})
	}
	slices.SortFunc(row, func(a, b entry) int { return cmp.Compare(a.index, b.index) })
	*u, twice = row, -1
	for i, e := range row {
		if i > 0 && e.index == indices[i-1] && twice < 0 {
			twice = e.index
		}
		indices[i], values[i] = e.index, e.value
	}
	return twice
}

// entryAt returns the position of the second entry with an index in the line from i.
func entryAt(text []byte, i int, index int32) (at, width int) {
	for found := 0; ; {
		i = skipBlanks(text, i, ' ')
		field := token(text, i)
		if n, end := whole(text, i); text[end] == ':' && n == int(index) {
			if found++; found == 2 {
				return i, end - i
			}
		}
		i += max(1, len(field))
		if text[i-1] == '\n' {
			return i - 1, 1
		}
	}
}
