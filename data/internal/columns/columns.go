// Package columns is what the columns of a table hold: numbers or text, and what becomes of the two.
//
// The caller's duties, in order:
//
//  1. Take a Sample of the first rows, and ask Headed whether the first line names the columns.
//  2. Make a Column of each that is a feature, Open where its sample is text. Parse with what Numbering gives, one for each worker, and
//     settle what was open by lines.MergeLevels.
//  3. FillIn what is missing, look for Odd columns, and Encode the rows where some column is text.
//
// The package refuses a first line that could be either, a header or a row. It guesses nothing from names.
package columns

import (
	"fmt"

	"bellows/data/internal/lines"
	"bellows/data/internal/missing"
)

// The bounds of columns of text.
const (
	LevelsMax = 10_000  // values of one column that are told apart; where there are more, all are hashed
	Buckets   = 1 << 14 // into so many features
)

// Column is a column of a file. A column of numbers is one feature. One of text is a feature for each of its values, 1
// where a row has
// the value, else 0: one for each of Levels, in their order, or for each of Buckets.
type Column struct {
	Name   string `json:"name,omitempty"`   // "" without a header
	Number int    `json:"number"`           // from 1, in the file that was read; 0 of one that only folders have
	Folder bool   `json:"folder,omitempty"` // its values are in the names of folders (FolderKey)

	Levels  []string `json:"levels,omitempty"`  // text: its values, ascending; "" is a value that is missing
	Buckets int      `json:"buckets,omitempty"` // text with too many values to tell apart: they are hashed into so many features
	Fill    *float32 `json:"fill,omitempty"`    // numbers: the mean, which a missing value becomes; beyond the origin
	Origin  float64  `json:"origin,omitempty"`  // numbers far from 0: what values are counted from

	Open bool    `json:"-"` // text, with values that are not known yet; Levels are those that are
	Loss float64 `json:"-"` // the part of the spread of its values that is lost beyond the origin, where it is not small
}

// Text reports whether the column's values are text.
func (c *Column) Text() bool { return c.Open || c.Levels != nil || c.Buckets > 0 }

// Width is how many features the column is.
func (c *Column) Width() int {
	switch {
	case c.Buckets > 0:
		return c.Buckets
	case c.Levels != nil:
		return len(c.Levels)
	}
	return 1
}

// Numbering says how a worker numbers the values of a column of text, by the rule of what is missing.
func (c *Column) Numbering(rule *missing.Rule) *lines.Levels {
	switch {
	case c.Open:
		return &lines.Levels{Max: LevelsMax, Buckets: Buckets, Missing: rule}
	case c.Buckets > 0:
		return &lines.Levels{Buckets: c.Buckets, Missing: rule}
	}
	known := make(map[string]int32, len(c.Levels))
	for at, name := range c.Levels {
		known[name] = int32(at)
	}
	return &lines.Levels{Known: known, Missing: rule}
}

// Option is how a flag names the column.
func (c *Column) Option() string {
	if lines.IsPlain(c.Name) {
		return c.Name
	}
	return fmt.Sprint(c.Number)
}
