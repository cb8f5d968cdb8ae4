package mlr

import (
	"fmt"
	"math"
	"strings"

	"bellows"
	"bellows/app"
	"bellows/app/examples"
	"bellows/data"
	"bellows/train"
)

// warm is a saved model that a run begins with. Features and classes that both know go on from its weights, those that are new to it begin
// at zero. What the model knows and the data has no row of stays in the model: weights of features as they were, and classes, which training makes ever less likely.
//
// Invariants: the scores of the first weights are those of the model, for rows of its features (TestAStartScoresAsItsModel); classes of the model come
// first, in its order, so that their numbers stay.
//
// Turned down: to give back the columns that DATA lacks as zeros. A file of tomorrow that lacks one is more often a mistake than a wish, and
// is refused by name. Where rows are sparse a feature that does not occur is no mistake.
type warm struct {
	*predictor
	named   []int32   // by feature of the data, the model's; -1 for none. nil: the same numbers
	feature []int32   // by feature of the run, the model's column of weights; -1 for none
	class   []int32   // by class of the run, the model's; examples.UnknownClass for none
	same    bool      // the rows are those that the model was trained on
	first   []float32 // of the table of weights
}

// begin reads the model that the input names, nil for none.
func (p *problem) begin(in *app.Input) (*warm, error) {
	if in.From == nil {
		return nil, nil
	}
	old, err := openModel(in.From, p.App)
	if err != nil {
		return nil, err
	}
	if p.rule != ruleAverage {
		p.Values.Refuse("rule", "only rule=average begins with a model; leave rule out")
	}
	return &warm{predictor: old, same: old.about.Data == p.digest}, p.Values.Err()
}

// join returns the classes of the model and of the data.
func (w *warm) join(classes []string) ([]string, error) {
	all, find := w.Labels[:len(w.Labels):len(w.Labels)], examples.NewFinder(w.Labels)
	for c := range all {
		w.class = append(w.class, int32(c))
	}
	for _, label := range classes {
		if find.Text(label) == examples.UnknownClass {
			all, w.class = append(all, label), append(w.class, examples.UnknownClass)
		}
	}
	if len(all) > classesMax {
		return nil, bellows.Errorf(bellows.BadData, "train", w.App, "the model and the data have %d distinct labels together, and %d is the most", len(all), classesMax).
			Hinted("give data of the labels that the model knows")
	}
	return all, nil
}

// missed warns of classes without rows.
func (w *warm) missed(classes []string, class []int32) []string {
	seen := make([]bool, len(classes))
	for _, c := range class {
		seen[c] = true
	}
	var missed []string
	for c, there := range seen {
		if !there {
			missed = append(missed, classes[c])
		}
	}
	if len(missed) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("no row has the labels %s, which the model knows: they stay in the model, and every epoch makes them less likely; train on rows of them, too", listed(missed, ", "))}
}

// match finds the features of the data in the model, and returns how many there are of both. The columns of a table are found by their names.
func (w *warm) match(e *data.ExampleSet) (wide int, err error) {
	names, columns := e.FeatureNames, w.columns
	refuse := func(hint, format string, args ...any) (int, error) {
		return 0, bellows.Errorf(bellows.BadData, "train", w.App, format, args...).Hinted(hint)
	}
	const other = "give data of the columns that the model has, or train without --from"
	switch {
	case columns != nil && names != nil:
		w.named = app.Places(names, columns)
		found := make([]bool, len(columns))
		for _, k := range w.named {
			if k >= 0 {
				found[k] = true
			}
		}
		var lacking []string
		for k, there := range found {
			if !there {
				lacking = append(lacking, columns[k])
			}
		}
		if len(lacking) > 0 {
			return refuse(other, "the model that the run begins with has the columns %s, and the data has not", listed(lacking, ", "))
		}
		return len(names), nil
	case e.Sparse() && columns != nil:
		return refuse(other, "the features of the model that the run begins with have names, and those of the data are numbers")
	case e.Sparse() && names != nil:
		return refuse(other, "the features of the model that the run begins with are numbers, and those of the data have names")
	case !e.Sparse() && e.Features != w.Wide:
		return refuse(other, "rows have %d features, those of the model that the run begins with had %d", e.Features, w.Wide)
	}
	return max(e.Features, w.Wide), nil
}

// labelsNamed is how many names an error lists.
const labelsNamed = 8

// listed returns some names.
func listed(names []string, between string) string {
	if len(names) > labelsNamed {
		names = append(names[:labelsNamed:labelsNamed], "…")
	}
	return strings.Join(names, between)
}

// known returns the features of the data that the model has weights of; of nil none.
func (w *warm) known() (list []int32) {
	if w == nil {
		return nil
	}
	for j := range max(len(w.named), w.Wide) {
		if w.column(int32(j)) >= 0 {
			list = append(list, int32(j))
		}
	}
	return list
}

// column returns the model's column of weights of a feature of the data, or -1.
func (w *warm) column(j int32) int32 {
	if w.named != nil {
		j = w.named[j]
	}
	if j >= 0 && w.predictor.Narrow != nil {
		j = w.predictor.Narrow.Number(j)
	}
	if j < 0 || int(j) >= w.Features {
		return -1
	}
	return j
}

