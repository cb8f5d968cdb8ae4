package manager

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"bellows"
	"bellows/cluster"
	"bellows/link/secure"
)

// member is a node of the cluster: its agent.
//
// States: starting, until its agent says hello; idle; running, while it has a process of a job; leaving; gone, when it was lost. over is closed
// when it is none of the cluster any more.
type member struct {
	notice  time.Duration // that it gives a job when it leaves on its own
	place   cluster.Place
	state   cluster.State
	why     string // it is gone
	host    string
	pid     int
	session *cluster.Session
	process *os.Process   // nil: it has joined on its own
	in      io.Closer     // of that: its end is the order to end
	there   chan struct{} // closed when it has said hello
	over    chan struct{}
	job     *job // that it has a process of
	nodePID int  // of that
	running int  // processes
}

const starting cluster.State = "starting"

func (n *member) describe() cluster.Node {
	d := cluster.Node{ID: n.place.Node, PID: n.pid, Roles: roles(n.place), Tier: "reliable", State: n.state, Slots: n.place.Slots, Host: n.host, Agent: n.pid, Why: n.why}
	if n.job != nil && n.nodePID != 0 {
		d.PID, d.Job = n.nodePID, n.job.number
	}
	return d
}

func roles(p cluster.Place) []string {
	list := []string{}
	if p.Slots > 0 {
		list = append(list, "worker")
	}
	if p.Lanes > 0 {
		list = append(list, "server")
	}
	return list
}

func (n *member) close() {
	if n.session != nil {
		n.session.Close()
	}
}

// live returns the nodes that take part, by role: workers compute, and servers alone hold tables.
func (m *manager) live() (workers, servers []*member) {
	for _, n := range m.nodes {
		switch {
		case n.state == cluster.Gone || n.state == cluster.Leaving:
		case n.place.Slots > 0:
			workers = append(workers, n)
		default:
			servers = append(servers, n)
		}
	}
	return workers, servers
}

// Nodes at most, and how many slots one has.
const (
	nodesMost = 256
	slotsMost = 1024
)

// resize starts or ends nodes until there are as many as wanted, and says what was done. A job that runs is asked to take or to give them.
func (m *manager) resize(ctx context.Context, want cluster.Scale) (done cluster.Done, err error) {
	select {
	case m.change <- struct{}{}:
		defer func() { <-m.change }()
	case <-ctx.Done():
		return done, bellows.Errorf(bellows.Unavailable, "scale", "the cluster", "another change is under way: %w", context.Cause(ctx))
	}
	m.mu.Lock()
	workers, servers := m.live()
	job := m.current
	m.mu.Unlock()
	more := [2]int{}
	for i, is := range []struct {
		want *int
		have int
		most string
	}{{want.Workers, len(workers), "--workers"}, {want.Servers, len(servers), "--servers"}} {
		if is.want == nil {
			continue
		}
		if *is.want < 0 || *is.want > nodesMost || i == 0 && *is.want == 0 {
			return done, bellows.Errorf(bellows.Usage, "set", fmt.Sprintf("%s=%d", is.most, *is.want), "it must be from %d to %d", 1-i, nodesMost)
		}
		more[i] = *is.want - is.have
	}
	if want.Job != 0 && (job == nil || job.number != want.Job) {
		return done, bellows.Errorf(bellows.Unavailable, "scale", fmt.Sprintf("job %d", want.Job), "it does not run").Hinted("`jobs` lists those that do")
	}
	leaving := append(last(workers, -more[0]), last(servers, -more[1])...)
	if err := m.drop(ctx, job, leaving, 0, &done); err != nil {
		return done, err
	}
	come, err := m.grow(ctx, max(0, more[0]), max(0, more[1]), len(workers)+more[0])
	if err == nil {
		err = m.hand(ctx, job, come, m.idle(job, come), &done)
	}
	m.mu.Lock()
	workers, servers = m.live()
	m.mu.Unlock()
	done.Workers, done.Servers = len(workers), len(servers)
	return done, err
}

// last returns the last n of a list, those with the highest numbers first.
func last(list []*member, n int) []*member {
	if n <= 0 {
		return nil
	}
	out := slices.Clone(list[max(0, len(list)-n):])
	slices.Reverse(out)
	return out
}

