package examples

import (
	"slices"

	"bellows"
)

// Renumber counts the features of some rows from 0, in their order: index, which has the feature of each entry, is changed to those numbers. It returns the table rows that they
// are, ascending, and behind them the row of the bias, which tables have behind those of all features. place is scratch, a zero for each feature, and again zeros afterwards.
func Renumber(index, place []int32) []bellows.RowID {
	var rows []bellows.RowID
	for _, j := range index {
		if place[j] == 0 {
			place[j] = 1
			rows = append(rows, bellows.RowID(j))
		}
	}
	slices.Sort(rows)
	for k, j := range rows {
		place[j] = int32(k)
	}
	for i, j := range index {
		index[i] = place[j]
	}
	for _, j := range rows {
		place[j] = 0
	}
	return append(rows, bellows.RowID(len(place)))
}
