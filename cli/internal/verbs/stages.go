package verbs

import (
	"context"
	"sync"
	"time"

	"bellows/cli/internal/screen"
	"bellows/progress"
)

// stage is what a command does at a moment.
type stage string

// The stages, in the order in which a command may come to them. Their names are those of JSON.
const (
	starting  stage = "start"   // flags, models that are opened
	reading   stage = "read"    // data, from files or from the cache, and storing them there
	preparing stage = "prepare" // the job, its folder, processes that join, and all else before the first task
	learning  stage = "train"   // epochs with their scores, and collecting the tables
	answering stage = "predict"
	scoring   stage = "score"
	saving    stage = "save"
)

// stages divides the time of a command, and tells of it while it passes: from the call of the program on, the command is in one stage at a
// time, so that the seconds of all stages are those of the whole (TestStagesAreAllOfTheTime).
//
// Lock: mu. The command's goroutine enters stages, and one of the node's says when the first tasks have left.
type stages struct {
	live  *screen.Live
	meter *progress.Meter
	now   func() time.Time
	lost  bool // what is trained when Ctrl-C comes is not kept

	mu      sync.Mutex
	began   time.Time
	since   time.Time // of the stage that the command is in
	in      stage
	seconds map[stage]float64
}

// newStages begins to tell of a command, up to Stop of its live line.
func newStages(ctx context.Context, c *screen.Console, may ...stage) *stages {
	meter := progress.New(ctx)
	s := &stages{live: screen.NewLive(c, meter), meter: meter, now: time.Now, began: c.Began, in: starting, seconds: map[stage]float64{}}
	if s.began.IsZero() {
		s.began = s.now()
	}
	s.since = s.began
	for _, name := range may {
		s.seconds[name] = 0
	}
	s.live.Start()
	return s
}

// enter ends the stage that the command is in. A command that is in it already stays.
func (s *stages) enter(next stage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if next == s.in {
		return
	}
	s.pass()
	s.in = next
	advice := "Ctrl-C stops"
	switch next {
	case learning:
		if !s.lost {
			advice = "Ctrl-C saves and stops"
		}
	case scoring, saving: // what is begun is finished
		advice = ""
	}
	s.live.Turn(advice)
	s.meter.Begin(progress.Part{Doing: doing[next]})
}

// doing is what a stage is called while it says nothing better of itself.
var doing = map[stage]string{reading: "reading", preparing: "preparing", learning: "training", answering: "predicting", scoring: "scoring", saving: "saving"}

// pass counts the time up to now. The caller holds mu.
func (s *stages) pass() {
	now := s.now()
	s.seconds[s.in] += now.Sub(s.since).Seconds()
	s.since = now
}

// timing is the seconds of a command in the last line of its JSON.
type timing struct {
	Wall   float64           `json:"wall_seconds"` // since the program was called
	Stages map[stage]float64 `json:"stage_seconds"`
}

// timing is what the command has taken until now.
func (s *stages) timing() timing {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass()
	t := timing{Wall: s.since.Sub(s.began).Seconds(), Stages: map[stage]float64{}}
	for name, seconds := range s.seconds {
		t.Stages[name] = seconds
	}
	return t
}

// named is the seconds of the stages until now, for the run's folder.
func (s *stages) named() map[string]float64 {
	out := map[string]float64{}
	for name, seconds := range s.timing().Stages {
		out[string(name)] = seconds
	}
	return out
}
