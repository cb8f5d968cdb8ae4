// Package lists compares, merges and overwrites ascending lists of row numbers or keys, together with the values of
// their rows. It takes one pass, so that the owner of a list needs no index. An index of keys (package keys) would
// take twelve bytes a key and more, and have to be filled anew with every answer.
//
// The caller gives lists that ascend and have nothing twice. The package refuses nothing, and keeps nothing.
package lists

import (
	"cmp"
	"slices"
)

// Contains reports whether an ascending list has all of another.
func Contains[T cmp.Ordered](all, some []T) bool {
	at := 0
	for _, x := range some {
		if at = Seek(all, at, x); at == len(all) || all[at] != x {
			return false
		}
	}
	return true
}

// Seek is the place of x in an ascending list, or where it belongs. It looks from a place on that
// may be near, in steps that double (galloping search), so that seeking one after the other costs
// what lies between.
func Seek[T cmp.Ordered](list []T, from int, x T) int {
	low, end := 0, min(from, len(list))
	if end < len(list) && list[end] <= x {
		low, end = end, end+1
		for step := 1; end < len(list) && list[end] < x; step *= 2 {
			low, end = end, end+step
		}
		end = min(end+1, len(list))
	}
	i, _ := slices.BinarySearch(list[low:end], x)
	return low + i
}

// Lacking is how many of some are missing in an ascending list.
func Lacking[T cmp.Ordered](all, some []T) (n int) {
	at := 0
	for _, x := range some {
		if at = Seek(all, at, x); at == len(all) || all[at] != x {
			n++
		}
	}
	return n
}

// Merged appends what two ascending lists have, once each.
func Merged[T cmp.Ordered](a, b, to []T) []T {
	to = slices.Grow(to, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		x := min(a[0], b[0])
		if a[0] == x {
			a = a[1:]
		}
		if b[0] == x {
			b = b[1:]
		}
		to = append(to, x)
	}
	return append(append(to, a...), b...)
}

// Joined merges two ascending lists and their rows behind those of to; where both have a row, the
// newer one counts.
func Joined[T cmp.Ordered](older, newer []T, old, fresh []float32, width int, ids []T, to []float32) ([]T, []float32) {
	for i, j := 0, 0; i < len(older) || j < len(newer); {
		switch {
		case i < len(older) && (j == len(newer) || older[i] < newer[j]):
			ids, to = append(ids, older[i]), append(to, old[i*width:(i+1)*width]...)
			i++
		case i < len(older) && older[i] == newer[j]:
			i++
		default:
			ids, to = append(ids, newer[j]), append(to, fresh[j*width:(j+1)*width]...)
			j++
		}
	}
	return ids, to
}

// Replace writes fresh rows over those of an ascending list, which may lack some.
func Replace[T cmp.Ordered](all, some []T, values, fresh []float32, width int) {
	at := 0
	for i, x := range some {
		if at = Seek(all, at, x); at < len(all) && all[at] == x {
			copy(values[at*width:(at+1)*width], fresh[i*width:])
		}
	}
}
