// Package verdict judges the end of a simulated job: the reason was injected (P9) and named before (P8), and all row
// deltas are accounted for. The account is the audit.
//
// Call Outcome when node 0 has its outcome, and the other functions at their events. The package refuses to look at
// tables.
package verdict

import (
	"fmt"
	"slices"
	"strings"

	"bellows"
	"bellows/core/shell"
	"bellows/link/wire"
	"bellows/sim/internal/account"
	"bellows/sim/internal/blame"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/driver"
	"bellows/sim/internal/failover"
	"bellows/sim/internal/images"
	"bellows/sim/internal/lanewatch"
	"bellows/sim/internal/lifecycle"
	"bellows/sim/internal/model"
	"bellows/sim/internal/moves"
	"bellows/sim/internal/nodestate"
	"bellows/sim/internal/schedule"
	"bellows/sim/internal/trace"
	"bellows/table"
)

// Audit is how disagreements of the audit are reported. Other violations that begin with "audit" are the simulation's own count.
const Audit = "audit: %s"

// Watch judges the end of a life of a job.
type Watch struct {
	*trace.Trace
	*coverage.Coverage
	Schedule *schedule.Schedule
	Life     *lifecycle.Watch
	Nodes    *nodestate.Watch
	Lanes    *lanewatch.Watch
	Ledger   *account.Watch
	Moves    *moves.Watch
	Failover *failover.Watch
	Oracle   *model.Oracle
	Images   *images.Watch
	Ends     *blame.Reasons

	View View
}

// View is what a Watch sees of node 0.
type View struct {
	Lead   func() *shell.Lead
	Driver func() *driver.Driver
	Losses func() int // nodes that node 0 knows to be lost
	Tick   int64      // how often node 0 looks, in milliseconds
}

// Delivered compares the last message of an actor with what was seen of it.
func (w *Watch) Delivered(e wire.Envelope) {
	m, ok := e.Message.(*wire.Closed)
	if !ok || w.Failover.CutShort && e.From.Role == wire.Lane { // lanes with different records disagree, as in checkAudit
		return
	}
	w.Must(w.Ledger.Closed(e.From, &m.Counts, m.Adopted, w.Moves.HasMoved(), func() (least, most int64) {
		applied := w.Lanes.Lookup(e.From).Applied()
		barrier := func(t bellows.TableID) bool {
			return w.Schedule.Job.Schemas[t].Consistency == table.BSP || t == model.Counts && w.Oracle.Barrier
		}
		unsure := func(t bellows.TableID) bool { return t == model.State && slices.ContainsFunc(w.Nodes.All, isGone) }
		return w.Ledger.Applied(e.From, w.Oracle.Complete(applied)-1, barrier, unsure)
	}))
}

func isGone(n *nodestate.Node) bool { return n.Gone }

// Outcome judges the job when node 0 has its outcome.
func (w *Watch) Outcome() {
	w.checkClosed()
	w.checkSilenceNamed()
	w.checkCollected()
}

// checkClosed sees that no lane is given up that could still send its last message. A lane that lacks records which are lost may
// wait for the node that had them.
func (w *Watch) checkClosed() {
	if w.Failover.CutShort && w.Life.EndedFor("cannot be recovered") {
		return
	}
	lost := 0
	for _, n := range w.Nodes.All {
		if n.Gone {
			lost++
		}
	}
	for _, l := range w.Lanes.All {
		n := w.Nodes.All[l.Address.Node]
		if lost <= w.View.Losses() && l.Told && (!l.Closed || l.Stuck) && !n.Gone && !w.View.Lead().Gone(n.Number) && n.PausedUntil < *w.Clock-schedule.LateMax {
			w.Violated("P8: the job is over, and %v, which was told, waits for somebody", l.Address)
		}
	}
}

