package linear

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"bellows"
	"bellows/app/examples"
	"bellows/data"
	"bellows/train"
)

// targets is what labels are to the loss: of two classes, in the order of labels.txt, the first is -1 and the second 1; a number is the multiple of
// spread by which it is above center.
type targets struct {
	names          []string // of the classes; nil of numbers
	center, spread float64
}

// labelsNamed is how many labels an error lists; labelsMost how many are told apart; classesLikely how many whole numbers may be classes that nobody has
// said to be numbers, where there are rowsEach rows of each on the average.
const (
	labelsNamed   = 6
	labelsMost    = 1000
	classesLikely = 20
	rowsEach      = 5
)

func whole(labels []string) bool {
	return !slices.ContainsFunc(labels, func(label string) bool { return !data.IsWhole(label) })
}

// readLabels finds the classes, and refuses labels that are none of the loss's.
func (p *problem) readLabels(set *data.Set) error {
	e, c := set.Examples, &p.choices
	refuse := func(hint, format string, args ...any) error {
		if other := set.OtherLabel(); other != "" && set.Detected.Choice != "" { // no option names one
			hint += ", or name the label's column with --label, such as --label " + other
		}
		return bellows.Errorf(bellows.BadData, "train", name, "loss=%s "+format, append([]any{c.name}, args...)...).Hinted(hint)
	}
	labels := e.Labels(labelsMost)
	listed := strings.Join(labels[:min(len(labels), labelsNamed)], ", ")
	if len(labels) > labelsNamed {
		listed += ", …"
	}
	switch {
	case len(labels) == 1:
		return refuse("give rows of other labels, too", "has nothing to learn: all labels are %s", listed)
	case !c.classes && e.TextLabels():
		return refuse("take --set loss=logistic for two classes, loss=softmax for more", "predicts numbers, and the labels are text: %s", listed)
	case !c.classes:
		if p.Values.IsAuto("loss") && labels != nil && len(labels) <= classesLikely && len(labels)*rowsEach <= e.Rows() && whole(labels) {
			p.Warnings = append(p.Warnings, fmt.Sprintf("labels are %d whole numbers, %s, which are predicted as numbers; if they are classes, say loss=softmax, else loss=squared", len(labels), listed))
		}
		return nil
	case labels == nil:
		return refuse("take --set loss=squared to predict numbers", "tells two classes apart, and there are more than %d labels", labelsMost)
	case len(labels) > 2:
		hint := "take --set loss=softmax for more classes, loss=squared to predict numbers"
		if e.TextLabels() {
			hint = "take --set loss=softmax for more classes"
		}
		return refuse(hint, "tells two classes apart, and there are %d labels: %s", len(labels), listed)
	}
	p.names = labels
	return nil
}

// aim makes targets of the labels, by what training rows have.
func (p *problem) aim() {
	p.center, p.spread = 0, 1
	if !p.classes && p.Scaling != examples.ScaleNone {
		labels := make([]label, len(p.Rows))
		for i, r := range p.Rows {
			labels[i] = label{float64(p.Src.Label[r]), p.Weight.Weight(int(r))}
		}
		p.center, p.spread = middle(labels, p.name != lossSquared)
	}
	p.target = p.targetsOf(p.Src.ExampleSet)
	p.testOf = p.target
	if p.Test.ExampleSet != p.Src.ExampleSet {
		p.testOf = p.targetsOf(p.Test.ExampleSet)
		strange := int64(0)
		for _, y := range p.testOf {
			if math.IsNaN(float64(y)) {
				strange++
			}
		}
		p.Warnings = append(p.Warnings, examples.StrangeWarning(strange, len(p.testOf))...)
	}
}

// madSpread makes the median distance from the median the standard deviation of normal labels.
const madSpread = 1.4826

// label is a number to predict and the weight of its row.
type label struct{ y, weight float64 }

// middle returns the mean and the standard deviation of labels, or what takes their places where some may be far out:
// the median, and the median distance from it.
func middle(labels []label, robust bool) (center, spread float64) {
	n := 0.0
	for _, l := range labels {
		n += l.weight
	}
	if robust {
		center = median(labels, n)
		for i, l := range labels {
			labels[i].y = math.Abs(l.y - center)
		}
		if spread = madSpread * median(labels, n); spread > 0 {
			return center, spread
		}
		for _, d := range labels { // most are the same
			spread += d.weight * d.y
		}
		return center, positive(spread / n)
	}
	for _, l := range labels {
		center += l.weight * l.y
	}
	center /= n
	for _, l := range labels {
		spread += l.weight * (l.y - center) * (l.y - center)
	}
	return center, positive(math.Sqrt(spread / n))
}

// median sorts labels: up to it is more than half of their weight, which is n.
func median(labels []label, n float64) float64 {
	slices.SortFunc(labels, func(a, b label) int { return cmp.Compare(a.y, b.y) })
	below := 0.0
	for _, l := range labels {
		if below += l.weight; below > n/2 {
			return l.y
		}
	}
	return labels[len(labels)-1].y
}

func positive(x float64) float64 {
	if x > 0 {
		return x
	}
	return 1
}

// targetsOf returns the target of each row; of a class that the model does not know, NaN.
func (t *targets) targetsOf(e *data.ExampleSet) []float32 {
	out := make([]float32, len(e.Label))
	if t.names == nil {
		for i, y := range e.Label {
			out[i] = float32((float64(y) - t.center) / t.spread)
		}
		return out
	}
	for i, c := range examples.Numbered(e, t.names) {
		out[i] = float32(2*c - 1)
		if c == examples.UnknownClass {
			out[i] = float32(math.NaN())
		}
	}
	return out
}

// judge returns 1 for a score on the right side, and 0 on the other; of numbers the squared error, in their own units.
func (t *targets) judge(score, target float64) float64 {
	if t.names == nil {
		d := (score - target) * t.spread
		return d * d
	}
	if (score > 0) == (target > 0) && !math.IsNaN(target) {
		return 1
	}
	return 0
}

// cost returns the loss of a test row: of an unknown class, that of the class that is less likely.
func (c *choices) cost(score, target float64) float64 {
	if math.IsNaN(target) {
		return max(c.loss.Value(score, -1), c.loss.Value(score, 1))
	}
	return c.loss.Value(score, target)
}

// baseline returns what one gets by always saying the same: the commoner class, or the mean of the training rows.
func (p *problem) baseline() *train.Metric {
	n := float64(len(p.Rows))
	if p.Classed != nil {
		return nil // accuracy is not what weights ask for
	}
	if p.classes {
		ones := 0.0
		for _, r := range p.Rows {
			ones += p.Count.Weight(int(r)) * float64(p.target[r]+1) / 2
		}
		return &train.Metric{Name: "majority class", Value: max(ones, n-ones) / n}
	}
	if len(p.TestRow) == 0 {
		return nil
	}
	mean, squares := 0.0, 0.0
	for _, r := range p.Rows {
		mean += p.Count.Weight(int(r)) * float64(p.Src.Label[r]) / n
	}
	for _, r := range p.TestRow {
		d := float64(p.Test.Label[r]) - mean
		squares += p.TestCount.Weight(int(r)) * d * d
	}
	return &train.Metric{Name: "mean predictor", Value: math.Sqrt(squares / p.tested())}
}
