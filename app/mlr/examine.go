package mlr

import (
	"math"
	"slices"

	"bellows"
	"bellows/app"
	"bellows/app/examples"
	"bellows/data"
	"bellows/train"
)

// metricNames are what Examine knows. All but auc are counted as rows are scored.
var metricNames = []string{"accuracy", "logloss", "auc", "f1_macro", "precision_macro", "recall_macro"}

// aucBytes bounds the probabilities that are kept at a time for the areas under curves. Where the data have more, auc is left out unless it
// is asked for, and then rows are scored again for each part of the classes.
const aucBytes = 256 << 20

// Examine implements app.Examiner. The means of figures are over the classes that rows are of or are said to be of (macro averages).
func (p *predictor) Examine(set *data.Set, metrics []string) (*app.Examination, error) {
	for _, m := range metrics {
		if !slices.Contains(metricNames, m) {
			return nil, app.UnknownMetric(p.name, m, metricNames...)
		}
	}
	plain, err := p.Evaluate(set)
	if err != nil {
		return nil, err
	}
	s, err := p.source(set, "evaluate")
	if err != nil {
		return nil, err
	}
	class := examples.Numbered(s.ExampleSet, p.labels)
	out := p.confusion(s, class)
	auc := slices.Contains(metrics, "auc") || len(metrics) == 0 && len(class)*len(p.labels)*4 <= aucBytes
	if auc {
		p.areas(s, class, out.Classes)
	}
	known := append(plain, macro(out.Classes, out.Confusion)...)
	for _, m := range known {
		asked := slices.Contains(metrics, m.Name) || len(metrics) == 0 || !slices.Contains(metricNames, m.Name)
		if asked && !math.IsNaN(m.Value) {
			out.Metrics = append(out.Metrics, m)
		}
	}
	if slices.Contains(metrics, "auc") && !slices.ContainsFunc(out.Metrics, func(m train.Metric) bool { return m.Name == "auc" }) {
		return nil, bellows.Errorf(bellows.BadData, "evaluate", p.name, "auc needs rows of at least two classes")
	}
	return out, nil
}

// confusion counts what rows of each class are said to be.
func (p *predictor) confusion(s examples.Source, class []int32) *app.Examination {
	width := len(p.labels)
	out := &app.Examination{Classes: make([]app.ClassFigures, width), Confusion: make([][]int64, width)}
	for c := range out.Confusion {
		out.Confusion[c] = make([]int64, width)
	}
	named := make([]int64, width)
	for r, y := range class {
		guess := best(p.chances(s, r))
		named[guess]++
		if y != examples.UnknownClass {
			out.Confusion[y][guess]++
		}
	}
	for c := range out.Classes {
		f := &out.Classes[c]
		f.Label, f.AUC = p.labels[c], math.NaN()
		for _, n := range out.Confusion[c] {
			f.Rows += n
		}
		right := float64(out.Confusion[c][c])
		f.Precision, f.Recall = ratio(right, float64(named[c])), ratio(right, float64(f.Rows))
		f.F1 = ratio(2*f.Precision*f.Recall, f.Precision+f.Recall)
	}
	return out
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
func (p *predictor) areas(s examples.Source, class []int32, to []app.ClassFigures) {
	each := min(len(to), max(1, aucBytes/4/max(1, len(class))))
	chances, order := make([]float32, each*len(class)), make([]uint64, len(class))
	for first := 0; first < len(to); first += each {
		some := to[first:min(len(to), first+each)]
		for r := range class {
			for k, q := range p.chances(s, r)[first : first+len(some)] {
				chances[k*len(class)+r] = q
			}
		}
		for k := range some {
			some[k].AUC = area(order, chances[k*len(class):][:len(class)], class, int32(first+k))
		}
	}
}

// area is the area under the ROC curve of one class against the others: rows are sorted by their probability, and each row of the class counts
// the others below it. A probability is not negative, so that its bits sort as it does.
func area(order []uint64, chances []float32, class []int32, own int32) float64 {
	for r, q := range chances {
		order[r] = uint64(math.Float32bits(q)) << 1
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
