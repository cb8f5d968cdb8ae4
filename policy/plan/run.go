package plan

import (
	"slices"

	"bellows"
)

// state is how far a step is.
type state uint8

const (
	waiting state = iota
	begun
	done
	failed
	dropped // it is not done, since the plan was cancelled or what it waits for has failed
)

// Limits bound what is done at once; zeros: the defaults.
type Limits struct {
	// OfNode is how many moves that carry bytes come to a node, or go from it, at once: by default 2, since more
	// share its link and finish no sooner.
	OfNode int
	// Hurried is how many bytes the moves of a node may carry at once beyond that number, where they are from a node that leaves: by default 16 MiB,
	// what two copies of one that leaves have on their way. Of small partitions one after the other, most of the time would go by with messages.
	Hurried int64
	// Adds is how many nodes come at once: by default 1. A job says how many may be on their way to it.
	Adds int
}

const (
	movesOfNode  = 2
	hurriedBytes = 16 << 20
	addsAtOnce   = 1
)

// Run is a plan that is being carried out: a step function over the ends of its steps.
//
// A step waits, then it is begun, then done or failed; or it is dropped. Invariants, held by
// TestAnyOrderLeavesAShape and TestARunEnds: a step begins once, when all that it waits for is done; no
// node has more moves, or more bytes of hurried ones, and no more nodes come at once, than Limits allow; of the moves that may begin the largest does; what waits for
// a step that failed or was dropped is dropped; a run ends when no step is begun and none may be.
type Run struct {
	Plan   Plan
	limits Limits
	states []state
	moves  map[bellows.NodeID]int   // that are begun, from a node or to it
	bytes  map[bellows.NodeID]int64 // that these carry
	leaves map[bellows.NodeID]bool  // nodes that leave
	adds   int                      // that are begun
}

// NewRun returns the run of a plan before its first step.
func NewRun(p Plan, limits Limits) *Run {
	if limits.OfNode == 0 {
		limits.OfNode = movesOfNode
	}
	if limits.Adds == 0 {
		limits.Adds = addsAtOnce
	}
	if limits.Hurried == 0 {
		limits.Hurried = hurriedBytes
	}
	r := &Run{Plan: p, limits: limits, states: make([]state, len(p.Steps)), moves: map[bellows.NodeID]int{}, bytes: map[bellows.NodeID]int64{}, leaves: map[bellows.NodeID]bool{}}
	for i := range p.Steps {
		if s := &p.Steps[i]; s.Kind == Delete {
			r.leaves[s.Node] = true
		}
	}
	return r
}

// Rounds returns in how many rounds a plan is carried out, if all steps of a round end together.
func (p Plan) Rounds(limits Limits) (n int) {
	r := NewRun(p, limits)
	for list := r.Begin(); len(list) > 0; list = r.Begin() {
		for _, i := range list {
			r.Done(i)
		}
		n++
	}
	return n
}

// Begin returns what begins now, by places in the plan. The caller does these, and says when each is done
// or has failed.
func (r *Run) Begin() (list []int) { return r.BeginIf(func(*Step) bool { return true }) }

// BeginIf works like Begin, without the steps for which may returns false.
func (r *Run) BeginIf(may func(*Step) bool) (list []int) {
	for i := range r.Plan.Steps {
		s := &r.Plan.Steps[i]
		if r.states[i] != waiting || !r.ready(s) || !r.room(s) || !may(s) {
			continue
		}
		r.Adopt(i)
		list = append(list, i)
	}
	return list
}

// Adopt says that a step has begun already, by a run of an earlier plan.
func (r *Run) Adopt(i int) {
	r.states[i] = begun
	r.Carry(&r.Plan.Steps[i], 1)
}

// Carry counts a step that is under way though it is none of the plan's, as one more or one less: it takes part of what the
// limits allow.
func (r *Run) Carry(s *Step, by int) {
	switch {
	case s.Kind == Move && s.Bytes > 0:
		for _, n := range s.ends() {
			r.moves[n] += by
			r.bytes[n] += int64(by) * s.Bytes
		}
	case s.Kind == Add:
		r.adds += by
	}
}

// room reports whether the limits allow one more such step.
func (r *Run) room(s *Step) bool {
	switch {
	case s.Kind == Move && s.Bytes > 0:
		for _, n := range s.ends() {
			if r.moves[n] >= r.limits.OfNode && !(r.leaves[s.From.Node] && r.bytes[n]+s.Bytes <= r.limits.Hurried) {
				return false
			}
		}
	case s.Kind == Add:
		return r.adds < r.limits.Adds
	}
	return true
}

// ends returns the nodes of a move.
func (s *Step) ends() []bellows.NodeID {
	if s.From.Node == s.Node {
		return []bellows.NodeID{s.Node}
	}
	return []bellows.NodeID{s.Node, s.From.Node}
}

func (r *Run) ready(s *Step) bool {
	return !slices.ContainsFunc(s.After, func(i int) bool { return r.states[i] != done })
}

// Done says that a step that was begun is done.
func (r *Run) Done(i int) { r.end(i, done) }

// Failed reports that a step that was begun has failed, or was given up. Steps that do not wait for it continue: each
// is useful alone.
func (r *Run) Failed(i int) {
	r.end(i, failed)
	for j := range r.Plan.Steps { // steps that wait for it follow it in the plan
		if r.states[j] == waiting && slices.ContainsFunc(r.Plan.Steps[j].After, func(k int) bool { return r.states[k] >= failed }) {
			r.states[j] = dropped
		}
	}
}

func (r *Run) end(i int, to state) {
	if r.states[i] != begun {
		return
	}
	r.states[i] = to
	r.Carry(&r.Plan.Steps[i], -1)
}

// Cancel drops what has not begun. The list is what has: each ends still, done or failed.
func (r *Run) Cancel() (open []int) {
	for i, s := range r.states {
		switch s {
		case waiting:
			r.states[i] = dropped
		case begun:
			open = append(open, i)
		}
	}
	return open
}

// Finished reports whether no step is running and none will begin.
func (r *Run) Finished() bool {
	return !slices.Contains(r.states, begun) && !slices.Contains(r.states, waiting)
}

// Undone returns the steps that failed or were dropped, when the run is over.
func (r *Run) Undone() (list []int) {
	for i, s := range r.states {
		if s >= failed {
			list = append(list, i)
		}
	}
	return list
}

// Share returns how many bytes have moved, of how many: those of moves that are done.
func (r *Run) Share() (moved, all int64) {
	for i := range r.Plan.Steps {
		all += r.Plan.Steps[i].Bytes
		if r.states[i] == done {
			moved += r.Plan.Steps[i].Bytes
		}
	}
	return moved, all
}

// Waiting returns the steps that have not begun and still may.
func (r *Run) Waiting() (list []int) {
	for i, s := range r.states {
		if s == waiting {
			list = append(list, i)
		}
	}
	return list
}
