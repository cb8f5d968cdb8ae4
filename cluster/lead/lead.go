// Package lead is the job's side of a cluster: in the process that leads a job, it gets nodes from the manager and
// starts processes at their agents.
//
// The caller's duties, in order:
//
//  1. Leads reports whether a manager has started this process. Take then reads the manager's address from standard
//     input, and connects to it.
//  2. Members returns the nodes of the job; a Lead is the launch.Starter of their processes.
//  3. Tell the manager the run's folder with Began, and the progress with HowFar; close the Lead at the end.
//  4. A job that has lost nodes with what they held, and whose processes have all ended, asks with Renew for the nodes
//     that it may have now.
//
// If the manager goes, the job is interrupted: Context ends. The package does not lead without a manager, and starts no
// processes at nodes that the job was not given.
package lead

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"bellows"
	"bellows/cluster"
	"bellows/cluster/nodenames"
	"bellows/link/secure"
	"bellows/node"
	"bellows/node/launch"
	"bellows/vec"
)

// Variable names the variable of the environment that marks a process which leads a job of a cluster.
const Variable = "_BELLOWS_JOB"

// Leads reports whether this process leads a job of a cluster.
func Leads() bool { return os.Getenv(Variable) != "" }

// An Assignment is what the process reads from its standard input. The end of the input has no meaning.
type Assignment struct {
	Address  string
	Identity *secure.Identity
	Job      int
	Host     string // where nodes reach it
	Places   []cluster.Place
	Program  cluster.Program
	// Terminal is the screen at which a user follows the job.
	Terminal *cluster.Terminal
	// Order names the job in the record of its run, permanently: a later leader finds its run by it.
	Order string
	// Term counts the processes that have led the job, this one included.
	Term int
	// Run is the job's folder, where a process before this one has told of it.
	Run string
	// Checkpoint is the last that a process before this one has told of; nil: none.
	Checkpoint *cluster.Checkpoint
	// Died is what became of the process before this one, and what that has cost; nil: this is the first.
	Died *cluster.Recovery
	// InRow is how often in a row the job was taken up again with no new checkpoint in between.
	InRow int
	// Shown is the last event that was written to the job's standard output; the largest number: all of them, or
	// unknown.
	Shown uint64
	// Call is how long it tries to reach the manager; 0: once. A process that follows another one tries at least as long as the nodes of the job wait.
	Call time.Duration
	// Following is the state to continue from if the nodes of the previous process continue; nil: another attempt of
	// the job begins.
	Following *Following
}

// Lead is a session with the manager.
//
// Lock: mu, of all below it. Nothing is sent while it is held.
type Lead struct {
	Assignment
	succession *launch.Succession // of Following, until the job begins another life
	Refused    []string           // why nodes of the cluster take no part, a sentence each
	Names      nodenames.Map      // of the job's nodes in the cluster
	session    *cluster.Session
	gone       chan struct{}        // closed when the manager has gone
	places     chan []cluster.Place // the answer to Renew

	mu        sync.Mutex
	processes map[uint64]*remote
	drawn     uint64
	at        map[string]*remote // the process at a node of the cluster
	control   *launch.Control    // nil: the job does not run yet
	begins    []node.Member      // with which this life of the job begins
	late      map[string]bool    // leaving nodes whose notice has ended
	losses
	lost bool
}

