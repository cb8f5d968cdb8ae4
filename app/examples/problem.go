package examples

import (
	"fmt"
	"math"
	"slices"

	"bellows"
	"bellows/app"
	"bellows/app/epochs"
	"bellows/data"
	"bellows/model"
	"bellows/progress"
	"bellows/table"
	"bellows/vec"
)

// Config is the settings that all runs over examples have. Zero splits and clocks are to be chosen from the data.
type Config struct {
	App            string // the application's name, for errors
	Values         app.Values
	Scaling        string // of features
	Splits, Clocks int
	Seed           uint64
	Consistency    table.Consistency
	epochs.Ending
	Meter *progress.Meter
	Least int // of the splits, where they are chosen
}

// ReadConfig reads the settings scale, splits, clocks and those of epochs.ReadEnding. A run has at most so many epochs
// unless the input names their number.
func ReadConfig(in *app.Input, v app.Values, name string, most int) Config {
	return Config{
		App: name, Values: v, Scaling: v.Choice("scale", Schemes()...), Splits: v.IntOrAuto("splits", 1, 1<<14),
		Clocks: v.IntOrAuto("clocks", 1, clocksMax), Seed: in.Seed, Consistency: in.Consistency(table.BSP),
		Ending: epochs.ReadEnding(in, v, most), Meter: in.Meter, Least: in.SplitsLeast(),
	}
}

// clocksMax bounds the clocks of an epoch.
const clocksMax = 1000

// Problem is the data of a run as linear models of one score and of several see it: its rows, which of them train,
// what they count, and how they are scaled and dealt to splits.
//
// The caller's duties, in order: Know, Divide, Check, Weigh; then it sets Dense and what Config leaves to the data, and
// Scale.
type Problem struct {
	Config
	Narrow    *Narrowing // of the features of the data, nil: none
	Wide      int        // features of the data before it
	Features  int
	Src       Source  // the data
	Rows      []int32 // training rows in the order of splits and clocks
	Held      []int32 // rows that are held out
	Test      Source  // rows to show; no examples without a test set
	TestRow   []int32
	Warnings  []string
	Dense     bool
	Scale     Scaling
	Top       float64      // largest eigenvalue of the scaled second moments
	Spectrum  []Level      // for the evidence
	Belief    float64      // the part of the evidence that is taken
	Classed   ClassWeights // nil: all classes count alike
	Count     RowWeights   // of each row of the data
	TestCount RowWeights   // of each test row
	Weight    RowWeights   // of each row of the data, times that of its class
	Weighed   []string     // what the headline says of weights
	Opens     int          // clocks before the first epoch
	Visits    int          // clocks of an epoch that visit rows
	LastUse   []int32      // by feature: see Source.LastUse; nil unless splits work on rows of their own
}

// CheckLabelled returns an error unless a set is labelled examples.
func CheckLabelled(set *data.Set, op, name string) error {
	if set == nil || set.Kind != data.Examples {
		return bellows.Errorf(bellows.BadData, op, name, "the data must be labelled examples")
	}
	return nil
}

// Know counts the features of the data and of the test set: wide is how many there may be, and known those that are
// trained whether they occur or not.
func (p *Problem) Know(in *app.Input, wide int, known []int32) {
	set := in.Data.Examples
	p.Wide, p.Features = wide, wide
	if p.Narrow = NarrowingOf(set, wide, known); p.Narrow != nil {
		set, p.Features = p.Narrow.Apply(set), p.Narrow.Count
	}
	p.Src = Source{ExampleSet: set, Width: p.Features}
	if in.Test != nil {
		p.Test = Source{ExampleSet: p.Narrow.Apply(in.Test.Examples), Width: p.Features}
		p.TestRow = p.Test.AllRows()
	}
}

// Divide says which rows train and which are held out, and whether those stop the run.
func (p *Problem) Divide(in *app.Input, stops bool) {
	p.Rows, p.Held = Divide(p.Src.Rows(), p.Seed, data.HeldPercent(in.Test != nil, stops))
}

