package mf

import (
	"math"

	"bellows/app/epochs"
	"bellows/train"
)

// policy decides between epochs: the next step size and L2, what is reported and kept, and whether to continue. Both
// schedules share it.
//
// Its states: a start (no epoch was good yet), to which divergence returns with steps divided by more; warm-up, in
// which worse predictions of held-out ratings mean nothing; then every such epoch divides the following steps. A run
// that diverges after a good epoch ends with that one (TestDivergenceAfterGoodEpochEndsRun).
//
// Invariants: stepDivisor never falls; reset is 1 from a start or restart under schedule=strata until an epoch was
// good; noise is startNoise whenever Epoch is 0 (TestDivergenceStartsAgainWithSmallerSteps).
//
// Rejected step schedules are described at stepSchedule.
type policy struct {
	problem     *problem
	noise       float64 // held-out RMSE in standard units; that of the start before the first epoch
	stepDivisor float64 // steps are divided by this; grows when training diverges or held-out ratings gain nothing
	reset       float64 // 1: the next epoch starts again from the first values
	restarts    int
	l2          float64 // of the epoch that is kept
}

// Training that loses to predicting the mean by this much diverges. A start is repeated with steps
// divided by restartDivisor, so often that steps of 1e-6 are reached. An epoch after which held-out
// ratings are predicted no better halves the steps that follow: smaller steps average over more
// ratings, which often lowers the error once more.
const (
	divergedAbove  = 1.5
	restartDivisor = 4
	restartsMax    = 8
	annealDivisor  = 2
)

func newPolicy(p *problem) *policy {
	c := &policy{problem: p, noise: p.startNoise, stepDivisor: 1}
	if p.schedule == strata {
		c.reset = 1
	}
	return c
}

// driver returns that of the policy's run. Under SSP the gate of the table holds tasks back, so all clocks of an epoch
// may queue.
func (c *policy) driver() *epochs.Driver {
	var order epochs.Order = c.problem.rotation()
	if c.problem.schedule == ssp {
		order = epochs.AtOnce{}
	}
	return epochs.New(c.problem.work(), order, c.problem.Ending, epochs.Results{Train: 1, Score: 2}, c)
}

// Train implements epochs.Policy: step, L2, and whether to start again.
func (c *policy) Train(args []float64, p *epochs.Progress, _, _ int) []float64 {
	step, l2 := c.problem.stepAt(c.problem.startEpoch+p.Epoch, c.noise)
	return append(args, step/c.stepDivisor, l2, c.reset)
}

// Score implements epochs.Policy.
func (c *policy) Score(*epochs.Progress, []float64) []float64 { return nil }

// End implements epochs.Policy, given the sums of squared errors in standard units: of the visits as they
// were made, of the held-out ratings and of the test ratings.
func (c *policy) End(p *epochs.Progress, trained, scores []float64) epochs.Verdict {
	trainRMSE, heldRMSE := rms(trained[0], int(c.problem.trained)), rms(scores[0], c.problem.heldOut)
	if !(trainRMSE <= divergedAbove) || (c.problem.heldOut > 0 && !(heldRMSE < math.Inf(1))) {
		return epochs.Verdict{Void: true, Stop: !c.restart(p)}
	}
	c.reset = 0
	return epochs.Verdict{Metrics: c.metrics(trainRMSE, heldRMSE, rms(scores[1], c.problem.tested)), Keep: c.judge(p, heldRMSE)}
}

// judge notes how well the held-out ratings are predicted, and says whether never so well before.
// Without such ratings the last epoch is as good as any.
func (c *policy) judge(p *epochs.Progress, heldRMSE float64) bool {
	_, l2 := c.problem.stepAt(c.problem.startEpoch+p.Epoch-1, c.noise)
	if c.problem.heldOut == 0 {
		c.noise, c.l2 = 1, l2
		return false
	}
	c.noise = heldRMSE
	warm := c.problem.startEpoch+p.Epoch > c.problem.warmup
	best := p.Judge(heldRMSE, p.Best, warm)
	if best {
		c.l2 = l2
	} else if warm {
		c.stepDivisor *= annealDivisor
	}
	return best
}

// restart starts again with smaller steps after training has diverged, unless an epoch before was good: then that one
// counts.
func (c *policy) restart(p *epochs.Progress) bool {
	if !math.IsInf(p.Best, 1) || c.restarts == restartsMax {
		return false
	}
	c.restarts++
	c.stepDivisor *= restartDivisor
	p.Epoch, c.noise, c.reset = 0, c.problem.startNoise, 1
	return true
}

// metrics returns the figures of an epoch on the scale of the input. Without ratings to score there
// is no test_rmse.
func (c *policy) metrics(trained, held, tested float64) []train.Metric {
	list := []train.Metric{{Name: "train_rmse", Value: trained * c.problem.scale.deviation}}
	if c.problem.tested > 0 {
		held = tested
	} else if c.problem.heldOut == 0 {
		return list
	}
	return append(list, train.Metric{Name: "test_rmse", Value: held * c.problem.scale.deviation})
}

// rms returns the root of a mean of squares, 0 of none.
func rms(sum float64, n int) float64 {
	if n == 0 {
		return 0
	}
	return math.Sqrt(sum / float64(n))
}

// folding returns how the kept model fits new users: with the L2 of its epoch. The products of the model's factors
// carry the ratings' deviation, and so does the weight of their squares.
func (c *policy) folding() details {
	return details{L2: c.l2 * c.problem.scale.deviation, BiasL2: c.problem.bias}
}

// Save implements epochs.Policy.
func (c *policy) Save() []float64 {
	return []float64{c.noise, c.stepDivisor, c.reset, float64(c.restarts), c.l2}
}

// Restore implements epochs.Policy.
func (c *policy) Restore(s []float64) {
	c.noise, c.stepDivisor, c.reset, c.restarts, c.l2 = s[0], s[1], s[2], int(s[3]), s[4]
}
