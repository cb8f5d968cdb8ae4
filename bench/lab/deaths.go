package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"bellows/bench/internal/pair"
	"bellows/chart"
	"bellows/node"
	"bellows/sim/lab"
)

// losses is what deaths cost, as bench/protocol --only detection has measured it: seconds from a death until something new counts.
type losses struct {
	Worker  float64 // a node that runs tasks
	Server  float64 // a node that holds tables: the run is rolled back
	Command float64 // the whole job, and the same command given at once
	Cut     float64 // what a checkpoint takes
}

// loadLosses reads what `bench/protocol --only detection` has printed.
func loadLosses(name string) (l losses, err error) {
	type series struct {
		Recovered struct{ Median struct{ Value float64 } }
	}
	var all struct {
		Worker  series  `json:"worker_killed"`
		Server  series  `json:"server_killed"`
		Command series  `json:"command_killed"`
		Cut     float64 `json:"checkpoint_seconds"`
	}
	text, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	l = losses{all.Worker.Recovered.Median.Value, all.Server.Recovered.Median.Value, all.Command.Recovered.Median.Value, all.Cut}
	if err == nil && min(l.Worker, l.Server, l.Command, l.Cut) <= 0 {
		err = errors.New("it has not all of worker_killed, server_killed, command_killed and checkpoint_seconds")
	}
	if err != nil {
		err = fmt.Errorf("--losses %s: %w; `./dev bench protocol --only detection > %[1]s` writes such a file", name, err)
	}
	return l, err
}

// policy is what is done about deaths.
type policy struct {
	name  string
	saves bool // checkpoints are taken, as often as a job does by default
	whole bool // any death ends the whole job, which is started again
}

// policies are what people do now, that with our checkpoints, and ours.
var policies = []policy{
	{"started over", false, true},
	{"whole job, from its checkpoint", true, true},
	{"ours", true, false},
}

// Of a job: what is not drawn.
type lifetime struct {
	losses
	work    float64 // seconds to the objective without deaths
	clock   float64 // seconds of a clock
	every   float64 // seconds between two checkpoints
	nodes   int
	servers int // of these, that hold tables
}

// gaveUp is how many times its work a job may take until it is given up.
const gaveUp = 100

// takes returns the seconds to the objective if nodes die perSecond, as one seed draws it; infinite: it was given up. A
// death hits any node, with equal probability. The cost of a death:
//
//   - started over: all that was done, and a new start of the command;
//   - the whole job: the work since the last checkpoint, and a new start;
//   - ours: for a node with tables, the work since the last checkpoint, and a rollback; for another one a clock, which is more than the part of one
//     that runs again, and then its part of the speed for as long as a new start takes, until another node replaces it.
//
// A checkpoint costs what it takes, though the job continues meanwhile. A death during a start or a rollback begins
// that anew.
func (j *lifetime) takes(p policy, perSecond float64, rng *rand.Rand) float64 {
	now, done, saved := 0.0, 0.0, 0.0
	death := func() float64 { return now + rng.ExpFloat64()/perSecond }
	next := math.Inf(1)
	if perSecond > 0 {
		next = death()
	}
	slow, until := 1.0, 0.0 // the speed until then
	for {
		stop := j.work
		if p.saves {
			stop = min(stop, saved+j.every)
		}
		speed, end := 1.0, math.Inf(1)
		if now < until {
			speed, end = slow, until
		}
		arrives := now + (stop-done)/speed
		switch first := min(arrives, next, end); first {
		case next:
			done += (next - now) * speed
			now = next
			holds := rng.IntN(j.nodes) < j.servers
			switch {
			case p.whole && !p.saves:
				done, now = 0, now+j.Command
			case p.whole:
				done, now = saved, now+j.Command
			case holds:
				done, now, until = saved, now+j.Server, 0
			default:
				done = max(saved, done-j.clock)
				now += j.Worker
				slow, until = float64(j.nodes-1)/float64(j.nodes), now+j.Command
			}
			next = death()
		case arrives:
			done, now = stop, arrives
			if done >= j.work {
				return now
			}
			saved = done
			now += j.Cut
		default:
			done, now = done+(end-now)*speed, end
		}
		if now > gaveUp*j.work {
			return math.Inf(1)
		}
	}
}

