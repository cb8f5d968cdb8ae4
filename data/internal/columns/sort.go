package columns

import (
	"bellows/data/internal/lines"
	"bellows/data/internal/missing"
	"bellows/data/internal/notation"
)

// sort is what a field of a table is.
type sort uint8

const (
	goneField sort = iota
	numberField
	wordField
	wrongField // nearly a number: with a comma for a point, a percent sign, other digits; infinite, too large
	keptField  // missing in a column of numbers, and a value in a column of text
)

// sortOf looks at one field, by the rule of what is missing; nil is the default.
func sortOf(rule *missing.Rule, field []byte) sort {
	switch {
	case rule.Text(field):
		return goneField
	case rule.Number(field):
		return keptField
	}
	_, err := lines.Number(field)
	switch {
	case err == nil:
		return numberField
	case err != lines.ErrNotNumber:
		return wrongField
	}
	if _, how := notation.Recognize(field); how != "" {
		return wrongField
	}
	return wordField
}
