package mlr

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"bellows"
	"bellows/data"
)

// classesMax bounds the distinct labels: more of them are hardly classes.
const classesMax = 4096

// rowsEach is how many rows a class has at least, on the average, where labels are classes and not numbers to predict or ids.
const rowsEach = 5

// unknownClass stands for a label that the model does not know.
const unknownClass = -1

// classesOf is the distinct labels as labels.txt and predictions show them: numbers in their order, or text in its. What hardly can be classes is
// refused, unless somebody has named the column and there are at least two rows for each: then it is a warning.
func classesOf(set *data.Set) (classes, warnings []string, err error) {
	e := set.Examples
	values := e.Labels(classesMax)
	hint := func(otherwise string) string {
		if other := set.OtherLabel(); other != "" {
			return "name the label's column with --label, such as --label " + other
		}
		return otherwise
	}
	refuse := func(otherwise, format string, args ...any) ([]string, []string, error) {
		return nil, nil, bellows.Errorf(bellows.BadData, "train", name, format, args...).Hinted(hint(otherwise))
	}
	const numbers = "give labels that name classes; a number is not predicted by " + name
	if values == nil && e.Rows() > 0 {
		return refuse(numbers, "more than %d distinct labels: that is a regression target, not a class", classesMax)
	}
	classes = names(values)
	if e.LabelNames != nil {
		for i, y := range values {
			classes[i] = e.LabelNames[int(y)]
		}
	}
	n, rows := len(classes), e.Rows()
	if n < 2 {
		return refuse("classification needs rows of at least two classes", "all labels are the same: %v", classes)
	}
	broken := e.LabelNames == nil && slices.ContainsFunc(values, func(y float32) bool { return y != float32(math.Trunc(float64(y))) })
	switch {
	case n > 2 && n*rowsEach > rows && (broken || set.Detected.Choice != "" || n*2 > rows):
		return refuse(numbers, "%d distinct labels in %d rows: that is an id or a regression target, not a class", n, rows)
	case n > 2 && n*rowsEach > rows:
		warnings = append(warnings, fmt.Sprintf("there are %d classes in %d rows, fewer than %d rows of each; if the label is another column, name it with --label", n, rows, rowsEach))
	case broken:
		warnings = append(warnings, fmt.Sprintf("labels are not whole numbers; each of the %d values, %s to %s, is a class of its own", n, classes[0], classes[n-1]))
	}
	return classes, warnings, nil
}

// numbered gives each row its class's number, or unknownClass. Labels that are numbers are compared as such, however they are written.
func numbered(e *data.ExampleSet, classes []string) []int32 {
	find := newFinder(classes)
	class := find.number
	if e.LabelNames != nil {
		table := make([]int32, len(e.LabelNames))
		for i, label := range e.LabelNames {
			table[i] = find.text(label)
		}
		class = func(y float32) int32 { return table[int(y)] }
	}
	out := make([]int32, len(e.Label))
	for i, y := range e.Label {
		out[i] = class(y)
	}
	return out
}

// finder finds the numbers of classes.
type finder struct {
	byName   map[string]int32
	byNumber map[float32]int32
}

func newFinder(classes []string) finder {
	f := finder{make(map[string]int32, len(classes)), make(map[float32]int32, len(classes))}
	for i, label := range classes {
		f.byName[label] = int32(i)
		if y, err := strconv.ParseFloat(label, 32); err == nil {
			f.byNumber[float32(y)] = int32(i)
		}
	}
	return f
}

// number is the class of a label that is a number, or unknownClass.
func (f finder) number(y float32) int32 {
	if c, known := f.byNumber[y]; known {
		return c
	}
	return unknownClass
}

// text is the class of a label as it is written, or unknownClass.
func (f finder) text(label string) int32 {
	if c, known := f.byName[label]; known {
		return c
	}
	if y, err := strconv.ParseFloat(label, 32); err == nil {
		return f.number(float32(y))
	}
	return unknownClass
}

// strange counts the rows of unknownClass.
func strange(class []int32) (n int64) {
	for _, c := range class {
		if c == unknownClass {
			n++
		}
	}
	return n
}

// names writes labels that are numbers.
func names(classes []float32) []string {
	out := make([]string, len(classes))
	for i, y := range classes {
		out[i] = strconv.FormatFloat(float64(y), 'g', -1, 32)
	}
	return out
}

// checkLabels refuses a list of labels in which one is twice.
func checkLabels(lines []string) error {
	seen := make(map[string]bool, len(lines))
	for i, s := range lines {
		if seen[s] {
			return bellows.Errorf(bellows.BadData, "open model", labelsFile, "line %d, %q, is there twice", i+1, s)
		}
		seen[s] = true
	}
	return nil
}
