package linear

import (
	"fmt"

	"bellows"
	"bellows/app"
	"bellows/app/epochs"
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
type calibrator interface{ Of(score float64) float64 }

// deal divides the training rows into the folds of a calibration. Rows that count nothing are a stratum of their own: they neither train nor calibrate.
func (p *problem) deal() error {
	if p.calibrate == calibrateNone {
		return nil
	}
	var strata [4]int
	stratum := func(place int) int {
		r := p.rows[place]
		return 2*int(ones(p.target[r] > 0)) + int(ones(p.count.Of(int(r)) > 0))
	}
	for place := range p.rows {
		strata[stratum(place)]++
	}
	rare, rows := p.names[0], strata[1]
	if strata[3] < rows {
		rare, rows = p.names[1], strata[3]
	}
	if p.folds = loss.Deal(len(p.rows), stratum, rows); p.folds.Count == 0 {
		return bellows.Errorf(bellows.BadData, "train", name, "calibrate=%s needs %d training rows of each class, and there are %d of %s", p.calibrate, loss.FoldsLeast, rows, rare).
			Hinted("give more rows of " + rare + ", or leave calibrate out")
	}
	if p.folds.Count < loss.FoldsMost {
		p.warnings = append(p.warnings, fmt.Sprintf("calibrate=%s uses %d folds and not %d: label %s has %d training rows; probabilities are rough", p.calibrate, p.folds.Count, loss.FoldsMost, rare, rows))
	}
	if n := strata[1] + strata[3]; p.calibrate == calibrateIsotonic && n < isotonicRows {
		p.warnings = append(p.warnings, fmt.Sprintf("calibrate=isotonic learns from %d rows, and with fewer than %d calibrate=platt is mostly better", n, isotonicRows))
	}
	return nil
}

// fitCalibration trains a model without each fold of the training rows, and fits the calibration of a run's model to the scores of the rows that they have not seen. They have
// the penalties that the run ended with: l1, and the precision l2 * rows, which is 1/C. Their scores are aligned with those of the run's model first.
//
// It returns nil without a calibration, and for a run that was interrupted: its user waits for the end, and the run can continue.
func (p *problem) fitCalibration(model *predictor, l2, l1 float64) (calibrator, error) {
	if p.calibrate == calibrateNone || p.meter.Err() != nil {
		return nil, nil
	}
	if p.train == nil {
		return nil, bellows.Errorf(bellows.Bug, "train", name, "calibrate=%s trains models of folds, and app.Input has no Train", p.calibrate)
	}
	for s := range p.splits {
		p.release(bellows.SplitID(s)) // the job has ended, and folds need the memory
	}
	whole, own, second := make([]float64, len(p.rows)), make([]float64, len(p.rows)), make([]bool, len(p.rows))
	for place, r := range p.rows {
		whole[place], second[place] = model.raw(p.src, int(r)), p.target[r] > 0
	}
	scores, weight := make([]float64, len(p.rows)), p.count.Pick(nil, p.rows)
	p.meter.Begin(progress.Part{Doing: "calibrating", Unit: "folds", Total: int64(p.folds.Count)})
	for fold := range p.folds.Count {
		rows, held := p.folds.Divide(fold, p.rows)
		by, err := p.trainFold(rows, l2*float64(len(p.rows))/float64(len(rows)), l1)
		if err != nil {
			return nil, err
		}
		for place, r := range p.rows {
			own[place] = by.raw(p.src, int(r))
		}
		align := p.folds.Align(fold, own, whole, weight)
		for _, place := range held {
			scores[place] = align.Of(own[place])
		}
		if err := p.meter.Add(1); err != nil {
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
	f := &problem{config: p.config, alone: p.alone, targets: targets{names: p.names}, narrow: p.narrow, wide: p.wide, src: p.src, test: p.src, rows: rows, features: p.features}
	f.l2, f.l1, f.chosen, f.seekL1, f.path = l2, l1, false, false, 0
	f.calibrate, f.progressive, f.consistency = calibrateNone, false, table.BSP
	f.meter = progress.New(p.meter.Context()) // the run's own shows folds
	f.Ending = epochs.Ending{Epochs: p.Epochs}
	if err := f.arrange(app.Input{}); err != nil {
		return nil, err
	}
	k := newPolicy(f)
	tables, err := p.train(f.job(k))
	if err != nil {
		return nil, err
	}
	weights, bias, err := f.solution(tables, k)
	return &predictor{weights: weights, bias: bias}, err
}
