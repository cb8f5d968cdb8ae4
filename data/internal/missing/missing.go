// Package missing decides which fields stand for a missing value (empty, NA, null and others).
//
// A Rule is made once for an input, by New or Old, and shared by all goroutines that parse it. A nil *Rule is the
// default rule. A parser calls Number, Text or ID, by the kind of the field.
//
// The package counts and replaces nothing.
package missing

import (
	"slices"
	"strconv"
)

// Words lists the fields that stand for a missing value by default, in addition to the empty one.
var Words = []string{"?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "Null", "null", "None", `\N`}

// longest is the length of the longest of Words.
const longest = 4

// A Rule decides which fields stand for a missing value.
//
// Invariant: it never changes once made.
type Rule struct {
	words  map[string]bool // nil: Words
	values []float64       // those that are numbers
	old    bool
}

// Default is the default rule.
var Default = &Rule{}

// New returns the rule by which the given words and the empty field stand for a missing value. nil is the default,
// Words.
func New(words []string) *Rule {
	if words == nil {
		return Default
	}
	r := &Rule{words: map[string]bool{}}
	for _, w := range words {
		r.words[w] = true
		if x, err := strconv.ParseFloat(w, 64); err == nil && x == x {
			r.values = append(r.values, x)
		}
	}
	return r
}

// Old returns the rule of models that do not record theirs: ids are taken as they are, and \N is a value of text.
func Old() *Rule { return &Rule{old: true} }

// Number reports whether a field of a column of numbers stands for a missing value. The default words always do,
// because none of them is a number.
func (r *Rule) Number(field []byte) bool {
	switch {
	case byDefault(field):
		return true
	case r == nil || r.words == nil:
		return false
	case r.words[string(field)]:
		return true
	case len(r.values) == 0:
		return false
	}
	x, err := strconv.ParseFloat(string(field), 64)
	return err == nil && r.Value(x)
}

// Value reports whether a number stands for a missing value. NaN always does.
func (r *Rule) Value(x float64) bool { return x != x || r != nil && slices.Contains(r.values, x) }

// Value32 reports whether a 32-bit float stands for a missing value: whether it equals one of the words, rounded to 32
// bits.
func (r *Rule) Value32(x float32) bool {
	return x != x || r != nil && slices.ContainsFunc(r.values, func(v float64) bool { return float32(v) == x })
}

// Numeric reports whether the list has a number, so that fields that look like numbers must be checked.
func (r *Rule) Numeric() bool { return r != nil && len(r.values) > 0 }

// Text reports whether a category, or a label that is text, stands for a missing value.
func (r *Rule) Text(field []byte) bool {
	switch {
	case r == nil || r.words == nil:
		return byDefault(field) && (r == nil || !r.old || string(field) != `\N`)
	case len(field) == 0:
		return true
	}
	return r.words[string(field)]
}

// Merged reports whether categories that stand for a missing value are merged with the empty field. By default each
// word stays a category, so that a country NA is not lost. Chosen words are merged.
func (r *Rule) Merged() bool { return r != nil && (r.old || r.words != nil) }

// ID reports whether the id of a user or an item stands for a missing value.
func (r *Rule) ID(field []byte) bool {
	if r != nil && r.old {
		return len(field) == 0
	}
	return r.Text(field)
}

// byDefault reports whether a field is empty or one of Words.
func byDefault(field []byte) bool {
	if len(field) > longest {
		return false
	}
	switch string(field) {
	case "", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "Null", "null", "None", `\N`:
		return true
	}
	return false
}