// Check returns an error if there is too little to train on. The hint is what to do about rows without features.
func (p *Problem) Check(hint string) error {
	if len(p.Rows) < 2 {
		return bellows.Errorf(bellows.BadData, "train", p.App, "%d of %d rows are left for training", len(p.Rows), p.Src.Rows()).
			Hinted("give more rows")
	}
	if p.Features < 1 {
		err := bellows.Errorf(bellows.BadData, "train", p.App, "the rows have no features")
		if hint != "" {
			err = err.Hinted(hint)
		}
		return err
	}
	return nil
}

// Weigh computes the weights of rows, from their own and from their classes: class has the class of each row. Without
// classes, a row has its own weight.
func (p *Problem) Weigh(in *app.Input, classes []string, class []int32) error {
	told, counts := []string{"", ""}, make([]float64, len(classes))
	p.Count, told[0] = NewRowWeights(p.Src.ExampleSet, p.Rows)
	if p.TestCount = p.Count; in.Test != nil {
		p.TestCount = p.Test.Weight
	}
	if p.Weight = p.Count; classes != nil {
		for _, r := range p.Rows {
			counts[class[r]] += p.Count.Weight(int(r))
		}
		p.Classed, told[1] = ReadClassWeights(p.Values, classes, counts)
		p.Weight = p.Count.ScaleByClass(p.Classed, class)
	}
	p.Weighed = slices.DeleteFunc(told, func(s string) bool { return s == "" })
	return p.Values.Err()
}

// Measure finds the scale of features, and returns an error if numbers of 32 bits cannot hold it.
func (p *Problem) Measure() error {
	p.Scale = Scale(p.Meter, p.Src, p.Dense, p.Rows, p.Weight, p.Scaling)
	if err := p.Meter.Err(); err != nil {
		return err
	}
	for j, factor := range p.Scale.Factor {
		switch f := float64(factor); {
		case math.IsInf(f, 0):
			return p.beyond("the values of %s are too small for numbers of 32 bits", j, "multiply that column, such as by 1e30")
		case math.IsNaN(f):
			return p.beyond("the values of %s are too far from each other for numbers of 32 bits", j, "divide that column, such as by 1e10")
		}
	}
	return nil
}

// CheckWeight returns an error if 32 bits hold the weight of a scaled feature, and not that of the feature as it is.
func (p *Problem) CheckWeight(j int, scaled, weight float64) error {
	if math.IsInf(float64(float32(weight)), 0) && !math.IsInf(scaled, 0) {
		return p.beyond("the values of %s are so small that its weight is too large for a number of 32 bits", j,
			"multiply that column, such as by 1e30")
	}
	return nil
}

// beyond returns the error for a feature that 32 bits cannot hold.
func (p *Problem) beyond(format string, j int, hint string) error {
	column := fmt.Sprintf("feature %d", j+p.Src.IndexBase)
	switch names := p.Src.FeatureNames; {
	case names != nil:
		column = "column " + names[j]
	case p.Narrow != nil:
		column = fmt.Sprintf("feature %d", int(p.Narrow.List()[j])+p.Src.IndexBase)
	}
	return bellows.Errorf(bellows.BadData, "train", p.App, format, column).Hinted(hint + ", or leave it out")
}

// Form says in words how rows are laid out.
func (p *Problem) Form() string {
	form := "dense"
	if !p.Dense {
		form = "sparse"
	}
	if p.Narrow != nil {
		form += fmt.Sprintf(", where %d features occur", p.Features)
	}
	return form
}

// Work returns the layout of the run as its driver and its executors see it.
func (p *Problem) Work() epochs.Layout {
	return epochs.Layout{Opens: p.Opens, Splits: p.Splits, Clocks: p.Clocks}
}

// Items implements train.Job.Items: an epoch is the clocks that visit rows, and one that scores.
func (p *Problem) Items(s bellows.SplitID, clock bellows.Clock) bellows.Range {
	at := p.Work().Place(clock)
	if at == epochs.Opening || at >= p.Visits {
		return bellows.Range{}
	}
	n := len(app.Part(p.Rows, int(s), p.Splits))
	return bellows.Range{Begin: app.Share(n, at, p.Visits), End: app.Share(n, at+1, p.Visits)}
}

