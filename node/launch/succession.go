package launch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"bellows"
	"bellows/api"
	"bellows/core/join"
	"bellows/link/fabric"
	"bellows/link/secure"
	"bellows/link/transport"
	"bellows/link/transport/sock"
	"bellows/node"
	"bellows/train"
)

// Succession is what a process needs to lead a job in place of one that has died, in addition to the state of lanes and
// the archive: the possible nodes, their addresses, their keys. It has the job's token and the key of its authority: it
// is for pipes and encrypted connections, never for a file.
type Succession struct {
	Own       assignment
	Addresses []string                  // by node
	Keys      map[bellows.NodeID][]byte // of their certificates
	Members   []node.Member             // that may be there, but for node 0
	Nodes     int                       // numbers of nodes below it were given
	Issues    *secure.Authority         // nil: no certificates
}

// Following is a Run in the place of another one.
type Following struct {
	Succession Succession
	// Processes are those that the other one has started and that have not ended, by node.
	Processes map[bellows.NodeID]Process
	// Follow is what the job was, but for Members, Nodes and Absent.
	Follow node.Follow
}

// Begins returns the members that the job began with.
func (s *Succession) Begins() []node.Member { return slices.Clone(s.Own.Members) }

// Era returns the era of the job's attempt.
func (s *Succession) Era() bellows.Era { return s.Own.Era }

// Saved returns the Processes.Saved of the Run that began.
func (s *Succession) Saved() []byte { return s.Own.Saved }

// reportSuccession reports what a process needs to lead in place of this one, whenever it has changed, but not before
// the first tasks are sent. A later report supersedes an earlier one.
func (f *fleet) reportSuccession() {
	f.telling.Lock()
	defer f.telling.Unlock()
	if f.succeed == nil || !f.begun.Load() {
		return
	}
	s := Succession{Own: f.own, Keys: map[bellows.NodeID][]byte{}, Issues: f.issues}
	f.mu.Lock()
	s.Addresses, s.Nodes = slices.Clone(f.addresses), f.nodes
	for _, c := range f.children {
		if c.told {
			s.Members = append(s.Members, c.member)
			s.Keys[c.node] = c.key
		}
	}
	f.mu.Unlock()
	f.succeed(s)
}

// begins makes OnStart report that the first tasks have been sent, and send what a process needs to follow this one:
// the job's log has begun by then.
func (f *fleet) begins(opt *node.Options) {
	told := opt.OnStart
	opt.OnStart = func(nodes []api.Node) {
		if told != nil {
			told(nodes)
		}
		f.begun.Store(true)
		f.reportSuccession()
	}
}

// follow runs a job in the place of the process that led it and has died. It takes over the processes of the job's
// nodes.
func (l Processes) follow(ctx context.Context, job train.Job, opt node.Options) (*node.Result, error) {
	s := &l.Following.Succession
	own := s.Own
	f := l.adopt(own)
	defer f.close()
	self, err := own.listenAgain(ctx, s.Addresses[own.Self])
	if err != nil {
		return nil, err
	}
	defer self.listener.Close()
	if s.Issues != nil {
		if err := s.Issues.Certify(self.identity, sock.NodeName(own.Self)); err != nil {
			return nil, err
		}
		f.waits.Go(f.renew)
	}
	who := own.Joining()
	who.Nodes = max(s.Nodes, who.Nodes)
	opt.Era, opt.Times, opt.Wire, opt.Deaths = own.Era, own.Times, own.Wire, f.deaths
	conns, dead, err := f.rejoin(ctx, who, l.lost(), func(ctx context.Context, who join.Cluster) ([]transport.Conn, error) {
		times := own.Times
		times.Join = own.Times.Or().Start // they have read their data, and call again and again
		return fabric.Connect(ctx, self.transport, self.listener, who, f.addresses, times, opt.Notice)
	})
	if err != nil {
		return nil, err
	}
	for _, d := range dead {
		f.deaths <- d // which has room
	}
	f.certifyAll() // the next time may be the next process's
	opt.Follow = &l.Following.Follow
	opt.Follow.Members, opt.Follow.Nodes = append([]node.Member{own.Members[own.Self]}, s.Members...), who.Nodes
	opt.Follow.Absent = func(n bellows.NodeID) { f.waits.Go(func() { f.dismiss(n) }) }
	return l.lead(ctx, job, opt, own, self, f, conns)
}

