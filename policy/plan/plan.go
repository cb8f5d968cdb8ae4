// Package plan computes the steps from one shape of a cluster to another, and which steps must be done before which.
// Such a plan is described in Cruise §IV.B.
//
// The steps that move a job's parts run in parallel, the largest first, so that no large one is alone at the end. Every
// step leaves a valid shape, in whatever order the steps are done. So a plan can be stopped at any point: it is
// cancelled by beginning no more steps, and resumed, by any later leader, by a new plan from the current shape. A step
// may be repeated without effect. (All of it: TestAnyOrderLeavesAShape, TestAPlanIsResumed.)
//
// The package is pure: Between makes a plan, a Run says what may begin now, and the caller does it.
package plan

import (
	"cmp"
	"fmt"
	"slices"

	"bellows"
	"bellows/policy/shape"
)

// Kind is what a step does.
type Kind uint8

// The kinds of steps (Cruise §IV.B has the same four).
const (
	Add    Kind = iota // a node comes, with its roles
	Switch             // a node gets roles, or loses those for which it has nothing left
	Move               // a partition, or a split, goes to another place
	Delete             // a node goes, which has nothing left
)

// String returns the word in events and in the experience page.
func (k Kind) String() string { return [...]string{"add", "switch", "move", "delete"}[k] }

// Step is one step. Which fields it has depends on its kind.
type Step struct {
	Kind         Kind
	Node         bellows.NodeID // the node of the step; of a move: the receiver
	Slots, Lanes int            // add, switch: the node's roles from then on
	Partition    int            // move: its number, or -1
	Split        int            // move: its number, or -1
	Lane         int            // move of a partition: to which lane
	From         shape.Place    // move: from where; of a split, no lane
	Bytes        int64          // move: how much travels
	After        []int          // the steps, by their places in the plan, that must be done before
	Reason       string
}

// String says what the step does.
func (s *Step) String() string {
	switch s.Kind {
	case Add:
		return fmt.Sprintf("add node-%d with %d compute slots and %d lanes", s.Node, s.Slots, s.Lanes)
	case Switch:
		return fmt.Sprintf("switch node-%d to %d compute slots and %d lanes", s.Node, s.Slots, s.Lanes)
	case Delete:
		return fmt.Sprintf("delete node-%d", s.Node)
	}
	if s.Split >= 0 {
		return fmt.Sprintf("move split %d from node-%d to node-%d", s.Split, s.From.Node, s.Node)
	}
	return fmt.Sprintf("move partition %d from node-%d to node-%d", s.Partition, s.From.Node, s.Node)
}

// Plan is steps, each behind those that it waits for.
type Plan struct{ Steps []Step }

// Sizes is how many bytes move with what.
type Sizes struct {
	Partitions []int64
	Splits     []int64 // 0: the receiver has its data, or reads them from their source
}

func size(of []int64, i int) int64 {
	if i < len(of) {
		return of[i]
	}
	return 0
}

// Between returns the way from one shape to another. Both are valid, and of one job.
func Between(now shape.Shape, want shape.Decision, job shape.Job, sizes Sizes) Plan {
	b := builder{now: now, want: want, job: job, gained: map[bellows.NodeID]int{}, emptied: map[bellows.NodeID][]int{}}
	b.gain()
	b.move(sizes)
	b.lose()
	return Plan{b.steps}
}

type builder struct {
	now     shape.Shape
	want    shape.Decision
	job     shape.Job
	steps   []Step
	gained  map[bellows.NodeID]int   // the step by which a node gets what it has not
	emptied map[bellows.NodeID][]int // the steps that take something from a node
}

func (b *builder) add(s Step) int {
	s.Reason = b.want.Reason
	b.steps = append(b.steps, s)
	return len(b.steps) - 1
}