// quantiles returns those of many draws.
func (j *lifetime) quantiles(p policy, perHour float64, seed uint64) (median, low, high float64) {
	const draws = 1001
	list := make([]float64, draws)
	for i := range list {
		list[i] = j.takes(p, perHour/3600, rand.New(rand.NewPCG(seed, uint64(i))))
	}
	slices.Sort(list)
	return list[draws/2], list[draws/10], list[draws-1-draws/10]
}

// rates are deaths in an hour, of the whole job.
var rates = []float64{0, 1, 3, 10}

// die lays deaths over a job of the laboratory: its course is the laboratory's, deaths are drawn, and what they cost was measured on real processes.
func (b *bench) die() {
	l := pair.Must(loadLosses(b.losses))
	f := b.costs(false)
	site := b.site.make(f)
	r := b.stretched(site, f.Costs)
	last := r.Epochs[len(r.Epochs)-1]
	goal := last.Metrics[0]
	for _, m := range last.Metrics {
		if m.Name == "train_logloss" { // which tells more than an accuracy
			goal = m
		}
	}
	m := pair.Must(b.order.Make())
	servers := b.site.servers
	if servers == 0 {
		servers = b.site.nodes
	}
	every := node.Interval(time.Duration(l.Cut*float64(time.Second)), b.site.nodes)
	j := &lifetime{losses: l, work: r.Time.Seconds(), clock: r.Time.Seconds() / float64(len(r.Epochs)*max(1, m.Clocks)), every: every.Seconds(), nodes: b.site.nodes, servers: servers}
	b.Header("lab: deaths, %s on %d nodes, %d with tables", b.order.App, j.nodes, j.servers)
	b.say("the objective, %s %.5g, is reached after %.3f h without deaths (virtual, %d epochs, items dear enough for that)", goal.Name, goal.Value, j.work/3600, len(r.Epochs))
	b.say("measured on real processes: %.3f s from a worker's death until something new counts, %.3f s from a server's, %.3f s from that of the whole job to the same command's first; a checkpoint takes %.3f s", l.Worker, l.Server, l.Command, l.Cut)
	b.say("from these: a checkpoint every %.0f s (node.Interval); a clock takes %.1f s", j.every, j.clock)
	b.say("%12s  %-32s %10s %10s %10s  %s", "deaths/hour", "what is done", "median h", "10 %", "90 %", "of undisturbed")
	picture := &chart.Lines{Title: "hours to the same objective by deaths in an hour", X: "deaths of a node in an hour", Log: true}
	for _, p := range policies {
		line := chart.Line{Name: p.name}
		for _, rate := range rates {
			median, low, high := j.quantiles(p, rate, b.seed)
			hours := func(s float64) string {
				if math.IsInf(s, 1) {
					return fmt.Sprintf("> %.0f", gaveUp*j.work/3600)
				}
				return fmt.Sprintf("%.3f", s/3600)
			}
			b.say("%12g  %-32s %10s %10s %10s  %s", rate, p.name, hours(median), hours(low), hours(high), times(median/j.work))
			b.figures(map[string]any{"deaths_per_hour": rate, "what": p.name, "median_seconds": finite(median), "low_seconds": finite(low), "high_seconds": finite(high)})
			if !math.IsInf(median, 1) {
				line.Points = append(line.Points, chart.Point{X: rate, Y: median / 3600})
			}
		}
		picture.Lines = append(picture.Lines, line)
	}
	if b.picture != "" {
		pair.Check(os.WriteFile(b.picture, []byte(picture.File(760, 380)), 0o666))
	}
}

// stretched returns a run whose items are so expensive that it takes as long as wanted: its time is a straight line
// over the cost of an item, through two shorter runs.
func (b *bench) stretched(site lab.Site, costs lab.Costs) *lab.Result {
	at := func(item float64) *lab.Result {
		c := costs
		c.Item = item
		r, _ := trial(b.order, site, lab.Config{Seed: b.seed, Costs: c, Jitter: b.chance})
		return r
	}
	low, high := 1e4*costs.Item, 1e5*costs.Item
	x, y := at(low).Time.Seconds(), at(high).Time.Seconds()
	return at(max(low, low+(b.hours*3600-x)*(high-low)/(y-x)))
}

// times returns a ratio as people read it.
func times(ratio float64) string {
	if math.IsInf(ratio, 1) {
		return "given up"
	}
	return fmt.Sprintf("%.3f times", ratio)
}

// finite returns a number for JSON; nil: it was given up.
func finite(s float64) any {
	if math.IsInf(s, 1) {
		return nil
	}
	return s
}
