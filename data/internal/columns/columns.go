// Package columns decides which columns of a table hold numbers and which text, and turns both into features.
//
// The caller's duties, in order:
//
//  1. Take a Sample of the first rows, and ask Headed whether the first line names the columns.
//  2. Settle with the samples: it makes a Column for each feature, which is Open if its sample is text. Parse the rows
//     with the levels from Numbering, one set per worker, and merge those of open columns with lines.MergeLevels.
//  3. FillIn missing values, look for Odd columns, and Encode the rows if a column is text.
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
	LevelsMax = 10_000  // values of one column that are told apart; with more, all are hashed
	Buckets   = 1 << 14 // number of features that hashed values become
)

// A Column is a column of a file. A column of numbers is one feature. A column of text has a feature for each of its
// values, which is 1 in rows with that value, else 0: one for each of Levels, in their order, or for each of Buckets.
type Column struct {
	Name   string `json:"name,omitempty"`   // "" without a header
	Number int    `json:"number"`           // from 1, in the file; 0 for a column that only folders have
	Folder bool   `json:"folder,omitempty"` // its values are in the names of folders (FolderKey)

	Levels []string `json:"levels,omitempty"` // text: its values, ascending; "" is a missing value
	// Buckets is the number of features that the values of a column of text are hashed into, if there are too many to
	// tell apart.
	Buckets int      `json:"buckets,omitempty"`
	Fill    *float32 `json:"fill,omitempty"`   // numbers: the mean, which replaces a missing value; less Origin
	Origin  float64  `json:"origin,omitempty"` // numbers far from 0: what values are counted from

	// Open marks a column of text whose values are not all known yet. Levels has the known ones.
	Open bool `json:"-"`
	// Loss is the part of the values' spread that rounding to 32 bits loses even after subtracting the origin, if it is
	// not small.
	Loss float64 `json:"-"`
}

// Text reports whether the column's values are text.
func (c *Column) Text() bool { return c.Open || c.Levels != nil || c.Buckets > 0 }

// Width returns the number of features of the column.
func (c *Column) Width() int {
	switch {
	case c.Buckets > 0:
		return c.Buckets
	case c.Levels != nil:
		return len(c.Levels)
	}
	return 1
}

// Numbering returns the levels with which a worker numbers the values of a column of text. rule decides which values
// are missing.
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

// Option returns the column as a flag takes it.
func (c *Column) Option() string {
	if lines.IsPlain(c.Name) {
		return c.Name
	}
	return fmt.Sprint(c.Number)
}
