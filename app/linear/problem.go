package linear

import (
	"fmt"
	"math"
	"slices"

	"bellows"
	"bellows/app"
	"bellows/app/epochs"
	"bellows/app/examples"
	"bellows/app/linear/internal/loss"
	"bellows/data"
	"bellows/progress"
	"bellows/table"
	"bellows/train"
)

// problem is a run's data as its executors work on it. newProblem measures all rows; prepare lays out those of the splits that begin here, and may
// be called again for others. Executors read what belongs to their own split.
//
// Invariants: each training row is in one block; sharing[at][j] is the number of splits whose blocks of clock at use feature j, whoever runs them
// (TestSharing); nothing depends on the number of processors (TestSameBitsForAnyNumberOfSlots).
type problem struct {
	config
	targets
	narrow    *examples.Narrowing // of the features of the data, nil: none
	wide      int                 // features of the data before it
	src       examples.Source
	target    []float32 // of each row of the data
	rows      []int32   // training rows in the order of splits and clocks
	held      []int32
	test      examples.Source // rows to show; nil examples where they are the held ones
	testOf    []float32       // target of each test row; NaN of a class that no training row has
	testRow   []int32
	warnings  []string
	features  int
	dense     bool
	scale     examples.Scaling
	bias      float32 // the value of the feature that is the same in all rows
	spectrum  []examples.Level
	belief    float64
	newton    bool    // Newton's method finds the best, by a Hessian or along columns
	steps     string  // the solver, where it steps by a rule of the table; "": another
	top       float64 // of steps: see bend
	classed   examples.ClassWeights
	count     examples.RowWeights // of each row of the data by itself
	testCount examples.RowWeights // of each test row
	weight    examples.RowWeights // of each row of the data, by itself and by its class
	apart     [2]float64          // the weight of training rows that are not kept aside while l2 is sought, and what they count by themselves
	weighed   []string            // what the headline says of weights
	lastUse   []int32             // by feature, of steps on rows of their own: 1 + the last clock of an epoch in which it is used
	visits    int                 // clocks of an epoch that visit rows, each of them a block
	whole     bool                // blocks work on whole tables
	sharing   [][]uint16          // by clock and feature, of sparse rows
	blocks    []block             // by split and clock
	scored    []block             // by split: rows to show
	alone     int                 // entries of rows that one split takes alone: entriesAlone
	lone      bool                // dual ascent is the first split's, over the rows of all; others measure theirs
	all       block               // the rows of all, where the first split ascends alone and is here
	most      int                 // rows of a block
	steepest  float64             // the least l1 that leaves no weight, where l1 is chosen
	thin      int                 // of dense rows: see thinned
	folds     loss.Folds          // of training rows, where the scores are calibrated
	train     app.Train           // trains the models of folds
	columns   []columns           // by split, where Newton's method goes down along them
}

// The bounds of layout: rows of a clock of a split, bytes of scaled rows.
const (
	splitsDense  = 4
	splitsSparse = 16
	splitsLeast  = 4
	clocksAuto   = 10
	clocksLeast  = 2
	clocksMax    = 1000
	blockLeast   = 64
	denseBytes   = 2 << 30 // of scaled rows
)

func newProblem(in app.Input, c config) (*problem, error) {
	p := &problem{config: c, alone: entriesAlone, train: in.Train}
	if err := p.know(in); err != nil {
		return nil, err
	}
	if err := p.arrange(in); err != nil {
		return nil, err
	}
	return p, p.deal()
}

