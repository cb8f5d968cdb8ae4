package sim

import (
	"fmt"
	"strings"

	"bellows"
	"bellows/core/client"
	"bellows/sim/internal/schedule"
	"bellows/sim/internal/steps"
)

// script is one task as the executor runs it: steps, one after the other.
//
// It computes, in a slot; has asked (the question has left and it still has the slot); is parked, without one; has been answered and wants one again
// (worker.places has the account); or is stuck, if it is the task without end. A step that must wait is tried again when the answer has come.
type script struct {
	steps.Script
	w          *world
	k          *worker
	task       *client.Task
	unit       bellows.Unit
	goOn       func() // run
	stuckAt    int    // the step before which it hangs; -1: none
	stuckSince int64  // since when it hangs; 0: it runs
	waiting    bool
	since      int64 // when the wait began
	named      bool  // the wait was named
}

func (w *world) newScript(k *worker, t *client.Task) *script {
	s := &script{Script: w.steps.Draw(t, k.node.Number, k.client, &k.fx), w: w, k: k, task: t, unit: t.Unit, stuckAt: -1}
	s.goOn = s.run
	unit, _ := w.Job.Share(t.Unit)
	if e := w.Endless; e.Split == s.unit.Split && e.Clock == s.unit.Clock && unit == 0 {
		s.stuckAt = w.Chances.IntN(s.Len())
	}
	return s
}

// ask waits for an answer. The question has left, and sometimes time passes before the script gives its slot away.
func (s *script) ask() {
	s.k.places.Ask(s.unit.Split)
	if s.w.Rng.IntN(3) == 0 {
		s.w.After(1+s.w.Rng.Int64N(12), s.k.node, s.park)
		return
	}
	s.park()
}

// park gives the script's slot away until it has been answered.
func (s *script) park() { s.k.give(s.k.places.Park(s.unit.Split)) }

// answered ends the wait for an answer. The wait for a slot follows.
func (s *script) answered() {
	s.checkNamed()
	s.waiting = false
	s.w.coverage.HitIf("answered-early", s.k.places.Early)
}

// noticeMax is when a wait must have been named: after 2 s and two ticks, by the slowest clock.
const noticeMax = (2000 + 2*beatEvery + 10) * (1000 + 2*schedule.DriftMax) / 1000

// checkNamed sees that a wait that has lasted was named (P8), unless the node itself did not run meanwhile, or has ended the job.
func (s *script) checkNamed() {
	if waited := s.w.Now - s.since; s.waiting && waited > noticeMax && !s.named && !s.w.Loss.Done && !s.k.node.Failed && s.k.node.PausedUntil < s.since {
		s.w.Violated("P8: %v has waited for %d ms without a notice", s.unit, waited)
	}
}

// stick hangs until the job is interrupted or loses a node, node 0 has named the task, or the time has come.
func (s *script) stick() {
	w := s.w
	w.Note("%v does not go on", &s.Script)
	w.coverage.Hit("task-without-end")
	w.coverage.HitAt("fault", "tasks and users")
	s.k.obey()
	s.stuckAt, s.stuckSince = -1, w.Now
	until, forever := w.Now+w.Endless.Millis, w.Endless.Millis == int64(schedule.Never)
	if forever {
		w.faults.ends.Expect("has not ended, and nothing has been committed for")
		w.faults.ends.Expect("it has computed for")
	}
	var look func()
	look = func() {
		if w.Now < until && (forever || !w.await.TasksNamed()) && !w.job.Interrupted && w.losses == 0 {
			w.After(beatEvery, s.k.node, look)
			return
		}
		s.stuckSince = 0
		s.run()
	}
	w.After(beatEvery, s.k.node, look)
}

// run takes steps until one must wait, the task pauses, or it is over.
func (s *script) run() {
	if s.k.scripts[s.unit.Split] != s {
		return // killed meanwhile
	}
	for s.k.client.Ended() == nil && s.w.Violation == "" {
		if s.Position() == s.stuckAt {
			s.stick()
			return
		}
		if s.Position() == s.Len() {
			s.CheckSlabs()
			s.k.finish(s, nil)
			return
		}
		if !s.Take() {
			s.waiting, s.since, s.named = true, s.w.Now, false
			s.k.obey()
			s.ask()
			return
		}
		if s.w.Rng.IntN(4) == 0 {
			s.k.obey()
			s.w.After(1+s.w.Rng.Int64N(12), s.k.node, s.goOn)
			return
		}
	}
	if s.k.client.Ended() != nil && s.w.Closing[s.k.node.Number] != int64(schedule.Never) { // unwound
		s.k.drop(s)
		s.k.give(s.k.places.End(s.unit.Split))
	}
}

// checkCulprit checks that node 0, if it waits for a task of a node on which one hangs, names that task and no other
// (P8).
func (w *world) checkCulprit(notice string) {
	var split, clock, node int
	if at := strings.Index(notice, " for split "); at < 0 {
		return
	} else if _, err := fmt.Sscanf(notice[at:], " for split %d clock %d on node %d", &split, &clock, &node); err != nil {
		return
	}
	n := w.nodes[node]
	for _, s := range n.worker.scripts {
		// so long that its node has reported it, even if the report was delayed while a link was cut
		if s == nil || s.stuckSince == 0 || w.Now < s.stuckSince+1700 || n.Gone || n.PausedUntil > s.stuckSince || w.nodes[0].PausedUntil > s.stuckSince {
			continue
		}
		w.coverage.Hit("culprit-named")
		if s.unit.Split != bellows.SplitID(split) {
			w.Violated("P8: %q, and %v hangs there", notice, s.unit)
		}
	}
}
