package linear

import (
	"fmt"
	"math"
	"slices"

	"bellows"
	"bellows/app"
	"bellows/app/examples"
	"bellows/app/linear/internal/loss"
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
	examples.Problem
	choices
	targets
	target   []float32  // of each row of the data
	testOf   []float32  // target of each test row; NaN of a class that no training row has
	bias     float32    // the value of the feature that is the same in all rows
	newton   bool       // Newton's method finds the best, by a Hessian or along columns
	steps    string     // the solver, where it steps by a rule of the table; "": another
	apart    [2]float64 // the weight of training rows that are not kept aside while l2 is sought, and their number
	whole    bool       // blocks work on whole tables
	sharing  [][]uint16 // by clock and feature, of sparse rows
	blocks   []block    // by split and clock
	scored   []block    // by split: rows to show
	alone    int        // entries of rows that one split takes alone: entriesAlone
	lone     bool       // dual ascent is the first split's, over the rows of all; others measure theirs
	all      block      // the rows of all, where the first split ascends alone and is here
	most     int        // rows of a block
	steepest float64    // the least l1 that leaves no weight, where l1 is chosen
	thin     int        // of dense rows: see thinned
	folds    loss.Folds // of training rows, where the scores are calibrated
	train    app.Train  // trains the models of folds
	columns  []columns  // by split, where Newton's method goes down along them
}

// The bounds of layout: rows of a clock of a split, bytes of scaled rows.
const (
	splitsDense  = 4
	splitsSparse = 16
	splitsLeast  = 4
	clocksAuto   = 10
	clocksLeast  = 2
	blockLeast   = 64
	denseBytes   = 2 << 30 // of scaled rows
)