// arrange weighs, scales and lays out the rows that train.
func (p *problem) arrange(in app.Input) error {
	if err := p.weigh(in); err != nil {
		return err
	}
	p.dense = p.src.Packed(denseBytes)
	examples.Settle(&p.src, &p.test, p.dense, p.scaling)
	if err := p.solve(); err != nil {
		return err
	}
	p.layout()
	p.thin = p.thinned()
	if err := p.measure(); err != nil {
		return err
	}
	p.aim()
	if p.path > 0 && len(p.rows) < pathRows {
		return bellows.Errorf(bellows.BadData, "train", name, "path=%d needs %d rows to train and to choose, and there are %d", p.path, pathRows, len(p.rows)).Hinted("leave path out, and give l1 or l2")
	}
	if p.seekL1 && p.chosen && !p.corners {
		p.chosen, p.l2 = false, 0
	}
	if p.seekL1 {
		if p.steepest = p.steep(); p.seeks() {
			p.l1 = p.steepest
		} else {
			p.l1 = fewL1 * p.steepest
		}
	}
	p.blocks, p.scored, p.columns = make([]block, p.splits*p.visits), make([]block, p.splits), make([]columns, p.splits)
	switch {
	case p.steps != "":
		if p.bend(); !p.dense {
			p.use()
		}
	case !p.dense && p.dual() && !p.lone:
		p.share()
	}
	return p.meter.Err()
}

// know finds out what rows and labels there are.
func (p *problem) know(in app.Input) error {
	set := in.Data.Examples
	if err := p.readLabels(in.Data); err != nil {
		return err
	}
	p.wide, p.features = set.Features, set.Features
	if p.narrow = examples.NarrowingOf(set, p.wide, nil); p.narrow != nil {
		set, p.features = p.narrow.Of(set), p.narrow.Count
	}
	p.src = examples.Source{ExampleSet: set, Width: p.features}
	if in.Test != nil {
		set := p.narrow.Of(in.Test.Examples)
		p.test = examples.Source{ExampleSet: set, Width: p.features}
		p.testRow = p.test.AllRows()
	}
	p.rows, p.held = examples.Divide(p.src.Rows(), p.seed, data.HeldPercent(in.Test != nil, false))
	if in.Test == nil {
		p.test, p.testRow = p.src, p.held
	}
	switch {
	case len(p.rows) < 2:
		return bellows.Errorf(bellows.BadData, "train", name, "%d of %d rows are left for training", len(p.rows), p.src.Rows()).Hinted("give more rows")
	case p.features < 1:
		return bellows.Errorf(bellows.BadData, "train", name, "the rows have no features").Hinted("give rows of a label and at least one feature")
	}
	return nil
}

// weigh finds what rows count, by themselves and by their classes.
func (p *problem) weigh(in app.Input) error {
	told := ""
	if p.count, told = examples.NewRowWeights(p.src.ExampleSet, p.rows); told != "" {
		p.weighed = append(p.weighed, told)
	}
	if p.testCount = p.count; in.Test != nil {
		p.testCount = p.test.Weight
	}
	if p.weight = p.count; p.weighs {
		class, counts := examples.Numbered(p.src.ExampleSet, p.names), make([]float64, len(p.names))
		for _, r := range p.rows {
			counts[class[r]] += p.count.Of(int(r))
		}
		p.classed, told = examples.ReadClassWeights(p.values, p.names, counts)
		if err := p.values.Err(); err != nil {
			return err
		}
		p.weight, p.weighed = p.count.By(p.classed, class), append(p.weighed, told)
	}
	for place, r := range p.rows {
		if !p.aside(place) {
			p.apart[0] += p.weight.Of(int(r))
			p.apart[1] += p.count.Of(int(r))
		}
	}
	return nil
}

// solve chooses the solver.
func (p *problem) solve() error {
	if p.solver == app.Auto {
		switch {
		case p.l1 > 0 && p.corners:
			p.solver = solverDual
		case p.features <= newtonMost:
			p.solver = solverNewton
		case p.l1 > 0:
			p.solver = solverDescent
		default:
			p.solver = solverDual
		}
	}
	if p.solver == solverNewton && p.features > newtonMost {
		return bellows.Errorf(bellows.Config, "train", name, "solver=newton is for up to %d features, and the rows have %d", newtonMost, p.features).
			Hinted("leave it out: other solvers take any number")
	}
	if rules[p.solver] != nil {
		p.steps = p.solver
	}
	p.newton = p.solver == solverNewton || p.solver == solverDescent
	return nil
}

