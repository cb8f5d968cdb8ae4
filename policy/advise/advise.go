// Package advise decides by the figures of a job whether it changes its shape, and to which one.
//
// An Advisor is a value of its caller, which passes it the job when a number of clocks have passed in one shape (Step),
// and carries out what it returns. Its State is kept in the log of the run: an Advisor that is made with it later tries
// no shape again.
//
// The package moves nothing. Its rule is that of choose.Memory.
package advise

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"bellows"
	"bellows/figures"
	"bellows/policy/choose"
	"bellows/policy/cost"
	"bellows/policy/gauge"
	"bellows/policy/plan"
	"bellows/policy/shape"
)

// Moment is what a job has measured up to now.
type Moment struct {
	Figures *gauge.Figures
	Epoch   gauge.Interval // measured seconds, in the present shape
	Clocks  int            // on which they rest
}

// State is what an Advisor remembers.
type State struct {
	choose.Memory
	// Workers and Servers are bounds by commands that have scaled the job.
	Workers *choose.Bounds `json:"workers,omitempty"`
	Servers *choose.Bounds `json:"servers,omitempty"`
}

// Clone returns a copy that shares nothing that changes.
func (s *State) Clone() State {
	c := *s
	c.World, c.Tried = slices.Clone(s.World), slices.Clone(s.Tried)
	return c
}

// Advisor decides for one job.
type Advisor struct {
	Ask   choose.Ask // what the user demands of the shape
	State State
}

// Advice is what a job does.
type Advice struct {
	Change bool
	Shape  shape.Shape // to change to, if it changes
	Now    string      // the present shape, by choose.Name
	To     string      // the other one, if it changes
	Judged string      // whether the prediction of the present shape came true; empty: nothing to judge
	Reason string      // of what is done, a sentence without its end
}

// Step decides. An error says why no shape is possible, or that too few clocks were measured.
func (a *Advisor) Step(m *Moment) (Advice, error) {
	f := m.Figures
	ask := a.bounded()
	best, err := choose.Find(f, ask)
	if err != nil {
		return Advice{}, err
	}
	now := f.Shape()
	model := cost.New(f)
	v := view{f: f, now: &now, model: model, epoch: m.Epoch}
	var list []choose.Candidate
	shapes := []shape.Shape{best.Shape}
	list = append(list, v.candidate(&best.Shape, best.Epoch))
	for i := range a.State.Tried { // one of them may be the best that was measured
		t := &a.State.Tried[i]
		if t.Measured == nil || t.Shape == list[0].Shape {
			continue
		}
		if s, err := dealAs(f, &now, t.Shape); err == nil && ask.Allows(&s) {
			list, shapes = append(list, v.candidate(&s, *t.Measured)), append(shapes, s)
		}
	}
	present := choose.Present{Shape: choose.Name(&now), Measured: m.Epoch, Clocks: m.Clocks}
	unjudged := a.State.awaits(present.Shape)
	verdict := a.State.Step(f, present, list)
	out := Advice{Change: verdict.Change, Now: present.Shape, Reason: verdict.Reason}
	if verdict.Change {
		out.Shape, out.To = shapes[verdict.To], list[verdict.To].Shape
	}
	if unjudged && !a.State.awaits(present.Shape) {
		out.Judged = verdict.Reason
	}
	return out, nil
}

// Preview returns the advice that Step would give, and remembers nothing.
func (a *Advisor) Preview(m *Moment) (Advice, error) {
	b := Advisor{a.Ask, a.State.Clone()}
	return b.Step(m)
}

// awaits reports whether a shape was predicted, and has not been measured.
func (s *State) awaits(name string) bool {
	i := slices.IndexFunc(s.Tried, func(t choose.Trial) bool { return t.Shape == name })
	return i >= 0 && s.Tried[i].Predicted != nil && s.Tried[i].Measured == nil
}

// view is what candidates are compared with.
type view struct {
	f     *gauge.Figures
	now   *shape.Shape
	model *cost.Model
	epoch gauge.Interval
}

// candidate returns a shape with the cost of the way to it.
func (v *view) candidate(s *shape.Shape, epoch gauge.Interval) choose.Candidate {
	sizes := plan.Sizes{}
	for i := range v.f.Partitions {
		sizes.Partitions = append(sizes.Partitions, v.f.Partitions[i].Bytes)
	}
	for i := range v.f.Splits {
		sizes.Splits = append(sizes.Splits, v.f.Splits[i].Moved)
	}
	bytes, steps := int64(0), 0
	way := plan.Between(*v.now, shape.Decision{Shape: *s}, v.f.Job(), sizes)
	for _, step := range way.Steps {
		bytes += step.Bytes
		if step.Kind == plan.Move {
			steps++
		}
	}
	moving := v.model.Moving(bytes, steps, way.Rounds(plan.Limits{}), v.epoch)
	return choose.Candidate{Shape: choose.Name(s), Epoch: epoch, Moving: moving}
}

// errOther says that a shape of the memory cannot be made anew.
var errOther = errors.New("its parts are dealt in another way")

