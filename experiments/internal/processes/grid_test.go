package processes

import (
	"context"
	"math"
	"testing"
	"time"

	"bellows"
	"bellows/experiments/internal/report"
	"bellows/node"
	"bellows/policy/gauge"
	"bellows/train"
)

func TestShapesAreAllNumbersOfWorkers(t *testing.T) {
	t.Parallel()
	p := NewPlan()
	if list := p.shapes(); len(list) != 6 || list[0] != (Counts{1, 5, 0}) || list[5] != (Counts{0, 0, 6}) {
		t.Errorf("%v", list)
	}
	if p.Apart = true; len(p.shapes()) != 5 {
		t.Errorf("%v", p.shapes())
	}
}

// figures returns those of a job on so many processes that all do both.
func figures(p *Plan) *gauge.Figures {
	f := &gauge.Figures{Items: int64(p.Job.Splits), Tables: []int{p.Job.Partitions}, Nodes: []gauge.Node{{}},
		Clocks: gauge.Clocks{Epoch: 1, Measured: 30, Passed: 30}, Traffic: []gauge.Traffic{{Splits: 1}}}
	for i := range p.Nodes {
		f.Nodes = append(f.Nodes, gauge.Node{ID: bellows.NodeID(i + 1), Works: true, Serves: true, Slots: 1, Lanes: 1,
			Item: gauge.Exactly(1), Row: gauge.Exactly(1e-6)})
	}
	for i := range f.Nodes {
		f.Nodes[i].In = gauge.Interval{Value: 1e6, Low: 1e6, High: math.Inf(1)}
		f.Nodes[i].Out = f.Nodes[i].In
	}
	for i := range p.Job.Splits {
		f.Splits = append(f.Splits, gauge.Split{Node: bellows.NodeID(i%p.Nodes + 1)})
	}
	for i := range p.Job.Partitions {
		f.Partitions = append(f.Partitions, gauge.Partition{Node: bellows.NodeID(i%p.Nodes + 1), Bytes: 1})
	}
	return f
}

// TestShapeHasItsCounts deals each shape of the grid, and counts its nodes.
func TestShapeHasItsCounts(t *testing.T) {
	t.Parallel()
	p := NewPlan()
	for _, want := range p.shapes() {
		s := p.shape(want)
		l := node.Layout{Splits: s.Splits}
		for _, at := range s.Partitions {
			l.Partitions = append(l.Partitions, node.Holding{Node: at.Node})
		}
		if got := countsOf(&l); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// TestJudgeFindsBest: without traffic, all processes work in the best shape, and a prediction is off by what was
// measured.
func TestJudgeFindsBest(t *testing.T) {
	t.Parallel()
	p := NewPlan()
	turn := &Turn{Best: Counts{0, 0, 6}}
	for _, c := range p.shapes() {
		turn.Cells = append(turn.Cells, Cell{c, 30 / float64(c.Workers+c.Both)})
	}
	turn.Cells[1].Seconds *= 2
	f := figures(p)
	s, err := p.judge(&report.Run{Out: t.Output()}, turn, Counts{0, 0, 6}, f)
	if err != nil {
		t.Fatal(err)
	}
	if s.Chosen.Workers+s.Chosen.Both != 6 || s.Over != 1 || math.Abs(s.Errors[1]-0.5) > 1e-3 || s.Errors[2] > 1e-3 {
		t.Errorf("%+v", s)
	}
}

func TestChangesAreCountedOnce(t *testing.T) {
	t.Parallel()
	decided := []string{"the shape stays: no other shape is expected to be faster",
		"3 workers and 3 servers are faster: an epoch takes 2 s and is expected to take 1 s; moving costs up to 4 s",
		"3 workers and 3 servers are faster: an epoch takes 2 s and is expected to take 1 s; moving costs up to 4 s: 2 to switch",
		"3 workers and 3 servers are faster: an epoch takes 2 s and is expected to take 1 s; moving costs up to 4 s: done in 0.2 s, 30 moved"}
	if n := changesOf(decided); n != 1 {
		t.Errorf("%d changes", n)
	}
}

// TestJobHasEpochs trains the job in this process.
func TestJobHasEpochs(t *testing.T) {
	t.Parallel()
	j := Job{Splits: 3, Partitions: 2, Rows: 4, Clocks: 2, Item: time.Microsecond, Spin: true}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	last := train.Epoch{}
	_, err := node.Train(ctx, j.make(), node.Options{OnEpoch: func(e train.Epoch, _ node.Spent) {
		if last = e; e.Number == 3 {
			end()
		}
	}})
	if err != nil || last.Number < 3 || last.Items != int64(last.Number)*6 {
		t.Errorf("%+v, %v", last, err)
	}
}
