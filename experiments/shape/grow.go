package main

import (
	"fmt"
	"slices"
	"time"

	"bellows/experiments/internal/report"
	"bellows/policy/choose"
	"bellows/policy/gauge"
	"bellows/sim/lab"
)

// growth is a job that has half of the nodes at first, and gets the others while it runs (Figure 7).
type growth struct {
	Job    string  `json:"job"`
	Apart  bool    `json:"apart"` // no node may do both
	From   counts  `json:"from"`
	Few    counts  `json:"chosen_before"` // the job's choice of half of the nodes
	Many   counts  `json:"chosen"`        // and of all
	Before float64 `json:"before"`        // seconds of an epoch on half of the nodes
	After  float64 `json:"after"`
	Ratio  float64 `json:"ratio"`
	// Joining is the seconds until the nodes have their share of the splits. Moving is that of the changes that the job
	// chooses then. Lost is what epochs took longer than After, until the last change was over.
	Joining float64   `json:"joining"`
	Moving  float64   `json:"moving"`
	Lost    float64   `json:"lost"`
	Changes int       `json:"changes"`
	Epochs  []float64 `json:"epochs"` // the times of their ends
	Came    float64   `json:"came"`   // when the nodes were called
	Reasons []string  `json:"reasons"`
}

// stage is how many clocks a job needs to choose its shape: it measures itself, changes, and does so once more.
const stage = 3 * (gauge.ClocksLeast + 5)

// grow lets a job choose its shape on half of the nodes. Then the others come.
func (p *plan) grow(r *report.Run, j *job, apart bool) (*growth, error) {
	few := p.nodes / 2
	g := &growth{Job: j.name, Apart: apart, From: counts{Workers: few - max(1, few/4), Servers: max(1, few/4)}}
	play := func(at time.Duration) (*lab.Result, error) {
		m, err := p.make(j, 2*stage)
		if err != nil {
			return nil, err
		}
		rest := m.Site.Nodes[few+1:]
		m.Site.Nodes = m.Site.Nodes[:few+1]
		first := m.Deal(rolesOf(g.From))
		m.Choose = &choose.Ask{Apart: apart}
		if at > 0 {
			for _, n := range rest {
				m.Growth = append(m.Growth, lab.Arrival{Node: n, At: at})
			}
		}
		_, result, err := m.begin(&first)
		return result, err
	}
	fixed, err := play(0)
	if err != nil {
		return nil, err
	}
	half := len(fixed.Epochs) / 2
	came := fixed.Epochs[half].Time
	grown, err := play(came)
	if err != nil {
		return nil, err
	}
	g.Before, g.Came = epochAfter(fixed, came), came.Seconds()
	joined := came
	for _, a := range grown.Arrivals {
		joined = max(joined, a.Moved)
	}
	last := joined
	g.Few, g.Many = g.From, g.From
	for _, a := range grown.Advised {
		g.Reasons = append(g.Reasons, fmt.Sprintf("%.2f s: %s %s", a.At.Seconds(), a.Sentence(), a.Err))
		if !a.Change || a.Err != "" {
			continue
		}
		if c := countsOf(&a.Shape); a.At < came {
			g.Few, g.Many = c, c
		} else {
			g.Many, last = c, max(last, a.Done)
			g.Changes++
			g.Moving += (a.Done - a.At).Seconds()
		}
	}
	g.Joining, g.After = (joined - came).Seconds(), epochAfter(grown, last)
	g.Ratio = g.After / g.Before
	before := time.Duration(0)
	for _, e := range grown.Epochs {
		if g.Epochs = append(g.Epochs, e.Time.Seconds()); e.Time > came && before < last {
			g.Lost += (e.Time - before).Seconds() - g.After
		}
		before = e.Time
	}
	r.Say("%s, %d nodes, then %d, apart %v: %v %.3f s an epoch, then %v %.3f s, %.3f times; nodes join for %.3f s, %d more changes take %.3f s, %.3f s are lost (%.2f epochs)",
		j.name, few, p.nodes, apart, g.Few, g.Before, g.Many, g.After, g.Ratio, g.Joining, g.Changes, g.Moving, g.Lost, g.Lost/g.After)
	return g, nil
}

// epochAfter returns the mean seconds of the epochs that begin after a time.
func epochAfter(r *lab.Result, from time.Duration) float64 {
	i := slices.IndexFunc(r.Epochs, func(e lab.Epoch) bool { return e.Time >= from })
	last := len(r.Epochs) - 1
	if i < 0 || i == last {
		i = last - 1
	}
	return (r.Epochs[last].Time - r.Epochs[i].Time).Seconds() / float64(last-i)
}
