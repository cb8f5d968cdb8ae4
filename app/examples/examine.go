package examples

import (
	"math"
	"slices"

	"bellows"
	"bellows/app"
	"bellows/train"
)

// ofClasses are the metrics of Examine, beside those that a predictor has by itself. All but auc are counted as rows are scored.
var ofClasses = []string{"auc", "f1_macro", "precision_macro", "recall_macro"}

// Classified is rows as a model of classes sees them.
type Classified struct {
	App    string   // for errors
	Labels []string // of the classes
	Class  []int32  // of each row, or UnknownClass
	// Chances are the probabilities of a row's classes, or other numbers of which the largest is the likeliest class's. Rows are asked for in their order, again and again.
	Chances func(row int) []float32
}

// aucBytes bounds the probabilities that are kept at a time for the areas under curves. Where the data have more, auc is left out unless it
// is asked for, and then rows are scored again for each part of the classes.
const aucBytes = 256 << 20

// Examine adds figures of classes to a predictor's own metrics, plain: those that are asked for by name, or all. The means are over the classes that
// rows are of or are said to be of (macro averages).
func (p *Classified) Examine(plain []train.Metric, metrics []string) (*app.Examination, error) {
	var names []string
	for _, m := range plain {
		if m.Name != unknownFeatures {
			names = append(names, m.Name)
		}
	}
	names = append(names, ofClasses...)
	for _, m := range metrics {
		if !slices.Contains(names, m) {
			return nil, app.UnknownMetric(p.App, m, names...)
		}
	}
	out := p.confusion()
	if slices.Contains(metrics, "auc") || len(metrics) == 0 && len(p.Class)*len(p.Labels)*4 <= aucBytes {
		p.areas(out.Classes)
	}
	for _, m := range append(plain, macro(out.Classes, out.Confusion)...) {
		asked := slices.Contains(metrics, m.Name) || len(metrics) == 0 || m.Name == unknownFeatures
		if asked && !math.IsNaN(m.Value) {
			out.Metrics = append(out.Metrics, m)
		}
	}
	if slices.Contains(metrics, "auc") && !slices.ContainsFunc(out.Metrics, func(m train.Metric) bool { return m.Name == "auc" }) {
		return nil, bellows.Errorf(bellows.BadData, "evaluate", p.App, "auc needs rows of at least two classes")
	}
	return out, nil
}

// unknownFeatures is a figure that is shown whatever is asked for.
const unknownFeatures = "unknown_features"

// confusion counts what rows of each class are said to be.
func (p *Classified) confusion() *app.Examination {
	width := len(p.Labels)
	out := &app.Examination{Classes: make([]app.ClassFigures, width), Confusion: make([][]int64, width)}
	for c := range out.Confusion {
		out.Confusion[c] = make([]int64, width)
	}
	named := make([]int64, width)
	for r, y := range p.Class {
		guess := Best(p.Chances(r))
		named[guess]++
		if y != UnknownClass {
			out.Confusion[y][guess]++
		}
	}
	for c := range out.Classes {
		f := &out.Classes[c]
		f.Label, f.AUC = p.Labels[c], math.NaN()
		for _, n := range out.Confusion[c] {
			f.Rows += n
		}
		right := float64(out.Confusion[c][c])
		f.Precision, f.Recall = ratio(right, float64(named[c])), ratio(right, float64(f.Rows))
		f.F1 = ratio(2*f.Precision*f.Recall, f.Precision+f.Recall)
	}
	return out
}

// Best is the first of the largest values.
func Best(p []float32) int {
	at := 0
	for c, v := range p {
		if v > p[at] {
			at = c
		}
	}
	return at
}

func ratio(part, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return part / whole
}

// macro is the means over classes. Of two classes auc is that of either: they are the same.
func macro(classes []app.ClassFigures, confusion [][]int64) []train.Metric {
	var f1, precision, recall, auc, n, curves float64
	for c, f := range classes {
		named := int64(0)
		for _, row := range confusion {
			named += row[c]
		}
		if f.Rows+named > 0 {
			f1, precision, recall, n = f1+f.F1, precision+f.Precision, recall+f.Recall, n+1
		}
		if !math.IsNaN(f.AUC) {
			auc, curves = auc+f.AUC, curves+1
		}
	}
	return []train.Metric{{Name: "auc", Value: auc / curves}, {Name: "f1_macro", Value: f1 / n},
		{Name: "precision_macro", Value: precision / n}, {Name: "recall_macro", Value: recall / n}}
}

// areas fills in the areas under the classes' curves, of some classes at a time.
func (p *Classified) areas(to []app.ClassFigures) {
	rows := len(p.Class)
	each := min(len(to), max(1, aucBytes/4/max(1, rows)))
	chances, order := make([]float32, each*rows), make([]uint64, rows)
	for first := 0; first < len(to); first += each {
		some := to[first:min(len(to), first+each)]
		for r := range rows {
			for k, q := range p.Chances(r)[first : first+len(some)] {
				chances[k*rows+r] = q
			}
		}
		for k := range some {
			some[k].AUC = area(order, chances[k*rows:][:rows], p.Class, int32(first+k))
		}
	}
}

// area is the area under the ROC curve of one class against the others: rows are sorted by their probability, and each row of the class counts
// the others below it. The bits of a number that is not negative sort as it does, with those of the others, turned round, below them.
func area(order []uint64, chances []float32, class []int32, own int32) float64 {
	for r, q := range chances {
		bits := math.Float32bits(q+0) ^ 1<<31 // what is -0 is 0
		if q < 0 {
			bits = ^math.Float32bits(q)
		}
		order[r] = uint64(bits) << 1
		if class[r] == own {
			order[r]++
		}
	}
	slices.Sort(order)
	var area, below, rows float64
	for at := 0; at < len(order); {
		end, mine := at, 0.0
		for ; end < len(order) && order[end]>>1 == order[at]>>1; end++ {
			mine += float64(order[end] & 1)
		}
		others := float64(end-at) - mine
		area += mine * (below + others/2)
		below, rows, at = below+others, rows+mine, end
	}
	if rows == 0 || below == 0 {
		return math.NaN()
	}
	return area / (rows * below)
}