// fill makes the first weights from the model's, in the units of the run's scaling.
func (w *warm) fill(p *problem) {
	w.feature = make([]int32, p.Features)
	if p.Narrow != nil {
		for i, j := range p.Narrow.List() {
			w.feature[i] = w.column(j)
		}
	} else {
		for j := range w.feature {
			w.feature[j] = w.column(int32(j))
		}
	}
	old, width := len(w.Labels), p.width
	w.first = make([]float32, (p.Features+1)*width)
	bias := make([]float64, old)
	for c, v := range w.table[w.Features*old:] {
		bias[c] = float64(v)
	}
	w.eachConstant(p, func(_ int, value float64, row []float32) {
		for c, v := range row {
			bias[c] += value * float64(v)
		}
	})
	w.addDistances(p, bias)
	for j, k := range w.feature {
		factor := p.Scale.Factor[j]
		if k < 0 || factor == 0 {
			continue
		}
		for c, v := range w.table[int(k)*old : (int(k)+1)*old] {
			w.first[j*width+c] = v / factor
			if p.Scale.Center != nil {
				bias[c] += float64(v) * float64(p.Scale.Center[j])
			}
		}
	}
	for c, v := range bias {
		w.first[p.Features*width+c] = float32(v)
	}
}

// addDistances adds to the first bias what the distances between origins of the model and of the run come to.
func (w *warm) addDistances(p *problem, bias []float64) {
	apart := map[int32]float64{}
	for _, o := range w.about.Origins {
		apart[o.Feature] -= o.Value
	}
	for _, o := range p.Src.Origins {
		if k := w.feature[o.Feature]; k >= 0 {
			apart[k] += o.Value
		}
	}
	for k, d := range apart {
		for c, v := range w.table[int(k)*len(bias) : (int(k)+1)*len(bias)] {
			bias[c] += d * float64(v)
		}
	}
}

// eachConstant visits the features of the model that are the same in all training rows, so that training does not touch them: which, the value, and the
// model's weights.
func (w *warm) eachConstant(p *problem, visit func(j int, value float64, row []float32)) {
	var x []float32
	if p.Dense {
		x = p.Src.Vector(int(p.Rows[0]), make([]float32, p.Features))
	}
	old := len(w.Labels)
	for j, k := range w.feature {
		if k < 0 || p.Scale.Factor[j] != 0 {
			continue
		}
		value := 0.0
		if x != nil {
			value = float64(x[j])
		}
		visit(j, value, w.table[int(k)*old:(int(k)+1)*old])
	}
}

// kept returns what the features that training does not touch add to the scores of rows, by row and class, beyond
// what they add to all training rows; nil where they add nothing.
func (w *warm) kept(p *problem, s examples.Source, rows []int32) (kept []float32) {
	if w == nil || len(rows) == 0 {
		return nil
	}
	add := func(i int, by float64, row []float32) {
		if by == 0 {
			return
		}
		if kept == nil {
			kept = make([]float32, len(rows)*p.width)
		}
		addTo(float32(by), row, kept[i*p.width:i*p.width+len(row)])
	}
	old := len(w.Labels)
	if !p.Dense {
		for i, r := range rows {
			index, value := s.Entries(int(r))
			for at, j := range index {
				if k := int(w.feature[j]); k >= 0 && p.Scale.Factor[j] == 0 {
					add(i, float64(value[at]), w.table[k*old:(k+1)*old])
				}
			}
		}
		return kept
	}
	var features []int
	var same []float64
	w.eachConstant(p, func(j int, value float64, _ []float32) { features, same = append(features, j), append(same, value) })
	buf := make([]float32, p.Features)
	for i := 0; i < len(rows) && len(features) > 0; i++ {
		x := s.Vector(int(rows[i]), buf)
		for at, j := range features {
			k := int(w.feature[j])
			add(i, float64(x[j])-same[at], w.table[k*old:(k+1)*old])
		}
	}
	return kept
}

// keep gives weights that training has not touched back to the model, and takes what they add to all rows off the bias again.
func (w *warm) keep(p *problem, weights, bias []float32) {
	w.eachConstant(p, func(j int, value float64, row []float32) {
		for c, v := range row {
			weights[c*p.Features+j] = v
			bias[c] = float32(float64(bias[c]) - value*float64(v))
		}
	})
}

// alpha returns the precision of the weights that the model was trained with last, as the first of this run.
func (w *warm) alpha(rows int) float64 {
	if l2 := w.about.L2 * float64(rows); l2 > 0 {
		return min(examples.AlphaMost, max(examples.AlphaLeast, l2))
	}
	return examples.AlphaStart
}

// pace returns the pace of the model's last epoch if the rows are the same; others are learned by the first steps of
// any run.
func (w *warm) pace() float64 {
	if last := w.about.Pace; w.same && last > 0 && !math.IsNaN(last) {
		return min(paceMost, max(paceLeast, last))
	}
	return 1
}

// headline says how much is new to the model.
func (w *warm) headline() string {
	return app.FromModel(app.Known{Of: "features", At: w.feature}, app.Known{Of: "classes", At: w.class})
}

// begin pushes the split's share of the first weights.
func (e *executor) begin(t *train.Task) {
	n, split := e.p.Features+1, int(t.Split())
	lo, hi := app.Share(n, split, e.p.Splits), app.Share(n, split+1, e.p.Splits)
	if lo < hi {
		t.PushRange(weightsTable, row(lo), e.p.warm.first[lo*e.width:hi*e.width])
	}
	t.SignalTaskCompletion()
}
