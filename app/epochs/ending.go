package epochs

import (
	"math"
	"strconv"

	"bellows/app"
)

// Ending is when a run ends: at its goal, after its epochs, or when held-out rows are predicted no better.
type Ending struct {
	Epochs    int  // at most
	Chosen    bool // Epochs is the default of the application
	EarlyStop bool
	Patience  int // epochs without improvement, where EarlyStop
	Goal      *app.Goal
}

// ReadEnding reads the ending from an input and the settings early_stop and patience. A run that names no number of epochs
// stops early, and at last after so many.
func ReadEnding(in *app.Input, v app.Values, epochs int) Ending {
	e := Ending{Epochs: in.Epochs, Chosen: in.Epochs == 0, EarlyStop: in.Epochs == 0, Patience: v.Int("patience", 1, math.MaxInt32), Goal: in.Goal}
	if e.Epochs == 0 {
		e.Epochs = epochs
	}
	if !v.IsAuto("early_stop") {
		e.EarlyStop = v.Bool("early_stop")
	}
	return e
}

// Settle records what was chosen of the settings that every run has.
func (e Ending) Settle(v app.Values, splits, clocks int) {
	v.Settle("splits", strconv.Itoa(splits))
	v.Settle("clocks", strconv.Itoa(clocks))
	v.Settle("early_stop", strconv.FormatBool(e.EarlyStop))
}

// Progress is how far a run has come.
//
// Invariant: Best <= Marked, since a score that improves enough to count is the best one too.
type Progress struct {
	Epoch  int     // completed
	Items  int64   // visited, in epochs that did not count too
	Best   float64 // the lowest score of held-out rows
	Marked float64 // the score at the last improvement that counted
	Since  int     // epochs since then that count
}

// Judge notes an epoch's score of held-out rows, the lower the better, and says whether it is the best so far. Below bar it
// counts as an improvement; counts says whether the epoch uses up patience when it is none. NaN is the score of no rows:
// any epoch is the best then, and patience does not end.
func (p *Progress) Judge(score, bar float64, counts bool) (best bool) {
	if math.IsNaN(score) {
		return true
	}
	if counts {
		p.Since++
	}
	if score < bar {
		p.Marked, p.Since = score, 0
	}
	if score >= p.Best {
		return false
	}
	p.Best = score
	return true
}
