package app

import "strings"

// Nearest returns the known word that a mistyped one was probably meant to be, or nothing.
func Nearest(word string, known []string) string {
	best, least := "", max(1, len(word)/3)+1
	for _, k := range known {
		if d := edits(strings.ToLower(word), strings.ToLower(k)); d < least {
			best, least = k, d
		} else if best == "" && len(word) >= 2 && strings.HasPrefix(k, word) {
			best = k
		}
	}
	return best
}

// edits returns the number of letters to insert, delete, replace or swap with a neighbour to make b of
// a (optimal string alignment).
func edits(a, b string) int {
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			next[j+1] = min(change, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
