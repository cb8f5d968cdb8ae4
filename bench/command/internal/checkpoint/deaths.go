package checkpoint

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"bellows/bench/internal/follow"
	"bellows/bench/internal/pair"
	"bellows/bench/internal/sets"
	"bellows/chart"
	"bellows/node"
)

// mortal is a job that is killed again and again, at moments that chance draws between two checkpoints, and given again at once.
type mortal struct {
	program string
	set     sets.Pair
	out     string
	every   time.Duration
	rng     *rand.Rand

	cmd  *follow.Command
	last int // the newest epoch that was reported

	lost, redone, restart, period, took []float64 // seconds; redone: epochs
	epoch                               []float64 // seconds of one
}

// deaths shows what a death costs by the interval between checkpoints: how long it takes until the job is again where
// it was killed, compared with what is expected, half the interval and what a start takes; and how many epochs are done
// again. Jobs are killed in parallel.
func (c *check) deaths(list []string, kills, jobs int, picture string) {
	set := c.shelf.Ratings(users, items, ratings)
	program := c.shelf.Bellows()
	measured, expected := chart.Line{Name: "measured"}, chart.Line{Name: "half the interval, and a start"}
	for _, every := range list {
		interval := pair.Must(time.ParseDuration(every))
		c.Section(fmt.Sprintf("killed by signal 9 and given again, a checkpoint every %s: mf, %s, %d jobs at a time", every, set.Origin, jobs))
		runs := make([]*mortal, jobs)
		pair.RunTogether(jobs, func(i int) {
			runs[i] = &mortal{program: program, set: set, out: c.shelf.Path(fmt.Sprintf("mortal-%s-%d", every, i)), every: interval, rng: rand.New(rand.NewPCG(1, uint64(i)))}
			runs[i].run((kills + jobs - 1) / jobs)
		})
		var sum mortal
		for _, m := range runs {
			sum.lost, sum.redone, sum.restart = append(sum.lost, m.lost...), append(sum.redone, m.redone...), append(sum.restart, m.restart...)
			sum.period, sum.took, sum.epoch = append(sum.period, m.period...), append(sum.took, m.took...), append(sum.epoch, m.epoch...)
		}
		took, period, restart := pair.Median(sum.took).Value, pair.Median(sum.period).Value, pair.Median(sum.restart).Value
		// The state left by a death is that of the last complete checkpoint's beginning: as old as that took, plus
		// between nothing and a period.
		want := took + period/2 + restart
		mean, apart := meanOf(sum.lost)
		measured.Points, expected.Points = append(measured.Points, chart.Point{X: interval.Seconds(), Y: mean}), append(expected.Points, chart.Point{X: interval.Seconds(), Y: want})
		c.Note("from one checkpoint to the next %.2f s, each takes %.2f s; from a start to the first epoch %.2f s", period, took, restart)
		redone, _ := meanOf(sum.redone)
		c.Note("epochs done again: %.1f at the mean, %v s of training; the time until the job is where it was: %.2f s at the mean, ± %.2f (two standard errors of %d)", redone, trim(redone*pair.Median(sum.epoch).Value), mean, 2*apart, len(sum.lost))
		c.AddFact(pair.Fact{Figure: fmt.Sprintf("every %s: seconds lost by a death, mean of %d, in times of half the interval, a checkpoint and a start (%.2f s)", every, len(sum.lost), want), Ours: mean / want, Exact: true})
		for _, life := range []time.Duration{10 * time.Minute, time.Hour, node.FailureTime} {
			c.Note("at one death in %v, of a run's time: %.2f %% lost by deaths, %.2f %% if checkpoints took all that they take: together least at %.1f s, by sqrt(2·%.2f s·%v)", life, 100*mean/life.Seconds(), 100*took/period,
				math.Sqrt(2*took*life.Seconds()), took, life)
		}
	}
	if picture != "" {
		lines := &chart.Lines{Title: "seconds lost by a death, by the interval between checkpoints", X: "seconds from one checkpoint to the next", Zero: true, Lines: []chart.Line{measured, expected}}
		pair.Check(os.WriteFile(picture, []byte(lines.File(760, 380)), 0o666))
	}
}

func trim(x float64) string { return fmt.Sprintf("%.2f", x) }

// meanOf returns the mean and its standard error.
func meanOf(x []float64) (mean, apart float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		apart += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(apart / float64(max(1, len(x)-1)) / float64(max(1, len(x))))
}

// mortalWithin bounds what is waited for.
const mortalWithin = 2 * time.Minute

// run kills the job so often.
func (m *mortal) run(kills int) {
	defer os.RemoveAll(m.out)
	m.start()
	defer func() { m.cmd.Kill() }()
	for range kills {
		// After a checkpoint there is a whole period to draw from.
		cut := m.cmd.Await("checkpoint", mortalWithin, follow.HasKind("checkpoint"))
		m.took = append(m.took, cut.Seconds)
		m.period = append(m.period, cut.Every+cut.Seconds)
		moment := time.Duration(m.rng.Float64() * float64(pair.Seconds(cut.Every+cut.Seconds)))
		from, began := m.last, time.Now()
		m.cmd.Rest(moment)
		if n := m.last - from; n > 0 {
			m.epoch = append(m.epoch, time.Since(began).Seconds()/float64(n))
		}
		was, killed := m.last, time.Now()
		m.cmd.Kill()
		m.start()
		started := time.Now()
		first := m.cmd.Await("epoch", mortalWithin, follow.IsEpoch)
		m.restart = append(m.restart, time.Since(started).Seconds())
		m.redone = append(m.redone, float64(max(0, was-*first.Epoch+1)))
		if m.last < was {
			m.cmd.Await("epoch that was done before", mortalWithin, func(e follow.Event) bool { return follow.IsEpoch(e) && *e.Epoch >= was })
		}
		m.lost = append(m.lost, time.Since(killed).Seconds())
	}
}

// start gives the command.
func (m *mortal) start() {
	m.last = 0
	m.cmd = follow.Start(func(e follow.Event) {
		if follow.IsEpoch(e) {
			m.last = *e.Epoch
		}
	}, m.program, trainWords(m.set, m.out, m.every.String())...)
}
