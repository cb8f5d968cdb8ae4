package dryrun

import (
	"fmt"
	"slices"

	"bellows"
	"bellows/policy/plan"
	"bellows/policy/shape"
)

// planned is what `plan shape --json` prints.
type planned struct {
	Policy string  `json:"policy"`
	Seed   *uint64 `json:"seed,omitempty"` // of policies that draw
	Reason string  `json:"reason"`
	Now    counts  `json:"now"`
	Then   counts  `json:"then"`
	Steps  []step  `json:"steps"`
	Rounds int     `json:"rounds"` // steps of a round run at once
	Bytes  int64   `json:"bytes"`  // that travel in all
}

type counts struct {
	Nodes   int `json:"nodes"`
	Workers int `json:"workers"` // nodes that run tasks
	Servers int `json:"servers"` // nodes that hold partitions
}

func countsOf(s *shape.Shape) counts {
	workers, servers := s.Counts()
	return counts{len(s.Nodes), workers, servers}
}

type step struct {
	Step      int    `json:"step"`  // from 1
	Round     int    `json:"round"` // from 1
	Kind      string `json:"kind"`
	Node      string `json:"node"` // the node of the step; of a move, the receiver
	Slots     *int   `json:"slots,omitempty"`
	Lanes     *int   `json:"lanes,omitempty"`
	Partition *int   `json:"partition,omitempty"`
	Split     *int   `json:"split,omitempty"`
	Lane      *int   `json:"lane,omitempty"`
	From      string `json:"from,omitempty"`
	Bytes     int64  `json:"bytes"`
	After     []int  `json:"after"` // steps that must be done before
	Reason    string `json:"reason"`
}

// name returns a node as events have it.
func name(n bellows.NodeID) string { return fmt.Sprintf("node-%d", n) }

// planned returns the plan to a policy's goal, executed step by step: a round is what may begin when all earlier rounds
// are done. A plan that does not reach the goal is a bug of package plan.
func (st *state) planned(policy shape.Policy, atOnce int) (*planned, error) {
	want, err := policy(st.Snapshot)
	if err != nil {
		return nil, bellows.Errorf(bellows.Config, "plan", "", "%w", err)
	}
	return st.planTo(want, atOnce)
}

// planTo returns the plan to a shape.
func (st *state) planTo(want shape.Decision, atOnce int) (*planned, error) {
	if err := want.Validate(); err != nil {
		return nil, bellows.Errorf(bellows.Bug, "plan", "", "what is decided is no shape: %w", err)
	}
	p := plan.Between(st.Shape, want, st.Job, st.sizes)
	out := &planned{Reason: want.Reason, Now: countsOf(&st.Shape), Then: countsOf(&want.Shape), Steps: []step{}}
	run := plan.NewRun(p, plan.Limits{OfNode: atOnce})
	at := st.Shape
	round := make([]int, len(p.Steps))
	for !run.Finished() {
		begun := run.Begin()
		if len(begun) == 0 {
			return nil, bellows.Errorf(bellows.Bug, "plan", "", "no step may begin, and some have not")
		}
		out.Rounds++
		for _, i := range begun {
			at, round[i] = plan.Apply(at, &p.Steps[i]), out.Rounds
		}
		for _, i := range begun {
			run.Done(i)
		}
	}
	if !same(&at, &want.Shape) {
		return nil, bellows.Errorf(bellows.Bug, "plan", "", "the plan leads to another shape than was decided")
	}
	for i := range p.Steps {
		out.Steps = append(out.Steps, stepOf(&p.Steps[i], i, round[i]))
		out.Bytes += p.Steps[i].Bytes
	}
	return out, nil
}

// same reports whether two shapes are one. A node without roles, which leads, is there in both.
func same(a, b *shape.Shape) bool {
	return slices.Equal(a.Nodes, b.Nodes) && slices.Equal(a.Partitions, b.Partitions) && slices.Equal(a.Splits, b.Splits)
}

func stepOf(s *plan.Step, i, round int) step {
	o := step{Step: i + 1, Round: round, Kind: s.Kind.String(), Node: name(s.Node), Bytes: s.Bytes, After: []int{}, Reason: s.Reason}
	for _, j := range s.After {
		o.After = append(o.After, j+1)
	}
	slices.Sort(o.After)
	switch s.Kind {
	case plan.Add, plan.Switch:
		o.Slots, o.Lanes = &s.Slots, &s.Lanes // they are the plan's, which is changed no more
	case plan.Move:
		o.From = name(s.From.Node)
		if s.Split >= 0 {
			o.Split = &s.Split
		} else {
			o.Partition, o.Lane = &s.Partition, &s.Lane
		}
	}
	return o
}
