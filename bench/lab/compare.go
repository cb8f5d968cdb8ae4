package main

import (
	"fmt"
	"time"

	"bellows/sim/lab"
)

// shape is a run that is predicted and measured.
type shape struct {
	name             string
	processes, slots int
	clocks           int
	fitted           bool // the costs come from this run
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
// slowest of these runs.
func (b *bench) compare() error {
	b.options.Header(b.out, "lab: predicted against measured, "+b.order.App)
	f, err := b.fit()
	if err != nil {
		return err
	}
	b.say("costs in ns of a core: %+v", f.Costs)
	b.say("between processes of this machine a message is %v under way besides its costs, and %v longer to one that sleeps", f.LocalLatency, f.WakeLatency)
	b.say("")
	b.say("%-22s %6s  %30s  %30s", "", "clocks", "training of an epoch, ms", "CPU time of an epoch, ms")
	b.say("%-22s %6s  %10s %10s %8s  %10s %10s %8s  %6s", "run", "", "predicted", "measured", "error", "predicted", "measured", "error", "others")
	var last pace
	for _, s := range shapes {
		if last, err = b.row(s, f); err != nil {
			return err
		}
	}
	return b.race(f, shapes[len(shapes)-1], last)
}

// say prints a line for people.
func (b *bench) say(format string, args ...any) {
	if !b.options.JSON {
		fmt.Fprintf(b.out, format+"\n", args...)
	}
}

func (s shape) site(f fitted) lab.Site {
	if s.processes == 0 {
		return lab.Alone(cores(), s.slots)
	}
	site := lab.Processes(s.processes, cores(), s.slots)
	site.LocalLatency, site.Nap, site.WakeLatency = f.LocalLatency, nap, f.WakeLatency
	return site
}

// row predicts and measures one run.
func (b *bench) row(s shape, f fitted) (pace, error) {
	o := b.train(s.clocks)
	predicted, _, err := virtual(o, s.site(f), f.Costs)
	if err != nil {
		return pace{}, err
	}
	measured, disturbed, err := b.measure(o, s.processes, s.slots)
	if err != nil {
		return pace{}, err
	}
	name := s.name
	if s.fitted {
		name += " (fitted)"
	}
	if b.options.JSON {
		return measured, b.object(map[string]any{"run": s.name, "clocks": s.clocks, "fitted": s.fitted,
			"predicted_seconds": predicted.trained, "measured_seconds": measured.trained, "error": predicted.trained/measured.trained - 1,
			"predicted_cpu_seconds": predicted.cpu, "measured_cpu_seconds": measured.cpu, "cpu_error": predicted.cpu/measured.cpu - 1, "others": disturbed})
	}
	b.say("%-22s %6d  %10.2f %10.2f %+7.1f%%  %10.2f %10.2f %+7.1f%%  %5.1f%%", name, s.clocks, 1e3*predicted.trained, 1e3*measured.trained,
		100*(predicted.trained/measured.trained-1), 1e3*predicted.cpu, 1e3*measured.cpu, 100*(predicted.cpu/measured.cpu-1), 100*disturbed)
	return measured, nil
}

// bosenRate is how many samples of MNIST's shape a core of Bösen's own softmax regression visits in a second, as recorded
// on the machine of the documents.
const bosenRate = 48_800

// race holds the time that the laboratory takes for an epoch of 8 nodes against that of the real run.
func (b *bench) race(f fitted, s shape, measured pace) error {
	o := b.train(s.clocks)
	least := time.Duration(0)
	for turn := range b.options.Turns {
		_, wall, err := b.trial(o, lab.Config{Seed: b.seed, Site: s.site(f), Costs: f.Costs})
		if err != nil {
			return err
		}
		if turn == 0 || wall < least {
			least = wall
		}
	}
	ours := least.Seconds() / float64(o.Epochs)
	published := lab.Costs{Item: 1e9 / bosenRate, Send: f.Costs.Send, SendByte: f.Costs.SendByte, Receive: f.Costs.Receive,
		ReceiveByte: f.Costs.ReceiveByte, Wake: f.Costs.Wake, Local: f.Costs.Local, LocalByte: f.Costs.LocalByte}
	r, wall, err := b.trial(o, lab.Config{Seed: b.seed, Site: site{nodes: 8, cores: 1, bandwidth: 1000, latency: 100 * time.Microsecond}.make(), Costs: published})
	if err != nil {
		return err
	}
	if b.options.JSON {
		return b.object(map[string]any{"run": "laboratory of 8 nodes", "wall_seconds": ours, "real_seconds": measured.wall,
			"ratio": measured.wall / ours, "published_virtual_over_wall": r.Time.Seconds() / wall.Seconds()})
	}
	b.say("")
	b.say("an epoch of 8 nodes: %.2f ms in the laboratory, %.2f ms in 8 real processes: %.2f times as fast", 1e3*ours, 1e3*measured.wall, measured.wall/ours)
	b.say("8 machines of one core at Bösen's recorded %d samples/s: %.3f s of virtual time in %.3f s, %.1f times as fast", bosenRate, r.Time.Seconds(), wall.Seconds(), r.Time.Seconds()/wall.Seconds())
	return nil
}

func (b *bench) object(o map[string]any) error { return writeJSON(b.out, o) }