// Visited returns the rows that a split visits in a clock.
func (p *Problem) Visited(split, at int) []int32 {
	return app.Part(app.Part(p.Rows, split, p.Splits), at, p.Visits)
}

// Bend returns how much the rows bend along the direction in which they bend most, by some of them: the largest
// eigenvalue of the scaled second moments of dense rows, and at most the mean squared length of a row.
func (p *Problem) Bend() float64 {
	length := p.Scale.Length()
	if !p.Dense {
		return length
	}
	sample := p.Rows[:min(len(p.Rows), CurvatureRows)]
	x := make([]float32, len(sample)*p.Features)
	p.LayDense(x, p.Src, sample)
	for i, r := range sample {
		if p.Weight != nil {
			vec.Scale(float32(math.Sqrt(p.Weight.Weight(int(r)))), x[i*p.Features:(i+1)*p.Features])
		}
	}
	return min(length, max(1, Curvature(x, p.Features)))
}

// LayDense writes scaled rows one after the other.
func (p *Problem) LayDense(x []float32, s Source, rows []int32) {
	for i, r := range rows {
		dst := x[i*p.Features : (i+1)*p.Features]
		p.Scale.Apply(s.Vector(int(r), dst), dst)
	}
}

// Sparse is scaled sparse rows: row i has the features Index[Offset[i]:Offset[i+1]].
type Sparse struct {
	Offset []int32
	Index  []int32
	Value  []float32
}

// Entries returns row i.
func (s *Sparse) Entries(i int) ([]int32, []float32) {
	lo, hi := s.Offset[i], s.Offset[i+1]
	return s.Index[lo:hi], s.Value[lo:hi:hi]
}

// Distance returns how many entries row j lies ahead of row i; 0 where no rows are sparse.
func (s *Sparse) Distance(i, j int) int {
	if s.Offset == nil {
		return 0
	}
	return int(s.Offset[j]) - int(s.Offset[i])
}

// NewSparse finds where the entries of rows begin, and makes room for them.
func NewSparse(s Source, rows []int32) Sparse {
	out := Sparse{Offset: make([]int32, len(rows)+1)}
	for i, r := range rows {
		index, _ := s.Entries(int(r))
		out.Offset[i+1] = out.Offset[i] + int32(len(index))
	}
	entries := out.Offset[len(rows)]
	out.Index, out.Value = make([]int32, entries), make([]float32, entries)
	return out
}

// LaySparse returns scaled sparse rows.
func (p *Problem) LaySparse(s Source, rows []int32) Sparse {
	out := NewSparse(s, rows)
	for i, r := range rows {
		p.LayRow(&out, i, s, r)
	}
	return out
}

// LayRow copies the entries of row r of the data to row i, scaled. It panics if the problem lacks the feature of an entry:
// products do not look.
func (p *Problem) LayRow(to *Sparse, i int, s Source, r int32) {
	index, value := s.Entries(int(r))
	vec.CheckIndices(index, p.Features)
	own, scaled := to.Entries(i)
	copy(own, index)
	if p.Scaling == ScaleNone {
		copy(scaled, value)
		return
	}
	for k, j := range index {
		scaled[k] = value[k] * p.Scale.Factor[j]
	}
}

// IDs returns the lists of a model that say what its labels and its weights are of, and how many features the data has
// where the model has only some of them, else 0.
func (p *Problem) IDs(labels []string) (ids []model.IDs, features int) {
	if labels != nil {
		ids = append(ids, model.IDs{File: LabelsFile, Names: labels})
	}
	if p.Narrow != nil {
		return append(ids, model.IDs{File: FeaturesFile, Names: p.Narrow.Features()}), p.Wide
	}
	if names := p.Src.FeatureNames; names != nil {
		ids = append(ids, model.IDs{File: ColumnsFile, Names: names})
	}
	return ids, 0
}

// Reserve returns scratch of n values, grown where needed.
func Reserve(s *[]float32, n int) []float32 {
	if cap(*s) < n {
		*s = make([]float32, n)
	}
	return (*s)[:n]
}
