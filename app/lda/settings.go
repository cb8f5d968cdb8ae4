package lda

import (
	"bellows/app"
	"bellows/app/epochs"
	"bellows/progress"
	"bellows/table"
)

var settings = []app.Setting{
	{Name: "topics", Default: "100", Reason: "number of topics",
		Details: "More topics are finer and take longer."},
	{Name: "alpha", Default: app.Auto, Reason: "prior weight of each topic in a document; auto: learned",
		Details: "auto starts at 5/topics, at most 0.1. It then follows the documents, topic by topic, so that common " +
			"words find a topic of their own."},
	{Name: "beta", Default: "0.05", Reason: "prior weight of each word in a topic",
		Details: "Small values make topics of fewer words."},
	{Name: "sampler", Default: app.Auto, Reason: "sparse (SparseLDA) or mh (LightLDA); auto: sparse to 10,000 topics",
		Details: "mh is Metropolis-Hastings sampling as in LightLDA; its cost does not grow with the number of topics. " +
			"auto is sparse for up to 10,000 topics and mh for more."},
	{Name: "splits", Default: app.Auto, Reason: "parts of the data, each with one executor; auto: by the data",
		Details: "auto is one for each 100,000 tokens, from 8 to 64. With --workers A:B it is four for each slot that " +
			"the job may get. It never depends on the machine."},
	{Name: "clocks", Default: "1", Reason: "exchanges of counts in a sweep",
		Details: "More clocks make counts fresher and cost time."},
	{Name: "early_stop", Default: app.Auto, Reason: "stop when held-out documents gain no more; auto: without --epochs",
		Details: "The run keeps the best epoch. auto is on unless --epochs is given."},
	{Name: "patience", Default: "10", Reason: "epochs over which the gain is measured before stopping",
		Details: "The run continues while these epochs gain 0.0005 of held-out likelihood per token each, on average. " +
			"A smaller number is sensitive to noise, a larger one takes longer."},
}

// The values of the setting sampler.
const (
	samplerSparse = "sparse"
	samplerMH     = "mh"
)

const (
	epochsDefault = 500     // ends a run that names no number of epochs and does not stop by itself
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
