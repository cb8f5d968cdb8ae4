package columns

import "bellows/data/internal/lines"

// Origins returns the origins of the features of settled columns, ascending.
func Origins(columns []Column) []lines.Origin {
	var list []lines.Origin
	first := int32(0)
	for i := range columns {
		c := &columns[i]
		if c.Origin != 0 && !c.Text() {
			list = append(list, lines.Origin{Feature: first, Value: c.Origin})
		}
		first += int32(c.Width())
	}
	return list
}