// gain lets nodes come, and gives roles to those that are there.
func (b *builder) gain() {
	for _, n := range b.want.Nodes {
		was, there := b.now.Node(n.ID)
		all := shape.Node{ID: n.ID, Slots: max(n.Slots, was.Slots), Lanes: max(n.Lanes, was.Lanes)}
		switch {
		case !there:
			b.gained[n.ID] = b.add(Step{Kind: Add, Node: n.ID, Slots: n.Slots, Lanes: n.Lanes, Partition: -1, Split: -1})
		case all != was:
			b.gained[n.ID] = b.add(Step{Kind: Switch, Node: n.ID, Slots: all.Slots, Lanes: all.Lanes, Partition: -1, Split: -1})
		}
	}
}

// move moves what is elsewhere, the largest first. A split goes when its state has gone.
func (b *builder) move(sizes Sizes) {
	var list []Step
	for p, to := range b.want.Partitions {
		if from := b.now.Partitions[p]; from != to {
			list = append(list, Step{Kind: Move, Node: to.Node, Lane: to.Lane, From: from, Partition: p, Split: -1, Bytes: size(sizes.Partitions, p)})
		}
	}
	slices.SortStableFunc(list, largest)
	state := map[int][]int{}
	for _, s := range list {
		i := b.moved(s)
		if s.Partition < len(b.job.Near) && b.job.Near[s.Partition] >= 0 {
			near := b.job.Near[s.Partition]
			state[near] = append(state[near], i)
		}
	}
	list = list[:0]
	for p, to := range b.want.Splits {
		if from := b.now.Splits[p]; from != to {
			list = append(list, Step{Kind: Move, Node: to, From: shape.Place{Node: from}, Partition: -1, Split: p, Bytes: size(sizes.Splits, p), After: state[p]})
		}
	}
	slices.SortStableFunc(list, largest)
	for _, s := range list {
		b.moved(s)
	}
}

func largest(a, b Step) int { return cmp.Compare(b.Bytes, a.Bytes) }

func (b *builder) moved(s Step) int {
	if i, waits := b.gained[s.Node]; waits {
		s.After = append(slices.Clip(s.After), i)
	}
	i := b.add(s)
	b.emptied[s.From.Node] = append(b.emptied[s.From.Node], i)
	return i
}

// lose takes roles away, and lets nodes go, when nothing of theirs is left.
func (b *builder) lose() {
	for _, n := range b.now.Nodes {
		after := b.emptied[n.ID]
		if i, gained := b.gained[n.ID]; gained {
			after = append(slices.Clip(after), i)
		}
		to, stays := b.want.Node(n.ID)
		switch {
		case !stays:
			b.add(Step{Kind: Delete, Node: n.ID, Partition: -1, Split: -1, After: after})
		case to.Slots < n.Slots || to.Lanes < n.Lanes:
			b.add(Step{Kind: Switch, Node: n.ID, Slots: to.Slots, Lanes: to.Lanes, Partition: -1, Split: -1, After: after})
		}
	}
}

// Apply returns the shape after a step.
func Apply(s shape.Shape, step *Step) shape.Shape {
	i, there := slices.BinarySearchFunc(s.Nodes, step.Node, func(n shape.Node, id bellows.NodeID) int { return cmp.Compare(n.ID, id) })
	node := shape.Node{ID: step.Node, Slots: step.Slots, Lanes: step.Lanes}
	switch {
	case step.Kind == Delete:
		s.Nodes = slices.DeleteFunc(slices.Clone(s.Nodes), func(n shape.Node) bool { return n.ID == step.Node })
	case step.Kind == Add && !there:
		s.Nodes = slices.Insert(slices.Clone(s.Nodes), i, node)
	case step.Kind != Move:
		s.Nodes = slices.Clone(s.Nodes)
		s.Nodes[i] = node
	case step.Split >= 0:
		s.Splits = slices.Clone(s.Splits)
		s.Splits[step.Split] = step.Node
	default:
		s.Partitions = slices.Clone(s.Partitions)
		s.Partitions[step.Partition] = shape.Place{Node: step.Node, Lane: step.Lane}
	}
	return s
}
