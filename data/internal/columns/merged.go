package columns

import "slices"

// LevelTables are what each worker's numbers of a column's values become.
type LevelTables [][]float32

// Merged returns the number of a value that worker w has numbered at.
func (t LevelTables) Merged(w int, at float32) float32 {
	if i := int(at); i < len(t[w]) {
		return t[w][i]
	}
	return at - LevelsMax - 1
}

// Join makes numbers among names those among names and known, and returns both together, ascending.
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
