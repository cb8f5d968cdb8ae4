package examples

import (
	"slices"

	"bellows"
)

// Renumber renumbers the features of some rows from 0, in their order: index, which has the feature of each entry, is
// changed to the new numbers. It returns the table rows of the features, ascending, followed by the row of the bias,
// which tables keep after all features. place is scratch: a zero for each feature, and zeros again afterwards.
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
