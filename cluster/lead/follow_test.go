package lead

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/cluster"
	"bellows/node"
	"bellows/node/launch"
)

// follows returns a process that continues with two nodes of its predecessor, and the manager's end of its session.
func follows(t *testing.T) (*Lead, *cluster.Session) {
	t.Helper()
	succession, err := json.Marshal(launch.Succession{Members: []node.Member{{Node: 1, Slots: 1}, {Node: 2, Lanes: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	x, y := net.Pipe()
	l := &Lead{Assignment: Assignment{Job: 5, Following: &Following{Succession: succession, Processes: []cluster.Process{{Number: 8, Node: "node-1", Member: 1, PID: 11}, {Number: 3, Node: "node-4", Member: 2, PID: 12}}}},
		session: cluster.NewSession(x, strings.NewReader("")), gone: make(chan struct{}), places: make(chan []cluster.Place, 1),
		processes: map[uint64]*remote{}, at: map[string]*remote{}, late: map[string]bool{}}
	if err := l.inherit(); err != nil {
		t.Fatal(err)
	}
	return l, cluster.NewSession(y, strings.NewReader(""))
}

// TestPredecessorsProcessesAreAdopted with their output since then, up to a limit. A node with such a process has no
// place for another, whose number is new.
func TestPredecessorsProcessesAreAdopted(t *testing.T) {
	t.Parallel()
	l, s := follows(t)
	defer l.Close()
	defer s.Close()
	if f := l.Follows(); f == nil || len(f.Members) != 2 {
		t.Errorf("it follows %+v", f)
	}
	l.take(cluster.Message{Process: 8, Wrote: []byte("ear")})
	l.take(cluster.Message{Process: 8, Wrote: []byte("ly ")})
	l.take(cluster.Message{Process: 3, Wrote: make([]byte, earlyMost)})
	l.take(cluster.Message{Process: 3, Wrote: []byte("too much")})
	var wrote [3]bytes.Buffer
	all := l.Adopt(func(n bellows.NodeID) io.Writer { return &wrote[n] })
	if len(all) != 2 || all[1].PID() != 11 || all[2].PID() != 12 {
		t.Fatalf("they are %+v", all)
	}
	l.take(cluster.Message{Process: 8, Wrote: []byte("late")})
	if wrote[1].String() != "early late" || wrote[2].Len() != earlyMost {
		t.Errorf("they have written %q, and %d bytes", wrote[1].String(), wrote[2].Len())
	}
	if l.drawn != 8 {
		t.Errorf("the next is number %d", l.drawn+1)
	}
	l.Places = []cluster.Place{{Node: "node-1", Slots: 1}, {Node: "node-4", Lanes: 1}}
	if _, err := l.Processes(nil, func(bellows.NodeID) io.Writer { return io.Discard }).Start(node.Member{Node: 1, Slots: 1}, 0, 1); err == nil {
		t.Error("a node has two processes")
	}
	l.take(cluster.Message{Process: 8, Over: &cluster.Over{How: "ended"}})
	if all[1].Wait(); all[1].How() != "ended" || l.at["node-1"] != nil || l.at["node-4"] == nil {
		t.Errorf("it %s, and processes are at %v", all[1].How(), l.at)
	}
}

// TestInvalidSuccessionIsRefused before anything is done with it.
func TestInvalidSuccessionIsRefused(t *testing.T) {
	t.Parallel()
	for _, f := range []Following{{Succession: []byte("7")}, {Succession: []byte("{}"), Processes: []cluster.Process{{Number: 1, Node: "node-1"}}}} {
		l := &Lead{Assignment: Assignment{Following: &f}, processes: map[uint64]*remote{}, at: map[string]*remote{}}
		if err := l.inherit(); err == nil || len(l.processes) > 0 {
			t.Errorf("%+v: it takes %v", f, l.processes)
		}
	}
}

// TestNodesAreDismissed if the job cannot continue with them: all are asked to end at the same time, and killed if they
// do not.
func TestNodesAreDismissed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := follows(t)
		told := map[uint64][]time.Duration{}
		began := time.Now()
		go func() {
			for {
				m, err := s.Receive()
				if err != nil {
					return
				}
				if m.Process == 0 {
					continue // a pulse
				}
				told[m.Process] = append(told[m.Process], time.Since(began))
				if m.Process == 8 && m.End || m.Kill {
					go l.take(cluster.Message{Process: m.Process, Over: &cluster.Over{How: "ended"}})
				}
			}
		}()
		go func() {
			for {
				if _, err := l.session.Receive(); err != nil {
					return
				}
			}
		}()
		l.Dismiss()
		if want := map[uint64][]time.Duration{8: {0}, 3: {0, dismissWithin}}; !reflect.DeepEqual(told, want) || len(l.processes) != 0 {
			t.Errorf("told after %v, want %v; %d are left", told, want, len(l.processes))
		}
		l.Close()
		s.Close()
	})
}

// TestNewAttemptHasCurrentNodes checks that it gets those that the manager says can take part, up to so many slots.
// Without a worker there is no attempt.
func TestNewAttemptHasCurrentNodes(t *testing.T) {
	t.Parallel()
	l, s := led(t)
	l.late["node-2"] = true
	other := cluster.Place{Node: "node-9", Slots: 1, Kernels: []string{"another"}}
	var talked []string
	talk := func(string, ...any) { talked = append(talked, "no part") }
	renew := func(most int, answer ...cluster.Place) error {
		t.Helper()
		ended := make(chan error, 1)
		go func() { ended <- l.Renew(t.Context(), most, talk) }()
		if m := heard(t, s); m.Nodes == nil {
			t.Errorf("it says %+v", m)
		}
		if err := s.Send(cluster.Message{Nodes: &cluster.Nodes{Places: answer}}); err != nil {
			t.Error(err)
		}
		return <-ended
	}
	if err := renew(2, append([]cluster.Place{other}, places...)...); err != nil || len(talked) != 1 || !reflect.DeepEqual(l.nodes(), []cluster.Place{places[0], places[2]}) || len(l.late) != 0 {
		t.Errorf("it has %+v, %v, and names %q", l.nodes(), err, talked)
	}
	if err := renew(0, places[2], other); bellows.KindOf(err) != bellows.Lost || !strings.Contains(err.Error(), "no worker of the cluster is left") {
		t.Errorf("without a worker: %v", err)
	}
	s.Close()
	<-l.gone
	if err := l.Renew(t.Context(), 0, talk); bellows.KindOf(err) != bellows.Lost {
		t.Errorf("without a manager: %v", err)
	}
}

// TestSoManySlotsAreEnough checks that nodes beyond the limit are left out, but not the first, and no server.
func TestSoManySlotsAreEnough(t *testing.T) {
	t.Parallel()
	list := []cluster.Place{{Node: "node-1", Slots: 2}, {Node: "node-2", Lanes: 1}, {Node: "node-3", Slots: 2}, {Node: "node-4", Slots: 1}, {Node: "node-5", Lanes: 1}}
	for most, want := range map[int]string{0: "12345", 1: "125", 2: "125", 3: "1245", 4: "1235", 5: "12345"} {
		got := ""
		for _, p := range within(list, most) {
			got += strings.TrimPrefix(p.Node, "node-")
		}
		if got != want {
			t.Errorf("of at most %d slots are nodes %s, want %s", most, got, want)
		}
	}
}

// TestSuccessionIsSentToManager, and how far the job is.
func TestSuccessionIsSentToManager(t *testing.T) {
	t.Parallel()
	l, s := led(t)
	l.Succeed(launch.Succession{Nodes: 4})
	var got launch.Succession
	if m := heard(t, s); json.Unmarshal(m.Succession, &got) != nil || got.Nodes != 4 {
		t.Errorf("told %+v", m)
	}
	l.HowFar(cluster.Progress{Units: 3})
	if m := heard(t, s); m.Progress == nil || m.Progress.Units != 3 {
		t.Errorf("told %+v", m)
	}
}

// TestUnansweredRequestsAreRepeated: nodes that the job has taken since are reported as taken, and one that has
// partitions already is not requested again.
func TestUnansweredRequestsAreRepeated(t *testing.T) {
	t.Parallel()
	worker, server := cluster.Place{Node: "node-7", Slots: 4, Kernels: kernels}, cluster.Place{Node: "node-8", Lanes: 2, Kernels: kernels}
	l := &Lead{Assignment: Assignment{Job: 5, Places: []cluster.Place{places[0], worker, server}}, at: map[string]*remote{"node-1": {member: 1}, "node-7": {member: 3}, "node-8": {member: 2}}, late: map[string]bool{}}
	j := &job{}
	said, err := l.grow(t.Context(), j, []cluster.Place{worker, server})
	if err != nil || strings.Join(j.asked, ";") != "2 workers, 2 servers" || len(said) != 1 || !strings.HasPrefix(said[0], "job 5 has taken node-7, node-8: ") || len(l.Places) != 3 {
		t.Errorf("%q, %v, asked for %q, and has %+v", said, err, j.asked, l.Places)
	}
}