// dual says whether the solver is dual coordinate ascent.
func (p *problem) dual() bool { return !p.newton && p.steps == "" }

// entries is how many values the rows have.
func (p *problem) entries() int {
	if p.dense {
		return p.src.Rows() * p.features
	}
	return len(p.src.Value)
}

// layout chooses splits and clocks so that a block has work enough to be worth its exchange. Up to entriesAlone dual ascent is the first split's, unless clocks are given: sixteen splits came no nearer to the
// best of the squared hinge loss of 25,000 reviews in 200 epochs than one in 5.
func (p *problem) layout() {
	blocks := len(p.rows) / blockLeast
	p.lone = p.dual() && p.clocks == 0 && p.entries() <= p.alone
	if p.splits == 0 {
		p.splits = splitsSparse
		if p.dense || p.solver == solverDescent || p.lone {
			p.splits = splitsDense
		}
		for p.splits > splitsLeast && 4*p.splits > blocks {
			p.splits /= 2
		}
		p.splits = max(p.splits, p.least)
	}
	p.splits = min(p.splits, len(p.rows))
	if p.clocks == 0 && p.steps != "" {
		p.clocks = examples.Steps(p.dense, len(p.rows), p.splits)
	}
	if p.lone {
		p.clocks = 1 // nobody waits for what it says
	}
	if p.clocks == 0 {
		p.clocks = min(clocksAuto, max(clocksLeast, blocks/p.splits))
	}
	p.clocks = min(p.clocks, max(1, len(p.rows)/p.splits))
	if p.visits = p.clocks; p.newton {
		p.clocks, p.visits = newtonClocks, 1
	}
	p.most = 1
	for s := range p.splits {
		for at := range p.visits {
			p.most = max(p.most, len(p.blockRows(s, at)))
		}
	}
}

// measure finds the scale of features.
func (p *problem) measure() error {
	if p.scaling == examples.ScaleNone && p.dual() {
		p.scale = examples.Unscaled(p.features, p.dense)
	} else {
		p.scale = examples.Scale(p.meter, p.src, p.dense, p.rows, p.weight, p.scaling)
	}
	p.bias = float32(math.Sqrt(p.scale.Bias))
	p.belief = examples.Belief(p.dense, len(p.rows), p.features)
	if p.evident() {
		p.spectrum = examples.NewSpectrum(p.scale.Square)
	}
	return p.meter.Err()
}

// blockRows are the rows that a split visits in a clock.
func (p *problem) blockRows(split, at int) []int32 {
	return app.Part(app.Part(p.rows, split, p.splits), at, p.visits)
}

// first is the place of the first of those among all training rows.
func (p *problem) first(split, at int) int {
	n := len(p.rows)
	lo, hi := app.Share(n, split, p.splits), app.Share(n, split+1, p.splits)
	return lo + app.Share(hi-lo, at, p.visits)
}

// work is the layout of a run as its driver and its executors see it.
func (p *problem) work() epochs.Layout { return epochs.Layout{Splits: p.splits, Clocks: p.clocks} }

// items implements train.Job.Items: an epoch is the clocks that step, and one that measures.
func (p *problem) items(s bellows.SplitID, clock bellows.Clock) bellows.Range {
	at := p.work().Place(clock)
	if at >= p.visits {
		return bellows.Range{}
	}
	n := len(app.Part(p.rows, int(s), p.splits))
	return bellows.Range{Begin: app.Share(n, at, p.visits), End: app.Share(n, at+1, p.visits)}
}

// The tables of a job, in their order.
const (
	sumsTable  train.Table = iota // row j: the sum over training rows of dual variable times scaled feature j; last row: of the bias
	dualsTable                    // row (split, clock): the dual variables of the block's rows
)

