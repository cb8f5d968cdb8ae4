package examples

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/data"
	"bellows/data/decimal"
)

// The lists of ids of a model: line c of the labels is class c, and line j of the columns, where features have names, is what weight j is of.
const (
	LabelsFile  = "labels.txt"
	ColumnsFile = "columns.txt"
)

// UnknownClass stands for a label that the model does not know.
const UnknownClass = -1

// Numbered gives each row its class's number, or UnknownClass. Labels that are numbers are compared as such, however they are written.
func Numbered(e *data.ExampleSet, classes []string) []int32 {
	return e.Number(NewFinder(classes).Text, UnknownClass)
}

// Finder finds the numbers of classes.
type Finder struct {
	byName   map[string]int32
	byNumber map[decimal.Number]int32 // nil if classes are codes, which equal numbers do not name
}

// NewFinder returns the finder for a list of labels, whose numbers are their places.
func NewFinder(classes []string) Finder {
	f := Finder{byName: make(map[string]int32, len(classes))}
	for i, label := range classes {
		f.byName[label] = int32(i)
	}
	if slices.ContainsFunc(classes, isCode) {
		return f
	}
	f.byNumber = make(map[decimal.Number]int32, len(classes))
	for i, label := range classes {
		if n, ok := decimal.Parse(label); ok {
			f.byNumber[n] = int32(i)
		}
	}
	return f
}

// isCode reports whether a label is a number with zeros that its value does not need, such as 01234, which is not 1234.
func isCode(label string) bool {
	_, ok := decimal.Parse(label)
	return ok && decimal.Padded(label)
}

// Text returns the class of a label as it is written, or UnknownClass.
func (f Finder) Text(label string) int32 {
	if c, known := f.byName[label]; known {
		return c
	}
	if n, ok := decimal.Parse(label); ok {
		if c, known := f.byNumber[n]; known {
			return c
		}
	}
	return UnknownClass
}

// Strange counts the rows of UnknownClass.
func Strange(class []int32) (n int64) {
	for _, c := range class {
		if c == UnknownClass {
			n++
		}
	}
	return n
}

// StrangeWarning warns that so many of the rows to show have labels that no row of the data has; of none it is nil.
func StrangeWarning(strange int64, rows int) []string {
	if strange == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d test rows have labels that no row of DATA has; they count as wrong", strange, rows)}
}

// CheckLabels refuses a list of labels in which one is twice.
func CheckLabels(lines []string) error {
	seen := make(map[string]bool, len(lines))
	for i, s := range lines {
		if seen[s] {
			return bellows.Errorf(bellows.BadData, "open model", LabelsFile, "line %d, %q, is there twice", i+1, s)
		}
		seen[s] = true
	}
	return nil
}
