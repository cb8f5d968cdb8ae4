package mlr

import (
	"math"
	"slices"

	"bellows"
	"bellows/app"
	"bellows/app/epochs"
	"bellows/app/examples"
	"bellows/data"
	"bellows/progress"
	"bellows/table"
)

// problem is a run's data as its executors work on it. newProblem measures all rows; prepare lays out those of the splits that
// begin here, and may be called again for others. Executors read what belongs to their own split.
//
// Invariants: each training row is in one unit (TestEveryRowIsVisitedOnceAnEpoch); of the splits that use a row of the tables in a
// clock one leads it (TestRowsAreLedOnceAClock); what is measured does not depend on the number of processors
// (TestSameBitsForAnyNumberOfSlots).
//
// Turned down: scaling rows as they are visited, which costs each epoch what layout costs once; it remains where scaled rows
// would take more than keptBytes.
type problem struct {
	config
	narrow   *examples.Narrowing // of the features of the data, nil: none
	wide     int                 // features of the data before it
	src      examples.Source     // the data
	class    []int32             // of each of its rows
	rows     []int32             // training rows in the order of splits and clocks
	held     []int32             // rows that stop the run
	test     examples.Source     // rows to show; nil examples where they are the held ones
	testRow  []int32
	testOf   []int32  // class of each test row
	classes  []string // in the order of labels.txt
	warnings []string
	features int
	width    int // number of classes
	dense    bool
	scale    examples.Scaling
	size     float64          // mean squared length of a scaled row
	top      float64          // largest eigenvalue of the scaled second moments
	spectrum []examples.Level // of square, for the evidence

	denseUnits  []denseUnit  // per split and clock; empty where rows are scaled as they are visited
	sparseUnits []sparseUnit // per split and clock
	lastUse     []int32      // by feature: 1 + the last clock of an epoch in which it occurs; nil unless units work on rows of their own
	scored      [][2]scoreUnit
	cut         table.Cut // of the tables
	part        float32   // of a split's way that it pushes
	momentum    bool
	belief      float64 // see policy.regularise
	classed     examples.ClassWeights
	count       examples.RowWeights // of each row of the data by itself
	testCount   examples.RowWeights // of each test row
	weight      examples.RowWeights // of each row of the data, by itself and by its class
	weighed     []string            // what the headline says of weights
	warm        *warm               // nil without a model to begin with
	digest      string              // of the data
	full        bool                // units work on whole tables
}

// The bounds of layout: rows of a clock of a split, bytes of scaled rows that are kept.
const (
	splitsAuto  = 16
	splitsLeast = 4
	clocksAuto  = 10
	clocksLeast = 2
	clocksMax   = 1000
	unitDense   = 64
	unitSparse  = 512
	batchMost   = 64
	batchLeast  = 8
	batchesUnit = 5
	keptBytes   = 1 << 30
)

func newProblem(in app.Input, c config) (*problem, error) {
	p := &problem{config: c, digest: in.Data.Digest()}
	if err := p.know(in); err != nil {
		return nil, err
	}
	p.divide(in)
	if err := p.check(); err != nil {
		return nil, err
	}
	if err := p.weigh(in); err != nil {
		return nil, err
	}
	p.dense = p.src.Packed(2 * keptBytes)
	examples.Settle(&p.src, &p.test, p.dense, p.scaling)
	if p.charges && p.l2 < 0 {
		p.l2 = examples.Strength(p.dense, len(p.rows))
	}
	p.layout()
	p.chooseBatch()
	p.chooseParts()
	p.scale = examples.Scale(p.meter, p.src, p.dense, p.rows, p.weight, p.scaling)
	if err := p.meter.Err(); err != nil {
		return nil, err
	}
	p.belief = examples.Belief(p.dense, len(p.rows), p.features)
	p.size, p.spectrum = p.scale.Length(), examples.NewSpectrum(p.scale.Square)
	p.build()
	if err := p.meter.Err(); err != nil {
		return nil, err
	}
	if p.warm != nil {
		p.warm.fill(p)
	}
	return p, nil
}

