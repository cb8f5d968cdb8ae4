package sim

import (
	"fmt"
	"io"
	"runtime/debug"
)

// Report is what became of one schedule.
type Report struct {
	Seed      uint64
	Violation string // the first promise that was broken, with the circumstances; empty: none
	Reason    string // why the job ended; empty: it finished
	Hash      uint64 // of everything that happened, in order
	Millis    int64  // virtual time
	Commits   int
	Covered   [faultKinds][phases]bool // which faults struck in which phases
}

// Run plays the schedule of a seed. With a log, every message and fault is written there.
func Run(seed uint64, log io.Writer) (r Report) {
	w := newWorld(seed, log)
	defer func() {
		if p := recover(); p != nil {
			w.violated("the core panics: %v", p)
			if log != nil {
				fmt.Fprintf(log, "%s", debug.Stack())
			}
		}
		r = Report{Seed: seed, Violation: w.violation, Hash: uint64(w.sum), Millis: w.now, Commits: len(w.oracle.log), Covered: w.faults.covered}
		if w.outcome != nil {
			r.Reason = w.outcome.Reason
		}
	}()
	w.run()
	if w.violation == "" {
		w.checkEnd()
	}
	return r
}