// drop ends nodes: a job that runs gives them up before.
func (m *manager) drop(ctx context.Context, j *job, list []*member, noticeMillis int64, done *cluster.Done) error {
	if len(list) == 0 {
		return nil
	}
	var names []string
	m.mu.Lock()
	for _, n := range list {
		names = append(names, n.place.Node)
	}
	m.mu.Unlock()
	if j != nil {
		reply, err := m.ask(ctx, j, cluster.Message{Drain: &cluster.Drop{Nodes: names, NoticeMillis: noticeMillis}})
		if err != nil {
			return err
		}
		done.Sentences = append(done.Sentences, reply.Sentences...)
		for _, n := range list {
			m.answerAgent(n, &reply)
		}
	}
	for _, n := range list {
		m.release(n)
	}
	for _, n := range list {
		why := cmp.Or(m.awaitEnd(n), n.place.Node+" has left the cluster")
		done.Sentences = append(done.Sentences, why)
		m.forget(n)
	}
	return nil
}

// answerAgent tells an agent what became of what a job had there.
func (m *manager) answerAgent(n *member, r *cluster.Reply) {
	m.mu.Lock()
	session := n.session
	m.mu.Unlock()
	send([]outgoing{{session, cluster.Message{Answer: r}}})
}

// forget takes a node out of the list.
func (m *manager) forget(n *member) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nodes = slices.DeleteFunc(m.nodes, func(o *member) bool { return o == n })
}

// grow starts so many nodes of each role and waits until they are there. workers is how many will compute in all.
func (m *manager) grow(ctx context.Context, moreWorkers, moreServers, workers int) ([]*member, error) {
	cpus := runtime.GOMAXPROCS(0)
	var list []*member
	for i := range moreWorkers + moreServers {
		place := cluster.Place{}
		if i < moreWorkers {
			first := workers - moreWorkers
			place.Slots = cmp.Or(m.Slots, max(1, cpus*(first+i+1)/workers-cpus*(first+i)/workers))
		} else {
			place.Lanes = max(1, cpus/max(1, m.Servers))
		}
		n, err := m.start(place)
		if err != nil {
			return list, m.giveUp(list, err)
		}
		list = append(list, n)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, ReadyWithin, fmt.Errorf("it has not come within %v", ReadyWithin))
	defer cancel()
	for _, n := range list {
		var why error
		select {
		case <-n.there:
			continue
		case <-n.over:
			why = errors.New(n.why)
		case <-ctx.Done():
			why = context.Cause(ctx)
		}
		return nil, m.giveUp(list, bellows.Errorf(bellows.Lost, "start", n.place.Node, "%w", why).Hinted("its output is in "+m.Folder.Log()))
	}
	return list, nil
}

// giveUp ends nodes after one of them did not come.
func (m *manager) giveUp(list []*member, err error) error {
	for _, n := range list {
		m.release(n)
	}
	for _, n := range list {
		m.awaitEnd(n)
		m.forget(n)
	}
	return err
}

// enter takes a node into the list, under the lowest number that is free; while a job runs, under one above all: the job counts its
// nodes on, and gives no number twice.
func (m *manager) enter(n *member) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closing {
		return bellows.Errorf(bellows.Unavailable, "join", "the cluster", "it is shutting down").Hinted("start it again with `up`")
	}
	m.nodes = slices.DeleteFunc(m.nodes, func(o *member) bool { return o.state == cluster.Gone && o.job == nil && m.current == nil })
	if len(m.nodes) >= nodesMost {
		return bellows.Errorf(bellows.Refused, "join", "the cluster", "it has %d nodes, and takes no more", nodesMost).Hinted("let others leave before: drain")
	}
	number := 1
	for _, o := range m.nodes {
		if have := nodeNumber(o.place.Node); have == number || m.current != nil {
			number = max(number, have+1)
		}
	}
	if j := m.current; j != nil {
		number = max(number, j.highest+1)
		j.highest = number
	}
	n.place.Node = fmt.Sprintf("node-%d", number)
	m.nodes = append(m.nodes, n)
	slices.SortFunc(m.nodes, func(a, b *member) int { return nodeNumber(a.place.Node) - nodeNumber(b.place.Node) })
	return nil
}

