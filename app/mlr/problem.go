package mlr

import (
	"math"
	"sync"

	"bellows"
	"bellows/app"
	"bellows/app/examples"
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
	examples.Problem
	choices
	class   []int32  // of each row of the data
	testOf  []int32  // class of each test row
	classes []string // in the order of labels.txt
	width   int      // number of classes
	size    float64  // mean squared length of a scaled row

	denseUnits  []denseUnit  // per split and clock; empty where rows are scaled as they are visited
	sparseUnits []sparseUnit // per split and clock
	scored      [][2]scoreUnit
	renumberers sync.Pool // of *examples.Renumberer
	buffers     sync.Pool // of *buffers
	cut         table.Cut // of the tables
	part        float32   // of a split's way that it pushes
	momentum    bool
	warm        *warm  // nil without a model to begin with
	digest      string // of the data
	full        bool   // units work on whole tables
}

// The bounds of layout: rows of a clock of a split, bytes of scaled rows that are kept.
const (
	splitsAuto  = 16
	splitsLeast = 4
	clocksAuto  = 10
	clocksLeast = 2
	unitDense   = 64
	unitSparse  = 512
	batchMost   = 64
	batchLeast  = 8
	batchesUnit = 5
	keptBytes   = 1 << 30
)

func newProblem(in app.Input, c config) (*problem, error) {
	p := &problem{Problem: examples.Problem{Config: c.Config}, choices: c.choices, digest: in.Data.Digest()}
	if err := p.know(in); err != nil {
		return nil, err
	}
	if p.Divide(&in, p.EarlyStop); p.Test.ExampleSet != nil {
		p.testOf = examples.Numbered(p.Test.ExampleSet, p.classes)
		p.Warnings = append(p.Warnings, examples.StrangeWarning(examples.Strange(p.testOf), p.Test.Rows())...)
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	if err := p.Weigh(&in, p.classes, p.class); err != nil {
		return nil, err
	}
	p.Dense = p.Src.Packed(2 * keptBytes)
	examples.Settle(&p.Src, &p.Test, p.Dense, p.Scaling)
	if p.charges && p.l2 < 0 {
		p.l2 = examples.Strength(p.Dense, len(p.Rows))
	}
	p.layout()
	p.chooseBatch()
	p.chooseParts()
	if err := p.Measure(); err != nil {
		return nil, err
	}
	p.Belief = examples.Belief(p.Dense, len(p.Rows), p.Features)
	p.size, p.Spectrum = p.Scale.Length(), examples.NewSpectrum(p.Scale.Square)
	p.build()
	p.Scale.DropSquares()
	if err := p.Meter.Err(); err != nil {
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
	if p.classes, p.Warnings, err = classesOf(in.Data, p.App); err != nil {
		return err
	}
	if p.warm, err = p.begin(&in); err != nil {
		return err
	}
	wide := set.Features
	if p.warm != nil {
		if wide, err = p.warm.match(set); err != nil {
			return err
		}
		if p.classes, err = p.warm.join(p.classes); err != nil {
			return err
		}
		p.Opens = 1
	}
	p.Know(&in, wide, p.warm.known())
	p.width = len(p.classes)
	p.class = examples.Numbered(p.Src.ExampleSet, p.classes)
	if p.warm != nil {
		p.Warnings = append(p.Warnings, p.warm.missed(p.classes, p.class)...)
	}
	return nil
}

func (p *problem) check() error {
	if err := p.Check(""); err != nil {
		return err
	}
	if p.stride() > math.MaxInt32/(p.Features+1) {
		return bellows.Errorf(bellows.BadData, "train", p.App, "%d classes times %d features are too many weights", p.width, p.Features)
	}
	return nil
}

// layout chooses splits and clocks so that a unit has work enough to be worth its exchange.
func (p *problem) layout() {
	least := unitDense
	if !p.Dense {
		least = unitSparse
	}
	units := len(p.Rows) / least
	if p.Splits == 0 {
		p.Splits = splitsAuto
		if p.charges && p.Dense {
			p.Splits = splitsLeast
		}
		for p.Splits > splitsLeast && 4*p.Splits > units {
			p.Splits /= 2
		}
		p.Splits = max(p.Splits, p.Least)
	}
	p.Splits = min(p.Splits, len(p.Rows))
	if p.Clocks == 0 && p.charges {
		p.Clocks = examples.Steps(p.Dense, len(p.Rows), p.Splits)
	}
	if p.Clocks == 0 {
		p.Clocks = min(clocksAuto, max(clocksLeast, units/p.Splits))
	}
	p.Clocks = min(p.Clocks, max(1, len(p.Rows)/p.Splits))
	p.Visits = p.Clocks
}

// chooseBatch makes batches of dense rows large enough for the matrix kernels and small enough for
// some steps a clock.
func (p *problem) chooseBatch() {
	if p.batch > 0 {
		return
	}
	p.batch = 1
	if p.Dense {
		rows := len(p.Rows) / (p.Splits * p.Clocks)
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
	p.part = 1 / float32(p.Splits)
	p.momentum = p.rule == ruleAverage && p.Consistency == table.BSP
}

// build measures the rows.
func (p *problem) build() {
	p.cut = p.tables()[weightsTable].Cut()
	if p.Top, p.full = p.Bend(), p.Dense; !p.Dense {
		p.buildSparse()
	}
}

// prepare lays out what the executors of some splits visit, beside that of others.
func (p *problem) prepare(active []bellows.SplitID) error {
	if p.Dense {
		p.keepDense(active)
	} else {
		p.keepSparse(active)
	}
	if p.scored == nil {
		p.scored = make([][2]scoreUnit, p.Splits)
	}
	p.Meter.Begin(progress.Part{Doing: "laying out rows that are scored", Total: int64(len(active))})
	app.ForEach(len(active), func(i int) {
		if p.Meter.Add(1) != nil {
			return
		}
		s := int(active[i])
		p.scored[s] = [2]scoreUnit{
			p.newScoreUnit(p.training(), app.Part(p.Held, s, p.Splits)),
			p.newScoreUnit(seen{p.Test, p.testOf, nil, p.TestCount}, app.Part(p.TestRow, s, p.Splits)),
		}
	})
	return p.Meter.Err()
}

// seen is rows with what losses see of them beside their features: the class of each, what it weighs in training, and what it counts in figures that are shown.
type seen struct {
	examples.Source
	class         []int32
	weight, count examples.RowWeights
}

// copyRows lays out all splits and forgets the rows that they were made of: the laid out rows of a run in one process
// take as much memory again.
func (p *problem) copyRows() error {
	all := make([]bellows.SplitID, p.Splits)
	for s := range all {
		all[s] = bellows.SplitID(s)
	}
	if err := p.prepare(all); err != nil {
		return err
	}
	for _, s := range []*examples.Source{&p.Src, &p.Test} {
		if s.ExampleSet != nil {
			rest := *s.ExampleSet
			rest.Offset, rest.Index, rest.Value = nil, nil, nil
			s.ExampleSet = &rest
		}
	}
	p.LastUse = nil
	return nil
}

// training returns the data, of whose rows some train.
func (p *problem) training() seen { return seen{p.Src, p.class, p.Weight, p.Count} }

// release gives back what prepare has laid out of a split.
func (p *problem) release(split bellows.SplitID) {
	for at := range p.Clocks {
		if unit := int(split)*p.Clocks + at; len(p.denseUnits) > 0 {
			p.denseUnits[unit] = denseUnit{}
		} else if !p.Dense {
			p.sparseUnits[unit] = sparseUnit{}
		}
	}
	p.scored[split] = [2]scoreUnit{}
}

// stepAt returns the step of a batch of that many rows: the inverse of the expected smoothness (Gower et
// al. 2019, "SGD: general analysis and improved rates", prop. 3.8), with mean lengths for largest.
func (p *problem) stepAt(batch int) float64 {
	return p.lr * 2 / (p.Top + (p.size-p.Top)/float64(batch))
}