// Take reads the assignment and connects to the manager. talk gets the nodes of the cluster that cannot take part, and
// why.
func Take(ctx context.Context, in io.Reader, talk func(format string, args ...any)) (*Lead, error) {
	l := &Lead{gone: make(chan struct{}), places: make(chan []cluster.Place, 1), processes: map[uint64]*remote{}, at: map[string]*remote{}, late: map[string]bool{}}
	line, err := bufio.NewReader(in).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &l.Assignment)
	}
	if err == nil && l.Identity == nil {
		err = errors.New("it has no certificate")
	}
	if err == nil {
		err = l.inherit()
	}
	if err != nil {
		return nil, bellows.Errorf(bellows.Usage, "take assignment", "standard input", "this process is started by a cluster's manager: %w", err)
	}
	signal.Ignore(syscall.SIGPIPE) // readers of its output may end before it
	hello := cluster.Hello{PID: os.Getpid(), Program: l.Program}
	call := l.Call
	if l.succession != nil {
		call = max(call, time.Duration(l.succession.Own.Times.Successor)*time.Millisecond)
	}
	if l.session, _, err = cluster.NewMember(l.Address, l.Identity).Persist(ctx, call, fmt.Sprintf("/v1/jobs/%d/lead", l.Job), hello); err != nil {
		return nil, err
	}
	l.session.Prompt()
	var refused []string
	if l.Places, refused = able(l.Places); !slices.ContainsFunc(l.Places, func(p cluster.Place) bool { return p.Slots > 0 }) {
		l.Close()
		return nil, bellows.Errorf(bellows.Refused, "start", fmt.Sprintf("job %d", l.Job), "no worker can take part: %s", strings.Join(refused, "; ")).
			Hinted("choose a kernel set that they have, with --kernels")
	}
	for _, sentence := range refused {
		talk("%s", sentence)
	}
	go l.hear()
	return l, nil
}

// able returns the places whose processors have the kernel set of this process, and why others are refused: they would
// compute other bits.
func able(places []cluster.Place) (can []cluster.Place, refused []string) {
	for _, p := range places {
		if slices.Contains(p.Kernels, vec.Kernels()) {
			can = append(can, p)
			continue
		}
		refused = append(refused, fmt.Sprintf("%s takes no part: its processor has the kernel sets %s, and the job's is %s", p.Node, strings.Join(p.Kernels, ", "), vec.Kernels()))
	}
	return can, refused
}

// Close ends the session. Remaining processes of the job at nodes are asked to end.
func (l *Lead) Close() error { return l.session.Close() }

// Context returns ctx, which also ends when the manager is lost.
func (l *Lead) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-l.gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// nodes returns the places as they are now.
func (l *Lead) nodes() []cluster.Place {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.Places)
}

// Slots returns how many compute slots the nodes have in all; for a resumed job, those with which its attempt began.
func (l *Lead) Slots() (n int) {
	if l.succession != nil {
		for _, m := range l.succession.Begins() {
			n += m.Slots
		}
		return n
	}
	for _, p := range l.nodes() {
		n += p.Slots
	}
	return n
}

// HasServersOnly reports whether some nodes hold tables and run no tasks.
func (l *Lead) HasServersOnly() bool {
	return slices.ContainsFunc(l.nodes(), func(p cluster.Place) bool { return p.Slots == 0 && p.Lanes > 0 })
}

// Members returns the job's nodes: this process, which leads, and one for each place, in order. If no node is only a
// server, workers hold tables as well. Each connection of a pair except the first needs a lane.
func (l *Lead) Members(connections int) []node.Member {
	list := l.members(connections)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begins = list
	return list
}

func (l *Lead) members(connections int) []node.Member {
	if l.succession != nil {
		return l.succession.Begins()
	}
	list := []node.Member{{}}
	apart := l.HasServersOnly()
	for i, p := range l.nodes() {
		m := node.Member{Node: bellows.NodeID(i + 1), Slots: p.Slots, Lanes: p.Lanes}
		switch {
		case !apart:
			m.Lanes = max(p.Lanes, p.Slots, connections-1)
		case m.Lanes > 0:
			m.Lanes = max(m.Lanes, connections-1)
		}
		list = append(list, m)
	}
	return list
}

// Reads refuses to resume from a saved run if nodes are on other machines: the run is a file of this one.
func (l *Lead) Reads(saved bool) error {
	for _, p := range l.nodes() {
		if saved && p.Host != l.Host {
			return bellows.Errorf(bellows.Config, "resume", "the unfinished run", "the checkpoint is a file of this machine, and %s is on another one (%s)", p.Node, p.Host).
				Hinted("drain such nodes, or start over with --fresh, and with --checkpoint at a place that all of them reach")
		}
	}
	return nil
}

// Began tells the manager the run's folder.
func (l *Lead) Began(folder string) error { return l.session.Send(cluster.Message{Run: folder}) }

