package mf

import (
	_ "embed" // settings.txt
	"slices"
	"strconv"

	"bellows/app"
	"bellows/app/epochs"
	"bellows/data"
	"bellows/progress"
	"bellows/table"
)

// name is the application's word on the command line and in the manifest.
const name = "mf"

// New returns the application, for the list of the command line.
func New() app.Application { return application{} }

type application struct{}

// Losses.
const (
	lossSquared  = "squared"
	lossWeighted = "weighted"
)

// Schedules of training.
const (
	strata = "strata"
	ssp    = "ssp"
)

//go:embed settings.txt
var settings string

// Describe implements app.Application.
func (application) Describe() app.Description {
	return app.Description{
		Name: name, Title: "matrix factorisation", Unit: "ratings",
		Data: data.Ratings, Bare: true, Warm: true,
		Metrics: []string{"train_rmse", "test_rmse"}, Other: weightedMetrics,
		Settings: app.ParseSettings(settings), Page: "docs/12-settings.md",
	}
}

// config is every setting of a run, checked.
type config struct {
	rank        int
	biases      bool
	schedule    string
	loss        string  // auto until the data are known
	splits      int     // 0: chosen from the data
	clocks      int     // 0: chosen
	step        float64 // 0: chosen
	l2          float64
	ownL2       bool              // l2 was given and stays as it is
	consistency table.Consistency // of the items under ssp
	seed        uint64
	seen        bool // the model keeps which user has rated which item
	meter       *progress.Meter
	least       int       // of the splits, where they are chosen
	apart       bool      // splits are laid out where they are active, and when; see apart
	idle        func()    // gives back what of the data was looked at; nil unless apart
	spent       *data.Set // its columns' memory may be reused; nil: none
	epochs.Ending
}

// limits of settings, and the epochs of a run that names no number: early stopping ends most runs
// between 30 and 70 epochs, and the steps are so small after 80 that little changes.
const (
	rankMax       = 4096
	splitsMax     = 4096
	clocksMax     = 10000
	epochsDefault = 80
	sspClocks     = 10
)

// configure checks what was given and fills in the rest.
func configure(in *app.Input) (config, app.Values, error) {
	v, err := app.Resolve(application{}.Describe(), in.Settings)
	if err != nil {
		return config{}, v, err
	}
	c := config{
		rank: v.Int("rank", 1, rankMax), biases: v.Bool("biases"), seen: v.Bool("seen"),
		loss: v.Choice("loss", app.Auto, lossSquared, lossWeighted), schedule: v.Choice("schedule", strata, ssp), Ending: epochs.ReadEnding(in, v, epochsDefault),
		splits: v.IntOrAuto("splits", 1, splitsMax), clocks: v.IntOrAuto("clocks", 1, clocksMax), seed: in.Seed, consistency: in.Consistency(table.BSP),
		meter: in.Meter, least: in.SplitsLeast(),
	}
	if c.apart = in.Shared && c.schedule == strata; c.apart {
		c.idle = in.Data.Idle
	}
	if in.Spend && !c.apart {
		c.spent = in.Data
	}
	if !v.IsAuto("lr") {
		c.step = v.Float("lr", 1e-6, 1)
	}
	if c.ownL2 = !v.IsAuto("l2"); c.ownL2 {
		c.l2 = v.Float("l2", 0, 1)
	}
	if c.schedule == strata && c.consistency != table.BSP {
		v.Refuse("schedule", "leases read nothing stale, so a staleness has no meaning; leave it out, or choose schedule=ssp")
	}
	return c, v, v.Err()
}

// settle records what the run chose. An l2 that follows the noise has no one value and stays auto.
func (c *config) settle(v app.Values, step float64) {
	v.Settle("lr", strconv.FormatFloat(step, 'g', -1, 64))
	c.Settle(v, c.splits, c.clocks)
}

// chooseLoss fixes the loss by the ratings where it is not given, and refuses settings that have no meaning with it.
func (c *config) chooseLoss(in *app.Input, v app.Values, set *data.RatingSet) {
	if c.loss == app.Auto {
		if c.loss = lossSquared; impliesNothing(set.Rating) {
			c.loss = lossWeighted
		}
		v.Settle("loss", c.loss)
	}
	without := []string{"unobserved"}
	if c.loss == lossWeighted {
		without = []string{"lr", "biases", "schedule"}
		if c.clocks != 0 && c.clocks != weightedClocks {
			v.Refuse("clocks", "it is %d with loss=weighted: one for the users and one for the items", weightedClocks)
		}
		if in.Staleness != nil && *in.Staleness != 0 {
			v.Refuse("loss", "a clock of weighted needs all of the previous one, so a staleness has no meaning; leave it out")
		}
		if !c.seen {
			v.Refuse("seen", "loss=weighted is scored by what users have not seen; leave it out")
		}
		if c.rank > weightedRankMax {
			v.Refuse("rank", "it is at most %d with loss=weighted", weightedRankMax)
		}
		if in.Epochs == 0 {
			c.Epochs = weightedEpochs
		}
	}
	for _, s := range (application{}).Describe().Settings {
		if given, ok := in.Settings[s.Name]; ok && given != s.Default && slices.Contains(without, s.Name) {
			v.Refuse(s.Name, "it has no meaning with loss=%s", c.loss)
		}
	}
}
