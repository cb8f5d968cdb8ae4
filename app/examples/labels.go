package examples

import (
	"fmt"
	"strconv"

	"bellows"
	"bellows/data"
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
	find := NewFinder(classes)
	class := find.Number
	if e.LabelNames != nil {
		table := make([]int32, len(e.LabelNames))
		for i, label := range e.LabelNames {
			table[i] = find.Text(label)
		}
		class = func(y float32) int32 { return table[int(y)] }
	}
	out := make([]int32, len(e.Label))
	for i, y := range e.Label {
		out[i] = class(y)
	}
	return out
}

// Finder finds the numbers of classes.
type Finder struct {
	byName   map[string]int32
	byNumber map[float32]int32
}

// NewFinder is that of a list of labels, whose numbers are their places.
func NewFinder(classes []string) Finder {
	f := Finder{make(map[string]int32, len(classes)), make(map[float32]int32, len(classes))}
	for i, label := range classes {
		f.byName[label] = int32(i)
		if y, err := strconv.ParseFloat(label, 32); err == nil {
			f.byNumber[float32(y)] = int32(i)
		}
	}
	return f
}

// Number is the class of a label that is a number, or UnknownClass.
func (f Finder) Number(y float32) int32 {
	if c, known := f.byNumber[y]; known {
		return c
	}
	return UnknownClass
}

// Text is the class of a label as it is written, or UnknownClass.
func (f Finder) Text(label string) int32 {
	if c, known := f.byName[label]; known {
		return c
	}
	if y, err := strconv.ParseFloat(label, 32); err == nil {
		return f.Number(float32(y))
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

// LabelsOf writes distinct labels of some rows (data.ExampleSet.Labels): numbers, or the text that they stand for.
func LabelsOf(e *data.ExampleSet, values []float32) []string {
	labels := Numerals(values)
	if e.LabelNames != nil {
		for i, y := range values {
			labels[i] = e.LabelNames[int(y)]
		}
	}
	return labels
}

// Numerals writes labels that are numbers.
func Numerals(classes []float32) []string {
	out := make([]string, len(classes))
	for i, y := range classes {
		out[i] = strconv.FormatFloat(float64(y), 'g', -1, 32)
	}
	return out
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