// HowFar tells the manager how far the job is. A manager that has gone is noticed otherwise.
func (l *Lead) HowFar(p cluster.Progress) { _ = l.session.Send(cluster.Message{Progress: &p}) }

// renewWithin is how long the manager may take to say which nodes there are.
const renewWithin = 10 * time.Second

// Renew asks the manager for the nodes that the job may have now, for another attempt whose processes are all started
// anew: the remaining nodes, and new ones. most limits the compute slots of all nodes, as far as there is a choice; 0:
// no limit. talk gets the nodes that cannot take part. Only one process asks at a time, and none of the job's processes
// runs then.
func (l *Lead) Renew(ctx context.Context, most int, talk func(format string, args ...any)) error {
	l.Serve(nil) // changes wait for the next life
	ctx, cancel := context.WithTimeoutCause(ctx, renewWithin, fmt.Errorf("it did not list its nodes within %v", renewWithin))
	defer cancel()
	err := l.session.Send(cluster.Message{Nodes: &cluster.Nodes{}})
	var places []cluster.Place
	if err == nil {
		select {
		case places = <-l.places:
		case <-l.gone:
			err = errors.New("it has gone")
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if err != nil {
		return bellows.Errorf(bellows.Lost, "ask", "the cluster's manager", "%w", err)
	}
	can, refused := able(places)
	for _, sentence := range refused {
		talk("%s", sentence)
	}
	can = within(can, most)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Places, l.succession = can, nil
	clear(l.late)
	l.losses = losses{}
	if !slices.ContainsFunc(can, func(p cluster.Place) bool { return p.Slots > 0 }) {
		return bellows.Errorf(bellows.Lost, "resume", fmt.Sprintf("job %d", l.Job), "no worker of the cluster is left").Hinted("`scale --workers 2` starts some")
	}
	return nil
}

// within leaves the last workers out that would make it more than so many compute slots; the first one stays.
func within(places []cluster.Place, most int) (list []cluster.Place) {
	slots := 0
	for _, p := range places {
		if most > 0 && slots > 0 && p.Slots > 0 && slots+p.Slots > most {
			continue
		}
		slots += p.Slots
		list = append(list, p)
	}
	return list
}

// Processes returns the starter for the processes of the job's nodes, with these arguments. Their standard error goes
// to output.
func (l *Lead) Processes(args []string, output func(bellows.NodeID) io.Writer) launch.Starter {
	return starter{l, args, output}
}

type starter struct {
	*Lead
	args   []string
	output func(bellows.NodeID) io.Writer
}

// Start starts a process at a place that is free: that of the member's number, or else one that has what the member is to have, or else any.
func (s starter) Start(m node.Member, place, computing int) (launch.Process, error) {
	s.mu.Lock()
	at := s.free(m)
	if at == nil {
		s.mu.Unlock()
		return nil, fmt.Errorf("no node of the cluster is free for it, with %d compute slots", m.Slots)
	}
	s.drawn++
	p := &remote{lead: s.Lead, number: s.drawn, node: at.Node, member: m.Node, output: s.output(m.Node), answer: make(chan []byte, 1), over: make(chan struct{})}
	s.processes[p.number], s.at[at.Node] = p, p
	s.Names.Set(m.Node, at.Node)
	s.started(m.Node, at.Node)
	s.mu.Unlock()
	return p, s.session.Send(cluster.Message{Process: p.number, Start: &cluster.Start{Node: at.Node, Args: s.args, Place: place, Computing: computing, Member: int(m.Node)}})
}

// free returns the place for a member. Places where processes of this life have died come last.
func (l *Lead) free(m node.Member) (found *cluster.Place) {
	rank := func(p *cluster.Place) [3]int {
		r := [3]int{l.failed[p.Node], 1, 1}
		if p.Node == fmt.Sprintf("node-%d", m.Node) {
			r[1] = 0
		}
		if (p.Slots > 0) == (m.Slots > 0) {
			r[2] = 0
		}
		return r
	}
	var best [3]int
	for i := range l.Places {
		p := &l.Places[i]
		if l.at[p.Node] != nil {
			continue
		}
		if r := rank(p); found == nil || slices.Compare(r[:], best[:]) < 0 {
			found, best = p, r
		}
	}
	return found
}

// hear takes what the manager says, until it goes.
func (l *Lead) hear() {
	defer close(l.gone)
	for {
		m, err := l.session.Receive()
		if err != nil {
			l.lose()
			return
		}
		l.take(m)
	}
}

// lose takes note that the manager has gone. Nobody will say any more that a process has ended that was asked to.
func (l *Lead) lose() {
	l.mu.Lock()
	l.lost = true
	list := slices.Collect(maps.Values(l.processes))
	l.mu.Unlock()
	for _, p := range list {
		p.mu.Lock()
		asked := p.asked
		p.mu.Unlock()
		if asked {
			p.ended(managerGone)
		}
	}
}

func (l *Lead) take(m cluster.Message) {
	if m.Question != 0 {
		go l.answer(m) // it may take long
		return
	}
	if m.Nodes != nil {
		select {
		case l.places <- m.Nodes.Places:
		default: // no request
		}
		return
	}
	l.mu.Lock()
	for _, name := range m.Lost {
		l.leave(name)
	}
	p := l.processes[m.Process]
	l.mu.Unlock()
	switch {
	case p == nil:
	case m.PID != 0:
		p.mu.Lock()
		p.pid = m.PID
		p.mu.Unlock()
	case m.Said != nil:
		select {
		case p.answer <- m.Said:
		default: // one line is wanted
		}
	case m.Wrote != nil:
		p.wrote(m.Wrote)
	case m.Over != nil:
		p.ended(*m.Over)
	}
}

// remote is a process at a node of the cluster.
//
// Lock: mu, of all below it.
type remote struct {
	lead   *Lead
	number uint64
	node   string
	member bellows.NodeID
	answer chan []byte
	over   chan struct{}
	once   sync.Once

	mu     sync.Mutex
	pid    int
	asked  bool // to end
	end    cluster.Over
	output io.Writer // of what it writes to standard error; nil: not known yet
	early  []byte    // of that
}

// ended takes note of its end.
func (p *remote) ended(o cluster.Over) {
	p.once.Do(func() {
		p.mu.Lock()
		p.end = o
		died := !p.asked
		p.mu.Unlock()
		p.lead.mu.Lock()
		delete(p.lead.processes, p.number)
		missing := false
		if p.lead.at[p.node] == p {
			delete(p.lead.at, p.node)
			delete(p.lead.late, p.node)
			missing = p.lead.ended(p.node, died)
		}
		p.lead.mu.Unlock()
		close(p.over)
		if missing {
			p.lead.announce(p.node)
		}
	})
}

func (p *remote) Say(text []byte) error {
	return p.lead.session.Send(cluster.Message{Process: p.number, Say: text})
}

func (p *remote) Answer() <-chan []byte  { return p.answer }
func (p *remote) Wait()                  { <-p.over }
func (p *remote) Ended() <-chan struct{} { return p.over }

func (p *remote) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid
}

func (p *remote) How() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lead.Names.Job(bellows.Printable(p.end.How, 1<<12))
}

func (p *remote) Last() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bellows.Printable(p.end.Last, 1<<16)
}

// managerGone is the end reported for a process when the manager is lost.
var managerGone = cluster.Over{How: "is no longer heard of: the cluster's manager is gone"}

// End tells the process to end. If the manager has gone, no message would report the end: the agent ends the process.
func (p *remote) End() { p.order(cluster.Message{Process: p.number, End: true}) }

// Kill ends it.
func (p *remote) Kill() { p.order(cluster.Message{Process: p.number, Kill: true}) }

func (p *remote) order(m cluster.Message) {
	p.mu.Lock()
	p.asked = true
	p.mu.Unlock()
	p.lead.mu.Lock()
	lost := p.lead.lost
	p.lead.mu.Unlock()
	if lost || p.lead.session.Send(m) != nil {
		p.ended(managerGone)
	}
}