// know counts features and classes, of the data and of the model that the run begins with.
func (p *problem) know(in app.Input) (err error) {
	set := in.Data.Examples
	if p.classes, p.warnings, err = classesOf(in.Data, p.name); err != nil {
		return err
	}
	if p.warm, err = p.begin(&in); err != nil {
		return err
	}
	p.wide = set.Features
	if p.warm != nil {
		if p.wide, err = p.warm.match(set); err != nil {
			return err
		}
		if p.classes, err = p.warm.join(p.classes); err != nil {
			return err
		}
	}
	p.features, p.width = p.wide, len(p.classes)
	if p.narrow = examples.NarrowingOf(set, p.wide, p.warm.known()); p.narrow != nil {
		set, p.features = p.narrow.Of(set), p.narrow.Count
	}
	p.src = examples.Source{ExampleSet: set, Width: p.features}
	p.class = examples.Numbered(set, p.classes)
	if p.warm != nil {
		p.warnings = append(p.warnings, p.warm.missed(p.classes, p.class)...)
	}
	return nil
}

// divide says which rows train, which stop the run and which are shown.
func (p *problem) divide(in app.Input) {
	if in.Test != nil {
		set := p.narrow.Of(in.Test.Examples)
		p.test = examples.Source{ExampleSet: set, Width: p.features}
		p.testOf = examples.Numbered(set, p.classes)
		p.warnings = append(p.warnings, examples.StrangeWarning(examples.Strange(p.testOf), set.Rows())...)
		p.testRow = p.test.AllRows()
	}
	p.rows, p.held = examples.Divide(p.src.Rows(), p.seed, data.HeldPercent(in.Test != nil, p.EarlyStop))
}

// weigh finds what rows count, by themselves and by their classes.
func (p *problem) weigh(in app.Input) error {
	told, counts := []string{"", ""}, make([]float64, p.width)
	p.count, told[0] = examples.NewRowWeights(p.src.ExampleSet, p.rows)
	if p.testCount = p.count; in.Test != nil {
		p.testCount = p.test.Weight
	}
	for _, r := range p.rows {
		counts[p.class[r]] += p.count.Of(int(r))
	}
	p.classed, told[1] = examples.ReadClassWeights(p.values, p.classes, counts)
	p.weight = p.count.By(p.classed, p.class)
	p.weighed = slices.DeleteFunc(told, func(s string) bool { return s == "" })
	return p.values.Err()
}

func (p *problem) check() error {
	if len(p.rows) < 2 {
		return bellows.Errorf(bellows.BadData, "train", p.name, "%d of %d rows are left for training", len(p.rows), p.src.Rows()).
			Hinted("give more rows")
	}
	if p.features < 1 {
		return bellows.Errorf(bellows.BadData, "train", p.name, "the rows have no features")
	}
	if p.stride() > math.MaxInt32/(p.features+1) {
		return bellows.Errorf(bellows.BadData, "train", p.name, "%d classes times %d features are too many weights", p.width, p.features)
	}
	return nil
}

// layout chooses splits and clocks so that a unit has work enough to be worth its exchange.
func (p *problem) layout() {
	least := unitDense
	if !p.dense {
		least = unitSparse
	}
	units := len(p.rows) / least
	if p.splits == 0 {
		p.splits = splitsAuto
		if p.charges && p.dense {
			p.splits = splitsLeast
		}
		for p.splits > splitsLeast && 4*p.splits > units {
			p.splits /= 2
		}
		p.splits = max(p.splits, p.least)
	}
	p.splits = min(p.splits, len(p.rows))
	if p.clocks == 0 && p.charges {
		p.clocks = examples.Steps(p.dense, len(p.rows), p.splits)
	}
	if p.clocks == 0 {
		p.clocks = min(clocksAuto, max(clocksLeast, units/p.splits))
	}
	p.clocks = min(p.clocks, max(1, len(p.rows)/p.splits))
}