// adopt returns the fleet of the processes that another process has started. Unknown ones, which were still joining,
// are asked to end.
func (l Processes) adopt(own assignment) *fleet {
	s := &l.Following.Succession
	f := newFleet(l, own, s.Issues)
	f.addresses, f.nodes = slices.Clone(s.Addresses), s.Nodes
	f.deaths = make(chan node.Death, len(own.Members)+len(s.Members)+len(l.Following.Processes))
	f.begun.Store(true)
	for n, p := range l.Following.Processes {
		c := &child{node: n, Process: p, key: s.Keys[n]}
		if i := slices.IndexFunc(s.Members, func(m node.Member) bool { return m.Node == n }); i >= 0 {
			c.member, c.told = s.Members[i], true
		}
		f.children = append(f.children, c)
	}
	for _, c := range slices.Clone(f.children) { // from here on others see the fleet
		f.waits.Go(func() { f.wait(c) })
		if !c.told {
			f.waits.Go(func() { f.dismiss(c.node) })
		}
	}
	return f
}

// lost returns the members without a process.
func (l Processes) lost() (dead []node.Death) {
	for _, m := range l.Following.Succession.Members {
		if l.Following.Processes[m.Node] == nil {
			dead = append(dead, node.Death{Node: m.Node, Reason: fmt.Sprintf("node %d had no process any more when another one came to lead the job", m.Node)})
		}
	}
	return dead
}

// rejoin waits until all nodes that have a process have connected, except those that die meanwhile.
func (f *fleet) rejoin(ctx context.Context, who join.Cluster, dead []node.Death, connect func(context.Context, join.Cluster) ([]transport.Conn, error)) ([]transport.Conn, []node.Death, error) {
	for n := bellows.NodeID(1); int(n) < who.Nodes; n++ {
		if c := f.child(n); c == nil || !c.told {
			who.Gone = append(who.Gone, n)
		}
	}
	for {
		conns, died, err := f.joinOnce(ctx, func(ctx context.Context) ([]transport.Conn, error) { return connect(ctx, who) })
		if died == nil {
			return conns, dead, err
		}
		if slices.Contains(who.Gone, died.Node) { // it has ended, and was not awaited
			return nil, nil, errors.Join(err, errors.New(died.Reason))
		}
		who.Gone, dead = append(who.Gone, died.Node), append(dead, *died)
	}
}

// listenWithin is how long listenAgain tries the address of the dead process, and listenEvery how often: a connection
// that is ending may still occupy the port.
const (
	listenWithin = 2 * time.Second
	listenEvery  = 20 * time.Millisecond
)

// listenAgain listens at the previous process's address: no other address is announced.
func (s assignment) listenAgain(ctx context.Context, at string) (*endpoint, error) {
	late := time.NewTimer(listenWithin)
	defer late.Stop()
	tick := time.NewTicker(listenEvery)
	defer tick.Stop()
	for {
		c, err := s.listenAt(at)
		if err == nil {
			return c, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, bellows.Errorf(bellows.Lost, "follow", "the process that led", "where it listened: %w", err)
		}
		select {
		case <-tick.C:
		case <-late.C:
			return nil, bellows.Errorf(bellows.Lost, "follow", "the process that led", "another process listens at its address: %w", err)
		case <-ctx.Done():
			return nil, bellows.Errorf(bellows.Interrupted, "follow", "the process that led", "%w", context.Cause(ctx))
		}
	}
}
