package examples

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bellows/app"
)

// The values of the setting class_weights that are no list of labels and weights.
const (
	WeightsNone     = "none"
	WeightsBalanced = "balanced"
)

// The bounds of a weight that is given.
const (
	weightLeast = 1e-6
	weightMost  = 1e6
)

// ClassWeights are the weights of the rows of each class in training, multiplied by each row's own (RowWeights). They
// apply to gradients, the training loss, the curvature that l2 follows, and the loss of held-out rows that decides when
// the run is done. The displayed figures of held-out and test rows leave them out, so that runs with different weights
// can be compared. nil: all have weight 1.
//
// The mean over the training rows is 1, so that steps and the strength of l2 keep their meaning: only the ratios of
// weights matter. Balanced weights, rows / (classes · rows of the class), have that mean already. If rows have weights,
// rows are counted by them.
type ClassWeights []float32

// Weight returns the weight of a row of a class.
func (w ClassWeights) Weight(class int32) float32 {
	if w == nil || class == UnknownClass {
		return 1
	}
	return w[class]
}

// ReadClassWeights reads the setting class_weights, given the classes and the weighted number of training rows of each;
// none is nil. It returns the text about them for the headline. Errors go to v.
func ReadClassWeights(v app.Values, classes []string, rows []float64) (weights ClassWeights, headline string) {
	all := 0.0
	for _, n := range rows {
		all += n
	}
	var shown []float64
	switch text := strings.TrimSpace(v.Text("class_weights")); text {
	case WeightsNone, "":
		return nil, ""
	case WeightsBalanced:
		shown = balanced(rows, all)
	default:
		shown = readWeights(v, classes, text)
	}
	if v.Err() != nil {
		return nil, ""
	}
	total := 0.0
	for c, n := range rows {
		total += shown[c] * n
	}
	weights = make(ClassWeights, len(classes))
	for c, w := range shown {
		weights[c] = float32(w * all / total)
	}
	return weights, "class weights " + describeWeights(classes, shown) + "; test figures leave these out"
}

// balanced returns rows / (classes · rows of the class). A class without training rows is none of the classes.
func balanced(rows []float64, all float64) []float64 {
	classes := 0
	for _, n := range rows {
		if n > 0 {
			classes++
		}
	}
	weights := make([]float64, len(rows))
	for c, n := range rows {
		weights[c] = 1 // none of its rows trains
		if n > 0 {
			weights[c] = all / (float64(classes) * n)
		}
	}
	return weights
}

// readWeights reads label:weight, separated by commas; labels that are not named have weight 1. A part without a weight
// is the beginning of a label with a comma.
func readWeights(v app.Values, classes []string, text string) []float64 {
	weights, find, given := slices.Repeat([]float64{1}, len(classes)), NewFinder(classes), make([]bool, len(classes))
	refuse := func(format string, args ...any) { v.Refuse("class_weights", format, args...) }
	begun := ""
	for part := range strings.SplitSeq(text, ",") {
		label, weight := begun+part, ""
		if at := strings.LastIndexByte(part, ':'); at >= 0 {
			label, weight = begun+part[:at], part[at+1:]
		}
		w, err := strconv.ParseFloat(strings.TrimSpace(weight), 64)
		if err != nil {
			begun += part + ","
			continue
		}
		begun = ""
		c := find.Text(strings.TrimSpace(label))
		switch {
		case c == UnknownClass:
			refuse("DATA has no label %s%s", strings.TrimSpace(label), nearestLabel(strings.TrimSpace(label), classes))
		case given[c]:
			refuse("the label %s is there twice", classes[c])
		case !(w >= weightLeast && w <= weightMost):
			refuse("the weight of the label %s must be a number from %g to %g", classes[c], weightLeast, float64(weightMost))
		default:
			weights[c], given[c] = w, true
		}
	}
	if begun != "" {
		refuse("must be none, balanced, or label:weight for some labels, such as %s:2; %q has no weight", classes[len(classes)-1], strings.TrimSuffix(begun, ","))
	}
	return weights
}

// labelsNamed is how many labels an error or a headline lists.
const labelsNamed = 8

// nearestLabel says which label may be meant, or which there are: of two numbers none is meant for the other.
func nearestLabel(label string, classes []string) string {
	_, err := strconv.ParseFloat(label, 64)
	if near := app.Nearest(label, classes); near != "" && err != nil {
		return "; did you mean " + near + "?"
	}
	more := ""
	if len(classes) > labelsNamed {
		classes, more = classes[:labelsNamed], ", …"
	}
	return "; it has " + strings.Join(classes, ", ") + more
}

// describeWeights returns the weights of a few classes, or the range of many.
func describeWeights(classes []string, weights []float64) string {
	if len(classes) > labelsNamed {
		return fmt.Sprintf("from %.3g to %.3g", slices.Min(weights), slices.Max(weights))
	}
	var parts []string
	for c, w := range weights {
		parts = append(parts, fmt.Sprintf("%s %.3g", classes[c], w))
	}
	return strings.Join(parts, ", ")
}
