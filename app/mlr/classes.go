package mlr

import (
	"strconv"

	"bellows"
	"bellows/data"
)

// classesMax bounds the distinct labels: more of them are hardly classes.
const classesMax = 4096

// unknownClass stands for a label that the model does not know.
const unknownClass = -1

// classesOf is the distinct labels in numeric order.
func classesOf(set *data.ExampleSet) ([]float32, error) {
	classes := set.Labels(classesMax)
	if classes == nil && set.Rows() > 0 {
		return nil, bellows.Errorf(bellows.BadData, "train", name, "more than %d distinct labels: that is a regression target, not a class", classesMax).
			Hinted("name another label column with --label")
	}
	if len(classes) < 2 {
		return nil, bellows.Errorf(bellows.BadData, "train", name, "all labels are the same: %v", names(classes)).
			Hinted("classification needs rows of at least two classes")
	}
	return classes, nil
}

// number gives each label its class's number, or unknownClass.
func number(label, classes []float32) []int32 {
	at := make(map[float32]int32, len(classes))
	for i, y := range classes {
		at[y] = int32(i)
	}
	out := make([]int32, len(label))
	for i, y := range label {
		c, known := at[y]
		if !known {
			c = unknownClass
		}
		out[i] = c
	}
	return out
}

// names writes labels as labels.txt and predictions show them.
func names(classes []float32) []string {
	out := make([]string, len(classes))
	for i, y := range classes {
		out[i] = strconv.FormatFloat(float64(y), 'g', -1, 32)
	}
	return out
}

// parseNames is the way back from names.
func parseNames(lines []string) ([]float32, error) {
	out := make([]float32, len(lines))
	for i, s := range lines {
		y, err := strconv.ParseFloat(s, 32)
		if err != nil || i > 0 && float32(y) <= out[i-1] {
			return nil, bellows.Errorf(bellows.BadData, "open model", "labels.txt", "line %d, %q, is not a number above the one before", i+1, s)
		}
		out[i] = float32(y)
	}
	return out, nil
}
