// Package resume kills runs of `bellows` at random moments, resumes them, and checks that the model has the bits of an
// undisturbed run. It sends signal 9 at moments that a seed draws, and repeats the same command until the run is over.
//
// It builds the program and trains the demonstrations of mf, mlr and lda, every other run in several processes. The
// victim is also drawn: the command itself, which with its processes is the whole job, or one of the processes. The
// moment is a part of the time that an undisturbed run takes, or right after a checkpoint; some are killed again while
// they resume. With --consistency, where runs do not repeat bit for bit, each seed has an undisturbed run and one that
// is killed: the means of their objectives may differ by at most half a percent, and two standard errors. The draws of
// a seed are the same each time, but not what the run is doing then, so that no two runs of this command are the same.
// A kill after the end of a run does not count, and is drawn again. One JSON object reports what was done. It ends with
// an error if a model differs, a log does not hold or a run does not end.
package resume

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellows"
	"bellows/bench/internal/follow"
	"bellows/bench/internal/pair"
)

// Program is the measurement.
var Program = pair.Program{Name: "resume", Define: define}

func define(flags *flag.FlagSet) func(*pair.Bench) {
	seed := flags.Uint64("seed", 1, "seed of all that is drawn")
	kills := flags.Int("kills", 3, "kills of each application")
	apps := flags.String("apps", "mf,mlr,lda", "`applications`, with commas")
	program := flags.String("program", "", "a built `bellows` (default: it is built)")
	consistency := flags.String("consistency", "bsp", "bsp, `ssp:N` or async: the last two compare means over --runs seeds, and --kills says nothing")
	runs := flags.Int("runs", 20, "seeds of each application with another consistency than bsp")
	return func(*pair.Bench) {
		stale := pair.Must(staleness(*consistency))
		pair.Print(killAll(*program, *seed, *kills, strings.Split(*apps, ","), stale, *runs))
	}
}

// Report is what was done.
type Report struct {
	Seed    uint64         `json:"seed"`
	Seconds float64        `json:"seconds"`
	Kills   map[string]int `json:"kills"`        // by application
	Killed  map[string]int `json:"killed"`       // by victim: the command of one process or of several, or one of its processes
	WentOn  int            `json:"went_on"`      // runs that resumed from a checkpoint; the others were killed before their first
	Late    int            `json:"ended_before"` // draws that do not count
	Equal   int            `json:"equal"`        // models that are those of an undisturbed run, bit for bit

	Consistency string   `json:"consistency,omitempty"`
	Means       []*means `json:"means,omitempty"`
	Load        string   `json:"load"` // of the machine, at the beginning and at the end
}

// kind is runs of one application.
type kind struct {
	app   string
	words []string
}

var kinds = []kind{
	{"mf", []string{"--epochs", "1500", "--set", "early_stop=false", "--seed", "3"}},
	{"mlr", []string{"--epochs", "400", "--set", "early_stop=false"}},
	{"lda", []string{"--epochs", "120", "--set", "early_stop=false", "--set", "topics=5"}},
}

// killAll kills runs of each application, as often as requested.
func killAll(program string, seed uint64, kills int, apps []string, stale string, runs int) (*Report, error) {
	began := time.Now()
	r := &Report{Seed: seed, Kills: map[string]int{}, Killed: map[string]int{}, Consistency: stale, Load: pair.Load()}
	defer func() { r.Seconds, r.Load = time.Since(began).Seconds(), r.Load+" to "+pair.Load() }()
	return r, pair.Attempt(func() {
		folder := pair.Must(os.MkdirTemp("", "bellows-resume-"))
		defer os.RemoveAll(folder)
		if program == "" {
			program = filepath.Join(folder, "bellows")
			pair.Build(program)
		}
		for _, app := range apps {
			k := slices.IndexFunc(kinds, func(k kind) bool { return k.app == app })
			if k < 0 {
				pair.Check(fmt.Errorf("--apps: there is no %q", app))
			}
			t := &trial{kinds[k], program, folder, rand.New(rand.NewPCG(seed, uint64(k))), r, nil, 0}
			err := pair.Attempt(func() {
				if stale != "" {
					t.compare(stale, runs)
				} else {
					t.run(kills)
				}
			})
			if err != nil {
				pair.Check(fmt.Errorf("%s, seed %d: %w", app, seed, err))
			}
		}
	})
}

// trial is the runs of one application.
type trial struct {
	kind
	program, folder string
	rng             *rand.Rand
	report          *Report
	want            []byte        // the model of an undisturbed run
	whole           time.Duration // that it takes
}

// The bounds of what is tried.
const (
	commandWithin = 3 * time.Minute // a command ends, whatever is done to it
	lateMost      = 20              // draws in a row that come too late
	againMost     = 2               // kills of one run
)