// An Assignment is what an agent that the manager has started reads from its standard input. The end of the input is
// the order to end.
type Assignment struct {
	Address  string
	Identity *secure.Identity
	Node     string
	Slots    int
	Lanes    int
	Notice   time.Duration // of its leave
}

// start starts an agent of this machine.
func (m *manager) start(p cluster.Place) (*member, error) {
	n := &member{place: p, state: starting, there: make(chan struct{}), over: make(chan struct{})}
	if err := m.enter(n); err != nil {
		return nil, err
	}
	identity, err := m.issues.Member(secure.Name{Role: secure.Agent, ID: n.place.Node})
	if err != nil {
		m.forget(n)
		return nil, err
	}
	cmd := exec.Command(m.path, AgentCommand)
	cmd.Args[0] = m.Program.Name
	cmd.Env, cmd.Stderr, cmd.SysProcAttr = Mark(), m.Log, ownGroup()
	cmd.ExtraFiles = []*os.File{m.members} // inherited by all that descend from it
	in, err := cmd.StdinPipe()
	var line []byte
	if err == nil {
		line, err = json.Marshal(Assignment{m.address, identity, n.place.Node, p.Slots, p.Lanes, m.Notice})
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		m.forget(n)
		return nil, bellows.Errorf(bellows.Lost, "start", n.place.Node, "%w", err)
	}
	m.mu.Lock()
	n.process, n.in, n.pid = cmd.Process, in, cmd.Process.Pid
	m.mu.Unlock()
	m.waits.Go(func() {
		err := cmd.Wait()
		how := "it ended"
		if err != nil {
			how = err.Error()
		}
		m.lost(n, fmt.Sprintf("its agent (process %d) ended: %s", cmd.Process.Pid, how))
		close(n.over)
	})
	if _, err := in.Write(append(line, '\n')); err != nil {
		m.logf("%s: %v", n.place.Node, err)
	}
	return n, nil
}

// lost records that a node's agent has gone. A job with a process there is notified.
func (m *manager) lost(n *member, why string) {
	m.mu.Lock()
	if n.state == cluster.Gone {
		m.mu.Unlock()
		return
	}
	meant := n.state == cluster.Leaving
	n.state, n.why = cluster.Gone, why
	var list []outgoing
	if j := m.current; j != nil {
		list = j.notifyLeader(cluster.Message{Lost: []string{n.place.Node}})
	}
	for id, p := range m.processes {
		if p.at != n {
			continue
		}
		how := fmt.Sprintf("(process %d) is lost with %s of the cluster: %s", p.pid, n.place.Node, why)
		list = append(list, p.job.notifyLeader(cluster.Message{Process: p.number, Over: &cluster.Over{How: how}})...)
		delete(p.job.processes, p.number)
		delete(m.processes, id)
	}
	n.running, n.job = 0, nil
	m.mu.Unlock()
	if !meant {
		m.logf("%s is lost: %s", n.place.Node, why)
	}
	send(list)
	m.next()
}

// welcome takes an agent that says hello, and hears it until it goes.
func (m *manager) welcome(s *cluster.Session, by secure.Name, h *cluster.Hello) error {
	if h.Node != "" && h.Node != by.ID {
		return bellows.Errorf(bellows.Refused, "join", "the cluster", "%s is not %.40q", by, h.Node)
	}
	n, err := m.admit(s, h)
	if err != nil {
		return err
	}
	if err := s.Send(cluster.Message{Welcome: &cluster.Welcome{Node: n.place.Node}}); err != nil {
		m.lost(n, err.Error())
		return nil
	}
	close(n.there)
	if n.process == nil {
		m.logf("%s has joined from %s", n.place.Node, n.host)
		m.waits.Go(func() { m.offer(n) })
	}
	m.next() // a job may wait for a worker
	for {
		msg, err := s.Receive()
		if err != nil {
			m.lost(n, "its agent does not answer: "+err.Error())
			break
		}
		if msg.End {
			m.waits.Go(func() { m.letGo(n) })
			continue
		}
		m.fromAgent(n, msg)
	}
	if n.process == nil {
		close(n.over)
		m.mu.Lock()
		leaving := n.why == "" || m.current == nil
		m.mu.Unlock()
		if leaving {
			m.forget(n)
		}
	}
	return nil
}

