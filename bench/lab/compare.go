package main

import (
	"time"

	"bellows/bench/lab/internal/jobs"
	"bellows/sim/lab"
)

// shape is a run that is predicted and measured.
type shape struct {
	Name             string
	Processes, Slots int
	Clocks           int
	Fitted           bool // the costs come from this run
}

// shapes are those of --calibrate.
var shapes = []shape{
	{"one process, 1 slot", 0, 1, clocksFew, true},
	{"one process, 1 slot", 0, 1, clocksMany, true},
	{"one process, 2 slots", 0, 2, clocksFew, false},
	{"2 processes", 2, 2, clocksFew, true},
	{"2 processes", 2, 2, clocksMany, false},
	{"4 processes", 4, 2, clocksFew, false},
	{"8 processes", 8, 2, clocksFew, false},
}

// compare fits costs and holds what the laboratory says of real runs against them; then the laboratory's speed against the
// run of the most processes.
func (b *bench) compare() {
	b.Header("lab: predicted against measured, %s", b.order.App)
	f := b.costs(true)
	b.say("costs in ns of a core: %+v", f.Costs)
	b.say("between processes of this machine a message is %v under way besides its costs, and %v longer where a core sleeps", f.LocalLatency, f.WakeLatency)
	b.say("")
	b.say("%-29s  %30s  %30s", "", "training of an epoch, ms", "CPU time of an epoch, ms")
	b.say("%-22s %6s  %10s %10s %8s  %10s %10s %8s  %6s", "run", "clocks", "predicted", "measured", "error", "predicted", "measured", "error", "others")
	for _, m := range f.Runs {
		if m.Order.App != jobs.ClockApp {
			b.row(m, f)
		}
	}
	b.race(f, f.Runs[len(f.Runs)-1])
}

func (s shape) site(f fitted) lab.Site {
	if s.Processes == 0 {
		return lab.Alone(cores(), s.Slots)
	}
	site := lab.Processes(s.Processes, cores(), s.Slots)
	site.LocalLatency, site.Nap, site.WakeLatency = f.LocalLatency, nap, f.WakeLatency
	return site
}

// row predicts a run and prints what it was.
func (b *bench) row(m measured, f fitted) {
	s, was := m.Shape, m.Pace
	predicted, _ := virtual(m.Order, s.site(f), f.Costs)
	name := s.Name
	if s.Fitted {
		name += " (fitted)"
	}
	b.figures(map[string]any{"run": s.Name, "clocks": s.Clocks, "fitted": s.Fitted,
		"predicted_seconds": predicted.Trained, "measured_seconds": was.Trained, "error": predicted.Trained/was.Trained - 1,
		"predicted_cpu_seconds": predicted.CPU, "measured_cpu_seconds": was.CPU, "cpu_error": predicted.CPU/was.CPU - 1, "others": m.Other})
	b.say("%-22s %6d  %10.2f %10.2f %+7.1f%%  %10.2f %10.2f %+7.1f%%  %5.1f%%", name, s.Clocks, 1e3*predicted.Trained, 1e3*was.Trained,
		100*(predicted.Trained/was.Trained-1), 1e3*predicted.CPU, 1e3*was.CPU, 100*(predicted.CPU/was.CPU-1), 100*m.Other)
}

// bosenRate is how many samples of MNIST's shape a core of Bösen's own softmax regression visits in a second, as recorded
// on the machine of the documents.
const bosenRate = 48_800

// race holds the time that the laboratory takes for an epoch of 8 nodes against that of the real run.
func (b *bench) race(f fitted, m measured) {
	o, measured := m.Order, m.Pace
	least := time.Duration(0)
	for turn := range b.Turns {
		_, wall := trial(o, m.Shape.site(f), lab.Config{Seed: b.seed, Costs: f.Costs})
		if turn == 0 || wall < least {
			least = wall
		}
	}
	ours := least.Seconds() / float64(o.Epochs)
	published := f.Costs
	published.Item, published.Task, published.Score = 1e9/bosenRate, 0, 0
	r, wall := trial(o, site{nodes: 8, cores: 1, bandwidth: 1000, latency: 100 * time.Microsecond}.make(f), lab.Config{Seed: b.seed, Costs: published})
	b.figures(map[string]any{"run": "laboratory of 8 nodes", "wall_seconds": ours, "real_seconds": measured.Wall,
		"ratio": measured.Wall / ours, "published_virtual_over_wall": r.Time.Seconds() / wall.Seconds()})
	b.say("")
	b.say("an epoch of 8 nodes: %.2f ms in the laboratory, %.2f ms in 8 real processes: %.2f times as fast", 1e3*ours, 1e3*measured.Wall, measured.Wall/ours)
	b.say("8 machines of one core at Bösen's recorded %d samples/s: %.3f s of virtual time in %.3f s, %.1f times as fast", bosenRate, r.Time.Seconds(), wall.Seconds(), r.Time.Seconds()/wall.Seconds())
}
