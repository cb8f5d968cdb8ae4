package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/api"
	"bellows/internal/require"
	"bellows/link/secure"
	"bellows/node"
	"bellows/train"
)

// here starts what a process runs on a goroutine of this one.
type here struct {
	prepare func(self *hereProcess) (Part, error)
	refuses error // no process is started
}

// hereProcess is one of them.
type hereProcess struct {
	*stays
	node   bellows.NodeID
	warn   context.CancelFunc // as the system that tells a process to end
	in     *io.PipeWriter
	answer first
	failed error // to be read after over is closed
}

func (s here) Start(m node.Member, _, _ int) (Process, error) {
	if s.refuses != nil {
		return nil, s.refuses
	}
	in, tell := io.Pipe()
	ctx, warn := context.WithCancel(context.Background())
	p := &hereProcess{stays: newStays(), node: m.Node, warn: warn, in: tell, answer: first{line: make(chan []byte, 1)}}
	go func() {
		p.failed = RunChild(ctx, in, &p.answer, func(context.Context, []byte) (Part, error) { return s.prepare(p) })
		in.Close()
		p.stays.End()
	}()
	return p, nil
}

func (p *hereProcess) Say(text []byte) error {
	_, err := p.in.Write(text)
	return err
}

func (p *hereProcess) Answer() <-chan []byte { return p.answer.line }
func (p *hereProcess) End()                  { p.in.Close() }
func (p *hereProcess) Kill()                 { p.in.Close() }

func (p *hereProcess) How() string {
	if p.failed != nil {
		return "ended with " + p.failed.Error()
	}
	return "ended with exit status 0"
}

// gatedTask is an executor that calls a function before each task.
type gatedTask struct {
	counter
	first func(t *train.Task) error
}

func (g gatedTask) RunTask(t *train.Task) error {
	if err := g.first(t); err != nil {
		return err
	}
	return g.counter.RunTask(t)
}

// TestWarnedProcessIsDrained asks the process of a node to end while it runs a task. Its splits and partitions go to
// the others, its process ends, and the model is complete. Only the system asked for that.
func TestWarnedProcessIsDrained(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	left := make(chan struct{})
	var once sync.Once
	job := func(p *hereProcess) train.Job {
		j := counts()
		j.Driver = &train.Clocks{Splits: 4, Count: 4}
		j.NewExecutor = func(s bellows.SplitID) (train.Executor, error) {
			return gatedTask{counter(s), func(task *train.Task) error {
				switch {
				case p != nil && p.node == 1 && task.Clock() == 1:
					once.Do(p.warn)
				case p == nil && s == 0 && task.Clock() == 3: // not over before it has left
					select {
					case <-left:
					case <-ctx.Done():
						return errors.New("node 1 has not left")
					}
				}
				return nil
			}}, nil
		}
		return j
	}
	l := Processes{Transport: "unix", Members: []node.Member{{Slots: 1, Lanes: 1}, {Node: 1, Slots: 1, Lanes: 1}}, Control: &Control{}, Notice: time.Minute,
		Starter: here{prepare: func(p *hereProcess) (Part, error) { return Part{Job: job(p)}, nil }}}
	var told []string
	r, err := l.Run(ctx, job(nil), node.Options{OnChange: func(c node.Change) {
		told = append(told, c.Sentence)
		if c.Kind == node.Left && c.Node == 1 {
			close(left)
		}
	}})
	if err != nil {
		t.Fatalf("%v, told %q", err, told)
	}
	if fmt.Sprint(r.Tables[0]) != "[4 4 4 4]" || r.Audit.Disagreements(true) != nil {
		t.Errorf("the table is %v; audit %+v", r.Tables[0], r.Audit)
	}
	if all := strings.Join(told, "\n"); !strings.Contains(all, "node-1 is to leave within ") {
		t.Errorf("told %q", told)
	}
}

