package mlr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bellows/app"
	"bellows/app/examples"
)

// The values of the setting class_weights that are no list of labels and weights.
const (
	weightsNone     = "none"
	weightsBalanced = "balanced"
)

// The bounds of a weight that is given.
const (
	weightLeast = 1e-6
	weightMost  = 1e6
)

// classWeights is how much the rows of each class count in training: in gradients, in the training loss, in the curvature that l2
// follows, and in the loss of held-out rows that decides when the run is done. The figures that are shown of held-out and test rows
// count every row alike, so that runs with other weights can be compared by them. nil: all rows count 1.
//
// The mean over the training rows is 1, so that steps and the strength of l2 mean what they mean without weights: only the ratios of weights
// matter. Balanced weights, rows / (classes · rows of the class), have that mean by themselves.
type classWeights []float32

// of is the weight of a row of a class.
func (w classWeights) of(class int32) float32 {
	if w == nil || class == examples.UnknownClass {
		return 1
	}
	return w[class]
}

// sum is the weight of some rows, given the class of every row.
func (w classWeights) sum(rows, class []int32) (total float64) {
	for _, r := range rows {
		total += float64(w.of(class[r]))
	}
	return total
}

// weigh reads the setting class_weights, which needs the classes and the training rows.
func (p *problem) weigh() error {
	rows := make([]int, p.width)
	for _, r := range p.rows {
		rows[p.class[r]]++
	}
	var shown []float64
	switch text := strings.TrimSpace(p.values.Text("class_weights")); text {
	case weightsNone, "":
		return nil
	case weightsBalanced:
		shown = balanced(rows, len(p.rows))
	default:
		shown = p.readWeights(text)
	}
	if err := p.values.Err(); err != nil {
		return err
	}
	total := 0.0
	for c, n := range rows {
		total += shown[c] * float64(n)
	}
	p.weights = make(classWeights, p.width)
	for c, w := range shown {
		p.weights[c] = float32(w * float64(len(p.rows)) / total)
	}
	p.weighed = "class weights " + told(p.classes, shown) + "; test figures count all rows alike"
	return nil
}

// balanced is rows / (classes · rows of the class). A class without training rows is none of the classes.
func balanced(rows []int, all int) []float64 {
	classes := 0
	for _, n := range rows {
		if n > 0 {
			classes++
		}
	}
	weights := make([]float64, len(rows))
	for c, n := range rows {
		weights[c] = float64(all) / float64(classes*max(1, n))
	}
	return weights
}

// readWeights reads label:weight, divided by commas; labels that are not named have weight 1. What lacks a weight is the beginning of a label that
// has a comma.
func (p *problem) readWeights(text string) []float64 {
	weights, find, given := slices.Repeat([]float64{1}, p.width), examples.NewFinder(p.classes), make([]bool, p.width)
	refuse := func(format string, args ...any) { p.values.Refuse("class_weights", format, args...) }
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
		case c == examples.UnknownClass:
			refuse("DATA has no label %s%s", strings.TrimSpace(label), nearestLabel(strings.TrimSpace(label), p.classes))
		case given[c]:
			refuse("the label %s is there twice", p.classes[c])
		case !(w >= weightLeast && w <= weightMost):
			refuse("the weight of the label %s must be a number from %g to %g", p.classes[c], weightLeast, float64(weightMost))
		default:
			weights[c], given[c] = w, true
		}
	}
	if begun != "" {
		refuse("must be none, balanced, or label:weight for some labels, such as %s:2; %q has no weight", p.classes[len(p.classes)-1], strings.TrimSuffix(begun, ","))
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

// told is the weights of a few classes, or the range of many.
func told(classes []string, weights []float64) string {
	if len(classes) > labelsNamed {
		return fmt.Sprintf("from %.3g to %.3g", slices.Min(weights), slices.Max(weights))
	}
	var parts []string
	for c, w := range weights {
		parts = append(parts, fmt.Sprintf("%s %.3g", classes[c], w))
	}
	return strings.Join(parts, ", ")
}
