package dryrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"bellows"
	"bellows/api"
	"bellows/cli/internal/line"
	"bellows/policy/gauge"
	"bellows/run"
	"bellows/run/board"
)

// runsFolder has the folders of runs without --out.
const runsFolder = "runs"

// figuresOf returns what a job has measured: from the job if it runs, else from the folder of its run. A word
// is the name of a running job, or a folder; one below runs may be given by its name.
func (o *options) figuresOf(ctx context.Context, word string) (*gauge.Figures, error) {
	dir, name := word, word
	if !isRun(dir) {
		dir = filepath.Join(runsFolder, word)
	}
	var past *run.Past
	if isRun(dir) {
		var err error
		if past, err = run.Look(dir); err != nil {
			return nil, err
		}
		if !past.Busy {
			return measuredBy(dir, past)
		}
		if whole, err := filepath.Abs(dir); err == nil {
			name = filepath.Base(whole)
		}
	}
	answers, err := board.Ask(ctx, o.stateFolder, name)
	var none *bellows.Error
	switch {
	case past == nil && errors.As(err, &none) && none.Kind == bellows.Unavailable:
		return nil, none.Hinted("`status` shows the jobs that run; of one that has ended, give the folder, such as runs/mf-1")
	case err != nil:
		return nil, err
	case len(answers) > 1:
		return nil, line.BadFlag("job", word, "%d jobs have that name; give the process too, as in %s.%d", len(answers),
			name, answers[0].Job.PID)
	case answers[0].Err != nil:
		return nil, answers[0].Err
	}
	j := answers[0]
	f, err := j.Job.Figures(ctx)
	if errors.As(err, &none) && none.Kind == bellows.Refused {
		none.Hint = fmt.Sprintf("`status %s` shows its clock; ask again later", j.Job.Name)
	}
	if errors.As(err, &none) && alone(&j.Status) {
		none.Hint = another
	}
	return f, err
}

// isRun reports whether a folder has the record of a run.
func isRun(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "run.json"))
	return err == nil
}

// measuredBy returns what a run that has ended kept.
func measuredBy(dir string, past *run.Past) (*gauge.Figures, error) {
	if past.Measured != nil {
		f, err := gauge.Read(past.Measured)
		if err != nil {
			return nil, bellows.Errorf(bellows.BadData, "read figures of run", dir, "%w", err)
		}
		return f, nil
	}
	var s api.Status
	_ = json.Unmarshal(past.Figures, &s) // without them nothing more is known
	if alone(&s) {
		err := bellows.Errorf(bellows.Config, "read figures of run", dir, "it ran in one process, which has no other shape")
		return nil, err.Hinted(another)
	}
	err := bellows.Errorf(bellows.Refused, "read figures of run", dir, "it has measured too little: %s", clocks(&s))
	return nil, err.Hinted(fmt.Sprintf("train for more than %d clocks in several processes", gauge.ClocksLeast))
}

// another is what to do about a job of one process.
const another = "train with --processes 2 or more, which can have several shapes"

func alone(s *api.Status) bool { return len(s.Nodes) == 1 }

// clocks says how long a job ran.
func clocks(s *api.Status) string {
	if s.Clock < 0 || len(s.Nodes) == 0 {
		return "no clock was completed"
	}
	return fmt.Sprintf("%d clocks were completed, and %d have to count", s.Clock+1, gauge.ClocksLeast)
}
