// Command resize repeats EPS's Figures 20 and 21: the loss of a job that doubles its workers, by kill and restart or
// while it runs. In the first case the job is asked to stop, saves, and starts again with more workers; in the second,
// processes join it.
//
// Processes are real and on this machine. Each is limited in what it computes: an item takes so long that four of them
// do not need a core, so that they do not slow each other down and the figures are those of four machines. The ideal is
// the job that has its new workers at work the instant that they are asked for. Everything that the two ways differ in
// counts: ending, saving, starting, reading the data, joining. What the laboratory says of the same jobs stands next to
// it.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"bellows/chart"
	"bellows/experiments/internal/report"
	"bellows/experiments/internal/subject"
)

// plan is what is run.
type plan struct {
	turns   int
	item    time.Duration
	epochs  int
	reads   time.Duration
	serial  bool
	app     string
	program string // itself
}

func main() {
	report.Play(roles)
	var p plan
	flag.IntVar(&p.turns, "turns", 7, "how often each way is measured")
	flag.DurationVar(&p.item, "item", 100*time.Microsecond, "what an item takes at least")
	flag.IntVar(&p.epochs, "epochs", 20, "passes over the data")
	flag.DurationVar(&p.reads, "reads", 0, "what a process takes at least to read its data, as from storage that is far away")
	flag.BoolVar(&p.serial, "serial", false, "workers that join come one after the other, and not all at once")
	flag.StringVar(&p.app, "app", "mlr", "mlr or lda")
	report.Main("resize", func(r *report.Run) (*report.Outcome, error) {
		var err error
		if p.program, err = os.Executable(); err != nil {
			return nil, err
		}
		return p.run(r)
	})
}

// The workers at first and in the end, and after how much of the epochs they are asked for.
const (
	few, many = 2, 4
	asked     = 0.3
)

// order returns the job.
func (p *plan) order(quick bool) (subject.Order, error) {
	o := subject.Order{App: p.app, Size: 8000, Epochs: p.epochs, Slots: many, Settings: map[string]string{"splits": "16", "clocks": "4"}}
	switch p.app {
	case "mlr":
	case "lda":
		o.Size, o.Settings = 1, map[string]string{"splits": "16", "topics": "20", "alpha": "0.1"}
	default:
		return o, fmt.Errorf("app %q: it must be mlr or lda", p.app)
	}
	if quick && p.app == "mlr" {
		o.Size = 400
	}
	return o, nil
}

// way is how the job comes to more workers.
type way struct {
	name     string
	from, to int
	restarts bool
}

var ways = []way{{"2 workers", few, few, false}, {"4 workers", many, many, false}, {"resized while it runs", few, many, false}, {"stopped and started again", few, many, true}}

// turn is a run of one way.
type turn struct {
	Way     string    `json:"way"`
	Epochs  []float64 `json:"epoch_ends"` // seconds from the start of its first process
	Asked   float64   `json:"asked,omitempty"`
	Ready   float64   `json:"ready,omitempty"` // the last worker takes part, or the first epoch after the restart has ended
	Moved   float64   `json:"moved,omitempty"` // the last split has
	Ideal   float64   `json:"ideal,omitempty"`
	Over    float64   `json:"over_ideal"`     // as a part of it
	Stalled float64   `json:"longest_epoch"`  // from the asking on, in seconds
	Late    bool      `json:"late,omitempty"` // the job was over before it could change
}

func (t *turn) end() float64 { return t.Epochs[len(t.Epochs)-1] }

// figures is all that is written.
type figures struct {
	Turns   []turn                     `json:"turns"`
	Over    map[string]report.Interval `json:"over_ideal"` // by way
	Checked []check                    `json:"laboratory"`
}

func (p *plan) run(r *report.Run) (*report.Outcome, error) {
	o, err := p.order(r.Quick)
	if err != nil || p.turns < 1 || p.epochs < 4 {
		return nil, fmt.Errorf("%d turns and %d epochs: there must be one and four of them: %w", p.turns, p.epochs, err)
	}
	folder, err := os.MkdirTemp("", "bellows-resize-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	f := figures{Over: map[string]report.Interval{}}
	over := map[string][]float64{}
	picture := &chart.Lines{Title: "epochs done by seconds", X: "seconds", Zero: true}
	for n := range p.turns {
		var of []turn
		for i, w := range ways {
			t, err := p.measure(o, w, filepath.Join(folder, strconv.Itoa(n)+"-"+strconv.Itoa(i)))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
			switch {
			case t.Late:
				r.Say("%s: the job was over at %.2f s, before it could change: give it more epochs", w.name, t.end())
			case w.from < w.to:
				t.judge(&of[1])
				over[w.name] = append(over[w.name], t.Over)
				r.Say("%s: asked at %.2f s, all moved at %.2f s, over at %.2f s; ideal %.2f s, %+.1f %%; longest epoch from then on %.2f s",
					w.name, t.Asked, max(t.Ready, t.Moved), t.end(), t.Ideal, 100*t.Over, t.Stalled)
			default:
				r.Say("%s: over at %.2f s", w.name, t.end())
			}
			of = append(of, *t)
			if n == 0 {
				picture.Lines = append(picture.Lines, t.line())
			}
		}
		f.Turns = append(f.Turns, of...)
	}
	for name, list := range over {
		f.Over[name] = report.IntervalOf(list)
		r.Say("%s: %v of the ideal over it", name, f.Over[name])
	}
	f.Checked, err = p.check(o, f.Turns)
	for _, c := range f.Checked {
		fitted := ""
		if c.Fitted {
			fitted = ", to which it is fitted"
		}
		r.Say("%s: %.3f s, the laboratory says %.3f s: %+.1f %%%s", c.What, c.Measured, c.Predicted, 100*c.Error, fitted)
	}
	return &report.Outcome{Figures: f, Pictures: []report.Picture{{Lines: picture}}}, err
}

// judge fills in what follows from the job that has all workers from the start.
func (t *turn) judge(all *turn) {
	done := 0
	for done < len(t.Epochs) && t.Epochs[done] <= t.Asked {
		done++
	}
	// The request comes right after the end of an epoch, so the rest is whole epochs.
	t.Ideal = t.Asked + all.end() - all.Epochs[done-1]
	t.Over = t.end()/t.Ideal - 1
	for i := done; i < len(t.Epochs); i++ {
		t.Stalled = max(t.Stalled, t.Epochs[i]-t.Epochs[i-1])
	}
}

func (t *turn) line() chart.Line {
	l := chart.Line{Name: t.Way, Points: []chart.Point{{}}}
	for i, at := range t.Epochs {
		l.Points = append(l.Points, chart.Point{X: at, Y: float64(i + 1)})
	}
	return l
}
