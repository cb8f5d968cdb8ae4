package sim

import (
	"iter"
	"slices"
	"strings"

	"bellows"
	"bellows/core/store"
	"bellows/link/wire"
	"bellows/sim/internal/account"
	"bellows/sim/internal/model"
	"bellows/sim/internal/schedule"
	"bellows/table"
)

// checkCounts holds an actor's last word against what the world has seen of it (audit).
func (w *world) checkCounts(from wire.Address, m *wire.Closed) {
	w.Must(w.ledger.Closed(from, &m.Counts, m.Adopted, w.moves.flips > 0, func() (least, most int64) {
		l := w.lanes[slices.IndexFunc(w.lanes, func(l *lane) bool { return l.address == from })]
		least, most = w.ledger.Applied(from, w.oracle.Complete(l.Applied())-1, func(t bellows.TableID) bool {
			return w.Job.Schemas[t].Consistency == table.BSP || t == model.Counts && w.oracle.Barrier
		}, func(t bellows.TableID) bool {
			return t == model.State && slices.ContainsFunc(w.nodes, func(n *node) bool { return n.gone })
		})
		if w.failover.cutShort { // as in checkAudit
			least = 0
		}
		return least, most
	}))
}

// checkEnd holds what is left when the job is over against the model. Every lane has the state of exactly the commits that it knows, whoever woke up late (P11), and one whose
// node has crashed of those that it knew then. So nothing has to be known of what a fault did to be checked after it: a lane says how many commits it has applied, and the model
// says what exactly these make of its partitions. Only the bits of a job whose lanes are all there, and whose state came together, are compared with those of other schedules.
func (w *world) checkEnd() {
	w.checkReason()
	w.checkLoss()
	w.checkAudit()
	if w.Violation != "" {
		return
	}
	if w.outcome != nil && w.outcome.Reason == "" {
		w.checkFinished()
	}
	whole := true
	for _, l := range w.lanes {
		whole = whole && !(l.node.crashed && slices.Contains(w.route.Lanes(), l.address))
		n := l.Applied()
		if int(n) > len(w.oracle.Log) {
			if w.failover.cutShort && w.ended("cannot be recovered") { // by a record that nobody else has, which has added it (seed 93043)
				continue
			}
			w.Violated("P1: %v ended at commit %d; %d were recorded", l.address, n, len(w.oracle.Log))
			return
		}
		if l.closed && n != w.outcomeCommits() && !w.failover.cutShort && !slices.Contains(w.removed, l.address) {
			w.Violated("P1: %v closed at commit %d of %d", l.address, n, w.outcomeCommits())
			return
		}
		w.checkLane(l)
	}
	if !whole || !w.whole {
		w.bits = 0
	}
}

// checkClosed sees, at the outcome, that no lane was given up that could still say its last word: a lane waits for nobody who is lost. One that lacks records which nobody
// can give it any more may wait for whom they have removed.
func (w *world) checkClosed() {
	if w.failover.cutShort && w.ended("cannot be recovered") {
		return
	}
	lost := 0
	for _, n := range w.nodes {
		if n.gone {
			lost++
		}
	}
	for _, l := range w.lanes {
		if lost <= w.losses && l.told && !l.closed && !l.node.gone && !w.lead.Gone(l.node.id) && l.node.pausedUntil < w.Now-schedule.LateMax {
			w.Violated("P8: the job is over, and %v, which was told, waits for somebody", l.address)
		}
	}
}

// checkSilenceNamed sees that a node whose silence ends the job was named before (P8), whoever passes on that it does.
func (w *world) checkSilenceNamed() {
	who, silent := strings.CutSuffix(strings.SplitAfter(w.outcome.Reason, " has been silent for ")[0], " for ")
	if who = who[max(0, strings.LastIndex(who, "node ")):]; silent && w.nodes[0].pausedUntil < w.Now-2*beatEvery && !slices.ContainsFunc(w.named, func(n string) bool { return strings.HasPrefix(n, who) }) {
		w.Violated("P8: %q, which nobody had said before", w.outcome.Reason)
	}
}

