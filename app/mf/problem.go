package mf

import (
	"fmt"
	"math"

	"bellows"
	"bellows/app/epochs"
	"bellows/data"
	"bellows/progress"
	"bellows/random"
	"bellows/table"
	"bellows/train"
)

// The tables of a job. A row is the factors, then the bias, then padding to whole cache lines: one
// lease covers all that is known of a user.
const (
	usersTable = 0
	itemsTable = 1
)

// problem is all that a run fixes before it starts: settings, order of visits, what is scored.
// Drivers and executors read it and never write.
//
// Invariants: every training rating is in one block of one split (TestStrataVisitEveryRatingOnce, TestClocksVisitEveryRatingOnce);
// a block's users are of one part, and its items of one part under schedule=strata; held-out and test ratings are in no block
// (TestTheTestFileDecidesNothing). Everything is a function of the ratings, the settings and the seed, so that each process makes
// the same one.
//
// A job on several nodes lays out on each the splits that are active there, and no others (apart).
type problem struct {
	config
	stepSchedule
	scale        scale
	users, items axis
	shares       []share                              // by split
	width        int                                  // values of a row
	trained      int64                                // ratings visited in an epoch
	heldOut      int                                  // ratings held out
	held         *data.RatingSet                      // those; nil where splits are laid out apart
	prepare      func(active []bellows.SplitID) error // lays out splits; nil: all are
	tested       int                                  // ratings of the test
	baseline     *train.Metric
	inits        [2]table.Init
	start        *start // nil without a model to begin with
	startEpoch   int    // of the step schedule, at which the run begins
	startNoise   float64
}

// scale turns ratings into standard units and back.
type scale struct{ mean, deviation float64 }

func (s scale) standard(rating float32) float32 {
	return float32((float64(rating) - s.mean) / s.deviation)
}

// newScale returns the mean and deviation of the ratings but the held-out ones; where all are equal, deviation 1. It
// adds in the order of the rows: sums in parts would depend on how many.
func newScale(rating []float32, held heldRows) scale {
	var sum, squares float64
	for run := range held.others(rating) {
		for _, r := range run {
			sum += float64(r)
		}
	}
	n := float64(len(rating) - len(held))
	mean := sum / n
	for run := range held.others(rating) {
		for _, r := range run {
			d := float64(r) - mean
			squares += d * d
		}
	}
	deviation := math.Sqrt(squares / n)
	if deviation <= 1e-6*math.Abs(mean) || deviation < 1e-30 {
		deviation = 1
	}
	return scale{mean, deviation}
}

// newProblem lays out the data, on all processors; the result does not depend on their number. Long loops end with the
// meter's context, and leave their results unfinished: the error is checked after them.
func newProblem(c config, set, test *data.RatingSet) (*problem, error) {
	percent := data.HeldPercent(test != nil, true)
	rows := set.Rows()
	held := findHeld(c.seed, rows, percent)
	trained := rows - len(held)
	if trained == 0 {
		return nil, bellows.Errorf(bellows.BadData, "train", "mf", "%d ratings leave none to train on after %d %% are held out", rows, percent)
	}
	p := &problem{config: c, trained: int64(trained), heldOut: len(held), width: rowWidth(c.rank, c.biases), startNoise: 1}
	if err := p.chooseParts(trained, len(set.Users), len(set.Items)); err != nil {
		return nil, err
	}
	m := c.meter
	m.Begin(progress.Part{Doing: "counting ratings", Unit: "ratings", Total: 2 * int64(rows)})
	runAll(func() {
		p.users = balance(held.countOthers(m, c.idle, set.User, len(set.Users)), p.splits, random.Derive(c.seed, 1))
	}, func() {
		p.items = balance(held.countOthers(m, c.idle, set.Item, len(set.Items)), p.parts(), random.Derive(c.seed, 2))
	}, func() { p.scale = newScale(set.Rating, held) }, func() {
		if p.spent != nil {
			p.spent.Freeze()
		}
	})
	if err := m.Err(); err != nil {
		return nil, err
	}
	p.stepSchedule = newStepSchedule(c, trained, p.users.rated(), p.items.rated())
	p.shares = make([]share, p.splits)
	if p.schedule == strata && p.users.narrow() && p.items.narrow() {
		return p, newPlanner[uint16](p, set, held).lay(test)
	}
	return p, newPlanner[int32](p, set, held).lay(test)
}

