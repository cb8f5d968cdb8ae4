// Package measure feeds the meter of a job with what its controller sees, and makes the job's figures.
//
// A Feed belongs to the controller's steps. In each step the controller passes reports as they come (Enter) and
// steps of changes of shape (Moved, Lost), and then the rest (Step). The meter thus gets a report before the clock
// that it came with.
package measure

import (
	"slices"
	"time"

	"bellows"
	"bellows/link/wire"
	"bellows/policy/cost"
	"bellows/policy/gauge"
	"bellows/train"
)

// ownEvery is how often the counts of the controller's own node are read: as often as other nodes report.
const ownEvery = 50 * time.Millisecond

// Feed tells a meter of the clocks, reports and events of one job. The zero Feed is ready.
//
// Moves, newcomers, nodes that leave, and plans are one kind of event: while there is any, no clock counts. When all
// are over, the shape is another.
type Feed struct {
	meter    *gauge.Meter  // nil: the job has not begun
	base     gauge.Figures // items and clocks of an epoch
	err      error         // why it has no figures
	nodes    int           // that the meter knows
	clock    bellows.Clock // the last that it knows
	reported time.Duration // when the own counts were read
	changing bool          // a change of shape is under way
	cutting  bool
	change   gauge.Change // what has moved since it began
	lost     bool         // a node was lost since then
	quiet    int          // clocks of the present shape without an event
	waiting  []waiter
	over     error         // not nil: the job has ended
	epoch    train.Epoch   // the last that was shown
	at       bellows.Clock // that was complete then
}

// State is a job at the end of a step of its controller.
type State struct {
	Now      time.Duration // since the controller began
	Complete bellows.Clock
	Rerouted bool // the route has changed in the step
	Nodes    int  // that take part
	Changing bool // something moves, comes or goes, or is planned to
	Cutting  bool // a cut is under way
	Epochs   []train.Epoch
}

// Job is what a Feed asks of a job. Neither function is called outside of Step.
type Job interface {
	Count() *wire.Report // of the node of the controller
	Whole() *Whole
}

// Step takes what a step of the controller has done. In the first one the job has begun.
func (f *Feed) Step(s *State, job Job) {
	if n := len(s.Epochs); n > 0 {
		f.epoch, f.at = s.Epochs[n-1], s.Complete
	}
	switch {
	case f.err != nil:
		return
	case f.meter == nil: // what is complete was so in an earlier attempt, or under another controller
		if f.base, f.err = epochOf(job.Whole().Job); f.err != nil {
			return
		}
		f.meter, f.clock = gauge.NewMeter(cost.Times), s.Complete
		f.meter.Shape(f.Known(job.Whole()))
	case s.Rerouted || s.Nodes != f.nodes:
		f.meter.Shape(f.Known(job.Whole()))
	}
	f.nodes = s.Nodes
	f.reshape(s.Changing)
	if s.Cutting != f.cutting {
		f.cutting = s.Cutting
		f.mark(s.Cutting, gauge.Cut)
	}
	if s.Complete <= f.clock {
		return
	}
	if f.reported == 0 || s.Now-f.reported >= ownEvery {
		f.reported = s.Now
		f.Enter(0, job.Count()) // the controller is at node 0 (wire.ControllerAt)
	}
	for ; f.clock < s.Complete; f.clock++ {
		f.meter.Clock(s.Now, int(f.clock)+1)
		if !f.changing && !f.cutting {
			f.quiet++
		}
	}
	f.answer()
}

// waiter waits for clocks of one shape.
type waiter struct {
	clocks, from int
	told         chan<- error // has room
}

// Await sends nil when so many more clocks have passed in one shape, without those with an event, and an error when the
// job has ended.
func (f *Feed) Await(clocks int, told chan<- error) {
	if f.over != nil {
		told <- f.over
		return
	}
	f.waiting = append(f.waiting, waiter{clocks, f.quiet, told})
}

// answer answers those that have waited for long enough.
func (f *Feed) answer() {
	f.waiting = slices.DeleteFunc(f.waiting, func(w waiter) bool {
		if f.quiet-w.from < w.clocks {
			return false
		}
		w.told <- nil
		return true
	})
}

// End tells that the job has ended, and why nothing more is measured.
func (f *Feed) End(why error) {
	f.over = why
	for _, w := range f.waiting {
		w.told <- why
	}
	f.waiting = nil
}

// reshape tells the meter when a change of shape begins and ends. The loss of a node is one.
func (f *Feed) reshape(changing bool) {
	some := f.lost || f.change.Steps > 0
	if (changing || some) && !f.changing {
		f.changing = true
		f.mark(true, gauge.Move)
	}
	if !f.changing || changing {
		return
	}
	f.changing = false
	if some { // else nothing has come of it
		f.meter.Reshaped(f.change)
		f.quiet = 0
		for i := range f.waiting {
			f.waiting[i].from = 0
		}
	}
	f.mark(false, gauge.Move)
	f.change, f.lost = gauge.Change{}, false
}

// mark tells the meter that an event begins or ends.
func (f *Feed) mark(begins bool, e gauge.Event) {
	if begins {
		f.meter.Begin(e)
	} else {
		f.meter.End(e)
	}
}

// Moved notes steps of a change of shape that are done, and the bytes that they have moved.
func (f *Feed) Moved(steps int, bytes int64) {
	f.change.Steps += steps
	f.change.Bytes += bytes
}

// Lost notes that a node was lost.
func (f *Feed) Lost() { f.lost = true }

// Enter gives the meter a node's report.
func (f *Feed) Enter(n bellows.NodeID, m *wire.Report) {
	if f.meter != nil {
		f.meter.Report(&gauge.Report{Node: n, Millis: m.Millis, Tally: m.Tally, Links: m.Links, Spare: m.Spare})
	}
}
