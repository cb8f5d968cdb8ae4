// Package manager is the central process of a local cluster: it accepts agents, queues jobs, and starts the processes
// that lead them. It also starts agents, and passes messages between a leading process and the agents.
//
// Its caller runs it in a separate process with Run, which returns when the cluster is down: by a request of the API, or
// when the context ends.
//
// The package does not train, does not inspect the messages between nodes, and does not continue without the lock of the
// cluster's folder.
package manager

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"bellows"
	"bellows/cluster"
	"bellows/cluster/internal/admission"
	"bellows/link/secure"
	"bellows/port/registry"
)

// Config is how a cluster begins.
type Config struct {
	Folder           cluster.Folder
	Listen           string // HOST:PORT of the API
	Asked            bool   // the user asked for that port; otherwise any other may be used
	Workers, Servers int    // 0 workers: nodes join on their own
	Slots            int    // of each worker; 0: its share of the processors
	// how long a job may take to give up a node of this manager, when the node is asked to end; 0:
	// cluster.NoticeOfLeave
	Notice  time.Duration
	Program cluster.Program
	Log     *os.File // also for agents
	// OpenRegistry opens the registry when the folder is locked. Run closes it before it lets the lock go.
	OpenRegistry func(context.Context) (registry.Registry, error)
	Own          bool // the registry is this folder's, and no other manager's
}

// manager is a running cluster.
//
// Invariants:
//   - One job runs at a time, the first of the queue; the next begins when no process of the previous one runs.
//   - A process of a job belongs to the job's leader: when that ends, its processes are asked to end, unless it was killed and
//     another one follows it.
//   - Every started process is awaited, by a separate goroutine.
//
// Lock: mu, of all fields below it. It is not held while sending or waiting.
type manager struct {
	Config
	address   string
	token     secure.Token
	issues    *secure.Authority
	self      *secure.Identity
	path      string   // of the program
	members   *os.File // the lock that all inherit
	began     time.Time
	server    *server
	followers *admission.Places // of the output of jobs
	change    chan struct{}     // has a place for one change of the cluster at a time
	downed    chan struct{}     // closed when the cluster is to end
	waits     sync.WaitGroup

	mu        sync.Mutex
	nodes     []*member // by number
	jobs      []*job
	current   *job // that runs
	processes map[uint64]*relayed
	drawn     uint64 // the last number of a process, or of a question
	guests    int    // the last certificate number of a process that joins on its own
	closing   bool
	opened    bool                 // all that it began with is there: jobs may begin
	suspended bool                 // it goes down, and its jobs wait for the next manager
	asked     map[uint64]*question // to the process that leads

	keeper     *keeper
	deposed    atomic.Bool // another manager leads
	recoveries []string    // what became of the jobs of a manager before
}

// marker names the variable of the environment that marks processes of a cluster. None of them brings one up: a program that does not
// know the manager's command, as the binary of a test, would start itself again and again.
const marker = "_BELLOWS_CLUSTER"

// Inside reports whether this process was started by a manager.
func Inside() bool { return os.Getenv(marker) != "" }

// Mark returns the environment of the processes that a cluster starts: that of this process, without a token.
func Mark() []string {
	return append(slices.DeleteFunc(os.Environ(), cluster.IsToken), marker+"=1")
}

// ReadyWithin is how long new nodes may take to be ready, and endWithin how long a process may take to end. callWithin is how long a leading process tries to reach the manager, at least: the nodes of
// its job wait as long.
const (
	ReadyWithin = 30 * time.Second
	endWithin   = 10 * time.Second
	callWithin  = time.Minute
)

