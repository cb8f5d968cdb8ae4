// Package timing divides the time of a command among its stages, and shows the stage on the live line. It also counts
// the items that the tasks of a job have visited.
//
// Its caller's duties, in order: New when the command begins, Enter at each change, Live.Stop at the end. Timing and
// Named return the seconds until then. NewDriver wraps the driver of a job before the job begins, once for each
// restart.
//
// The package refuses to have a command in two stages at a time, or in none.
package timing

import (
	"context"
	"sync"
	"time"

	"bellows/cli/internal/screen"
	"bellows/progress"
)

// Stage is what a command does at a moment.
type Stage string

// The stages, in the order in which a command may come to them. Their names are those of JSON.
const (
	Starting  Stage = "start"   // flags, models that are opened
	Reading   Stage = "read"    // data, from files or from the cache, and storing them there
	Preparing Stage = "prepare" // the job, its folder, processes that join, and all else before the first task
	Learning  Stage = "train"   // epochs with their scores, and collecting the tables
	Answering Stage = "predict"
	Scoring   Stage = "score"
	Saving    Stage = "save"
)

// Stages divides the time of a command, and tells of it while it passes: from the call of the program on, the command is in one stage at a
// time, so that the seconds of all stages are those of the whole (TestStagesAreAllOfTheTime).
//
// Lock: mu. The command's goroutine enters stages, and one of the node's says when the first tasks have left.
type Stages struct {
	Live  *screen.Live
	Meter *progress.Meter
	now   func() time.Time
	Lost  bool // what is trained when Ctrl-C comes is not kept

	mu      sync.Mutex
	began   time.Time
	since   time.Time // of the stage that the command is in
	in      Stage
	seconds map[Stage]float64
}

// New begins to tell of a command, up to Stop of its live line.
func New(ctx context.Context, c *screen.Console, may ...Stage) *Stages {
	meter := progress.New(ctx)
	s := &Stages{Live: screen.NewLive(c, meter), Meter: meter, now: time.Now, began: c.Began, in: Starting, seconds: map[Stage]float64{}}
	if s.began.IsZero() {
		s.began = s.now()
	}
	s.since = s.began
	for _, name := range may {
		s.seconds[name] = 0
	}
	s.Live.Start()
	return s
}

// Enter ends the stage that the command is in. A command that is in it already stays.
func (s *Stages) Enter(next Stage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if next == s.in {
		return
	}
	s.pass()
	s.in = next
	advice := "Ctrl-C stops"
	switch next {
	case Learning:
		if !s.Lost {
			advice = "Ctrl-C saves and stops"
		}
	case Scoring, Saving: // what is begun is finished
		advice = ""
	}
	s.Live.Turn(advice)
	s.Meter.Begin(progress.Part{Doing: doing[next]})
}

// doing has the names of stages without a better one.
var doing = map[Stage]string{Reading: "reading", Preparing: "preparing", Learning: "training", Answering: "predicting", Scoring: "scoring", Saving: "saving"}

// pass counts the time up to now. The caller holds mu.
func (s *Stages) pass() {
	now := s.now()
	s.seconds[s.in] += now.Sub(s.since).Seconds()
	s.since = now
}

// Timing is the seconds of a command in the last line of its JSON.
type Timing struct {
	Wall   float64           `json:"wall_seconds"` // since the program was called
	Stages map[Stage]float64 `json:"stage_seconds"`
}

// Timing returns what the command has taken until now.
func (s *Stages) Timing() Timing {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass()
	t := Timing{Wall: s.since.Sub(s.began).Seconds(), Stages: map[Stage]float64{}}
	for name, seconds := range s.seconds {
		t.Stages[name] = seconds
	}
	return t
}

// Named returns the seconds of the stages until now, for the run's folder.
func (s *Stages) Named() map[string]float64 {
	out := map[string]float64{}
	for name, seconds := range s.Timing().Stages {
		out[string(name)] = seconds
	}
	return out
}