// admit finds the node that an agent is to be.
func (m *manager) admit(s *cluster.Session, h *cluster.Hello) (*member, error) {
	if err := m.Program.Admits(h.Program); err != nil {
		return nil, err
	}
	if h.Slots < 0 || h.Slots > slotsMost || h.Lanes < 0 || h.Lanes > slotsMost || h.Slots+h.Lanes == 0 {
		return nil, bellows.Errorf(bellows.Usage, "join", "the cluster", "%d compute slots and %d lanes; must be up to %d, and not both 0", h.Slots, h.Lanes, slotsMost)
	}
	var n *member
	if h.Node == "" {
		n = &member{place: cluster.Place{Slots: h.Slots, Lanes: h.Lanes}, state: starting, there: make(chan struct{}), over: make(chan struct{})}
		if err := m.enter(n); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range m.nodes {
		if o.place.Node == h.Node && o.process != nil && o.state == starting && o.session == nil {
			n = o
		}
	}
	if n == nil {
		return nil, bellows.Errorf(bellows.Refused, "join", "the cluster", "no node %.40q is expected", h.Node)
	}
	n.session, n.host, n.pid, n.state = s, s.Peer(), h.PID, cluster.Idle
	n.place.Host, n.place.Kernels, n.notice = n.host, h.Kernels, h.Notice()
	return n, nil
}

// letGo lets a node leave that wants to: a job gives it up first, as far as it can within the node's notice.
func (m *manager) letGo(n *member) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), n.notice+endWithin/2, fmt.Errorf("the notice of %v is over", n.notice))
	defer cancel()
	done, err := m.leave(ctx, cluster.Drain{Node: n.place.Node, NoticeMillis: n.notice.Milliseconds()})
	for _, s := range done.Sentences {
		m.logf("%s", s)
	}
	if err != nil {
		m.logf("%s leaves with unfinished work: %v", n.place.Node, err)
		m.answerAgent(n, cluster.Failure(err))
		m.release(n)
	}
}

// leave lets a node leave: what a job has there goes elsewhere before, as far as the notice allows.
func (m *manager) leave(ctx context.Context, d cluster.Drain) (done cluster.Done, err error) {
	if d.NoticeMillis < 0 || d.NoticeMillis > time.Hour.Milliseconds() {
		return done, bellows.Errorf(bellows.Usage, "set", fmt.Sprintf("--notice=%v", time.Duration(d.NoticeMillis)*time.Millisecond), "it must be from 0s to 1h")
	}
	select {
	case m.change <- struct{}{}:
		defer func() { <-m.change }()
	case <-ctx.Done():
		return done, bellows.Errorf(bellows.Unavailable, "drain", d.Node, "another change is under way: %w", context.Cause(ctx))
	}
	m.mu.Lock()
	var names []string
	var n *member
	workers, _ := m.live()
	for _, o := range m.nodes {
		if o.state == cluster.Gone || o.state == cluster.Leaving {
			continue
		}
		names = append(names, o.place.Node)
		if o.place.Node == d.Node {
			n = o
		}
	}
	job := m.current
	m.mu.Unlock()
	if n == nil {
		return done, bellows.Errorf(bellows.Usage, "drain", fmt.Sprintf("%.40q", d.Node), "there is no such node").Hinted(choice(names))
	}
	if len(workers) == 1 && workers[0] == n {
		return done, bellows.Errorf(bellows.Refused, "drain", d.Node, "it is the last worker").Hinted("call `scale --workers 2` first, or stop the cluster with `down`")
	}
	if err := m.drop(ctx, job, []*member{n}, d.NoticeMillis, &done); err != nil {
		return done, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	workers, servers := m.live()
	done.Workers, done.Servers = len(workers), len(servers)
	return done, nil
}

// choice says which nodes there are.
func choice(names []string) string {
	switch len(names) {
	case 0:
		return "the cluster has no nodes; `bellows scale --workers 1` starts one"
	case 1:
		return "there is only " + names[0]
	}
	return "there are " + strings.Join(names, ", ")
}