// dealAs returns a shape by its name: the numbers of splits and partitions of its nodes.
func dealAs(f *gauge.Figures, now *shape.Shape, name string) (shape.Shape, error) {
	counts, err := choose.ParseName(name)
	if err != nil {
		return shape.Shape{}, err
	}
	snapshot := shape.Snapshot{Job: f.Job(), Shape: *now}
	shares := shape.Shares{Splits: map[bellows.NodeID]int{}, Partitions: map[bellows.NodeID]int{}}
	var nodes []shape.Node
	for i := range f.Nodes {
		n := &f.Nodes[i]
		c, m := counts[n.ID], shape.Node{ID: n.ID}
		if c.Splits > 0 {
			m.Slots, shares.Splits[n.ID] = n.Slots, c.Splits
		}
		if c.Partitions > 0 {
			m.Lanes, shares.Partitions[n.ID] = n.Lanes, c.Partitions
		}
		if m.Slots+m.Lanes > 0 || n.ID == f.Leads {
			nodes = append(nodes, m)
		}
	}
	d, err := shape.DealShares(snapshot, nodes, shares)
	if err != nil {
		return shape.Shape{}, err
	}
	if choose.Name(&d.Shape) != name {
		// partitions that follow their splits do not count among the shares
		for i := range f.Partitions {
			near := f.Partitions[i].Near
			if near != nil && d.Partitions[i].Node == d.Splits[*near] {
				shares.Partitions[d.Partitions[i].Node]--
			}
		}
		for _, n := range shares.Partitions {
			if n < 0 {
				return shape.Shape{}, errOther
			}
		}
		if d, err = shape.DealShares(snapshot, nodes, shares); err != nil {
			return shape.Shape{}, err
		}
	}
	if choose.Name(&d.Shape) != name {
		return shape.Shape{}, errOther
	}
	return d.Shape, nil
}

// Scaled notes that a command has asked for numbers of workers and servers, 0 for those that stay, and how many the job
// had then. Advice never undoes it: a number that grew is a least one, and one that shrank a largest one.
func (s *State) Scaled(workers, servers, nowWorkers, nowServers int) {
	bound(&s.Workers, workers, nowWorkers)
	bound(&s.Servers, servers, nowServers)
}

func bound(b **choose.Bounds, asked, now int) {
	switch {
	case asked == 0:
	case asked > now:
		*b = &choose.Bounds{Low: asked}
	case asked < now:
		*b = &choose.Bounds{High: asked}
	default:
		*b = &choose.Bounds{Low: asked, High: asked}
	}
}

// bounded returns what the user demands, within what commands have asked for since.
func (a *Advisor) bounded() choose.Ask {
	ask := a.Ask
	ask.Workers, ask.Servers = within(ask.Workers, a.State.Workers), within(ask.Servers, a.State.Servers)
	return ask
}

// within returns bounds that hold both; where they contradict each other, the later ones hold.
func within(b choose.Bounds, later *choose.Bounds) choose.Bounds {
	if later == nil {
		return b
	}
	low, high := max(b.Low, later.Low), later.High
	if b.High > 0 {
		high = min(b.High, cmp.Or(later.High, b.High))
	}
	if high > 0 && low > high {
		if later.Low > 0 {
			return choose.Bounds{Low: later.Low, High: max(later.Low, later.High)}
		}
		return choose.Bounds{High: later.High}
	}
	return choose.Bounds{Low: low, High: high}
}

// Withdraw notes that a change was not begun. It may be advised again.
func (s *State) Withdraw(to string) {
	s.Tried = slices.DeleteFunc(s.Tried, func(t choose.Trial) bool { return t.Shape == to && t.Measured == nil })
}

// errChanged refuses a change of a shape that a job has no more.
var errChanged = errors.New("the job's shape has changed since it was measured")

// Policy returns the policy that makes the change. It refuses to change another shape than that of the figures. Nodes
// that get nothing stay in the job with their roles: another shape may use them.
func (a *Advice) Policy(f *gauge.Figures) shape.Policy {
	return func(now shape.Snapshot) (shape.Decision, error) {
		then := f.Shape()
		same := func(p, q shape.Place) bool { return p.Node == q.Node }
		if !slices.Equal(now.Splits, then.Splits) || !slices.EqualFunc(now.Partitions, then.Partitions, same) {
			return shape.Decision{}, errChanged
		}
		want := shape.Decision{Reason: a.Sentence(), Shares: a.Shape.Shares(&now.Job)}
		for _, host := range now.Hosts {
			role, _ := now.Node(host.ID)
			if n, used := a.Shape.Node(host.ID); used && n.Slots+n.Lanes > 0 {
				if role = host; n.Slots == 0 {
					role.Slots = 0
				}
				if n.Lanes == 0 {
					role.Lanes = 0
				}
			}
			want.Nodes = append(want.Nodes, role)
		}
		want.Splits = slices.Clone(a.Shape.Splits)
		for _, p := range a.Shape.Partitions { // to which of its lanes a partition goes is the node's
			want.Partitions = append(want.Partitions, shape.Place{Node: p.Node})
		}
		return want, want.Validate()
	}
}

// Sentence says what is advised, and why.
func (a *Advice) Sentence() string {
	if !a.Change {
		return a.Reason
	}
	return fmt.Sprintf("%s are faster: %s", describe(&a.Shape), a.Reason)
}

// describe returns the numbers of nodes of a shape, for people.
func describe(s *shape.Shape) string {
	workers, servers := s.Counts()
	both := 0
	for _, n := range s.Nodes {
		if n.Slots > 0 && n.Lanes > 0 {
			both++
		}
	}
	text := figures.Plural(workers, "worker") + " and " + figures.Plural(servers, "server")
	if both > 0 {
		text += fmt.Sprintf(" (%s with both roles)", figures.Plural(both, "node"))
	}
	return text
}
