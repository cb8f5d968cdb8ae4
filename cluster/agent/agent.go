// Package agent is the process on each node of a cluster: it starts the processes that jobs want there, passes messages
// to them, and ends them.
//
// Its caller calls Run, which returns when the manager releases the agent, when the manager has gone, or when the
// context ends. No process that it has started runs then.
//
// The package starts only this program, and does not know what a process is for.
package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"bellows"
	"bellows/cluster"
	"bellows/node"
	"bellows/node/launch"
)

// Config is what an agent is.
type Config struct {
	Client *cluster.Client
	Hello  cluster.Hello
	Call   time.Duration // how long it tries to reach the manager; 0: once
	// Joined gets the node's name; Left gets how a job has given up the node, when the node leaves. nil: not called.
	Joined func(node string)
	Left   func(sentences []string, err error)
}

// agent is one that has joined.
//
// Lock: mu, of processes.
type agent struct {
	Config
	session *cluster.Session
	path    string
	waits   sync.WaitGroup

	mu        sync.Mutex
	processes map[uint64]launch.Process
}

// Time limits: for processes to end on their own after the manager is lost, as those of an interrupted job do, and to
// end when they are asked to; and the time that a leaving agent waits after its notice.
const (
	graceWithin = 30 * time.Second
	endWithin   = 5 * time.Second
	leaveWithin = 10 * time.Second // more than the notice
)

// Run joins the cluster and does what its manager asks.
func Run(ctx context.Context, c Config) error {
	path, err := cluster.Path()
	if err != nil {
		return err
	}
	client, err := c.Client.Member(ctx)
	if err != nil {
		return err
	}
	s, w, err := client.Persist(ctx, c.Call, "/v1/agents", c.Hello)
	if err != nil {
		return err
	}
	defer s.Close()
	keeping, enough := context.WithCancel(context.Background())
	defer enough()
	go client.Keep(keeping)
	a := &agent{Config: c, session: s, path: path, processes: map[uint64]launch.Process{}}
	if c.Joined != nil {
		c.Joined(w.Node)
	}
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { a.leave(over) })
	err = a.serve()
	close(over)
	left := !stop()
	if err != nil && !left {
		a.await(graceWithin)
	}
	if left {
		err = nil
	}
	a.end()
	a.waits.Wait()
	return err
}

// leave asks the manager to let the agent go, which has a job give the node up first. It goes all the same when that takes too long.
func (a *agent) leave(over <-chan struct{}) {
	a.say(cluster.Message{End: true})
	select {
	case <-over:
	case <-time.After(a.Hello.Notice() + leaveWithin):
		a.session.Close()
	}
}

// serve takes orders until the manager releases the agent. An agent that does not hear the manager any more ends their
// session, whatever its processes still do: the manager, which may only have been stopped, must not give orders to an
// agent that takes none.
func (a *agent) serve() error {
	for {
		m, err := a.session.Receive()
		if err != nil {
			a.session.Close()
			return err
		}
		if m.End && m.Process == 0 {
			return nil
		}
		a.take(m)
	}
}

func (a *agent) take(m cluster.Message) {
	a.mu.Lock()
	p := a.processes[m.Process]
	a.mu.Unlock()
	switch {
	case m.Answer != nil:
		if a.Left != nil {
			a.Left(m.Answer.Sentences, m.Answer.Err())
		}
	case m.Start != nil && p == nil:
		a.start(m.Process, m.Start)
	case p == nil: // it has ended
	case m.Say != nil:
		if err := p.Say(m.Say); err != nil && !errors.Is(err, os.ErrClosed) {
			fmt.Fprintln(os.Stderr, bellows.Errorf(bellows.Lost, "tell", "a process", "%w", err))
		}
	case m.End:
		finish(p)
	case m.Kill:
		p.Kill()
	}
}

// finish ends the input of a process, and kills it if it does not follow.
func finish(p launch.Process) {
	p.End()
	late := time.AfterFunc(endWithin, p.Kill)
	go func() {
		<-p.Ended()
		late.Stop()
	}()
}

// start starts a process, and tells of it.
func (a *agent) start(number uint64, s *cluster.Start) {
	if s.Place >= 0 && s.Place >= s.Computing {
		a.say(cluster.Message{Process: number, Over: &cluster.Over{How: fmt.Sprintf("was not started: it would be process %d of %d that compute", s.Place, s.Computing)}})
		return
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "BELLOWS_") })
	passed := &passed{agent: a, number: number}
	p, err := launch.Local{Program: a.path, Args: s.Args, Env: append(env, s.Env...), Dir: s.Dir, Host: a.session.Host(),
		Output: func(bellows.NodeID) io.Writer { return passed }}.Start(node.Member{}, s.Place, s.Computing)
	if err != nil {
		a.say(cluster.Message{Process: number, Over: &cluster.Over{How: "was not started: " + err.Error()}})
		return
	}
	a.mu.Lock()
	a.processes[number] = p
	a.mu.Unlock()
	a.say(cluster.Message{Process: number, PID: p.PID()})
	said := make(chan struct{})
	a.waits.Go(func() {
		defer close(said)
		select {
		case line := <-p.Answer():
			a.say(cluster.Message{Process: number, Said: line})
		case <-p.Ended():
			select {
			case line := <-p.Answer(): // it has ended after that
				a.say(cluster.Message{Process: number, Said: line})
			default:
			}
		}
	})
	a.waits.Go(func() {
		p.Wait()
		<-said // nothing of it is heard behind its end
		a.mu.Lock()
		delete(a.processes, number)
		a.mu.Unlock()
		a.say(cluster.Message{Process: number, Over: &cluster.Over{How: p.How(), Last: p.Last()}})
	})
}

// passed passes on what a process writes to its standard error. One goroutine writes to it.
type passed struct {
	*agent
	number uint64
	bytes  int
}

// passedMost is how many bytes of a process are passed on, and passedEach how many at once.
const (
	passedMost = 1 << 20
	passedEach = 64 << 10
)

// Write takes all, always.
func (w *passed) Write(b []byte) (int, error) {
	left := max(0, passedMost-w.bytes)
	w.bytes += len(b)
	pass := b[:min(len(b), left)]
	for len(pass) > 0 {
		n := min(len(pass), passedEach)
		w.say(cluster.Message{Process: w.number, Wrote: pass[:n]})
		pass = pass[n:]
	}
	if left > 0 && len(b) > left {
		w.say(cluster.Message{Process: w.number, Wrote: []byte("\n[output truncated]\n")})
	}
	return len(b), nil
}

// say tells the manager, if there is one.
func (a *agent) say(m cluster.Message) { _ = a.session.Send(m) } // the receiver handles a failure

// running returns the processes that run.
func (a *agent) running() (list []launch.Process) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.processes {
		list = append(list, p)
	}
	return list
}

// await waits until all processes have ended on their own, at most for a time.
func (a *agent) await(within time.Duration) {
	late := time.After(within)
	for _, p := range a.running() {
		select {
		case <-p.Ended():
		case <-late:
			return
		}
	}
}

// end ends all processes.
func (a *agent) end() {
	for _, p := range a.running() {
		finish(p)
	}
}
