package mf

import (
	"fmt"
	"math"

	"bellows"
	"bellows/app/epochs"
	"bellows/data"
	"bellows/random"
	"bellows/table"
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
// Turned down: blocks cut when a task first needs them. The order by chance within a block would then depend on who cut it,
// or each process would sort all ratings again.
type problem struct {
	config
	stepSchedule
	scale        scale
	users, items axis
	shares       []share // by split
	width        int     // values of a row
	trained      int64   // ratings visited in an epoch
	held, tested int     // ratings scored
	shown        []probe // those whose error is shown
	inits        [2]table.Init
}

// scale turns ratings into standard units and back.
type scale struct{ mean, deviation float64 }

func (s scale) standard(rating float32) float32 {
	return float32((float64(rating) - s.mean) / s.deviation)
}

// newScale is the mean and deviation of the rows' ratings; where all are equal, deviation 1.
func newScale(rating []float32, rows []int32) scale {
	var sum, squares float64
	for _, r := range rows {
		sum += float64(rating[r])
	}
	mean := sum / float64(len(rows))
	for _, r := range rows {
		d := float64(rating[r]) - mean
		squares += d * d
	}
	deviation := math.Sqrt(squares / float64(len(rows)))
	if deviation <= 1e-6*math.Abs(mean) || deviation < 1e-30 {
		deviation = 1
	}
	return scale{mean, deviation}
}

// newProblem lays out the data.
func newProblem(c config, set, test *data.RatingSet) (*problem, error) {
	percent := data.HeldPercent(test != nil, true)
	train, held := data.HoldOut(c.seed, set.Rows(), percent)
	if len(train) == 0 {
		return nil, bellows.Errorf(bellows.BadData, "train", "mf", "%d ratings leave none to train on after %d %% are held out", set.Rows(), percent)
	}
	p := &problem{config: c, scale: newScale(set.Rating, train), trained: int64(len(train))}
	if err := p.chooseParts(len(train), len(set.Users), len(set.Items)); err != nil {
		return nil, err
	}
	p.width = rowWidth(c.rank, c.biases)
	p.users = balance(countsOf(set.User, train, len(set.Users)), p.splits, random.Of(c.seed, 1))
	p.items = balance(countsOf(set.Item, train, len(set.Items)), p.parts(), random.Of(c.seed, 2))
	p.stepSchedule = newStepSchedule(c, len(train), p.users.rated(), p.items.rated())
	p.shares = make([]share, p.splits)
	if p.schedule == strata {
		p.cutStrata(set, train)
	} else {
		p.cutClocks(set, train)
	}
	p.score(heldProbes(set, held), testProbes(test, set))
	return p, nil
}

// score deals the ratings that are scored to splits.
func (p *problem) score(held, tested []probe) {
	p.held, p.tested, p.shown = len(held), len(tested), tested
	if len(tested) == 0 {
		p.shown = held
	}
	heldOf, testOf := p.group(held), p.group(tested)
	for s := range p.shares {
		p.shares[s].held, p.shares[s].test = heldOf[s], testOf[s]
	}
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
		p.splits = min(max(even, splitsAutoMin), splitsAutoMax, users, items)
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
		p.splits = min(max(ratings/taskRatings/p.clocks, splitsAutoMin), splitsAutoMax, most)
	}
}

// parts is the number of parts of the items.
func (p *problem) parts() int {
	if p.schedule == ssp {
		return p.splits
	}
	return p.clocks
}

// rotation is the order of visits under schedule=strata.
func (p *problem) rotation() rotation { return rotation{p.splits, p.clocks} }

// rowWidth is factors and bias, padded to whole cache lines.
func rowWidth(rank int, biases bool) int {
	const line = 16
	n := rank
	if biases {
		n++
	}
	return (n + line - 1) / line * line
}

// countsOf is the number of chosen rows by id.
func countsOf(ids, rows []int32, n int) []int32 {
	c := make([]int32, n)
	for _, r := range rows {
		c[ids[r]]++
	}
	return c
}

func heldProbes(set *data.RatingSet, rows []int32) []probe {
	list := make([]probe, len(rows))
	for i, r := range rows {
		list[i] = probe{set.User[r], set.Item[r], set.Rating[r]}
	}
	return list
}

func testProbes(test, train *data.RatingSet) []probe {
	if test == nil {
		return nil
	}
	user, item := test.IndicesIn(train)
	list := make([]probe, len(user))
	for i := range list {
		list[i] = probe{user[i], item[i], test.Rating[i]}
	}
	return list
}

// tables declares the model's state.
func (p *problem) tables() []table.Schema {
	consistency := table.Async
	if p.schedule == ssp {
		consistency = p.consistency
	}
	schema := func(name string, a *axis, stream uint64, c table.Consistency) table.Schema {
		return table.Schema{
			Name: name, Rows: len(a.row), Width: p.width, Bounds: a.bounds, Consistency: c,
			Init: table.Init{Kind: table.Normal, Seed: random.Of(p.seed, stream), High: deviation0},
		}
	}
	return []table.Schema{
		usersTable: schema("users", &p.users, 3, table.Async),
		itemsTable: schema("items", &p.items, 4, consistency),
	}
}

// work is the layout of a run as its driver and its executors see it.
func (p *problem) work() epochs.Layout { return epochs.Layout{Splits: p.splits, Clocks: p.clocks} }

// itemsOf is the job's Items: which visits a split makes in a clock.
func (p *problem) itemsOf(split bellows.SplitID, c bellows.Clock) bellows.Range {
	s, phase := &p.shares[split], p.work().Place(c)
	if phase == p.clocks {
		return bellows.Range{}
	}
	return bellows.Range{Begin: s.begin(phase), End: s.ends[phase]}
}