func (p *problem) tables() []table.Schema {
	if p.steps != "" {
		return []table.Schema{p.stepTable()}
	}
	most := p.most
	if size := p.features + 1; p.newton {
		list := []table.Schema{
			{Name: "weights", Rows: size, Width: 1},
			{Name: "direction", Rows: size, Width: 1},
			{Name: "limits", Rows: p.splits, Width: 1},
			{Name: "moments", Rows: size, Width: size + 1},
		}
		if p.solver == solverDescent {
			list[momentsTable] = table.Schema{Name: "slopes", Rows: p.splits, Width: 2 * most, Partitions: p.splits}
		}
		if p.corners {
			list = append(list, table.Schema{Name: "multipliers", Rows: p.splits, Width: most, Partitions: p.splits})
		}
		return list
	}
	return []table.Schema{
		{Name: "sums", Rows: p.features + 1, Width: 1},
		{Name: "duals", Rows: p.splits * p.visits, Width: most, Partitions: p.splits},
	}
}

// share counts the splits that use each feature in each clock, over all rows whoever has them.
func (p *problem) share() {
	p.sharing = make([][]uint16, p.visits)
	p.meter.Begin(progress.Part{Doing: "counting who shares features", Total: int64(p.visits)})
	app.ForEach(p.visits, func(at int) {
		if p.meter.Add(1) != nil {
			return
		}
		count, last := make([]uint16, p.features), make([]uint16, p.features)
		for s := range p.splits {
			for _, r := range p.blockRows(s, at) {
				index, _ := p.src.Entries(int(r))
				for _, j := range index {
					if last[j] != uint16(s+1) {
						last[j] = uint16(s + 1)
						count[j]++
					}
				}
			}
		}
		p.sharing[at] = count
	})
	p.whole = p.usesWhole()
}

// prepare lays out what the executors of some splits visit, beside that of others.
func (p *problem) prepare(active []bellows.SplitID) error {
	p.meter.Begin(progress.Part{Doing: "laying out rows", Total: int64(len(active))})
	if p.lone && slices.Contains(active, 0) {
		p.layAll()
	}
	app.ForEach(len(active), func(i int) {
		if p.meter.Add(1) != nil {
			return
		}
		s := int(active[i])
		var place []int32
		if !p.dense && !p.whole && !p.newton && !p.lone {
			place = make([]int32, p.features)
		}
		for at := range p.visits {
			rows, first := p.blockRows(s, at), p.first(s, at)
			if p.all.target != nil {
				p.blocks[s] = p.all.view(first, first+len(rows), p.features)
				continue
			}
			p.blocks[s*p.visits+at] = p.block(p.training(), rows, at, place)
			p.blocks[s*p.visits+at].first = first
		}
		p.scored[s] = p.block(seen{p.test, p.testOf, nil, p.testCount}, app.Part(p.testRow, s, p.splits), 0, place)
		if p.solver == solverDescent {
			p.columns[s] = p.column(s)
		}
	})
	if p.lastUse != nil && p.meter.Err() == nil {
		p.charge(active)
	}
	return p.meter.Err()
}

// seen is rows with what losses see of them beside their features: the target of each, what it weighs in the objective, and what it counts in figures that are shown.
type seen struct {
	examples.Source
	target        []float32
	weight, count examples.RowWeights
}

// training is the data, of whose rows some train.
func (p *problem) training() seen { return seen{p.src, p.target, p.weight, p.count} }

// release gives back what prepare has laid out of a split.
func (p *problem) release(split bellows.SplitID) {
	clear(p.blocks[int(split)*p.visits : (int(split)+1)*p.visits])
	p.scored[split], p.columns[split] = block{}, columns{}
	if split == 0 {
		p.all = block{}
	}
}

func (p *problem) headline(in app.Input) string {
	form := "dense"
	if !p.dense {
		form = "sparse"
	}
	if p.narrow != nil {
		form += fmt.Sprintf(", of whose features %d occur", p.features)
	}
	aimed := "numbers"
	if p.classes {
		aimed = p.names[0] + " or " + p.names[1]
	}
	for _, told := range p.weighed {
		form += " · " + told
	}
	if p.calibrate != calibrateNone {
		form += fmt.Sprintf(" · calibrated by %d more trainings (folds)", p.folds.Count)
	}
	return fmt.Sprintf("loss %s · %s · %s · %s", p.name, aimed, form, in.HeldOut(false))
}