// chooseBatch makes batches of dense rows large enough for the matrix kernels and small enough for
// some steps a clock.
func (p *problem) chooseBatch() {
	if p.batch > 0 {
		return
	}
	p.batch = 1
	if p.dense {
		rows := len(p.rows) / (p.splits * p.clocks)
		for p.batch = batchLeast; p.batch < batchMost && rows > batchesUnit*p.batch; {
			p.batch *= 2
		}
	}
}

// chooseParts says how splits' ways are added up: averaged, and under BSP with momentum. Reads that
// miss updates act as momentum themselves (Mitliagkas et al. 2016, "Asynchrony begets momentum") and
// add to it: with both, training diverges. More than the average's weight instead does not pay either:
// at 1.5 noisy data swing, at 2 text does.
func (p *problem) chooseParts() {
	p.part = 1 / float32(p.splits)
	p.momentum = p.rule == ruleAverage && p.consistency == table.BSP
}

// work is the layout of a run as its driver and its executors see it.
func (p *problem) work() epochs.Layout {
	l := epochs.Layout{Splits: p.splits, Clocks: p.clocks}
	if p.warm != nil {
		l.Opens = 1
	}
	return l
}

// items implements train.Job.Items: an epoch is the training clocks and one that scores.
func (p *problem) items(s bellows.SplitID, clock bellows.Clock) bellows.Range {
	at := p.work().Place(clock)
	if at == p.clocks || at == epochs.Opening {
		return bellows.Range{}
	}
	n := len(app.Part(p.rows, int(s), p.splits))
	return bellows.Range{Begin: app.Share(n, at, p.clocks), End: app.Share(n, at+1, p.clocks)}
}

// unitRows are the rows that a split visits in a clock.
func (p *problem) unitRows(split, at int) []int32 {
	return app.Part(app.Part(p.rows, split, p.splits), at, p.clocks)
}

// build measures the rows.
func (p *problem) build() {
	p.cut = p.tables()[weightsTable].Cut()
	if p.full = p.dense; p.dense {
		p.bend()
	} else {
		p.buildSparse()
		p.top = p.size
	}
}

// prepare lays out what the executors of some splits visit, beside that of others.
func (p *problem) prepare(active []bellows.SplitID) error {
	if p.dense {
		p.keepDense(active)
	} else {
		p.keepSparse(active)
	}
	if p.scored == nil {
		p.scored = make([][2]scoreUnit, p.splits)
	}
	p.meter.Begin(progress.Part{Doing: "laying out rows that are scored", Total: int64(len(active))})
	app.ForEach(len(active), func(i int) {
		if p.meter.Add(1) != nil {
			return
		}
		s := int(active[i])
		p.scored[s] = [2]scoreUnit{
			p.newScoreUnit(p.training(), app.Part(p.held, s, p.splits)),
			p.newScoreUnit(seen{p.test, p.testOf, nil, p.testCount}, app.Part(p.testRow, s, p.splits)),
		}
	})
	return p.meter.Err()
}

// seen is rows with what losses see of them beside their features: the class of each, what it weighs in training, and what it counts in figures that are shown.
type seen struct {
	examples.Source
	class         []int32
	weight, count examples.RowWeights
}

// training is the data, of whose rows some train.
func (p *problem) training() seen { return seen{p.src, p.class, p.weight, p.count} }

// release gives back what prepare has laid out of a split.
func (p *problem) release(split bellows.SplitID) {
	for at := range p.clocks {
		if unit := int(split)*p.clocks + at; len(p.denseUnits) > 0 {
			p.denseUnits[unit] = denseUnit{}
		} else if !p.dense {
			p.sparseUnits[unit] = sparseUnit{}
		}
	}
	p.scored[split] = [2]scoreUnit{}
}

// stepAt is the step of a batch of that many rows: the inverse of the expected smoothness (Gower et
// al. 2019, "SGD: general analysis and improved rates", prop. 3.8), with mean lengths for largest.
func (p *problem) stepAt(batch int) float64 {
	return p.lr * 2 / (p.top + (p.size-p.top)/float64(batch))
}