// taskRatings is the size of a task that auto splits aim at: 150 to 300 µs at rank 32, so that the price of a
// task is small beside it. Tasks of more splits than that are smaller, but of ratingsLeast where the parts of
// the items can be fewer. They cannot where slots would stand idle: splits are made for up to 16 slots' turns,
// so an eighth of them leaves every slot two parts to choose from.
const (
	taskRatings    = 32000
	ratingsLeast   = 8000
	splitsAutoMax  = 256
	splitsAutoMin  = 4
	partsLeast     = 4
	splitsEachPart = 8
)

// chooseParts fixes splits and clocks. The number of compute slots plays no part: it may change.
func (p *problem) chooseParts(ratings, users, items int) error {
	most := users
	if p.schedule == ssp {
		most = min(users, items)
	}
	if p.splits > most {
		return bellows.Errorf(bellows.Config, "set mf", fmt.Sprintf("splits=%d", p.splits),
			"more than the data can be cut into: %d users, %d items", users, items)
	}
	if p.schedule == ssp {
		p.chooseClocks(ratings, most)
		return nil
	}
	if p.clocks > items {
		return bellows.Errorf(bellows.Config, "set mf", fmt.Sprintf("clocks=%d", p.clocks),
			"more parts than there are items: %d", items)
	}
	if p.splits == 0 {
		even := 2 * int(math.Round(math.Sqrt(float64(ratings)/taskRatings)/2)) // so that two slots end an epoch together
		p.splits = min(max(min(max(even, splitsAutoMin), splitsAutoMax), p.least), users, items)
	}
	if p.clocks == 0 {
		fed := ratings / p.splits / ratingsLeast
		p.clocks = min(max(fed, p.splits/splitsEachPart, partsLeast), p.splits, items)
	}
	return nil
}

// chooseClocks fixes splits and clocks under schedule=ssp.
func (p *problem) chooseClocks(ratings, most int) {
	if p.clocks == 0 {
		p.clocks = sspClocks
	}
	if p.splits == 0 {
		p.splits = min(max(min(max(ratings/taskRatings/p.clocks, splitsAutoMin), splitsAutoMax), p.least), most)
	}
}

// parts returns the number of parts of the items.
func (p *problem) parts() int {
	if p.schedule == ssp {
		return p.splits
	}
	return p.clocks
}

// rotation returns the order of visits under schedule=strata.
func (p *problem) rotation() rotation { return rotation{p.splits, p.clocks} }

// rowWidth returns factors and bias, padded to whole cache lines.
func rowWidth(rank int, biases bool) int {
	return (rowUsed(rank, biases) + 15) / 16 * 16
}

// rowUsed returns the number of factors and biases of a row.
func rowUsed(rank int, biases bool) int {
	if biases {
		return rank + 1
	}
	return rank
}

// tables declares the model's state.
func (p *problem) tables() []table.Schema {
	consistency := table.Async
	if p.schedule == ssp {
		consistency = p.consistency
	}
	schema := func(name string, a *axis, stream uint64, c table.Consistency) table.Schema {
		return table.Schema{
			Name: name, Rows: len(a.row), Width: p.width, Padding: p.width - rowUsed(p.rank, p.biases), Bounds: a.bounds, Consistency: c,
			Init: table.Init{Kind: table.Normal, Seed: random.Derive(p.seed, stream), High: deviation0},
		}
	}
	users := schema("users", &p.users, 3, table.Async)
	users.BySplit = true
	return []table.Schema{usersTable: users, itemsTable: schema("items", &p.items, 4, consistency)}
}

// work returns the layout of a run as its driver and its executors see it.
func (p *problem) work() epochs.Layout { return epochs.Layout{Splits: p.splits, Clocks: p.clocks} }

// itemsOf returns the job's Items: which visits a split makes in a clock.
func (p *problem) itemsOf(split bellows.SplitID, c bellows.Clock) bellows.Range {
	s, phase := &p.shares[split], p.work().Place(c)
	if phase == p.clocks {
		return bellows.Range{}
	}
	return bellows.Range{Begin: s.begin(phase), End: s.ends[phase]}
}
