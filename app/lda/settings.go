package lda

import (
	_ "embed" // settings.txt

	"bellows/app"
	"bellows/app/epochs"
	"bellows/progress"
	"bellows/table"
)

//go:embed settings.txt
var settings string

// The values of the setting sampler.
const (
	samplerSparse = "sparse"
	samplerMH     = "mh"
)

const (
	epochsDefault = 500     // limit for a run without a number of epochs or early stopping
	topicsMax     = 1 << 16 // what an event has room for
	topicsSparse  = 10000   // above it, auto is mh; below, sparse was faster on every set tried
	alphaTotal    = 5.0     // sum of α at the start,
	alphaEach     = 0.1     // unless topics are few
)

// config is the settings of one run. Zero splits, and an alpha of 0, are to be chosen.
type config struct {
	values         app.Values
	topics         int
	alpha, beta    float64
	sampler        string // "" until the data is known
	splits, clocks int
	seed           uint64
	consistency    table.Consistency
	epochs.Ending
	meter *progress.Meter
	apart bool // splits are laid out where they are active, and when
	least int  // of the splits, where they are chosen
}

func newConfig(in app.Input) (config, error) {
	v, err := app.Resolve(application{}.Describe(), in.Settings)
	if err != nil {
		return config{}, err
	}
	c := config{
		values:      v,
		topics:      v.Int("topics", 2, topicsMax),
		beta:        v.Float("beta", 1e-6, 1e3),
		clocks:      v.Int("clocks", 1, 1000),
		splits:      v.IntOrAuto("splits", 1, 1<<14),
		seed:        in.Seed,
		consistency: in.Consistency(table.BSP),
		Ending:      epochs.ReadEnding(&in, v, epochsDefault),
		meter:       in.Meter,
		apart:       in.Shared,
		least:       in.SplitsLeast(),
	}
	if !v.IsAuto("alpha") {
		c.alpha = v.Float("alpha", 1e-6, 1e3)
	}
	if !v.IsAuto("sampler") {
		c.sampler = v.Choice("sampler", samplerSparse, samplerMH)
	}
	return c, v.Err()
}
