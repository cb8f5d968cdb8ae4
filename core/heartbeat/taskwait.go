package heartbeat

import (
	"fmt"
	"strings"

	"bellows"
	"bellows/core/liveness"
	"bellows/core/planted"
)

// A TaskWait is a node's wait for its own tasks when the job is over. Their results do not count any more, but they may
// still work in place on what they leased. Time in which the caller slept is no part of the wait
// (TestSleepIsNoPartOfTaskWait).
type TaskWait struct {
	times        liveness.Times
	over         bool
	ended        bool
	nowMillis    int64 // at the last tick
	waitedMillis int64
	namedMillis  int64 // of the wait, when it was last named
}

// NewTaskWait returns the wait of a node for its tasks; the job is not over yet.
func NewTaskWait(times liveness.Times) TaskWait { return TaskWait{times: times.Or()} }

// JobOver notes that the job is over, once.
func (w *TaskWait) JobOver(nowMillis int64) {
	if !w.over {
		w.over, w.nowMillis = true, nowMillis
	}
}

// TasksEnded notes that no task runs any more.
func (w *TaskWait) TasksEnded() { w.ended = true }

// Tick returns a sentence without its subject when the wait is to be named, and why it is given up when it has lasted
// too long.
func (w *TaskWait) Tick(nowMillis int64, unfinished []bellows.Unit) (sentence, givenUp string) {
	if !w.over || w.ended {
		return "", ""
	}
	w.waitedMillis += w.times.Awake(nowMillis - w.nowMillis)
	w.nowMillis = nowMillis
	waited := w.waitedMillis
	if waited > w.times.Tasks && !planted.On("closing-without-end") {
		return "", w.givenUp(unfinished)
	}
	if waited-w.namedMillis <= w.times.Notice {
		return "", ""
	}
	w.namedMillis = waited
	what := "its executors to close"
	if len(unfinished) > 0 {
		if what = unfinished[0].String() + " to return"; len(unfinished) > 1 {
			what += fmt.Sprintf(", and %d more tasks", len(unfinished)-1)
		}
	}
	return fmt.Sprintf("has waited %.1f s for %s; the job is over, and this is given up after %.1f s", float64(waited)/1000, what,
		float64(w.times.Tasks)/1000), ""
}

// givenUp names the tasks for which a node has waited too long.
func (w *TaskWait) givenUp(unfinished []bellows.Unit) string {
	after := fmt.Sprintf("%.1f s after the job's end", float64(w.times.Tasks)/1000)
	if len(unfinished) == 0 {
		return "its executors have not closed " + after
	}
	names := make([]string, len(unfinished))
	for i, u := range unfinished {
		names[i] = u.String()
	}
	return fmt.Sprintf("its tasks have not returned %s: %s", after, strings.Join(names, ", "))
}
