package sim

import (
	"fmt"
	"io"
	"runtime/debug"

	"bellows/sim/internal/coverage"
	"bellows/sim/internal/grid"
)

// Result is what became of one schedule.
type Result struct {
	Seed      uint64
	Violation string // the first promise that was broken, with the circumstances; empty: none
	Reason    string // why the job ended; empty: it finished
	Hash      uint64 // of everything that happened, in order
	Millis    int64  // virtual time
	Commits   int

	Lives int // how often the job resumed after an interruption

	messages int // that actors have posted
	clocks   int // that every split has completed
	splits   int
	shape    uint64
	job      uint64 // model.Job.Index
	bits     uint64 // of the tables at the end, as far as they are determined; 0: some are lost
	streams  bool
	coverage *coverage.Coverage
}

// Run plays the schedule of a seed. With a log, every message and fault is written there.
func Run(seed uint64, log io.Writer) Result { return newWorld(seed, log, grid.Hooks{}).runEras(seed) }

// runEras plays one life of a job after the other, and returns what became of the last.
func (w *world) runEras(seed uint64) (r Result) {
	defer func() {
		if p := recover(); p != nil {
			w.Violated("P10: the core panics: %v", p)
			if w.Log != nil {
				fmt.Fprintf(w.Log, "%s", debug.Stack())
			}
		}
		r = w.result(seed)
	}()
	for next := w; next != nil; next = w.again() {
		w = next
		w.run()
		w.coverage.HitIf("staleness-changed", w.driver.Turned)
		w.coverage.HitIf("far-ahead", w.driver.Ahead > 64)
		if w.Violation == "" && !w.invaded && !w.lost {
			w.list.Final()
		}
	}
	return r
}

func (w *world) result(seed uint64) Result {
	r := Result{Seed: seed, Violation: w.Violation, Hash: uint64(w.Hash), Millis: w.Now, Commits: len(w.oracle.Log), Lives: w.number + 1,
		messages: w.Messages, clocks: len(w.oracle.ClockAt), splits: w.Job.Splits, shape: w.Job.Shape, job: w.Job.Index(), bits: uint64(w.images.Bits), streams: w.Streams, coverage: w.coverage}
	switch {
	case w.invaded:
		r.Reason = "invaded"
	case w.job.Outcome == nil:
		r.Reason = "node 0 is gone"
	case w.job.Outcome.Reason == "" && w.job.Outcome.Uncollected != nil:
		r.Reason = w.job.Uncollected()
	default:
		r.Reason = w.job.Outcome.Reason
	}
	return r
}
