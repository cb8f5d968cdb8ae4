package measure

import (
	"errors"
	"testing"
	"time"

	"bellows"
	"bellows/core/route"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/policy/gauge"
	"bellows/table"
	"bellows/train"
)

// fakeJob is a job at nodes that each work and serve.
type fakeJob struct {
	whole *Whole
	count wire.Report
}

func (j *fakeJob) Count() *wire.Report { return &j.count }
func (j *fakeJob) Whole() *Whole       { return j.whole }

func newFakeJob(nodes int) *fakeJob {
	j := &train.Job{Splits: 4 * nodes, Tables: []table.Schema{{Name: "w", Rows: 100, Width: 1, Partitions: 2 * nodes}},
		Driver: &train.Rounds{}, Items: func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 10} }}
	w := &Whole{Job: j}
	lanes, ids := make([]int, nodes), make([]bellows.NodeID, nodes)
	for n := range nodes {
		lanes[n], ids[n] = 1, bellows.NodeID(n)
		w.Nodes = append(w.Nodes, gauge.Node{ID: ids[n], Slots: 1, Lanes: 1})
	}
	w.Route = route.Spread(j.Tables, j.Splits, route.Lanes(lanes), ids)
	return &fakeJob{whole: w}
}

// step completes a clock, in which each node has worked for a second and reports it.
func (j *fakeJob) step(f *Feed, s *State) {
	s.Complete++
	s.Now += time.Second
	for _, n := range j.whole.Nodes {
		m := j.count
		m.Millis = s.Now.Milliseconds()
		m.Tally.Work.Items = 40 * int64(s.Complete+1)
		m.Tally.Work.Processor = s.Now
		m.Tally.Spent[0] = s.Now
		if n.ID > 0 {
			f.Enter(n.ID, &m)
		} else {
			j.count = m
		}
	}
	f.Step(s, j)
}

// TestFeedCountsQuietClocks: clocks with a cut, a move or a lost node do not count, a waiter gets what it waits for in
// one shape, and the figures say how many clocks they rest on.
func TestFeedCountsQuietClocks(t *testing.T) {
	t.Parallel()
	j, f := newFakeJob(3), &Feed{}
	s := &State{Complete: bellows.NoClock, Nodes: 3}
	f.Step(s, j)
	told := make(chan error, 1)
	waited := func() bool {
		select {
		case err := <-told:
			require.NoError(t, err)
			return true
		default:
			return false
		}
	}
	steps := func(n int) {
		for range n {
			j.step(f, s)
		}
	}
	f.Await(10, told)
	steps(9)
	s.Cutting = true
	steps(5)
	s.Cutting = false
	if waited() {
		t.Error("clocks of a cut count")
	}
	s.Changing = true
	steps(5)
	f.Moved(1, 100)
	s.Changing, s.Rerouted = false, true
	f.Step(s, j) // now it has another shape
	s.Rerouted = false
	steps(9)
	if waited() {
		t.Error("clocks of another shape count")
	}
	f.Lost()
	steps(9)
	if waited() {
		t.Error("clocks before a loss count")
	}
	steps(1)
	if !waited() {
		t.Error("ten clocks are too few")
	}
	steps(30)
	m, err := f.Moment(j.whole)
	if err != nil || m.Clocks < gauge.ClocksLeast || m.Clocks > int(s.Complete)+1-5-5-3 || m.Epoch.Value < 0.9 || m.Epoch.Value > 1.1 {
		t.Errorf("%+v, %v", m, err)
	}
	f.Await(1, told)
	over := errors.New("over")
	f.End(over)
	if err := <-told; !errors.Is(err, over) {
		t.Errorf("at the end a waiter gets %v", err)
	}
}

func BenchmarkClock(b *testing.B) {
	j, f := newFakeJob(32), &Feed{}
	s := &State{Complete: bellows.NoClock, Nodes: 32}
	f.Step(s, j)
	for b.Loop() {
		j.step(f, s)
	}
}
