package mlr

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/data"
)

// classesMax bounds the distinct labels: more of them are hardly classes.
const classesMax = 4096

// rowsEach is how many rows a class has at least, on the average, where labels are classes and not numbers to predict or ids.
const rowsEach = 5

// classesOf returns the distinct labels as labels.txt and predictions show them: numbers in their order, or text in
// its. What hardly can be classes is refused, unless somebody has named the column and there are at least two rows
// for each: then it is a warning.
func classesOf(set *data.Set, name string) (classes, warnings []string, err error) {
	e := set.Examples
	classes = e.Labels(classesMax)
	hint := func(otherwise string) string {
		if other := set.OtherLabel(); other != "" && set.Detected.Choice != "" { // no option names one
			return "name the label's column with --label, such as --label " + other
		}
		return otherwise
	}
	refuse := func(otherwise, format string, args ...any) ([]string, []string, error) {
		return nil, nil, bellows.Errorf(bellows.BadData, "train", name, format, args...).Hinted(hint(otherwise))
	}
	numbers := "`train linear` predicts numbers; " + name + " needs labels that name classes"
	if classes == nil && e.Rows() > 0 {
		return refuse(numbers, "more than %d distinct labels: that is a regression target, not a class", classesMax)
	}
	n, rows := len(classes), e.Rows()
	if n < 2 {
		return refuse("classification needs rows of at least two classes", "all labels are the same: %v", classes)
	}
	broken := !e.TextLabels() && slices.ContainsFunc(classes, func(label string) bool { return !data.IsWhole(label) })
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
