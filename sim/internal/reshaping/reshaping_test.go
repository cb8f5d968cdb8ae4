package reshaping

import (
	"errors"
	"slices"
	"testing"

	"bellows"
	"bellows/policy/plan"
	"bellows/policy/reshape"
	"bellows/policy/shape"
	"bellows/sim/internal/coverage"
	"bellows/sim/internal/trace"
)

// fakeJob is a job that carries out every command at once. Events happen in the order in which they were asked for.
type fakeJob struct {
	facts   reshape.Facts
	left    []bellows.NodeID
	events  []func()
	now     int64
	refuses error // what becomes of moves of partitions
	over    bool
}

// newJob returns a job with three nodes that run tasks and hold partitions.
func newJob() *fakeJob {
	j := &fakeJob{facts: reshape.Facts{Version: 1, Splits: []bellows.NodeID{0, 1, 2, 2}, Partitions: []bellows.NodeID{0, 1, 2}}}
	j.facts.Tables = []int{3}
	j.facts.Sizes.Partitions = []int64{1, 1, 1}
	for n := range bellows.NodeID(3) {
		j.facts.Nodes = append(j.facts.Nodes, shape.Node{ID: n, Slots: 1, Lanes: 1})
	}
	return j
}

func (j *fakeJob) Facts() (reshape.Facts, bool) {
	f := j.facts
	f.Splits, f.Partitions, f.Nodes = slices.Clone(f.Splits), slices.Clone(f.Partitions), slices.Clone(f.Nodes)
	return f, !j.over
}

func (j *fakeJob) Version() (uint64, bool) { return j.facts.Version, !j.over }

func (j *fakeJob) Add(slots, lanes int) (bellows.NodeID, error) {
	n := bellows.NodeID(len(j.facts.Nodes) + len(j.left))
	j.facts.Nodes = append(j.facts.Nodes, shape.Node{ID: n, Slots: slots, Lanes: lanes})
	j.facts.Version++
	return n, nil
}

func (j *fakeJob) Uninvite(bellows.NodeID)                           {}
func (j *fakeJob) StaySplit(bellows.SplitID) error                   { return nil }
func (j *fakeJob) StayPartition(int) error                           { return nil }
func (j *fakeJob) Joined(bellows.NodeID) (bool, error)               { return true, nil }
func (j *fakeJob) HasLeft(n bellows.NodeID) bool                     { return slices.Contains(j.left, n) }
func (j *fakeJob) Later(do func())                                   { j.events = append(j.events, do) }
func (j *fakeJob) Millis() int64                                     { return j.now }
func (j *fakeJob) owns(list []bellows.NodeID, n bellows.NodeID) bool { return slices.Contains(list, n) }

func (j *fakeJob) MoveSplit(s bellows.SplitID, to bellows.NodeID) error {
	j.facts.Splits[s] = to
	j.facts.Version++
	return nil
}

func (j *fakeJob) MovePartition(p int, to bellows.NodeID, _ bool) error {
	if j.refuses == nil {
		j.facts.Partitions[p] = to
		j.facts.Version++
	}
	return j.refuses
}

func (j *fakeJob) Remove(n bellows.NodeID) error {
	if j.owns(j.facts.Splits, n) || j.owns(j.facts.Partitions, n) {
		return errors.New("it has something still")
	}
	j.facts.Nodes = slices.DeleteFunc(j.facts.Nodes, func(o shape.Node) bool { return o.ID == n })
	j.facts.Version++
	j.left = append(j.left, n)
	return nil
}

// run plays 500 events or pauses; time passes with each.
func (j *fakeJob) run(d *Shaper) {
	for range 500 {
		j.now += 10
		if len(j.events) > 0 {
			do := j.events[0]
			j.events = j.events[1:]
			do()
		}
		d.Look(false)
		d.Tick()
	}
}

func newShaper(j *fakeJob) *Shaper {
	return New(&trace.Trace{Clock: &j.now}, new(coverage.Coverage), j)
}

func TestDrainEmptiesAndRemovesNode(t *testing.T) {
	t.Parallel()
	j := newJob()
	d := newShaper(j)
	if _, taken := d.Ask(reshape.Ask{Drain: &reshape.Drain{Node: 2}}); !taken {
		t.Fatal("the job cannot be asked")
	}
	j.run(d)
	if d.Violation != "" || len(d.Unanswered()) > 0 || !j.HasLeft(2) || j.owns(j.facts.Splits, 2) || j.owns(j.facts.Partitions, 2) {
		t.Errorf("%q, %d unanswered, left %v, %+v", d.Violation, len(d.Unanswered()), j.left, j.facts)
	}
	if !d.Seen()[coverage.Event{Name: "reshape-drained"}] {
		t.Errorf("%v", d.Seen())
	}
}

func TestScaleAddsNodes(t *testing.T) {
	t.Parallel()
	j := newJob()
	d := newShaper(j)
	d.Ask(reshape.Ask{Scale: &reshape.Scale{Workers: 4}})
	if j.run(d); d.Violation != "" || len(j.facts.Nodes) != 4 || len(d.Unanswered()) > 0 {
		t.Errorf("%q, %d nodes, %d unanswered", d.Violation, len(j.facts.Nodes), len(d.Unanswered()))
	}
}

func TestRefusedStepIsGivenUp(t *testing.T) {
	t.Parallel()
	j := newJob()
	j.refuses = bellows.Errorf(bellows.Unavailable, "move", "", "not now")
	d := newShaper(j)
	d.Ask(reshape.Ask{Drain: &reshape.Drain{Node: 2}})
	j.run(d)
	if d.Violation != "" || len(d.Unanswered()) > 0 || j.HasLeft(2) {
		t.Errorf("%q, %d unanswered, left %v", d.Violation, len(d.Unanswered()), j.left)
	}
	if seen := d.Seen(); !seen[coverage.Event{Name: "reshape-not-all-done"}] || !seen[coverage.Event{Name: "reshape-step-refused"}] {
		t.Errorf("%v", seen)
	}
}

func TestEndOfJobAnswersAll(t *testing.T) {
	t.Parallel()
	j := newJob()
	d := newShaper(j)
	d.Ask(reshape.Ask{Drain: &reshape.Drain{Node: 2}})
	j.over = true
	d.Look(true)
	if _, taken := d.Ask(reshape.Ask{Drain: &reshape.Drain{Node: 1}}); d.Violation != "" || len(d.Unanswered()) > 0 || taken {
		t.Errorf("%q, %d unanswered", d.Violation, len(d.Unanswered()))
	}
}

func TestTwoMovesOfOneSplit(t *testing.T) {
	t.Parallel()
	d := newShaper(newJob())
	o := func() *op { return &op{Op: reshape.Op{Step: move(3, 1)}} }
	d.check(o())
	d.ops = append(d.ops, o())
	if d.Violation != "" {
		t.Fatal(d.Violation)
	}
	if d.check(o()); d.Violation == "" {
		t.Error("two moves of a split are under way")
	}
}

func move(split int, to bellows.NodeID) plan.Step {
	return plan.Step{Kind: plan.Move, Split: split, Partition: -1, Node: to}
}