func newProblem(in app.Input, c config) (*problem, error) {
	p := &problem{Problem: examples.Problem{Config: c.Config}, choices: c.choices, alone: entriesAlone, train: in.Train}
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
	if err := p.count(in); err != nil {
		return err
	}
	p.Dense = p.Src.Packed(denseBytes)
	examples.Settle(&p.Src, &p.Test, p.Dense, p.Scaling)
	if err := p.solve(); err != nil {
		return err
	}
	p.layout()
	p.thin = p.thinned()
	if err := p.measure(); err != nil {
		return err
	}
	p.aim()
	if p.path > 0 && len(p.Rows) < pathRows {
		return bellows.Errorf(bellows.BadData, "train", name, "path=%d needs %d rows to train and to choose, and there are %d", p.path, pathRows, len(p.Rows)).Hinted("leave path out, and give l1 or l2")
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
	p.blocks, p.scored, p.columns = make([]block, p.Splits*p.Visits), make([]block, p.Splits), make([]columns, p.Splits)
	switch {
	case p.steps != "":
		if p.Top = p.Bend(); !p.Dense {
			p.use()
		}
	case !p.Dense && p.dual() && !p.lone:
		p.share()
	}
	return p.Meter.Err()
}

// know finds out what rows and labels there are.
func (p *problem) know(in app.Input) error {
	if err := p.readLabels(in.Data); err != nil {
		return err
	}
	p.Know(&in, in.Data.Examples.Features, nil)
	p.Divide(&in, false)
	if in.Test == nil {
		p.Test, p.TestRow = p.Src, p.Held
	}
	return p.Check("give rows of a label and at least one feature")
}

// count finds the weights of rows, with and without their classes.
func (p *problem) count(in app.Input) error {
	var classes []string
	var class []int32
	if p.weighs {
		classes, class = p.names, examples.Numbered(p.Src.ExampleSet, p.names)
	}
	if err := p.Weigh(&in, classes, class); err != nil {
		return err
	}
	for place, r := range p.Rows {
		if !p.heldAside(place) {
			p.apart[0] += p.Weight.Weight(int(r))
			p.apart[1] += p.Count.Weight(int(r))
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
		case p.Features <= newtonMost:
			p.solver = solverNewton
		case p.l1 > 0:
			p.solver = solverDescent
		default:
			p.solver = solverDual
		}
	}
	if p.solver == solverNewton && p.Features > newtonMost {
		return bellows.Errorf(bellows.Config, "train", name, "solver=newton is for up to %d features, and the rows have %d", newtonMost, p.Features).
			Hinted("leave it out: other solvers take any number")
	}
	if rules[p.solver] != nil {
		p.steps = p.solver
	}
	p.newton = p.solver == solverNewton || p.solver == solverDescent
	return nil
}

// dual reports whether the solver is dual coordinate ascent.
func (p *problem) dual() bool { return !p.newton && p.steps == "" }

// entries returns how many values the rows have.
func (p *problem) entries() int {
	if p.Dense {
		return p.Src.Rows() * p.Features
	}
	return len(p.Src.Value)
}

// layout chooses splits and clocks so that a block has work enough to be worth its exchange. Up to entriesAlone dual ascent is the first split's, unless clocks are given: sixteen splits came no nearer to the
// best of the squared hinge loss of 25,000 reviews in 200 epochs than one in 5.
func (p *problem) layout() {
	blocks := len(p.Rows) / blockLeast
	p.lone = p.dual() && p.Clocks == 0 && p.entries() <= p.alone
	if p.Splits == 0 {
		p.Splits = splitsSparse
		if p.Dense || p.solver == solverDescent || p.lone {
			p.Splits = splitsDense
		}
		for p.Splits > splitsLeast && 4*p.Splits > blocks {
			p.Splits /= 2
		}
		p.Splits = max(p.Splits, p.Least)
	}
	p.Splits = min(p.Splits, len(p.Rows))
	if p.Clocks == 0 && p.steps != "" {
		p.Clocks = examples.Steps(p.Dense, len(p.Rows), p.Splits)
	}
	if p.lone {
		p.Clocks = 1 // no other split waits for its results
	}
	if p.Clocks == 0 {
		p.Clocks = min(clocksAuto, max(clocksLeast, blocks/p.Splits))
	}
	p.Clocks = min(p.Clocks, max(1, len(p.Rows)/p.Splits))
	if p.Visits = p.Clocks; p.newton {
		p.Clocks, p.Visits = newtonClocks, 1
	}
	p.most = 1
	for s := range p.Splits {
		for at := range p.Visits {
			p.most = max(p.most, len(p.Visited(s, at)))
		}
	}
}

// measure finds the scale of features.
func (p *problem) measure() error {
	if p.Scaling == examples.ScaleNone && p.dual() {
		p.Scale = examples.Unscaled(p.Features, p.Dense)
	} else if err := p.Measure(); err != nil {
		return err
	}
	p.bias, p.Belief = float32(math.Sqrt(p.Scale.Bias)), examples.Belief(p.Dense, len(p.Rows), p.Features)
	if p.evident() {
		p.Spectrum = examples.NewSpectrum(p.Scale.Square)
	}
	p.Scale.DropSquares()
	return p.Meter.Err()
}

// first returns the place of the first of those among all training rows.
func (p *problem) first(split, at int) int {
	n := len(p.Rows)
	lo, hi := app.Share(n, split, p.Splits), app.Share(n, split+1, p.Splits)
	return lo + app.Share(hi-lo, at, p.Visits)
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
	if size := p.Features + 1; p.newton {
		list := []table.Schema{
			{Name: "weights", Rows: size, Width: 1},
			{Name: "direction", Rows: size, Width: 1},
			{Name: "limits", Rows: p.Splits, Width: 1},
			{Name: "moments", Rows: size, Width: size + 1, Scratch: true},
		}
		if p.solver == solverDescent {
			list[momentsTable] = table.Schema{Name: "slopes", Rows: p.Splits, Width: 2 * most, Partitions: p.Splits, Scratch: true}
		}
		if p.corners {
			list = append(list, table.Schema{Name: "multipliers", Rows: p.Splits, Width: most, Partitions: p.Splits, Scratch: true})
		}
		return list
	}
	return []table.Schema{
		{Name: "sums", Rows: p.Features + 1, Width: 1},
		{Name: "duals", Rows: p.Splits * p.Visits, Width: most, Partitions: p.Splits, Scratch: true},
	}
}

// share counts the splits that use each feature in each clock, over all rows, on every node.
func (p *problem) share() {
	p.sharing = make([][]uint16, p.Visits)
	p.Meter.Begin(progress.Part{Doing: "counting shared features", Total: int64(p.Visits)})
	app.ForEach(p.Visits, func(at int) {
		if p.Meter.Add(1) != nil {
			return
		}
		count, last := make([]uint16, p.Features), make([]uint16, p.Features)
		for s := range p.Splits {
			for _, r := range p.Visited(s, at) {
				index, _ := p.Src.Entries(int(r))
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

// prepare lays out what the executors of some splits visit, in addition to other splits.
func (p *problem) prepare(active []bellows.SplitID) error {
	p.Meter.Begin(progress.Part{Doing: "laying out rows", Total: int64(len(active))})
	if p.lone && slices.Contains(active, 0) {
		p.layAll()
	}
	app.ForEach(len(active), func(i int) {
		if p.Meter.Add(1) != nil {
			return
		}
		s := int(active[i])
		var number *examples.Renumberer
		if !p.Dense && !p.whole && !p.newton && !p.lone {
			number = examples.NewRenumberer(p.Features)
		}
		for at := range p.Visits {
			rows, first := p.Visited(s, at), p.first(s, at)
			if p.all.target != nil {
				p.blocks[s] = p.all.view(first, first+len(rows), p.Features)
				continue
			}
			p.blocks[s*p.Visits+at] = p.block(p.training(), rows, at, number)
			p.blocks[s*p.Visits+at].first = first
		}
		p.scored[s] = p.block(seen{p.Test, p.testOf, nil, p.TestCount}, app.Part(p.TestRow, s, p.Splits), 0, number)
		if p.solver == solverDescent {
			p.columns[s] = p.column(s)
		}
	})
	if p.LastUse != nil && p.Meter.Err() == nil {
		p.charge(active)
	}
	return p.Meter.Err()
}

// seen is rows with what losses see of them beside their features: the target of each, what it weighs in the objective, and what it counts in figures that are shown.
type seen struct {
	examples.Source
	target        []float32
	weight, count examples.RowWeights
}

// training returns the data, of whose rows some train.
func (p *problem) training() seen { return seen{p.Src, p.target, p.Weight, p.Count} }

// release gives back what prepare has laid out of a split.
func (p *problem) release(split bellows.SplitID) {
	clear(p.blocks[int(split)*p.Visits : (int(split)+1)*p.Visits])
	p.scored[split], p.columns[split] = block{}, columns{}
	if split == 0 {
		p.all = block{}
	}
}

func (p *problem) headline(in app.Input) string {
	form := p.Form()
	aimed := "numbers"
	if p.classes {
		aimed = p.names[0] + " or " + p.names[1]
	}
	for _, told := range p.Weighed {
		form += " · " + told
	}
	if p.calibrate != calibrateNone {
		form += fmt.Sprintf(" · calibrated by %d more trainings (folds)", p.folds.Count)
	}
	return fmt.Sprintf("loss %s · %s · %s · %s", p.name, aimed, form, in.HeldOut(false))
}
