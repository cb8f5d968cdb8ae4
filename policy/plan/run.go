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
	// OfNode is how many moves come to a node, or go from it, at once: by default 2, since more
	// share its link and finish no sooner.
	OfNode int
}

const movesOfNode = 2

// Run is a plan that is being carried out: a step function over the ends of its steps.
//
// A step waits, then it is begun, then done or failed; or it is dropped. Invariants, held by
// TestAnyOrderLeavesAShape and TestARunEnds: a step begins once, when all that it waits for is done; no
// node has more moves than Limits allow; of the moves that may begin the largest does; what waits for
// a step that failed or was dropped is dropped; a run ends when no step is begun and none may be.
type Run struct {
	Plan   Plan
	limits Limits
	states []state
	moves  map[bellows.NodeID]int // that are begun, from a node or to it
}

// NewRun is a plan of which no step has begun.
func NewRun(p Plan, limits Limits) *Run {
	if limits.OfNode == 0 {
		limits.OfNode = movesOfNode
	}
	return &Run{Plan: p, limits: limits, states: make([]state, len(p.Steps)), moves: map[bellows.NodeID]int{}}
}

// Begin is what begins now, by places in the plan. The caller does these, and says when each is done
// or has failed.
func (r *Run) Begin() (list []int) {
	for i := range r.Plan.Steps {
		s := &r.Plan.Steps[i]
		if r.states[i] != waiting || !r.ready(s) {
			continue
		}
		if s.Kind == Move {
			if r.moves[s.Node] >= r.limits.OfNode || r.moves[s.From.Node] >= r.limits.OfNode {
				continue
			}
			r.count(s, 1)
		}
		r.states[i] = begun
		list = append(list, i)
	}
	return list
}

func (r *Run) ready(s *Step) bool {
	return !slices.ContainsFunc(s.After, func(i int) bool { return r.states[i] != done })
}

// count notes a move that begins or ends, at both its ends.
func (r *Run) count(s *Step, by int) {
	r.moves[s.Node] += by
	if s.From.Node != s.Node {
		r.moves[s.From.Node] += by
	}
}

// Done says that a step that was begun is done.
func (r *Run) Done(i int) { r.end(i, done) }

// Failed says that a step that was begun has failed, or was given up. What does not wait for it goes
// on: each is of use by itself.
func (r *Run) Failed(i int) {
	r.end(i, failed)
	for j := range r.Plan.Steps { // those behind it are behind it in the plan, too
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
	if s := &r.Plan.Steps[i]; s.Kind == Move {
		r.count(s, -1)
	}
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

// Over reports whether nothing is begun and nothing will be.
func (r *Run) Over() bool {
	return !slices.Contains(r.states, begun) && !slices.Contains(r.states, waiting)
}

// Undone are the steps that failed or were dropped, when the run is over.
func (r *Run) Undone() (list []int) {
	for i, s := range r.states {
		if s >= failed {
			list = append(list, i)
		}
	}
	return list
}

// Share is how many bytes have moved, of how many: those of moves that are done.
func (r *Run) Share() (moved, all int64) {
	for i := range r.Plan.Steps {
		all += r.Plan.Steps[i].Bytes
		if r.states[i] == done {
			moved += r.Plan.Steps[i].Bytes
		}
	}
	return moved, all
}
