package resume

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellows/bench/internal/pair"
)

// staleness returns the flag of a consistency; "": BSP, where runs repeat bit for bit.
func staleness(consistency string) (string, error) {
	clocks, ssp := strings.CutPrefix(consistency, "ssp:")
	switch n, err := strconv.Atoi(clocks); {
	case consistency == "bsp":
		return "", nil
	case consistency == "async":
		return "async", nil
	case ssp && err == nil && n > 0:
		return clocks, nil
	}
	return "", fmt.Errorf("--consistency %s: it must be bsp, async, or ssp:N with a number of clocks from 1", consistency)
}

// shorter is the part of its epochs for which an application trains where means are compared: each seed takes two runs and what was killed of one.
var shorter = map[string]int{"mf": 4, "mlr": 4, "lda": 1}

// ofOthers is the flags of applications that are wanted for another consistency than theirs.
var ofOthers = map[string][]string{"mf": {"--set", "schedule=ssp"}}

// Half a percent, and two standard errors: how far means may differ.
const (
	shareMost  = 0.005
	errorsMost = 2
)

// means compares undisturbed runs with as many that were killed.
type means struct {
	App       string  `json:"app"`
	Objective string  `json:"objective"`
	Runs      int     `json:"runs"` // of each kind: one for each seed
	Kills     int     `json:"kills"`
	Whole     float64 `json:"mean_of_runs_that_nobody_killed"`
	Killed    float64 `json:"mean_of_runs_that_were_killed"`
	Share     float64 `json:"difference_in_parts_of_it"`
	Error     float64 `json:"standard_error_of_the_difference"` // of runs by pairs of one seed
	Errors    float64 `json:"difference_in_standard_errors"`
}

// meansOf compares the objectives of runs, in the order of their seeds: at least two.
func meansOf(whole, killed []float64) *means {
	n := float64(len(whole))
	m := &means{Runs: len(whole)}
	for i := range whole {
		m.Whole, m.Killed = m.Whole+whole[i]/n, m.Killed+killed[i]/n
	}
	squares := 0.0
	for i := range whole {
		d := (killed[i] - whole[i]) - (m.Killed - m.Whole)
		squares += d * d
	}
	by := math.Abs(m.Killed - m.Whole)
	m.Error = math.Sqrt(squares / (n - 1) / n)
	if by > 0 {
		m.Share, m.Errors = by/math.Abs(m.Whole), math.Min(by/m.Error, math.MaxFloat32)
	}
	return m
}

// verdict refuses means that differ by too much.
func (m *means) verdict() error {
	if m.Share > shareMost || m.Errors > errorsMost {
		return fmt.Errorf("%s of runs that were killed differs by %.3g %%, %.3g standard errors: at most %g %% and %d are wanted", m.Objective, 100*m.Share, m.Errors, 100*shareMost, errorsMost)
	}
	return nil
}

// compare makes two runs of each seed, and kills one.
func (t *trial) compare(stale string, runs int) {
	if runs < 2 {
		pair.Check(fmt.Errorf("--runs %d: means are of two at least", runs))
	}
	words := slices.Clone(t.words)
	at := slices.Index(words, "--epochs") + 1
	words[at] = strconv.Itoa(pair.Must(strconv.Atoi(words[at])) / shorter[t.app])
	words = append(append(words, "--staleness", stale), ofOthers[t.app]...)
	var name string
	var whole, killed []float64
	for seed := range runs {
		t.words = append(slices.Clone(words), "--seed", strconv.Itoa(seed+1))
		for _, kill := range []bool{false, true} {
			began := time.Now()
			var value float64
			if err := pair.Attempt(func() { name, value = t.objective(kill) }); err != nil {
				pair.Check(fmt.Errorf("seed %d, killed %v: %w", seed+1, kill, err))
			}
			if kill {
				killed = append(killed, value)
			} else {
				whole, t.whole = append(whole, value), time.Since(began)
			}
		}
	}
	m := meansOf(whole, killed)
	m.App, m.Objective, m.Kills = t.app, name, t.report.Kills[t.app]
	t.report.Means = append(t.report.Means, m)
	pair.Check(m.verdict())
}

// objective returns that of a run in two processes, which is killed once or twice on its way, or not.
func (t *trial) objective(kill bool) (name string, value float64) {
	out := filepath.Join(t.folder, t.app)
	for range lateMost {
		pair.Check(os.RemoveAll(out))
		again, kills := 1+t.rng.IntN(againMost), 0
		for {
			var p *plan
			if kill && again > 0 {
				p = t.draw(2)
				if kills == 0 { // the whole job, after a checkpoint: the same command resumes it
					p.node, p.cuts = 0, 1+t.rng.IntN(3)
				}
				again--
			}
			a := t.command(out, 2, p)
			if a.killed {
				kills++
				t.report.Kills[t.app]++
				t.report.Killed[a.who]++
			}
			if a.code != 0 {
				a.checkKilled(p)
				continue
			}
			if kill && kills == 0 { // it was over before
				t.report.Late++
				break
			}
			var said struct {
				Objective struct {
					Name  string
					Value *float64
				}
			}
			if err := json.Unmarshal([]byte(a.last), &said); err != nil || said.Objective.Value == nil {
				pair.Check(fmt.Errorf("the run says no objective: %s", a.said))
			}
			return said.Objective.Name, *said.Objective.Value
		}
	}
	pair.Check(fmt.Errorf("%d runs have ended before they were killed: that shows nothing", lateMost))
	return "", 0
}
