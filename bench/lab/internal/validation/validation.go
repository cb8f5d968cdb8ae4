// Package validation compares the laboratory with real processes of this machine, one kind of event at a time: links,
// slow nodes, moves, deaths, cuts.
//
// Each kind is a Case. A turn makes two real runs, a plain one and one with a change. The costs of a task are fitted
// to the plain runs. The laboratory then plays the same script, and its prediction is compared with the other runs.
// Links, rests and quotas limit the jobs, so that other work on the machine hardly matters.
//
// The caller's duties, in order: enter Role and BurnRole among the roles of its program, enter the namespaces of
// package netns, Choose cases, and Run them.
//
// The package refuses to judge: it returns figures.
package validation

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"bellows/bench/internal/pair"
	"bellows/bench/lab/internal/netns"
	"bellows/sim/lab/script"
)

// Names of the roles of the program.
const (
	RoleName = "part"
	BurnName = "burn"
)

// NodesMost is how many nodes a case has besides node 0.
const NodesMost = 3

// Choose returns the cases of names; without any, all.
func Choose(names []string) ([]Case, error) {
	all := Cases()
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, c := range all {
		known = append(known, c.Name)
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, fmt.Errorf("there is no kind %q; known kinds: %s", n, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(all, func(c Case) bool { return !slices.Contains(names, c.Name) }), nil
}

// Row is one figure of a case.
type Row struct {
	Kind      string  `json:"kind"`
	Figure    string  `json:"figure"`
	Unit      string  `json:"unit"`
	Measured  float64 `json:"measured"`
	Least     float64 `json:"least"`
	Most      float64 `json:"most"`
	Predicted float64 `json:"predicted"`
	Ratio     float64 `json:"ratio"` // predicted over measured
	Fitted    bool    `json:"fitted"`
}

// Run makes the runs of a case, in turns, and returns its figures.
func (c *Case) Run(s *netns.Spaces, turns int) []Row {
	var plain, real []Outcome
	for range turns {
		plain = append(plain, c.plain().again(s))
		if c.differs() {
			real = append(real, c.again(s))
		}
	}
	m := c.fit(median(plain))
	if c.change.rolled {
		m.Start = time.Duration(median(real).Event*float64(time.Second)) - detect
	}
	p := c.plain()
	rows := p.rows("training, plain", plain, p.Predict(m))
	rows = slices.DeleteFunc(rows, func(r Row) bool { return r.Unit == "MB" })
	for i := range rows {
		rows[i].Fitted = true
	}
	if c.differs() {
		rows = append(rows, c.rows("training", real, c.Predict(m))...)
	}
	return rows
}

// again makes a real run, and once again if it fails. A node that cannot be reached for a minute ends a run, and was seen
// once in a hundred of them, on a busy machine.
func (c *Case) again(s *netns.Spaces) (out Outcome) {
	if err := pair.Attempt(func() { out = c.measure(s) }); err != nil {
		fmt.Fprintf(os.Stderr, "%s: a run failed and is repeated: %v\n", c.Name, err)
		out = c.measure(s)
	}
	return out
}

// differs reports whether the case has a second run.
func (c *Case) differs() bool {
	t := &c.change
	return c.links != nil || c.cores != nil || t.event != nil || t.cuts > 0 || t.slower > 0 || t.load != nil || t.budget.Rate > 0
}

// rows returns the figures of runs and of what was predicted.
func (c *Case) rows(figure string, runs []Outcome, predicted Outcome) (list []Row) {
	add := func(figure, unit string, value func(Outcome) float64) {
		var all []float64
		for _, o := range runs {
			all = append(all, value(o))
		}
		s := pair.SpreadOf(all)
		if s.Median == 0 && value(predicted) == 0 {
			return
		}
		list = append(list, Row{Kind: c.Name, Figure: figure, Unit: unit, Measured: s.Median, Least: s.Min, Most: s.Max,
			Predicted: value(predicted), Ratio: value(predicted) / s.Median})
	}
	add(figure, "s", func(o Outcome) float64 { return o.Seconds })
	if e := c.change.event; e == nil || e.Kind != script.Leave && e.Kind != script.Die { // what ended is not counted
		add("sent", "MB", func(o Outcome) float64 { return o.MB })
	}
	if !c.change.given() {
		add("event", "s", func(o Outcome) float64 { return o.Event })
	}
	if !c.change.rolled { // the store of such a case has no limit
		add("a cut", "s", func(o Outcome) float64 { return o.Cuts })
	}
	add("cuts", "", func(o Outcome) float64 { return float64(o.Count) })
	return list
}

// median returns the medians of outcomes.
func median(runs []Outcome) Outcome {
	of := func(value func(Outcome) float64) float64 {
		var all []float64
		for _, o := range runs {
			all = append(all, value(o))
		}
		return pair.SpreadOf(all).Median
	}
	return Outcome{Seconds: of(func(o Outcome) float64 { return o.Seconds }),
		Event: of(func(o Outcome) float64 { return o.Event }), CPU: of(func(o Outcome) float64 { return o.CPU }), Cuts: of(func(o Outcome) float64 { return o.Cuts })}
}
