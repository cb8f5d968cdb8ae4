package layout

import (
	"slices"

	"bellows/data/internal/missing"
)

// MissingWords returns the words that stand for a missing value: the chosen ones, else those of a model, else the
// default. nil is the rule of models that do not record theirs.
func MissingWords(chosen []string, as *Reading) []string {
	switch {
	case chosen != nil:
		return chosen
	case as != nil:
		return as.Missing
	}
	return missing.Words
}

// Rule returns the rule of the words.
func Rule(words []string) *missing.Rule {
	switch {
	case words == nil:
		return missing.Old()
	case slices.Equal(words, missing.Words):
		return missing.New(nil)
	}
	return missing.New(words)
}
