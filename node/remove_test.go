package node_test

import (
	"context"
	"slices"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/node"
	"bellows/train"
)

// remove has a node leave.
func (g *growth) remove(n bellows.NodeID) {
	if err := g.commands.Remove(context.Background(), n); err != nil {
		g.t.Error(err)
	}
}

// refused wants the removal of a node to be refused.
func (g *growth) refused(n bellows.NodeID, want string) {
	if err := g.commands.Remove(context.Background(), n); bellows.KindOf(err) != bellows.Config || !says(err, want) {
		g.t.Errorf("node %d: %v, want %q", n, err, want)
	}
}

// TestNodesLeaveAJobThatRuns lets two nodes join a job of one and leave, and another one come and go at once: each serves to its end without an error, and the
// result is that of the quiet job, bit for bit. Who owns something stays.
func TestNodesLeaveAJobThatRuns(t *testing.T) {
	t.Parallel()
	quiet, err := node.Train(context.Background(), job(60, drift), node.Options{})
	require.NoError(t, err)
	g := &growth{t: t, job: func() train.Job { return job(60, drift) }}
	all := func(to ...bellows.NodeID) func() {
		return func() {
			for s := range bellows.SplitID(4) {
				g.move(s, to[int(s)%len(to)])
			}
		}
	}
	g.script = []func(){
		func() { g.add(2, 0); g.add(2, 2) },
		all(1, 2),
		func() {
			g.refused(1, "it has splits 0 and 2")
			g.refused(0, "it leads the job")
			g.refused(7, "it takes no part")
			all(0, 0, 2)()
			g.refused(2, "a split is on its way to it")
		},
		func() { g.remove(1); g.refused(1, "it takes no part") },
		func() {
			g.refused(2, "it has split 2")
			if n := g.add(2, 1); n != 3 {
				t.Errorf("the next is node %d", n)
			}
			all(3)()
		},
		func() { g.remove(2) },
		all(0),
		func() { g.remove(3) },
	}
	r, err := g.run(node.Options{})
	require.NoError(t, err)
	if !slices.Equal(r.Tables[0], quiet.Tables[0]) || r.Audit.Sent == 0 || r.Audit.Disagreements(true) != nil {
		t.Errorf("it ends at %v, not %v; audit %+v", r.Tables[0], quiet.Tables[0], r.Audit)
	}
	var left []bellows.NodeID
	for _, c := range g.changes {
		if c.Kind == node.Left && c.Sentence != "" {
			left = append(left, c.Node)
		}
	}
	if g.next != len(g.script) || !slices.Equal(left, []bellows.NodeID{1, 2, 3}) {
		t.Errorf("%d steps of %d were taken, and %v left", g.next, len(g.script), left)
	}
	if err := g.commands.Remove(context.Background(), 1); bellows.KindOf(err) != bellows.Interrupted {
		t.Errorf("a node leaves a job that is over: %v", err)
	}
}