// outcomeCommits is how many commits counted when the controller ended the job.
func (w *world) outcomeCommits() bellows.CommitNumber {
	if w.outcome == nil { // node 0 died before it could say so
		return bellows.CommitNumber(len(w.oracle.Log))
	}
	return w.outcome.Commits
}

// checkReason allows a job to finish, or to end for a fault that was injected, and its state to be lost likewise.
func (w *world) checkReason() {
	leader := w.nodes[0]
	if w.outcome == nil {
		if !leader.gone {
			w.Violated("P8: node 0 left without an outcome")
		}
		return
	}
	if w.failover.cutShort && w.faults.ends.Any() { // who has left and who alone knows that are both silent: either may be named
		for _, n := range w.nodes {
			if n.departed {
				w.faults.ends.Lose(n.id)
			}
		}
	}
	for _, r := range []string{w.outcome.Reason, w.uncollected()} {
		if r != "" && !w.faults.ends.Allow(r) {
			w.Violated("P9: the job ended (%s) although no fault was injected that may end it: %v", r, &w.faults.ends)
		}
	}
	if err := w.outcome.Failure("train"); (err != nil) != (w.outcome.Reason != "" && !w.outcome.Interrupted || w.uncollected() != "") {
		w.Violated("P9: a job that ended (%s) has failed: %v", w.outcome.Reason, err)
	}
	if r := w.outcome.Reason; (r == "" || w.outcome.Interrupted) && !w.whole && w.uncollected() == "" && !leader.crashed {
		w.Violated("P8: node 0 left while the state was on its way")
	}
}

// ended reports whether the job ended for a reason that contains the sentence.
func (w *world) ended(sentence string) bool { return strings.Contains(w.outcome.Reason, sentence) }

// theAudit is how the words of package audit are reported; others that begin with "audit" are the world's own count.
const theAudit = "audit: %s"

// checkAudit sees that all that was sent is accounted for, wherever all could say their last word.
func (w *world) checkAudit() {
	if w.outcome == nil {
		return
	}
	c := &w.outcome.Counts
	if w.failover.cutShort {
		return // lanes that had come to different records disagree on what counts, and nobody tells them (coord.Outcome)
	}
	if w.Loss.Push {
		w.checkLossy(c)
		return
	}
	for _, n := range w.nodes {
		if n.gone && !n.buried { // of those who are not, lane by lane, checkCounts has seen to it
			w.checkLossy(c)
			return
		}
	}
	names := make([]string, len(w.Job.Schemas))
	for i := range names {
		names[i] = w.Job.Schemas[i].Name
	}
	account := c.Account(names)
	if list := account.Disagreements(w.outcome.Reason == ""); list != nil {
		w.Violated(theAudit, strings.Join(list, "; "))
	}
}

// checkLossy holds the counts of a job that has lost nodes against what all its clients have sent, the lost ones too.
func (w *world) checkLossy(c *wire.Counts) {
	w.Must(w.ledger.Lossy(c))
	w.coverage.HitIf("audit-after-a-loss", c.Applied > 0)
}

// checkFinished holds a job that has finished against its promises: every unit once, nothing dropped, all that was sent applied, and a plausible account of staleness.
func (w *world) checkFinished() {
	o := w.outcome
	if !w.driver.Finished || int(w.oracle.Complete(o.Commits)) != w.Job.Clocks {
		w.Violated("P1: the job finished after %d of %d tasks", w.driver.Tasks, w.Job.Splits*w.Job.Clocks)
	}
	if o.Commits != bellows.CommitNumber(len(w.oracle.Log)) {
		w.Violated("P1: the job finished at commit %d; %d were recorded", o.Commits, len(w.oracle.Log))
	}
	if complete, furthest, commit := w.lead.Progress(); int(complete) != w.Job.Clocks-1 || furthest != complete || commit != o.Commits {
		w.Violated("P1: the job finished; its controller is at clocks %d and %d and commit %d", complete, furthest, commit)
	}
	if w.faults.ends.Any() {
		return // somebody's counts may be missing
	}
	w.Must(account.Staleness(&o.Counts, w.Job.Clocks, w.driver.Tasks-w.driver.Before))
}

