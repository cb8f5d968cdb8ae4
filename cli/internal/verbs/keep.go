package verbs

import (
	"errors"
	"os"

	"bellows"
	"bellows/cli/internal/line"
	"bellows/node"
	"bellows/run"
	"bellows/run/event"
)

// keep makes the job save its state while it runs, if a command could resume it and all of its processes share the
// place.
func (t *training) keep(opt *node.Options) error {
	if t.opt.checkpoint == run.NoCheckpoints || !t.repeatable() || t.made.Job.Stays != "" {
		return nil
	}
	if l := t.opt.cluster.Lead; l != nil && !t.folder.Named() && l.Reads(true) != nil {
		t.Talk("no checkpoints are written: some nodes are on other machines than the run's folder; give --checkpoint a place that all of them reach, such as s3://bucket/prefix")
		return nil
	}
	every, err := run.ParseEvery(t.opt.checkpointEvery)
	if err != nil {
		return err
	}
	if opt.Checkpoints, err = t.folder.Checkpoints(every); err == nil {
		opt.Checkpoints.OnCut = func(c node.Checkpoint) {
			t.journal.announce(event.OfCheckpoint(c))
			t.ReportCheckpoint()
		}
	}
	return err
}

// goOn returns the error of a job that ended by the loss of nodes, with the command that resumes it.
func (t *training) goOn(err error, res *node.Result) error {
	var e *bellows.Error
	if !errors.As(err, &e) || e.Kind != bellows.Lost || res == nil || !t.folder.Begun() || !t.repeatable() {
		return err
	}
	return e.Hinted("resume with the same command: " + t.Again(t.opt.fresh && line.Beneath(t.Args, os.Environ(), "fresh")))
}
