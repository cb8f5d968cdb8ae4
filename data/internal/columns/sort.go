package columns

import (
	"bellows/data/internal/lines"
	"bellows/data/internal/missing"
	"bellows/data/internal/notation"
)

// sort classifies a field of a table.
type sort uint8

const (
	goneField sort = iota
	numberField
	wordField
	wrongField // nearly a number: decimal comma, percent sign, other digits; infinite, too large
	keptField  // missing in a column of numbers, but a value in a column of text
)

// sortOf classifies one field. rule decides which values are missing; nil is the default.
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