// Run brings the cluster up, tells of it when all its nodes are there, and returns when it is down. Before ready is called an error is why it did not come up; what it
// had started has ended then.
func Run(ctx context.Context, c Config, ready func(cluster.Status)) (err error) {
	lock, err := c.Folder.Hold()
	if err != nil {
		return err
	}
	if lock == nil {
		return bellows.Errorf(bellows.Refused, "bring up", "a cluster", "another manager has %s", c.Folder.Path)
	}
	defer lock.Close()
	reg, err := c.OpenRegistry(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reg.Close()) }()
	m := &manager{Config: c, began: time.Now(), change: make(chan struct{}, 1), downed: make(chan struct{}),
		processes: map[uint64]*relayed{}, asked: map[uint64]*question{}}
	if m.path, err = cluster.Path(); err != nil {
		return err
	}
	if m.members, err = c.Folder.Members(); err != nil {
		return err
	}
	defer m.members.Close()
	if err := m.identify(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Folder.Forget()) }()
	if err := m.take(ctx, reg); err != nil {
		return err
	}
	keeping, kept := context.WithCancel(context.Background())
	go m.keeper.run(keeping)
	orderly := false
	defer func() {
		kept()
		<-m.keeper.done
		m.keeper.end(orderly)
	}()
	if err := m.listen(); err != nil {
		return err
	}
	defer m.server.close()
	if err := c.Folder.Write(cluster.Whereabouts{PID: os.Getpid(), Address: m.address, Program: c.Program.Name, Started: m.began}); err != nil {
		return err
	}
	if c.Workers > 0 {
		if _, err := m.resize(ctx, cluster.Scale{Workers: &c.Workers, Servers: &c.Servers}); err != nil {
			m.end()
			return err
		}
	}
	m.logf("up at %s: %d workers, %d servers", m.address, c.Workers, c.Servers)
	for _, said := range m.recoveries {
		m.logf("%s", said)
	}
	ready(m.status())
	m.mu.Lock()
	m.opened = true
	m.mu.Unlock()
	m.next()
	select {
	case <-ctx.Done():
		m.logf("told to end")
		m.mu.Lock()
		m.suspended = true
		m.mu.Unlock()
		m.shutDown(orderlyWithin)
	case <-m.downed:
		orderly = !m.deposed.Load()
	}
	m.logf("down")
	return nil
}

// identify draws the authority of the cluster. Its key is in no file: it lives as long as the manager. The token names
// it.
func (m *manager) identify() (err error) {
	if m.issues, err = secure.NewAuthority("a cluster"); err != nil {
		return err
	}
	if m.self, err = m.issues.Member(secure.Name{Role: secure.Manager, ID: "manager"}); err != nil {
		return err
	}
	if m.token, err = m.issues.NewToken(); err != nil {
		return err
	}
	return m.Folder.Keep(m.token)
}

// listen opens the API. If the user has not chosen the port and another process has it, another port is used.
func (m *manager) listen() error {
	l, err := net.Listen("tcp", m.Listen)
	if err != nil && !m.Asked && errors.Is(err, syscall.EADDRINUSE) {
		host, _, _ := net.SplitHostPort(m.Listen)
		l, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return bellows.Errorf(bellows.Unavailable, "listen at", m.Listen, "%w", err).Hinted("give --listen another address of this machine, or port 0 for any free one")
	}
	m.address = l.Addr().String()
	m.server = m.serve(l)
	return nil
}

func (m *manager) logf(format string, args ...any) {
	fmt.Fprintf(m.Log, "%s %s\n", time.Now().UTC().Format(time.RFC3339), fmt.Sprintf(format, args...))
}

// outgoing is a message to send when the lock has been given back.
type outgoing struct {
	to *cluster.Session
	m  cluster.Message
}

// send sends messages in order. A session that fails ends, and its receiver handles that.
func send(list []outgoing) {
	for _, o := range list {
		if o.to != nil {
			_ = o.to.Send(o.m) // it has closed the session
		}
	}
}

// status returns the cluster now.
func (m *manager) status() cluster.Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := cluster.Status{Cluster: m.address, PID: os.Getpid(), Program: m.Program.Name, Started: m.began, Nodes: []cluster.Node{}, Jobs: []cluster.Job{},
		Registry: m.keeper.silent, Recovered: m.recoveries}
	for _, n := range m.nodes {
		s.Nodes = append(s.Nodes, n.describe())
	}
	for _, j := range m.jobs {
		s.Jobs = append(s.Jobs, m.describe(j))
	}
	return s
}