// checkLane holds the partitions of a lane against the model after the lane's last commit.
func (w *world) checkLane(l *lane) {
	for ref := range w.owned(l) {
		w.checkPartition(l, ref)
	}
	if w.outcome == nil || w.outcome.Reason != "" || !l.told {
		return
	}
	w.checkStillKept(l)
	if l.kept != w.driver.Kept && !l.Removed() {
		w.Violated("keep: %v has images of commit %d, not %d", l.address, l.kept, w.driver.Kept)
	}
	w.checkKept(l)
}

// checkKept holds the images that a lane has kept against the model. One of a partition with a lease out may still be to come.
func (w *world) checkKept(l *lane) {
	for ref := range w.owned(l) {
		if _, awaits := w.moves.Awaits(l.Applied(), ref); awaits || l.kept == 0 || w.ledger.Leases[w.common.Route.Number(ref)] != (account.Out{}) {
			continue
		}
		w.coverage.Hit("tables-kept")
		im := l.Kept(ref)
		if im == nil {
			w.Violated("keep: %v has no image of %v", l.address, ref)
			return
		}
		w.compare(l.address, ref, im, l.kept, true)
	}
}

// owned are the partitions of a lane, by its records.
func (w *world) owned(l *lane) iter.Seq[bellows.PartitionRef] {
	return func(yield func(bellows.PartitionRef) bool) {
		for ref := range w.common.Route.All() {
			if w.moves.At(l.Applied()).Owner(ref).Lane == l.address && !yield(ref) {
				return
			}
		}
	}
}

// checkPartition compares a partition with the model. One whose exclusive holder died inside must be refused.
func (w *world) checkPartition(l *lane, ref bellows.PartitionRef) {
	lease := w.ledger.Leases[w.common.Route.Number(ref)]
	im, err := l.Partition(ref)
	if from, awaits := w.moves.Awaits(l.Applied(), ref); awaits && (err != nil || !w.moves.Late(l.Applied(), ref)) {
		w.whole = false // its bits
		if n := w.nodes[from.Node]; err == nil || bellows.KindOf(err) != bellows.Lost || l.closed && !n.gone && !l.node.gone && !w.failover.cutShort {
			w.Violated("P1: %v, whose state %v has not sent to %v: %v", ref, from, l.address, err)
		}
		return
	}
	if dirty := lease.Exclusive && lease.Local; dirty || err != nil {
		w.coverage.Hit("torn-partition-refused")
		if !dirty || bellows.KindOf(err) != bellows.Lost {
			w.Violated("P1: %v, exclusive lease out: %v: %v", ref, dirty, err)
		}
		return
	}
	w.bits ^= w.Job.Bits(ref, &im) // in any order of lanes
	w.compare(l.address, ref, &im, l.Applied(), true)
}

// compare holds a partition, with the memory of its rule where that is wanted, against the model after exactly the commits up to n (P1, P7).
func (w *world) compare(at wire.Address, ref bellows.PartitionRef, im *store.Image, n bellows.CommitNumber, memory bool) {
	if err := w.oracle.Check(w.common.Route.Cut(ref.Table), ref, im, n, memory); err != nil {
		w.Violated("P1: %v has %v", at, err)
	}
	compared := memory && len(im.Slots) > 0
	w.coverage.HitIf("slots-compared", compared && ref.Table != model.Words)
	w.coverage.HitIf("slots-of-words-compared", compared && ref.Table == model.Words)
}
