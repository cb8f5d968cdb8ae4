package linear

import (
	"fmt"

	"bellows"
	"bellows/app"
	"bellows/app/epochs"
	"bellows/app/examples"
	"bellows/app/linear/internal/loss"
	"bellows/progress"
	"bellows/table"
)

// The values of the setting calibrate.
const (
	calibrateNone     = "none"
	calibratePlatt    = "platt"
	calibrateIsotonic = "isotonic"
)

// calibrator makes log-odds of scores.
type calibrator interface{ Calibrate(score float64) float64 }

// deal divides the training rows into the folds of a calibration. Rows that count nothing are a stratum of their own: they neither train nor calibrate.
func (p *problem) deal() error {
	if p.calibrate == calibrateNone {
		return nil
	}
	var strata [4]int
	stratum := func(place int) int {
		r := p.Rows[place]
		return 2*int(ones(p.target[r] > 0)) + int(ones(p.Count.Weight(int(r)) > 0))
	}
	for place := range p.Rows {
		strata[stratum(place)]++
	}
	rare, rows := p.names[0], strata[1]
	if strata[3] < rows {
		rare, rows = p.names[1], strata[3]
	}
	if p.folds = loss.Deal(len(p.Rows), stratum, rows); p.folds.Count == 0 {
		return bellows.Errorf(bellows.BadData, "train", name, "calibrate=%s needs %d training rows of each class, and there are %d of %s", p.calibrate, loss.FoldsLeast, rows, rare).
			Hinted("give more rows of " + rare + ", or leave calibrate out")
	}
	if p.folds.Count < loss.FoldsMost {
		p.Warnings = append(p.Warnings, fmt.Sprintf("calibrate=%s uses %d folds and not %d: label %s has %d training rows; probabilities are rough", p.calibrate, p.folds.Count, loss.FoldsMost, rare, rows))
	}
	if n := strata[1] + strata[3]; p.calibrate == calibrateIsotonic && n < isotonicRows {
		p.Warnings = append(p.Warnings, fmt.Sprintf("calibrate=isotonic learns from %d rows, and with fewer than %d calibrate=platt is mostly better", n, isotonicRows))
	}
	return nil
}

// fitCalibration trains a model without each fold of the training rows, and fits the calibration of a run's model to the scores of the rows that they have not seen. They have
// the penalties that the run ended with: l1, and the precision l2 * rows, which is 1/C. Their scores are aligned with those of the run's model first.
//
// It returns nil without a calibration, and for a run that was interrupted: its user waits for the end, and the run can continue.
func (p *problem) fitCalibration(model *predictor, l2, l1 float64) (calibrator, error) {
	if p.calibrate == calibrateNone || p.Meter.Err() != nil {
		return nil, nil
	}
	if p.train == nil {
		return nil, bellows.Errorf(bellows.Bug, "train", name, "calibrate=%s trains models of folds, and app.Input has no Train", p.calibrate)
	}
	for s := range p.Splits {
		p.release(bellows.SplitID(s)) // the job has ended, and folds need the memory
	}
	whole, own, second := make([]float64, len(p.Rows)), make([]float64, len(p.Rows)), make([]bool, len(p.Rows))
	for place, r := range p.Rows {
		whole[place], second[place] = model.raw(p.Src, int(r)), p.target[r] > 0
	}
	scores, weight := make([]float64, len(p.Rows)), p.Count.Pick(nil, p.Rows)
	p.Meter.Begin(progress.Part{Doing: "calibrating", Unit: "folds", Total: int64(p.folds.Count)})
	for fold := range p.folds.Count {
		rows, held := p.folds.Divide(fold, p.Rows)
		by, err := p.trainFold(rows, l2*float64(len(p.Rows))/float64(len(rows)), l1)
		if err != nil {
			return nil, err
		}
		for place, r := range p.Rows {
			own[place] = by.raw(p.Src, int(r))
		}
		align := p.folds.Align(fold, own, whole, weight)
		for _, place := range held {
			scores[place] = align.Calibrate(own[place])
		}
		if err := p.Meter.Add(1); err != nil {
			return nil, err
		}
	}
	if p.calibrate == calibrateIsotonic {
		return &isotonic{*loss.FitRising(scores, second, weight)}, nil
	}
	c := loss.Platt(scores, second, weight)
	return &c, nil
}

// trainFold trains a model on some of the training rows, with penalties that are given, as the run trained on all of them. Its splits wait for each other, so that the model has the same bits however it is trained.
func (p *problem) trainFold(rows []int32, l2, l1 float64) (*predictor, error) {
	f := &problem{Problem: examples.Problem{Config: p.Config, Narrow: p.Narrow, Wide: p.Wide, Features: p.Features, Src: p.Src, Test: p.Src, Rows: rows},
		choices: p.choices, alone: p.alone, targets: targets{names: p.names}}
	f.l2, f.l1, f.chosen, f.seekL1, f.path = l2, l1, false, false, 0
	f.calibrate, f.progressive, f.Consistency = calibrateNone, false, table.BSP
	f.Meter = progress.New(p.Meter.Context()) // the run's own shows folds
	f.Ending = epochs.Ending{Epochs: p.Epochs}
	if err := f.arrange(app.Input{}); err != nil {
		return nil, err
	}
	k := newPolicy(f)
	tables, err := p.train(f.job(k.driver()))
	if err != nil {
		return nil, err
	}
	weights, bias, err := f.solution(tables, k)
	return &predictor{weights: weights, bias: bias}, err
}