// run kills as many runs as is wanted.
func (t *trial) run(kills int) {
	out := filepath.Join(t.folder, t.app)
	began := time.Now()
	if a := t.command(out, 0, nil); a.code != 0 {
		pair.Check(fmt.Errorf("an undisturbed run ends with %d: %s", a.code, a.said))
	}
	t.whole = time.Since(began)
	t.want = pair.Must(os.ReadFile(filepath.Join(out, "model.safetensors")))
	late := 0
	for number := 0; t.report.Kills[t.app] < kills; number++ {
		pair.Check(os.RemoveAll(out))
		before := t.report.Kills[t.app]
		if err := pair.Attempt(func() { t.one(out, number%2*(1+t.rng.IntN(2)), kills) }); err != nil {
			pair.Check(fmt.Errorf("run %d: %w", number, err))
		}
		if late++; t.report.Kills[t.app] > before {
			late = 0
		}
		if late == lateMost {
			pair.Check(fmt.Errorf("%d runs have ended before they were killed: that shows nothing", late))
		}
	}
}

// one kills a run, and gives its command until it is over.
func (t *trial) one(out string, processes, kills int) {
	again := 1 + t.rng.IntN(againMost)
	for {
		var p *plan
		if again > 0 && t.report.Kills[t.app] < kills {
			p = t.draw(processes)
			again--
		}
		a := t.command(out, processes, p)
		if a.code == 0 {
			if p != nil {
				t.report.Late++
			}
			pair.Check(t.hold(out))
			return
		}
		a.checkKilled(p)
		t.report.Kills[t.app]++
		t.report.Killed[a.who]++
	}
}

// checkKilled refuses a command that has failed although nothing was killed, or in another way than a killed one does.
func (a *answer) checkKilled(p *plan) {
	if p == nil || !a.killed || a.code != -1 && a.code != bellows.Lost.ExitCode() {
		pair.Check(fmt.Errorf("the command ends with %d: %s", a.code, a.said))
	}
}

// hold refuses what a run has left that is not as an undisturbed one leaves it.
func (t *trial) hold(out string) error {
	got, err := os.ReadFile(filepath.Join(out, "model.safetensors"))
	if err != nil {
		return err
	}
	if !bytes.Equal(got, t.want) {
		return errors.New("the model is not that of an undisturbed run")
	}
	if text, err := exec.Command(t.program, "events", out, "--verify").CombinedOutput(); err != nil {
		return fmt.Errorf("its log does not hold: %w; %s", err, text)
	}
	t.report.Equal++
	return nil
}

// plan is when which process is killed.
type plan struct {
	after time.Duration // from the start
	cuts  int           // or behind so many checkpoints; 0: by the time
	node  int           // 0: the command itself
}

// draw draws a plan.
func (t *trial) draw(processes int) *plan {
	p := &plan{after: time.Duration(t.rng.Float64() * float64(t.whole))}
	if t.rng.IntN(2) == 0 {
		p.cuts = 1 + t.rng.IntN(3)
	}
	if processes > 0 && t.rng.IntN(2) == 0 {
		p.node = 1 + t.rng.IntN(processes)
	}
	return p
}

// answer is how a command ended: -1 is by a signal.
type answer struct {
	code   int
	killed bool // a process was killed
	who    string
	last   string // line that is no event: the result of a finished run
	said   string // all but events
}

// command gives the command of the run, and kills by a plan; nil: no kill.
func (t *trial) command(out string, processes int, p *plan) (a answer) {
	words := append([]string{"demo", t.app, "--out", out, "--checkpoint-every", "10ms", "--json"}, t.words...)
	a.who = "command of one process"
	if processes > 0 {
		words = append(words, "--processes", strconv.Itoa(processes))
		a.who = "command of several processes"
	}
	victim, cuts, rest := 0, 0, []string(nil)
	c := follow.Start(func(e follow.Event) {
		if pid := e.Processes[nodeName(p)]; pid != 0 {
			victim = pid
		}
		switch e.Kind {
		case "checkpoint":
			cuts++
		case "resumed":
			t.report.WentOn++
		case "":
			rest = append(rest, e.Text)
		}
	}, t.program, words...)
	defer c.Kill()
	if p != nil {
		if victim = c.PID(); p.node > 0 {
			victim, a.who = 0, "one of several processes"
		}
		due := time.Duration(0) // by the time
		if p.cuts == 0 {
			due = p.after
		}
		_, err := c.Pass(due, nil)
		if err == follow.ErrTime && (victim == 0 || cuts < p.cuts) {
			_, err = c.Pass(commandWithin, func(follow.Event) bool { return victim != 0 && cuts >= p.cuts })
		}
		if err != follow.ErrEnded && victim != 0 {
			if process, err := os.FindProcess(victim); err == nil {
				a.killed = process.Kill() == nil
			}
		}
	}
	_, err := c.Pass(commandWithin, nil)
	c.Kill()
	a.code, a.said = c.Code(), strings.Join(rest, "\n")+c.Stderr()
	if len(rest) > 0 {
		a.last = rest[len(rest)-1]
	}
	if err != follow.ErrEnded {
		pair.Check(fmt.Errorf("the command does not end: %s", a.said))
	}
	return a
}

// nodeName returns the name of the node that a plan kills.
func nodeName(p *plan) string {
	if p == nil || p.node == 0 {
		return ""
	}
	return fmt.Sprint("node-", p.node)
}
