// Command scalein repeats Litz's §5.1.3: half of the processes of an lda job leave while it trains, with their splits
// and partitions. The terms are ours. It measures the time from the accepted command to the exit of the last of them,
// relative to the time of a plain copy of the same bytes in the same run.
//
// Processes are real and on this machine, joined by Unix sockets. So are the bytes of the plain copy: as many senders
// as nodes leave, each to a separate receiver. Nodes leave with a notice, so that their state does not wait behind the
// training.
package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"bellows/chart"
	"bellows/experiments/internal/report"
	"bellows/experiments/internal/subject"
)

// wanted is the time of a scale-in over that of a plain copy, at most. Litz's took twice as long.
const wanted = 1.2

// plan is what is run.
type plan struct {
	turns, size, topics, clocks int
	first, last                 int      // nodes that train
	link                        string   // bandwidth of each process's link, as tc has it; "": none, and Unix sockets
	spaces                      []string // network namespaces, by node
	program                     string   // itself
}

func main() {
	report.Play(roles)
	var p plan
	flag.IntVar(&p.turns, "turns", 15, "how often nodes leave")
	flag.IntVar(&p.size, "size", 4, "demonstrations, one after the other, as data")
	flag.IntVar(&p.topics, "topics", 1000, "topics: what nodes hold grows with them")
	flag.IntVar(&p.clocks, "clocks", 20, "of an epoch: splits move between two of them")
	flag.IntVar(&p.first, "first", 4, "processes that train at first")
	flag.IntVar(&p.last, "last", 2, "and in the end")
	flag.StringVar(&p.link, "link", "", "bandwidth of each process's link, as `1gbit` or 200mbit, in network namespaces, which root can make; empty: Unix sockets")
	report.Main("scalein", func(r *report.Run) (*report.Outcome, error) {
		var err error
		if p.program, err = os.Executable(); err != nil {
			return nil, err
		}
		if list := os.Getenv(spacesVariable); p.link != "" && list == "" {
			if err := within(p.link, p.first); err != nil {
				return nil, err
			}
			os.Exit(0) // the program has run there
		} else if p.link != "" {
			p.spaces = strings.Split(list, ",")
		}
		return p.run(r)
	})
}

// begun is the epoch after which nodes are asked to leave, and most bounds their number.
const (
	begun = 2
	most  = 1 << 20
)

func (p *plan) order() subject.Order {
	return subject.Order{App: "lda", Size: p.size, Epochs: most, Slots: p.first,
		Settings: map[string]string{"splits": strconv.Itoa(4 * p.first), "topics": strconv.Itoa(p.topics), "alpha": "0.05", "clocks": strconv.Itoa(p.clocks)}}
}

// turn is one scale-in.
type turn struct {
	Seconds float64   `json:"seconds"` // to the exit of the last
	Exits   []float64 `json:"exits"`   // of each, ascending
	Bytes   int64     `json:"bytes"`   // that went to others
	Steps   int       `json:"steps"`   // splits and partitions
	Copy    float64   `json:"copy_seconds"`
	Again   float64   `json:"copy_again_seconds"`
	Ratio   float64   `json:"over_copy"`
	Epoch   float64   `json:"epoch_seconds"` // the last before
	// Splits and Partitions are when the last of them had moved.
	Splits     float64 `json:"splits_moved"`
	Partitions float64 `json:"partitions_moved"`
	asked      time.Time
}

// figures is all that is written.
type figures struct {
	Turns  []turn          `json:"turns"`
	Over   report.Interval `json:"over_copy"`
	Same   report.Interval `json:"copy_over_copy"`
	Rate   report.Interval `json:"copy_bytes_per_second"`
	Wanted float64         `json:"wanted_at_most"`
}

func (p *plan) run(r *report.Run) (*report.Outcome, error) {
	if p.turns < 1 || p.clocks < 1 || p.last < 1 || p.first <= p.last {
		return nil, fmt.Errorf("%d turns, %d clocks, %d processes and %d in the end: there is one of each, some processes leave, and some stay", p.turns, p.clocks, p.first, p.last)
	}
	if r.Quick {
		p.turns, p.size, p.topics = min(p.turns, 2), 1, 50
	}
	f := figures{Wanted: wanted}
	var over, same, rate []float64
	picture := &chart.Lines{Title: "processes that have left by seconds", X: "seconds", Zero: true}
	for n := range p.turns {
		t, err := p.leave()
		if err != nil {
			return nil, err
		}
		for _, took := range []*float64{new(float64), &t.Copy, &t.Again} { // the first gets its memory from the system
			if *took, err = p.copy(t.Bytes); err != nil {
				return nil, err
			}
		}
		plain := (t.Copy + t.Again) / 2
		t.Ratio = t.Seconds / plain
		r.Say("%d processes left in %.3f s, with %d splits and partitions and %.1f MiB; a plain copy takes %.3f s: %.2f times; an epoch before takes %.3f s, the last split moved at %.3f s, the last partition at %.3f s", len(t.Exits), t.Seconds, t.Steps,
			float64(t.Bytes)/(1<<20), plain, t.Ratio, t.Epoch, t.Splits, t.Partitions)
		f.Turns = append(f.Turns, *t)
		over, same, rate = append(over, t.Ratio), append(same, t.Again/t.Copy), append(rate, float64(t.Bytes)/plain)
		if n == 0 {
			left := chart.Line{Name: "left", Points: []chart.Point{{}}}
			for i, at := range t.Exits {
				left.Points = append(left.Points, chart.Point{X: at, Y: float64(i + 1)})
			}
			whole := chart.Line{Name: "plain copy", Points: []chart.Point{{}, {X: plain, Y: float64(len(t.Exits))}}}
			picture.Lines = []chart.Line{left, whole}
		}
	}
	f.Over, f.Same, f.Rate = report.IntervalOf(over), report.IntervalOf(same), report.IntervalOf(rate)
	r.Say("scale-in over a plain copy: %v, wanted at most %.1f; copy over copy: %v; a plain copy: %.0f MiB/s", f.Over, wanted, f.Same, f.Rate.Median/(1<<20))
	return &report.Outcome{Figures: f, Pictures: []report.Picture{{Lines: picture}}}, nil
}

// seconds since a time.
func seconds(since time.Time) float64 { return time.Since(since).Seconds() }