// checkSilenceNamed sees that the silence of a node was named before it ends the job (P8).
func (w *Watch) checkSilenceNamed() {
	node, silent := strings.CutSuffix(strings.SplitAfter(w.Life.Outcome.Reason, " has been silent for ")[0], " for ")
	node = node[max(0, strings.LastIndex(node, "node ")):]
	if silent && w.Nodes.All[0].PausedUntil < *w.Clock-2*w.View.Tick && !slices.ContainsFunc(w.Life.Notices, func(n string) bool { return strings.HasPrefix(n, node) }) {
		w.Violated("P8: %q, which nobody had said before", w.Life.Outcome.Reason)
	}
}

// checkCollected judges the state that has reached node 0. A job that finished, or was interrupted, has one, unless a node is lost
// that had a part of it.
func (w *Watch) checkCollected() {
	o := w.Life.Outcome
	if o.Uncollected != nil && w.Life.Asked && !slices.ContainsFunc(w.Lanes.All, func(l *lanewatch.Lane) bool {
		n := w.Nodes.All[l.Address.Node]
		return (n.Gone || n.Hung) && (l.GaveAt == 0 || l.GaveAt == *w.Clock || l.Lied)
	}) {
		w.Violated("P9: the state is not collected (%v), and all that are lost had given theirs, or had none", o.Uncollected)
	}
	w.checkHung()
	if o.Reason != "" && !o.Interrupted || o.Uncollected != nil {
		return
	}
	w.Images.CheckCollected(o, w.View.Lead().State)
}

// checkHung sees that a model that is lost only because tasks do not return is reported lost for that.
func (w *Watch) checkHung() {
	var hung *nodestate.Node
	for _, n := range w.Nodes.All {
		switch {
		case n.Hung:
			hung = n
		case n.Gone:
			return
		}
	}
	if hung == nil || w.Life.Outcome.Uncollected == nil {
		return
	}
	w.Hit("model-left-with-tasks")
	w.Must(blame.CheckModelLost(w.Life.Uncollected(), hung.Number, w.Life.Notices))
}

// Leave is how a node leaves that is not node 0.
type Leave struct {
	Reason  string // why it gives up; empty: it was let go
	Told    bool   // it knows that the job is over, or that it was removed
	Without bool   // the job has ended without it
	Heard   bool   // its connection to node 0 stood to the end, so that it received the end
}

// CheckLeave judges a node that leaves. It may give up on node 0 only if something has parted them, and is let go only when it knows why.
// It reports whether it leaves for tasks that do not return.
func (w *Watch) CheckLeave(n *nodestate.Node, l Leave) (tasks bool) {
	switch {
	case n.Joiner != nil && (!n.Joiner.TakesPart || w.Failover.CutShort): // or the controller that ended the job does not know it
		return false
	case blame.GivesUp(l.Reason):
		return true
	case l.Reason == "" && !n.Closed:
		w.Violated("P1: node %d is let go, and its tasks run", n.Number)
	}
	released := w.Life.Released
	if !n.Severed && !n.Gone && !(l.Told && (released || n.Departed || l.Without)) {
		w.Violated("P9: node %d gives up (%s) although nothing has parted it from node 0", n.Number, l.Reason)
	}
	// A node that had not answered on its first connection when it was lost cannot know, nor can one that stopped before it had answered
	// on the last.
	if released && !n.Buried && !l.Told && l.Heard {
		w.Violated("P8: node %d is let go and was not told why the job is over", n.Number)
	}
	return false
}

// GaveUp judges a node that stops waiting for its tasks, some of which are unfinished. It reports whether that is new.
func (w *Watch) GaveUp(n *nodestate.Node, why string, unfinished []bellows.Unit) (anew bool) {
	if n.Closed || w.Schedule.Closing[n.Number] != int64(schedule.Never) {
		w.Violated("P8: node %d gives up its tasks (%s), which return", n.Number, why)
	} else {
		w.Must(blame.CheckGivenUp(why, unfinished))
	}
	if anew = !n.Hung; anew {
		n.Hung = true
		w.Ends.Expect("node %d waits no longer: ", n.Number)
		w.Ends.Expect("node %d leaves: ", n.Number)
	}
	return anew
}

