package page

import (
	"fmt"
	"math"

	"bellows/chart"
	"bellows/figures"
	"bellows/policy/choose"
	"bellows/policy/cost"
	"bellows/policy/gauge"
	"bellows/policy/shape"
)

// bandMost is how many times the longest likely time a band may reach. A longer interval says little and would flatten
// the curves: links that were never full have no upper bound.
const bandMost = 2

// shapes draws the times that are predicted for other numbers of workers.
func (r *Run) shapes(v *view) {
	if r.Gauged == nil {
		return
	}
	best, err := choose.Find(r.Gauged, choose.Ask{})
	if err != nil { // no shape is possible, and the command says why
		return
	}
	now, m := r.Gauged.Shape(), cost.New(r.Gauged)
	at := m.Predict(m.Loads(&now))
	c, cut := predicted(best)
	same := choose.Name(&now) == choose.Name(&best.Shape)
	spot := func(s *shape.Shape, seconds float64, name string) {
		workers, _ := s.Counts()
		c.Spots = append(c.Spots, chart.Spot{Point: chart.Point{X: float64(workers), Y: seconds}, Name: name})
	}
	if same {
		spot(&now, at.Epoch.Value, "present and chosen")
	} else {
		spot(&now, at.Epoch.Value, "present")
		spot(&best.Shape, best.Epoch.Value, "chosen")
	}
	says := "seconds of an epoch; apart: all other nodes are servers; both: each node is worker and server; " +
		"the bands are intervals"
	if cut {
		says += ", cut at the top"
	}
	f := drawn("Predicted time by number of workers", says, c.SVG)
	f.Note = fmt.Sprintf("The present shape, %s, is limited by the %s: ", numbers(&now), at.Limit)
	switch won := at.Epoch.Value - best.Epoch.Value; {
	case same || won <= 0:
		f.Note += "no other is expected to be faster"
	default:
		const less = "with the chosen one, %s, an epoch would take %s s instead of %s s, %.0f %% less"
		f.Note += fmt.Sprintf(less, numbers(&best.Shape), figures.Duration(best.Epoch.Value),
			figures.Duration(at.Epoch.Value), 100*won/at.Epoch.Value)
	}
	if f.Command = r.Explain; f.Command != "" {
		f.Note += "; for more, run"
	}
	v.Figures = append(v.Figures, f)
}

// predicted returns the curves of both kinds of shape, and reports whether bands are cut. Of shapes with as many
// workers, the fastest is drawn.
func predicted(best *choose.Choice) (c *chart.Lines, cut bool) {
	fastest := [2]map[int]gauge.Interval{{}, {}}
	most, longest := 0, 0.0
	for i := range best.Rows {
		row := &best.Rows[i]
		if row.Memory != nil {
			continue
		}
		family, n, e := fastest[min(row.Both, 1)], row.Workers+row.Both, best.Predict(row).Epoch
		if old, there := family[n]; !there || e.Value < old.Value {
			family[n] = e
		}
		most, longest = max(most, n), max(longest, e.Value)
	}
	c = &chart.Lines{Title: "predicted seconds of an epoch by number of workers", X: "workers", Zero: true, Whole: true}
	for k, name := range []string{"apart", "both"} {
		line := chart.Line{Name: name}
		for n := range most + 1 {
			e, there := fastest[k][n]
			if !there {
				continue
			}
			if e.High > bandMost*longest {
				e.High, cut = math.Inf(1), true
			}
			line.Points = append(line.Points, chart.Point{X: float64(n), Y: e.Value})
			line.Band = append(line.Band, chart.Range{X: float64(n), Low: e.Low, High: e.High})
		}
		c.Lines = append(c.Lines, line)
	}
	return c, cut
}

// numbers returns how many nodes of a shape have each role.
func numbers(s *shape.Shape) string {
	workers, servers := s.Counts()
	both := 0
	for _, n := range s.Nodes {
		if n.Slots > 0 && n.Lanes > 0 {
			both++
		}
	}
	return roles(workers, servers, both)
}

// roles says how many nodes have each role.
func roles(workers, servers, both int) string {
	text := figures.Plural(workers, "worker") + " and " + figures.Plural(servers, "server")
	if both > 0 {
		text += fmt.Sprintf(" (%s with both roles)", figures.Plural(both, "node"))
	}
	return text
}

// tried lists the shapes of a job that chooses them, and whether their predictions came true.
func (r *Run) tried(v *view) {
	if len(r.Trials) < 2 { // it kept the shape in which it began
		return
	}
	for i := range r.Trials {
		t := &r.Trials[i]
		shares, err := choose.ParseName(t.Shape)
		if err != nil {
			continue
		}
		workers, servers, both := 0, 0, 0
		for _, s := range shares {
			if s.Splits > 0 {
				workers++
			}
			if s.Partitions > 0 {
				servers++
			}
			if s.Splits > 0 && s.Partitions > 0 {
				both++
			}
		}
		row := []string{roles(workers, servers, both), "-", "-", "-"}
		if t.Predicted != nil {
			row[1] = figures.Duration(t.Predicted.Value) + " s"
		}
		if t.Measured != nil {
			row[2] = figures.Duration(t.Measured.Value) + " s"
		}
		if t.Predicted != nil && t.Measured != nil {
			row[3] = "yes"
			if t.Measured.Low > t.Predicted.High {
				row[3] = "no"
			}
		}
		v.Tried = append(v.Tried, row)
	}
}
