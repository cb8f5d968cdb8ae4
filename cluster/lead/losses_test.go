package lead

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/cluster"
	"bellows/node"
)

// TestALostNodeIsNoPlace loses the agent of a node, which the manager reports with the end of the process there. No process is started there again, and the place does not count as a worker.
func TestALostNodeIsNoPlace(t *testing.T) {
	l, s := led(t)
	starter := l.Processes([]string{"x"}, func(bellows.NodeID) io.Writer { return io.Discard })
	start := func(n bellows.NodeID) (*remote, string) {
		t.Helper()
		p, err := starter.Start(node.Member{Node: n, Slots: 2}, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		m := heard(t, s)
		if m.Start == nil {
			t.Fatalf("it says %+v", m)
		}
		return p.(*remote), m.Start.Node
	}
	first, at := start(1)
	if _, second := start(2); at != "node-1" || second != "node-2" {
		t.Fatalf("they are at %s and %s", at, second)
	}
	s.Send(cluster.Message{Lost: []string{"node-1"}})
	s.Send(cluster.Message{Process: first.number, Over: &cluster.Over{How: "(process 7) is lost with node-1 of the cluster"}})
	first.Wait()
	if _, err := starter.Start(node.Member{Node: 1, Slots: 2}, 0, 1); err == nil {
		if m := heard(t, s); m.Start.Node == "node-1" {
			t.Error("a process is started at a node that is lost")
		}
	}
	j := &job{}
	if _, err := l.grow(t.Context(), j, []cluster.Place{{Node: "node-9", Slots: 2, Kernels: kernels}}); err != nil || strings.Join(j.asked, ";") != "2 workers, 0 servers" {
		t.Errorf("one has come: it is asked for %q, %v", j.asked, err)
	}
}

// TestAPlaceThatFailedComesLast starts a process where others have died only if no other place is free. The end of a process that was asked to end does not count.
func TestAPlaceThatFailedComesLast(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ended []string // places where a process has died
		asked bool     // to end
		want  string
	}{
		"none":             {nil, false, "node-1"},
		"the first":        {[]string{"node-1"}, false, "node-2"},
		"both":             {[]string{"node-1", "node-2"}, false, "node-1"},
		"the first, twice": {[]string{"node-1", "node-1", "node-2"}, false, "node-2"},
		"told to end":      {[]string{"node-1"}, true, "node-1"},
	} {
		l := &Lead{Assignment: Assignment{Places: []cluster.Place{{Node: "node-1", Slots: 1}, {Node: "node-2", Slots: 1}}}, processes: map[uint64]*remote{}, at: map[string]*remote{}, late: map[string]bool{}}
		for i, at := range c.ended {
			p := &remote{lead: l, number: uint64(i), node: at, member: 7, asked: c.asked, over: make(chan struct{})}
			l.processes[p.number], l.at[at] = p, p
			l.started(7, at)
			p.ended(cluster.Over{How: "ended"})
		}
		if got := l.free(node.Member{Node: 9, Slots: 1}); got == nil || got.Node != c.want {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

// TestMissingNodeIsReported checks that the manager learns of a node that the job misses once the process there has ended, in either order, and not of one that the cluster has lost.
func TestMissingNodeIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		first  bool // it has ended before the job notices
		lost   bool // with its node
		gone   bellows.NodeID
		report bool
	}{
		"it ends first":     {true, false, 1, true},
		"the job is first":  {false, false, 1, true},
		"its node is lost":  {false, true, 1, false},
		"lost before":       {true, true, 1, false},
		"another is missed": {true, false, 7, false},
	} {
		l, s := led(t)
		p, err := l.Processes(nil, func(bellows.NodeID) io.Writer { return io.Discard }).Start(node.Member{Node: 1, Slots: 2}, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		heard(t, s)
		if !c.first {
			l.Missing(c.gone)
		}
		if c.lost {
			l.take(cluster.Message{Lost: []string{"node-1"}})
		}
		l.take(cluster.Message{Process: 1, Over: &cluster.Over{How: "ended"}})
		p.Wait()
		if c.first {
			l.Missing(c.gone)
		}
		l.Began("the end") // after the report, if it comes
		m := heard(t, s)
		if (m.Missing == "node-1") != c.report || m.Missing == "" && m.Run == "" {
			t.Errorf("%s: it says %+v", name, m)
		}
		if m.Missing != "" { // it is offered, and taken
			j := &job{does: func() { l.at["node-1"] = &remote{} }}
			l.at["node-2"], l.at["node-4"] = &remote{member: 2}, &remote{member: 3}
			if said, err := l.grow(t.Context(), j, places[:1]); err != nil || len(said) != 1 || strings.Join(j.asked, ";") != "2 workers, 0 servers" {
				t.Errorf("%s: it is offered again: %q, %v, and asked for %q", name, said, err, j.asked)
			}
		}
	}
}

// TestLastNodeOfAKindIsKept refuses to drain all nodes that hold the tables of a job, or that run its tasks, before the job is asked.
func TestLastNodeOfAKindIsKept(t *testing.T) {
	t.Parallel()
	apart := []node.Member{{}, {Node: 1, Slots: 2}, {Node: 3, Lanes: 1}}
	both := []node.Member{{}, {Node: 1, Slots: 2, Lanes: 1}}
	var list []cluster.Place // node-2 and node-4 have come later
	for i := range 4 {
		p := cluster.Place{Node: fmt.Sprint("node-", i+1), Slots: 2}
		if i > 1 {
			p.Slots, p.Lanes = 0, 1
		}
		list = append(list, p)
	}
	for name, c := range map[string]struct {
		begins []node.Member
		leave  []string
		want   string
	}{
		"one server":         {apart, []string{"node-3"}, ""},
		"all servers":        {apart, []string{"node-3", "node-4"}, "change job 5: no other of its nodes holds its tables; keep one with `scale --servers 1`, or wait for the end of job 5"},
		"workers hold some":  {both, []string{"node-3", "node-4"}, ""},
		"later ones hold":    {both, []string{"node-1", "node-3", "node-4"}, ""},
		"all workers":        {apart, []string{"node-1", "node-2"}, "change job 5: no other of its nodes runs its tasks; keep one with `scale --workers 1`, or wait for the end of job 5"},
		"one that has none":  {apart, []string{"node-9"}, ""},
		"all, and one other": {apart, []string{"node-9", "node-4", "node-3"}, "change job 5: no other of its nodes holds its tables"},
	} {
		l := &Lead{Assignment: Assignment{Job: 5, Places: slices.Clone(list)}, at: map[string]*remote{}, late: map[string]bool{}, begins: c.begins}
		j := &shaped{}
		for i, p := range list {
			m := bellows.NodeID(i + 1)
			l.at[p.Node] = &remote{member: m}
			j.members = append(j.members, node.Member{Node: m, Slots: 2, Lanes: 1}) // what they are able to do
		}
		_, err := l.drop(t.Context(), j, c.leave, 0)
		known := slices.DeleteFunc(slices.Clone(c.leave), func(n string) bool { return n == "node-9" })
		if c.want == "" && (err != nil || len(known) > 0 && len(j.asked) != 1) || c.want != "" && (bellows.KindOf(err) != bellows.Refused || !strings.HasPrefix(err.Error(), c.want) || len(j.asked) > 0) {
			t.Errorf("%s: %v, asked for %q", name, err, j.asked)
		}
	}
}

// shaped is a job with such members.
type shaped struct {
	job
	members []node.Member
}

func (j *shaped) Layout(context.Context) (node.Layout, error) {
	return node.Layout{Members: j.members}, nil
}