// TestFailedStartAddsNoNode lets the starter of processes refuse a node that is requested while the job runs: the
// refusal is the reported reason, and the job continues.
func TestFailedStartAddsNoNode(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, asked := &Control{}, make(chan struct{})
	job := counts()
	job.NewExecutor = func(s bellows.SplitID) (train.Executor, error) {
		return gatedTask{counter(s), func(*train.Task) error { <-asked; return nil }}, nil
	}
	l := Processes{Transport: "unix", Members: []node.Member{{Slots: 1, Lanes: 1}}, Control: c, Starter: here{refuses: errors.New("no place is free")}}
	var n bellows.NodeID
	var refused error
	r, err := l.Run(ctx, job, node.Options{OnStart: func([]api.Node) {
		go func() {
			defer close(asked)
			n, refused = c.Add(ctx, 1, 0)
		}()
	}})
	require.NoError(t, err)
	if n != 1 || refused == nil || !strings.Contains(refused.Error(), "no place is free") {
		t.Errorf("node %d has come, or is not told why it has not: %v", n, refused)
	}
	if fmt.Sprint(r.Tables[0]) != "[3 3 3 3]" {
		t.Errorf("the table is %v", r.Tables[0])
	}
}

// TestSuccessionHasAddedNodes checks when a node that joins a running job is reported to a successor: its number before
// its process exists, and its address before it takes part.
func TestSuccessionHasAddedNodes(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, asked, begun := &Control{}, make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	var told []Succession
	last := func() Succession {
		mu.Lock()
		defer mu.Unlock()
		return told[len(told)-1]
	}
	job := counts()
	job.NewExecutor = func(s bellows.SplitID) (train.Executor, error) {
		return gatedTask{counter(s), func(*train.Task) error { <-asked; return nil }}, nil
	}
	var started, joined Succession
	l := Processes{Transport: "unix", Members: []node.Member{{Slots: 1, Lanes: 1}}, Control: c, Succeed: func(s Succession) {
		mu.Lock()
		defer mu.Unlock()
		if told = append(told, s); len(told) == 1 {
			close(begun)
		}
	}, Starter: here{prepare: func(*hereProcess) (Part, error) {
		started = last()
		return Part{Job: job}, nil
	}}}
	var n bellows.NodeID
	var failed error
	_, err := l.Run(ctx, job, node.Options{OnStart: func([]api.Node) {
		go func() {
			defer close(asked)
			<-begun
			n, failed = c.Add(ctx, 1, 0)
			joined = last()
		}()
	}})
	if err != nil || failed != nil || n != 1 {
		t.Fatalf("node %d has come: %v, %v", n, failed, err)
	}
	if len(started.Members) != 0 || started.Nodes != 2 {
		t.Errorf("when its process starts, the next would know %+v, and %d numbers that were given", started.Members, started.Nodes)
	}
	if len(joined.Members) != 1 || joined.Members[0] != (node.Member{Node: 1, Slots: 1}) || joined.Nodes != 2 || len(joined.Addresses) != 2 || joined.Addresses[1] == "" {
		t.Errorf("when it takes part, the next would know %+v at %q, and %d numbers that were given", joined.Members, joined.Addresses, joined.Nodes)
	}
}

// noted is a process that reports its address and a key, and records its input.
type noted struct {
	*stays
	answer chan []byte
	mu     sync.Mutex
	said   []string
}

func (p *noted) Start(node.Member, int, int) (Process, error) { return p, nil }
func (p *noted) Answer() <-chan []byte                        { return p.answer }

func (p *noted) Say(text []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, string(text))
	return nil
}

// TestAFleetRenewsCertificates checks that each process gets another certificate before the first one expires, until
// the fleet is closed.
func TestAFleetRenewsCertificates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		issues, err := secure.NewAuthority("a job")
		require.NoError(t, err)
		who, err := secure.NewIdentity()
		require.NoError(t, err)
		answer, err := json.Marshal(address{Address: "tcp:there", Key: who.Public()})
		require.NoError(t, err)
		p := &noted{stays: newStays(), answer: make(chan []byte, 1)}
		p.answer <- answer
		own := assignment{Cluster: node.Cluster{Members: []node.Member{{}, {Node: 1, Slots: 1}}}}
		f, err := startFleet(t.Context(), Processes{Starter: p}, own, issues, "tcp:here", func(string) {})
		require.NoError(t, err)
		<-time.After(renewEvery + time.Minute)
		synctest.Wait()
		if len(p.said) != 3 || !strings.Contains(p.said[1], `"tcp:there"`) || strings.Contains(p.said[2], `"tcp:there"`) {
			t.Errorf("it is told %q", p.said)
		}
		f.close()
	})
}
