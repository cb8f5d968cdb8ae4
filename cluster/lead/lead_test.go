package lead

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/cluster"
	"bellows/cluster/clustertest"
	"bellows/link/secure"
	"bellows/node"
	"bellows/node/elastic"
	"bellows/vec"
)

// kernels are those of a node that can take part.
var kernels = []string{"another", vec.Kernels()}

var places = []cluster.Place{{Node: "node-1", Slots: 2, Host: "here", Kernels: kernels}, {Node: "node-2", Slots: 1, Lanes: 3, Host: "here", Kernels: kernels}, {Node: "node-4", Lanes: 1, Host: "there", Kernels: kernels}}

// led returns a process that leads job 5, and the manager's end of its session.
func led(t *testing.T) (*Lead, *cluster.Session) {
	t.Helper()
	called := make(chan *cluster.Session, 1)
	var server *clustertest.Fake
	server = clustertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		if by := server.Caller(r); r.URL.Path != "/v1/jobs/5/lead" || by.Role != secure.Controller || by.ID != "job-5" {
			t.Errorf("%s is called by %v", r.URL.Path, by)
		}
		conn, both, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", cluster.Upgrade)
		s := cluster.NewSession(conn, strings.NewReader(""))
		if both.Reader.Buffered() > 0 {
			t.Error("it says something before it may")
		}
		m, err := s.Receive()
		if err != nil || m.Hello == nil || m.Hello.PID != os.Getpid() || m.Hello.Program.Name != "x" {
			t.Errorf("hello is %+v, %v", m.Hello, err)
		}
		s.Send(cluster.Message{Welcome: &cluster.Welcome{Node: "node-0"}})
		called <- s
	})
	line, err := json.Marshal(Assignment{Address: server.Address, Identity: server.Member(t, secure.Controller, "job-5"), Job: 5, Host: "here", Places: places, Program: cluster.Program{Name: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	told := ""
	l, err := Take(t.Context(), bytes.NewReader(append(line, "\nmore"...)), func(format string, args ...any) { told += fmt.Sprintf(format, args...) })
	s := <-called
	if err != nil {
		t.Fatal(err)
	}
	if told != "" {
		t.Errorf("it is told %s", told)
	}
	t.Cleanup(func() {
		l.Close()
		s.Close()
		server.Close()
	})
	return l, s
}

// heard returns the next that the manager hears.
func heard(t *testing.T, s *cluster.Session) cluster.Message {
	t.Helper()
	m, err := s.Receive()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestAnAssignmentIsTaken from a line that a manager has written, and of nothing else.
func TestAnAssignmentIsTaken(t *testing.T) {
	for _, text := range []string{"", "{}", "hello\n", "{\"Job\":5}\n"} {
		if l, err := Take(t.Context(), strings.NewReader(text), t.Logf); l != nil || bellows.KindOf(err) != bellows.Usage {
			t.Errorf("%q: %v, %v", text, l, err)
		}
	}
	nowhere := clustertest.Serve(t, nil)
	nowhere.Close()
	line, err := json.Marshal(Assignment{Address: nowhere.Address, Identity: nowhere.Member(t, secure.Controller, "job-5")})
	if err != nil {
		t.Fatal(err)
	}
	if l, err := Take(t.Context(), bytes.NewReader(append(line, '\n')), t.Logf); l != nil || bellows.KindOf(err) != bellows.Unavailable {
		t.Errorf("no manager: %v, %v", l, err)
	}
	l, s := led(t)
	if l.Job != 5 || !reflect.DeepEqual(l.Places, places) || l.Slots() != 3 || !l.HasServersOnly() {
		t.Errorf("%+v, %d slots, apart %v", l.Assignment, l.Slots(), l.HasServersOnly())
	}
	if err := l.Began("runs/a"); err != nil || heard(t, s).Run != "runs/a" {
		t.Errorf("its folder: %v", err)
	}
	t.Setenv(Variable, "")
	if Leads() {
		t.Error("it leads")
	}
	t.Setenv(Variable, "1")
	if !Leads() {
		t.Error("it does not lead")
	}
}

// TestMembersAreItsNodes: where no node only holds tables, all do; each connection beyond the first wants a lane.
func TestMembersAreItsNodes(t *testing.T) {
	for name, c := range map[string]struct {
		places      []cluster.Place
		connections int
		want        []node.Member
		apart       bool
	}{
		"together": {[]cluster.Place{{Slots: 2}, {Slots: 1, Lanes: 3}, {Slots: 1}}, 1, []node.Member{{}, {Node: 1, Slots: 2, Lanes: 2}, {Node: 2, Slots: 1, Lanes: 3}, {Node: 3, Slots: 1, Lanes: 1}}, false},
		"many":     {[]cluster.Place{{Slots: 2}, {Slots: 1, Lanes: 4}}, 4, []node.Member{{}, {Node: 1, Slots: 2, Lanes: 3}, {Node: 2, Slots: 1, Lanes: 4}}, false},
		"apart":    {[]cluster.Place{{Slots: 2}, {Lanes: 1}, {Slots: 1, Lanes: 2}}, 3, []node.Member{{}, {Node: 1, Slots: 2}, {Node: 2, Lanes: 2}, {Node: 3, Slots: 1, Lanes: 2}}, true},
	} {
		l := &Lead{Assignment: Assignment{Places: c.places}}
		if got := l.Members(c.connections); !reflect.DeepEqual(got, c.want) || l.HasServersOnly() != c.apart {
			t.Errorf("%s: %+v, apart %v, want %+v", name, got, l.HasServersOnly(), c.want)
		}
	}
	l := &Lead{Assignment: Assignment{Host: "here", Places: places}}
	if err := l.Reads(true); bellows.KindOf(err) != bellows.Config || !strings.Contains(err.Error(), "node-4 is on another one (there)") {
		t.Errorf("a node elsewhere: %v", err)
	}
	if err := l.Reads(false); err != nil {
		t.Errorf("nothing is saved: %v", err)
	}
	l.Places = l.Places[:2]
	if err := l.Reads(true); err != nil {
		t.Errorf("all are here: %v", err)
	}
}

// TestProcessesAreStartedElsewhere, each at a free node: that of its number, or one that fits, or any. Reports about
// one reach it, and its input reaches its agent.
func TestProcessesAreStartedElsewhere(t *testing.T) {
	l, s := led(t)
	var wrote [10]bytes.Buffer
	starter := l.Processes([]string{"x", "y"}, func(n bellows.NodeID) io.Writer { return &wrote[n] })
	var all []*remote
	for i, c := range []struct {
		member node.Member
		want   string
	}{{node.Member{Node: 9}, "node-4"}, {node.Member{Node: 2, Slots: 1}, "node-2"}, {node.Member{Node: 4}, "node-1"}} {
		p, err := starter.Start(c.member, i, 7)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p.(*remote))
		m := heard(t, s)
		if m.Process != uint64(i+1) || m.Start == nil || !reflect.DeepEqual(*m.Start, cluster.Start{Node: c.want, Args: []string{"x", "y"}, Place: i, Computing: 7, Member: int(c.member.Node)}) {
			t.Errorf("process %d: %+v, want %s", i, m.Start, c.want)
		}
	}
	if p, err := starter.Start(node.Member{Node: 3, Slots: 2}, 0, 7); p != nil || err == nil || !strings.Contains(err.Error(), "no node of the cluster is free for it, with 2 compute slots") {
		t.Errorf("one too many: %v, %v", p, err)
	}
	p := all[1]
	for _, m := range []cluster.Message{{Process: 99, PID: 1}, {Process: 2, PID: 77}, {Process: 2, Said: []byte("first")}, {Process: 2, Said: []byte("second")}, {Process: 2, Wrote: []byte("oh")}, {Process: 2, Over: &cluster.Over{How: "e\x1bnded", Last: "l\x1bast"}}, {Process: 2, Over: &cluster.Over{}}} {
		if err := s.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Say([]byte("word")); err != nil {
		t.Error(err)
	}
	if m := heard(t, s); m.Process != 2 || string(m.Say) != "word" {
		t.Errorf("it is told %+v", m)
	}
	p.Wait()
	<-p.Ended()
	if p.PID() != 77 || string(<-p.Answer()) != "first" || !strings.HasPrefix(p.How(), "e") || strings.Contains(p.How(), "\x1b") || !strings.HasSuffix(p.Last(), "ast") || strings.Contains(p.Last(), "\x1b") {
		t.Errorf("process %d %q %q", p.PID(), p.How(), p.Last())
	}
	if wrote[2].String() != "oh" {
		t.Errorf("it has written %q", wrote[2].String())
	}
	if again, err := starter.Start(node.Member{Node: 3, Slots: 2}, 0, 7); err != nil || again.(*remote).node != "node-2" || heard(t, s).Process != 4 {
		t.Errorf("its place is not free: %v", err)
	}
	all[0].End()
	if m := heard(t, s); m.Process != 1 || !m.End || m.Kill {
		t.Errorf("told to end: %+v", m)
	}
	all[0].Kill()
	if m := heard(t, s); m.Process != 1 || m.End || !m.Kill {
		t.Errorf("killed: %+v", m)
	}
	ctx, cancel := l.Context(t.Context())
	defer cancel()
	s.Close()
	<-ctx.Done()
	all[2].End()
	for what, p := range map[string]*remote{"asked to end before": all[0], "asked to end after": all[2]} {
		p.Wait()
		if how := p.How(); how != "is no longer heard of: the cluster's manager is gone" {
			t.Errorf("%s the manager had gone: it %s", what, how)
		}
	}
	all[2].ended(cluster.Over{How: "late"})
	if l.at["node-4"] != nil || len(l.processes) != 1 {
		t.Errorf("processes are left at %v, of %v", l.at, l.processes)
	}
}

// TestContextEndsWithTheJob checks that the context of a Lead also ends with its parent.
func TestContextEndsWithTheJob(t *testing.T) {
	l, _ := led(t)
	outer, cancel := context.WithCancel(t.Context())
	ctx, end := l.Context(outer)
	defer end()
	if ctx.Err() != nil {
		t.Error("it has ended")
	}
	cancel()
	<-ctx.Done()
}

// job is a job whose nodes change; it records its requests.
type job struct {
	mu    sync.Mutex
	asked []string
	err   error
	does  func() // when it is scaled
}

func (j *job) note(format string, args ...any) (elastic.Result, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.asked = append(j.asked, fmt.Sprintf(format, args...))
	return elastic.Result{Moved: 3, Seconds: 1.5}, j.err
}

func (j *job) Layout(context.Context) (node.Layout, error) {
	return node.Layout{Members: []node.Member{{}, {Node: 1, Slots: 2}, {Node: 2, Slots: 1, Lanes: 3}, {Node: 3, Lanes: 1}}, Partitions: []node.Holding{{Node: 1}, {Node: 2}, {Node: 1}}}, j.err
}

func (j *job) Scale(_ context.Context, workers, servers int) (elastic.Result, error) {
	if j.does != nil {
		j.does()
	}
	return j.note("%d workers, %d servers", workers, servers)
}

func (j *job) DrainAll(_ context.Context, nodes []bellows.NodeID, notice time.Duration) (results []elastic.Result, errs []error) {
	for range nodes {
		results, errs = append(results, elastic.Result{Moved: 3, Seconds: 1.5}), append(errs, j.err)
	}
	j.note("nodes %v within %v", nodes, notice)
	return results, errs
}

// TestAJobTakesNodes that it can use, and keeps those where it has started a process.
func TestAJobTakesNodes(t *testing.T) {
	worker, server := cluster.Place{Node: "node-7", Slots: 4, Kernels: kernels}, cluster.Place{Node: "node-8", Lanes: 2, Kernels: kernels}
	other := cluster.Place{Node: "node-9", Slots: 1, Kernels: []string{"another", "third"}}
	cannot := "node-9 takes no part: its processor has the kernel sets another, third, and the job's is " + vec.Kernels()
	refused := bellows.Errorf(bellows.Config, "scale", "it", "no")
	for name, c := range map[string]struct {
		come  []cluster.Place
		takes []string
		err   error
		asked string
		said  string
		kept  int
		late  bool // a node has something still, behind its notice
	}{
		"both":              {[]cluster.Place{worker, server}, []string{"node-7", "node-8"}, nil, "3 workers, 3 servers", "job 5 has taken node-7, node-8: 3 of its splits and partitions went there, 1.5 s after it was asked", 5, false},
		"one is not wanted": {[]cluster.Place{worker, server}, []string{"node-8"}, nil, "3 workers, 3 servers", "job 5 has taken node-8: 3 of its splits and partitions went there, 1.5 s after it was asked", 4, false},
		"a worker":          {[]cluster.Place{worker}, []string{"node-7"}, nil, "3 workers, 0 servers", "job 5 has taken node-7: 3 of its splits and partitions went there, 1.5 s after it was asked", 4, false},
		"none is wanted":    {[]cluster.Place{worker}, nil, nil, "3 workers, 0 servers", "job 5 has as many nodes as it wants: the new ones are for the next", 3, false},
		"one cannot":        {[]cluster.Place{worker, other}, []string{"node-7"}, nil, "3 workers, 0 servers", cannot + "\njob 5 has taken node-7: 3 of its splits and partitions went there, 1.5 s after it was asked", 4, false},
		"none can":          {[]cluster.Place{other}, nil, nil, "", cannot, 3, false},
		"it cannot":         {[]cluster.Place{worker}, nil, refused, "3 workers, 0 servers", "", 3, false},
		"it has no layout":  {[]cluster.Place{server}, nil, refused, "", "", 3, false},
		"one is late":       {[]cluster.Place{worker}, []string{"node-7"}, nil, "2 workers, 0 servers", "job 5 has taken node-7: 3 of its splits and partitions went there, 1.5 s after it was asked", 4, true},
	} {
		l := &Lead{Assignment: Assignment{Job: 5, Places: slices.Clone(places)}, at: map[string]*remote{"node-1": {member: 1}, "node-2": {member: 2}, "node-4": {member: 3}}, late: map[string]bool{"node-2": c.late}}
		j := &job{err: c.err, does: func() {
			for _, n := range c.takes {
				l.at[n] = &remote{}
			}
		}}
		said, err := l.grow(t.Context(), j, c.come)
		if strings.Join(said, "\n") != c.said || strings.Join(j.asked, ";") != c.asked || len(l.Places) != c.kept {
			t.Errorf("%s: %q, asked for %q, and has %+v", name, said, j.asked, l.Places)
		}
		if c.err == nil && err != nil || c.err != nil && (bellows.KindOf(err) != bellows.Config || !strings.HasPrefix(err.Error(), "change job 5: scale it: no; the nodes are ready for the next job")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAJobGivesNodesUp at the same time; of one that has no process nothing is asked, and one that cannot is kept.
func TestAJobGivesNodesUp(t *testing.T) {
	l := &Lead{Assignment: Assignment{Job: 5, Places: slices.Clone(places)}, at: map[string]*remote{"node-1": {member: 1}, "node-2": {member: 2}, "node-4": {member: 3}}, late: map[string]bool{}, begins: []node.Member{{Node: 2, Slots: 1, Lanes: 3}}}
	j := &job{}
	said, err := l.drop(t.Context(), j, []string{"node-1", "node-3", "node-4"}, time.Second)
	slices.Sort(j.asked)
	if err != nil || len(l.Places) != 1 || l.Places[0].Node != "node-2" || strings.Join(j.asked, ";") != "nodes [1 3] within 1s" ||
		strings.Join(said, ";") != "job 5 has given up node-1: 3 of its splits and partitions went to others, 1.5 s after it was asked;job 5 has given up node-4: 3 of its splits and partitions went to others, 1.5 s after it was asked" {
		t.Errorf("%q, %v, asked for %q, and has %+v", said, err, j.asked, l.Places)
	}
	l.Places, j.err = slices.Clone(places), errors.New("no")
	delete(l.at, "node-2")
	for _, notice := range []time.Duration{0, 1} {
		if said, err := l.drop(t.Context(), j, []string{"node-1", "node-2"}, notice); len(said) != 0 || !errors.Is(err, j.err) || len(l.Places) != 2 || l.late["node-1"] != (notice > 0) {
			t.Errorf("%q, %v, and has %+v", said, err, l.Places)
		}
	}
}

// TestTheManagerIsAnswered when the job's nodes cannot change in time, and when the job has ended.
func TestTheManagerIsAnswered(t *testing.T) {
	t.Parallel()
	for _, over := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			x, y := net.Pipe()
			s := cluster.NewSession(y, strings.NewReader(""))
			l := &Lead{Assignment: Assignment{Job: 5}, session: cluster.NewSession(x, strings.NewReader("")), gone: make(chan struct{})}
			defer l.Close()
			defer s.Close()
			go func() { // takes pulses
				for {
					if _, err := l.session.Receive(); err != nil {
						return
					}
				}
			}()
			want, after := "its nodes have not begun to join: it did not complete within 10m0s; ask again", changeWithin
			if over {
				close(l.gone)
				want, after = "change job 5: it has ended", 0
			}
			began := time.Now()
			l.Serve(nil)
			l.take(cluster.Message{Question: 7, Scale: &cluster.Grow{}})
			if m := heard(t, s); m.Question != 7 || m.Answer == nil || bellows.KindOf(m.Answer.Err()) != bellows.Unavailable || !strings.Contains(m.Answer.Err().Error(), want) || time.Since(began) != after {
				t.Errorf("after %v it answers %+v, want %s", time.Since(began), m.Answer.Err(), want)
			}
			l.nodes() // no caller waits
		})
	}
}

// TestNodesOfOtherProcessorsTakeNoPart: they have not the job's kernel set, and are named.
func TestNodesOfOtherProcessorsTakeNoPart(t *testing.T) {
	t.Parallel()
	can, refused := able([]cluster.Place{places[0], {Node: "node-3", Slots: 1, Kernels: []string{"a", "b"}}, places[1]})
	if !reflect.DeepEqual(can, places[:2]) || len(refused) != 1 || refused[0] != "node-3 takes no part: its processor has the kernel sets a, b, and the job's is "+vec.Kernels() {
		t.Errorf("%+v can, %q", can, refused)
	}
}