// orderlyWithin is how long an interrupted job may take to reach a state from which it can resume.
const orderlyWithin = time.Minute

// shutDown ends the jobs, then the nodes, and says what became of them. A second call waits for the first.
func (m *manager) shutDown(within time.Duration) cluster.Done {
	m.mu.Lock()
	if m.closing {
		m.mu.Unlock()
		<-m.downed
		return cluster.Done{Sentences: []string{}}
	}
	m.closing = true
	var queued []*job
	for _, j := range m.jobs {
		if j.state == cluster.Queued && !m.suspended {
			queued = append(queued, j)
		}
	}
	current := m.current
	m.mu.Unlock()
	said := []string{}
	for _, j := range queued {
		if m.cancel(j) == nil {
			said = append(said, j.dropped())
		}
	}
	if current != nil {
		said = append(said, m.finish(current, within))
	}
	said = append(said, m.end()...)
	close(m.downed)
	return cluster.Done{Sentences: said}
}

// finish interrupts a job and waits for its end: first at a safe point, then at once, then it is killed.
func (m *manager) finish(j *job, within time.Duration) string {
	for _, step := range []struct {
		signal os.Signal
		within time.Duration
	}{{os.Interrupt, within}, {os.Interrupt, endWithin}, {os.Kill, endWithin}} {
		if err := m.signal(j, step.signal); err != nil {
			m.logf("job %d: %v", j.number, err)
		}
		late := time.NewTimer(step.within)
		select {
		case <-j.over:
			late.Stop()
			return m.describeEnd(j)
		case <-late.C:
		}
	}
	return fmt.Sprintf("job %d does not end: its process %d", j.number, j.process.Pid)
}

func (m *manager) describeEnd(j *job) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	where := ""
	if j.run != "" {
		where = " in " + j.run
	}
	switch {
	case j.state == cluster.Queued:
		return fmt.Sprintf("job %d was interrupted%s; the next cluster that starts here resumes it", j.number, where)
	case j.state == cluster.Interrupted:
		return fmt.Sprintf("job %d was interrupted%s; the same command resumes it", j.number, where)
	case j.state == cluster.Ended:
		return fmt.Sprintf("job %d has finished%s", j.number, where)
	}
	return fmt.Sprintf("job %d has ended with exit code %d%s", j.number, j.exit, where)
}

// end ends all nodes, and says which did not follow.
func (m *manager) end() (said []string) {
	m.mu.Lock()
	m.closing = true
	list := slices.Clone(m.nodes)
	m.mu.Unlock()
	for _, n := range list {
		m.release(n)
	}
	for _, n := range list {
		if why := m.awaitEnd(n); why != "" {
			said = append(said, why)
		}
	}
	m.waits.Wait()
	return said
}

// release tells a node's agent to end.
func (m *manager) release(n *member) {
	m.mu.Lock()
	if n.state != cluster.Gone {
		n.state = cluster.Leaving
	}
	session, in := n.session, n.in
	m.mu.Unlock()
	if session != nil {
		send([]outgoing{{session, cluster.Message{End: true}}})
	}
	if in != nil {
		in.Close()
	}
}

// awaitEnd waits until a node's agent has ended, and kills one of ours that does not. It says what was wrong with it.
func (m *manager) awaitEnd(n *member) string {
	late := time.NewTimer(endWithin)
	defer late.Stop()
	select {
	case <-n.over:
		return ""
	case <-late.C:
	}
	if n.process == nil {
		n.close()
		<-n.over
		return n.place.Node + " did not leave, and is let go"
	}
	if err := n.process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		m.logf("%s: %v", n.place.Node, err)
	}
	<-n.over
	return n.place.Node + " did not end, and was killed"
}

func nodeNumber(id string) int {
	if len(id) <= len("node-") {
		return 0
	}
	n, err := strconv.Atoi(id[len("node-"):])
	if err != nil {
		return 0
	}
	return n
}
