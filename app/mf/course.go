package mf

import (
	"math"

	"bellows/app"
	"bellows/train"
)

// course is what happens between epochs: the next step size and L2, what is reported and kept, and
// whether to go on. Both schedules share it.
type course struct {
	plan     *plan
	epoch    int     // epochs completed
	noise    float64 // held-out RMSE in standard units; 1 before the first epoch
	best     float64 // lowest noise so far
	since    int     // epochs since then
	brake    float64 // steps are divided by this; grows when training diverges or held-out ratings gain nothing
	reset    bool    // the next epoch starts again from the first values
	restarts int
	order    [3]float64 // a task's arguments: step, l2, reset
}

// Training that loses to predicting the mean by this much diverges. A start is repeated with steps
// divided by brakeFactor, so often that steps of 1e-6 are reached. An epoch after which held-out
// ratings are predicted no better halves the steps that follow: smaller steps average over more
// ratings, which often lowers the error once more.
const (
	divergedAbove = 1.5
	brakeFactor   = 4
	restartsMax   = 8
	annealFactor  = 2
)

func newCourse(p *plan) course {
	c := course{plan: p, noise: 1, best: math.Inf(1), brake: 1}
	c.aim()
	return c
}

// aim sets the arguments of the tasks of the next epoch.
func (c *course) aim() {
	step, l2 := c.plan.at(c.epoch, c.noise)
	c.order = [3]float64{step / c.brake, l2, 0}
	if c.reset {
		c.order[2] = 1
	}
}

// close ends an epoch, given the sums of squared errors in standard units: of the visits as they
// were made, of the held-out ratings, of the test ratings. It says whether another epoch follows.
func (c *course) close(trained, held, tested float64, d dispatcher) bool {
	p := c.plan
	trainRMSE, heldRMSE := rms(trained, int(p.trained)), rms(held, p.held)
	if !(trainRMSE <= divergedAbove) || (p.held > 0 && !(heldRMSE < math.Inf(1))) {
		return c.diverged()
	}
	c.reset = false
	c.epoch++
	metrics := c.metrics(trainRMSE, heldRMSE, rms(tested, p.tested))
	d.Report(train.Epoch{Number: c.epoch, Items: int64(c.epoch+c.restarts) * p.trained, Metrics: metrics})
	reached := reaches(p.goal, metrics)
	if c.judge(heldRMSE) || reached {
		d.Keep()
	}
	c.aim()
	return !reached && c.epoch < p.epochs && !(p.earlyStop && p.held > 0 && c.since >= p.patience)
}

// judge notes how well the held-out ratings are predicted, and says whether never so well before.
// Without such ratings the last epoch is as good as any.
func (c *course) judge(heldRMSE float64) bool {
	if c.plan.held == 0 {
		c.noise = 1
		return false
	}
	c.noise = heldRMSE
	if heldRMSE < c.best {
		c.best, c.since = heldRMSE, 0
		return true
	}
	if c.epoch > c.plan.warmup {
		c.since++
		c.brake *= annealFactor
	}
	return false
}

// diverged starts again with smaller steps, unless an epoch before was good: then that one counts.
func (c *course) diverged() bool {
	if !math.IsInf(c.best, 1) || c.restarts == restartsMax {
		return false
	}
	c.restarts++
	c.brake *= brakeFactor
	c.epoch, c.noise, c.reset = 0, 1, true
	c.aim()
	return true
}

// metrics are the figures of an epoch on the scale of the input. Without ratings to score there
// is no test_rmse.
func (c *course) metrics(trained, held, tested float64) []train.Metric {
	deviation := c.plan.scale.deviation
	list := []train.Metric{{Name: "train_rmse", Value: trained * deviation}}
	switch {
	case c.plan.tested > 0:
		list = append(list, train.Metric{Name: "test_rmse", Value: tested * deviation})
	case c.plan.held > 0:
		list = append(list, train.Metric{Name: "test_rmse", Value: held * deviation})
	}
	return list
}

// reaches says whether the goal of the run is met.
func reaches(g *app.Goal, metrics []train.Metric) bool {
	if g == nil {
		return false
	}
	for _, m := range metrics {
		if m.Name == g.Metric {
			return g.Below && m.Value <= g.Value || !g.Below && m.Value >= g.Value
		}
	}
	return false
}

// rms is the root of a mean of squares, 0 of none.
func rms(sum float64, n int) float64 {
	if n == 0 {
		return 0
	}
	return math.Sqrt(sum / float64(n))
}

// courseNumbers is the length of a saved course.
const courseNumbers = 7

func (c *course) save() []float64 {
	reset := 0.0
	if c.reset {
		reset = 1
	}
	return []float64{float64(c.epoch), c.noise, c.best, float64(c.since), c.brake, reset, float64(c.restarts)}
}

func (c *course) restore(s []float64) {
	c.epoch, c.noise, c.best, c.since = int(s[0]), s[1], s[2], int(s[3])
	c.brake, c.reset, c.restarts = s[4], s[5] != 0, int(s[6])
	c.aim()
}