// Final judges why the job has ended, and its counts.
func (w *Watch) Final() {
	w.checkReason()
	if w.Life.Outcome != nil {
		w.HitIf("never-ready", w.Life.EndedFor(fmt.Sprintf("node %d has not been ready after", w.Schedule.Unready)))
		w.HitIf("loss-found", w.Schedule.Loss.Ended(w.Life.Outcome.Reason))
	}
	w.checkAudit()
	if w.Violation == "" && w.Life.Outcome != nil && w.Life.Outcome.Reason == "" {
		w.checkFinished()
	}
}

// checkReason allows a job to finish, or to end for a fault that was injected, and its state to be lost for one.
func (w *Watch) checkReason() {
	o, leader := w.Life.Outcome, w.Nodes.All[0]
	if o == nil {
		if !leader.Gone {
			w.Violated("P8: node 0 left without an outcome")
		}
		return
	}
	if w.Failover.CutShort && w.Ends.Injected() { // a node that has left and the only one that knows it are both silent: either may be named
		for _, n := range w.Nodes.All {
			if n.Departed {
				w.Ends.Lose(n.Number)
			}
		}
	}
	uncollected := w.Life.Uncollected()
	for _, r := range []string{o.Reason, uncollected} {
		if r != "" && !w.Ends.Allow(r) {
			w.Violated("P9: the job ended (%s) although no fault was injected that may end it: %v", r, w.Ends)
		}
	}
	if err := o.Failure("train"); (err != nil) != (o.Reason != "" && !o.Interrupted || uncollected != "") {
		w.Violated("P9: a job that ended (%s) has failed: %v", o.Reason, err)
	}
	if (o.Reason == "" || o.Interrupted) && !w.Images.Whole && uncollected == "" && !leader.Crashed {
		w.Violated("P8: node 0 left while the state was on its way")
	}
}

// checkAudit sees that all that was sent is accounted for, if all actors could send their last message.
func (w *Watch) checkAudit() {
	o := w.Life.Outcome
	if o == nil || w.Failover.CutShort { // lanes with different records disagree on what counts (coord.Outcome)
		return
	}
	// of nodes that a record has removed, Closed has compared the counts lane by lane
	if w.Schedule.Loss.Push || slices.ContainsFunc(w.Nodes.All, func(n *nodestate.Node) bool { return n.Gone && !n.Buried }) {
		w.Must(w.Ledger.Lossy(&o.Counts))
		w.HitIf("audit-after-a-loss", o.Counts.Applied > 0)
		return
	}
	names := make([]string, len(w.Schedule.Job.Schemas))
	for i := range names {
		names[i] = w.Schedule.Job.Schemas[i].Name
	}
	account := o.Counts.Account(names)
	if list := account.Disagreements(o.Reason == ""); list != nil {
		w.Violated(Audit, strings.Join(list, "; "))
	}
}

// checkFinished judges a job that has finished: every unit once, nothing dropped, everything applied, and a plausible account of
// staleness.
func (w *Watch) checkFinished() {
	o, d, clocks := w.Life.Outcome, w.View.Driver(), w.Schedule.Job.Clocks
	if !d.Finished || int(w.Oracle.Complete(o.Commits)) != clocks {
		w.Violated("P1: the job finished after %d of %d tasks", d.Tasks, w.Schedule.Job.Splits*clocks)
	}
	if o.Commits != bellows.CommitNumber(len(w.Oracle.Log)) {
		w.Violated("P1: the job finished at commit %d; %d were recorded", o.Commits, len(w.Oracle.Log))
	}
	if complete, furthest, commit := w.View.Lead().Progress(); int(complete) != clocks-1 || furthest != complete || commit != o.Commits {
		w.Violated("P1: the job finished; its controller is at clocks %d and %d and commit %d", complete, furthest, commit)
	}
	if w.Ends.Injected() {
		return // some counts may be missing
	}
	w.Must(account.Staleness(&o.Counts, clocks, d.Tasks-d.Before))
}
