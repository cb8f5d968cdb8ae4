package app

import (
	"strconv"
	"strings"
)

// Known is what a run that begins with a model has of one sort: users, words, features. At is by its own numbers: the model's number, or
// -1 for what is new to the model.
type Known struct {
	Of string // in the plural
	At []int32
}

// Places finds names among those of a model. Of names that are there several times the first is the model's first, and so on.
func Places(names, model []string) []int32 {
	place, taken := make(map[string]int32, len(model)), make([]bool, len(model))
	for i, name := range model {
		for _, again := place[name]; again; _, again = place[name] {
			name += repeat
		}
		place[name] = int32(i)
	}
	out := make([]int32, len(names))
	for k, name := range names {
		i, ok := place[name]
		for ok && taken[i] {
			name += repeat
			i, ok = place[name]
		}
		if out[k] = -1; ok {
			out[k], taken[i] = i, true
		}
	}
	return out
}

// repeat follows a name once for each time that it was there before.
const repeat = "\x00"

// New returns how many are new to the model.
func (k Known) New() (n int) {
	for _, i := range k.At {
		if i < 0 {
			n++
		}
	}
	return n
}

// FromModel says in the headline how much is new to the model that a run begins with.
func FromModel(known ...Known) string {
	var parts []string
	for _, k := range known {
		parts = append(parts, strconv.Itoa(k.New())+" "+k.Of)
	}
	return "from a model, " + strings.Join(parts, " and ") + " are new"
}

// Inherit settles a setting that a run has from the model that it begins with, and refuses another value that was given.
func (v Values) Inherit(name string, has int) int {
	if text, given := v.given[name]; given && strings.TrimSpace(text) != strconv.Itoa(has) {
		v.Refuse(name, "the model that the run begins with has %d", has)
	}
	v.Settle(name, strconv.Itoa(has))
	return has
}
