package columns

import "slices"

// LevelTables map each worker's numbers of a column's values to the merged ones.
type LevelTables [][]float32

// Merged returns the merged number of the value to which worker w gave the number at. Numbers above LevelsMax are
// buckets.
func (t LevelTables) Merged(w int, at float32) float32 {
	if i := int(at); i < len(t[w]) {
		return t[w][i]
	}
	return at - LevelsMax - 1
}

// Join returns one ascending list of names and known, and turns positions in names, which the tables hold, into
// positions in that list.
func (t LevelTables) Join(names, known []string) []string {
	all := slices.Concat(names, known)
	slices.Sort(all)
	all = slices.Compact(all)
	for _, table := range t {
		for i, at := range table {
			n, _ := slices.BinarySearch(all, names[int(at)])
			table[i] = float32(n)
		}
	}
	return all
}
