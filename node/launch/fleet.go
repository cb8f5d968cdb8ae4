package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bellows"
	"bellows/link/fabric"
	"bellows/link/secure"
	"bellows/link/transport"
	"bellows/link/transport/sock"
	"bellows/node"
)

// A fleet holds the processes of a job on this machine, except this one.
//
// States: starting, one process after another; introduced, when all have announced their addresses and have those of
// the others; joined, when this node has a connection to each; closed. A fleet that fails on the way is closed by its
// maker.
//
// Invariants:
//   - A started process is awaited, by a separate goroutine, and has ended when close returns: asked by the end of its
//     input, and killed if it has not ended after patience (TestUnresponsiveProcessIsKilled).
//   - The unrequested end of a process is reported once: as the error of the waiting caller, while all are introduced
//     and join, or in deaths, which has room for all (TestDeathAtEndOfJoin, TestADeathEndsTheJoining).
//   - Every wait is named while it lasts, and ends (TestAddressWaitTimesOut).
//
// A process may be added while the others run (add). Lock: mu guards the list of children, addresses, and closed, of a
// started fleet: no process is started after its end. It is not held during any wait.
type fleet struct {
	deaths   chan node.Death // processes that ended before close
	ending   chan struct{}   // closed by close: deaths is not read any more
	waits    sync.WaitGroup
	patience time.Duration     // how long one that is asked to end may take
	issues   *secure.Authority // of the processes' certificates; nil: they have none
	own      assignment        // of the process that leads
	succeed  func(Succession)  // gets what another process needs to follow this one; nil: not called
	begun    atomic.Bool       // the first tasks were sent: succeed is called from now on
	telling  sync.Mutex        // keeps messages to processes in order; taken before mu

	mu        sync.Mutex
	children  []*child
	addresses []string // by node
	nodes     int      // numbers below it were given
	closed    bool
}

// child is a process, as its parent sees it: RunChild is its own side. It is alive until it is over; shut is set before
// its end is asked for, so that the end is then no death.
type child struct {
	node   bellows.NodeID
	member node.Member
	told   bool // it and the others have each other's addresses: it may take part. Guarded by mu of the fleet
	Process
	shut atomic.Bool // its end is wanted
	key  []byte      // of its certificates; nil: it has none, or not yet. Guarded by mu of the fleet
}

// closeWait is how long a process that is asked to end may take. It has nothing left to save: the job is over, or lost.
const closeWait = 3 * time.Second

// startFleet starts a process for every member of the cluster except this process, which listens at address. When it
// returns, each process has the addresses of all others.
func startFleet(ctx context.Context, l Processes, own assignment, issues *secure.Authority, address string, notice func(string)) (*fleet, error) {
	f := newFleet(l, own, issues)
	f.addresses[own.Self] = address
	err := f.start(l.starter(), own, l.Roam)
	if err == nil {
		err = f.introduce(ctx, newWait(own.Self, own.Times, own.Times.Or().Start, notice))
	}
	if err != nil {
		f.close()
		return nil, err
	}
	if issues != nil {
		f.waits.Go(f.renew)
	}
	return f, nil
}

func newFleet(l Processes, own assignment, issues *secure.Authority) *fleet {
	return &fleet{issues: issues, own: own, succeed: l.Succeed, deaths: make(chan node.Death, len(own.Members)), ending: make(chan struct{}), addresses: make([]string, len(own.Members)), nodes: len(own.Members), patience: closeWait}
}

// renewEvery is how often the processes get new certificates: three times in the life of one.
const renewEvery = 8 * time.Hour

// renew gives all processes new certificates from time to time, until the fleet is closed.
func (f *fleet) renew() {
	ticker := time.NewTicker(renewEvery)
	defer ticker.Stop()
	for {
		select {
		case <-f.ending:
			return
		case <-ticker.C:
			f.certifyAll()
		}
	}
}

// certifyAll gives each process that has a certificate another one. A process that cannot receive it has ended, or is
// about to.
func (f *fleet) certifyAll() {
	f.mu.Lock()
	of := map[*child][]byte{}
	for _, c := range f.children {
		if c.key != nil {
			of[c] = c.key
		}
	}
	f.mu.Unlock()
	for c, key := range of {
		_ = f.sendAddresses(c, addresses{}, key)
	}
}

// sendAddresses sends a process the addresses of the others, once, and certifies its key.
func (f *fleet) sendAddresses(c *child, a addresses, key []byte) (err error) {
	if f.issues != nil {
		if a.Certificate, err = f.issues.Issue(key, sock.NodeName(c.node)); err != nil {
			return bellows.Errorf(bellows.Lost, "start a process", c.name(), "%w", err)
		}
	}
	if err := f.send(c, a); err != nil {
		return err
	}
	if f.issues != nil {
		f.mu.Lock()
		c.key = key // from now on it gets new certificates
		f.mu.Unlock()
	}
	return nil
}

// start starts the processes. Unless roam is true, each process that computes keeps to its share of the processors:
// under BSP all wake at the same time, and the system may put two on one processor while another idles. Nodes that only
// hold tables may run anywhere. The price: if another program takes a processor, the process that keeps to it waits;
// --pin=false avoids that.
func (f *fleet) start(by Starter, each assignment, roam bool) error {
	own, placed, computing := each.Self, 0, 0
	for _, m := range each.Members {
		if m.Slots > 0 {
			computing++
		}
	}
	for _, m := range each.Members {
		if m.Node == own {
			continue
		}
		each.Self = m.Node
		place := -1
		if m.Slots > 0 && !roam {
			place = placed
			placed++
		}
		if err := f.startOne(by, each, place, computing); err != nil {
			return err
		}
	}
	return nil
}

// startOne starts a process, in its place among those that compute, and sends its assignment.
func (f *fleet) startOne(by Starter, each assignment, place, computing int) error {
	c := &child{node: each.Self, member: each.Cluster.SelfMember()}
	if err := f.enlist(c, by, each.Cluster.SelfMember(), place, computing); err != nil {
		return bellows.Errorf(bellows.Lost, "start a process", c.name(), "%w", err)
	}
	return f.send(c, each)
}

// send writes a message to a process. If the write fails because the process is ending, the error is how it ended, which
// has the reason: send waits up to patience for that.
func (f *fleet) send(c *child, v any) error {
	err := c.say(v)
	if err == nil {
		return nil
	}
	late := time.NewTimer(f.patience)
	defer late.Stop()
	select {
	case <-c.Ended():
		return bellows.Errorf(bellows.Lost, "start a process", c.name(), "%s", c.death())
	case <-late.C:
		return bellows.Errorf(bellows.Lost, "start a process", c.name(), "%w%s", err, c.Last())
	}
}

// enlist starts a process as one of the fleet.
func (f *fleet) enlist(c *child, by Starter, m node.Member, place, computing int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errors.New("the job is over")
	}
	p, err := by.Start(m, place, computing)
	if err != nil {
		return err
	}
	c.Process = p
	f.children = append(f.children, c)
	f.waits.Go(func() { f.wait(c) })
	return nil
}

// add starts an invited process, and sends it the addresses of those of lower number when it is its turn to connect: it
// starts and reads its data in parallel with other invited ones. It may use the whole machine: shares are for those
// that the job began with. Node 0, which waits for the process to join, names what it waits for.
func (f *fleet) add(ctx context.Context, l Processes, own assignment, i node.Invitation) error {
	f.mu.Lock()
	f.nodes = max(f.nodes, int(i.Node)+1)
	f.mu.Unlock()
	f.reportSuccession() // before any other process learns that number
	each := own
	each.Cluster, each.Saved = own.Cluster.Accept(i), l.Later
	if err := f.startOne(l.starter(), each, -1, 0); err != nil {
		return err
	}
	c := f.child(i.Node)
	if c == nil {
		return errors.New("the job is over")
	}
	w := newWait(own.Self, own.Times, own.Times.Or().Start, func(string) {})
	bounded, cancel := w.bound(ctx)
	defer cancel()
	at, err := c.listens(bounded, w)
	if err != nil {
		return err
	}
	if err := i.Await(ctx); err != nil { // it also ends with the process
		return err
	}
	f.mu.Lock()
	for len(f.addresses) <= int(i.Node) {
		f.addresses = append(f.addresses, "")
	}
	f.addresses[i.Node] = at.Address
	below := slices.Clone(f.addresses[:i.Node])
	c.told, c.key = true, at.Key
	f.mu.Unlock()
	f.reportSuccession() // before it can take part
	return f.sendAddresses(c, addresses{Addresses: below, Gone: i.Gone}, at.Key)
}

// child returns the process of a node; nil if there is none.
func (f *fleet) child(n bellows.NodeID) *child {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.children {
		if c.node == n {
			return c
		}
	}
	return nil
}

// dismiss ends the process of a node that takes no part, if there is one, and forgets it.
func (f *fleet) dismiss(n bellows.NodeID) {
	c := f.child(n)
	if c == nil {
		return
	}
	c.end()
	late := time.AfterFunc(f.patience, c.Kill)
	<-c.Ended()
	late.Stop()
	f.forget(c)
}

// forget removes a process that was asked to end, and has ended, from the list.
func (f *fleet) forget(c *child) {
	f.mu.Lock()
	f.children = slices.DeleteFunc(f.children, func(o *child) bool { return o == c })
	f.mu.Unlock()
	f.reportSuccession()
}

// killLost kills the remaining processes of lost nodes. A stopped or unreachable one would not notice that it must end,
// and would be waited for.
func (f *fleet) killLost(gone []bellows.NodeID) {
	for _, n := range gone {
		if c := f.child(n); c != nil {
			c.end()
			c.Kill()
		}
	}
}

// awaitExit waits for the end of a process whose node has left the job, and forgets it. The process ends on its own;
// one that does not is killed, which does no harm.
func (f *fleet) awaitExit(n bellows.NodeID) error {
	c := f.child(n)
	if c == nil {
		return nil
	}
	slow := time.AfterFunc(f.patience, c.end)
	late := time.AfterFunc(2*f.patience, c.Kill)
	<-c.Ended()
	slow.Stop()
	late.Stop()
	f.forget(c)
	if how := c.How(); !strings.HasSuffix(how, "exit status 0") {
		return bellows.Errorf(bellows.Lost, "remove a node", c.name(), "it has left, and its process %s%s", how, c.Last())
	}
	return nil
}

func (c *child) name() string { return fmt.Sprintf("node %d", c.node) }

// say writes a line of JSON to the process. A line is shorter than a pipe's buffer: a process that does not read blocks
// nothing.
func (c *child) say(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.Say(append(line, '\n'))
}

// introduce reads the address of each process and sends all addresses to all of them. It reads one process after
// another, which costs no time: other answers wait in buffers, and the slowest process is awaited in any order.
func (f *fleet) introduce(ctx context.Context, w *wait) error {
	ctx, cancel := w.bound(ctx)
	defer cancel()
	keys := make([][]byte, len(f.children))
	for i, c := range f.children {
		at, err := c.listens(ctx, w)
		if err != nil {
			return err
		}
		f.addresses[c.node], keys[i] = at.Address, at.Key
		c.told = true
	}
	for i, c := range f.children {
		if err := f.sendAddresses(c, addresses{Addresses: f.addresses}, keys[i]); err != nil {
			return err
		}
	}
	return nil
}

// listens waits for the address at which the process listens.
func (c *child) listens(ctx context.Context, w *wait) (a address, err error) {
	line, err := c.answer(ctx, w)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return a, bellows.Errorf(bellows.Lost, "start a process", c.name(), "it says %q and not where it listens", line)
	}
	return a, nil
}

// answer returns the first line of the process. If it has died, the error has its last lines. Its death is also in
// deaths, which is not read any more.
func (c *child) answer(ctx context.Context, w *wait) ([]byte, error) {
	for {
		select {
		case line := <-c.Answer():
			return line, nil
		case <-c.Ended():
			return nil, bellows.Errorf(bellows.Lost, "start a process", c.name(), "%s", c.death())
		case <-ctx.Done():
			return nil, bellows.Errorf(bellows.Lost, "start a process", c.name(), "it has not said where it listens: %w%s", context.Cause(ctx), c.Last())
		case <-w.next():
			w.name(c.name() + " to say where it listens")
		}
	}
}

// join waits for all processes to connect, as long as all live. If one dies meanwhile, join returns that error at once.
// One that dies later is reported in deaths. Which of the two a death becomes is decided in one place, by watch, so
// that it is never both or neither.
func (f *fleet) join(ctx context.Context, connect func(ctx context.Context) ([]transport.Conn, error)) ([]transport.Conn, error) {
	conns, dead, err := f.joinOnce(ctx, connect)
	if dead != nil {
		err = errors.Join(bellows.Errorf(bellows.Lost, "start the job", "", "%s", dead.Reason), err)
	}
	return conns, err
}

// joinOnce joins, and returns the processes that have died meanwhile. Then there are no connections, and the error
// follows from the deaths.
func (f *fleet) joinOnce(ctx context.Context, connect func(ctx context.Context) ([]transport.Conn, error)) ([]transport.Conn, *node.Death, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	joined, watched := make(chan struct{}), make(chan *node.Death, 1)
	go func() { watched <- f.watch(joined, cancel) }()
	conns, err := connect(ctx)
	close(joined)
	if dead := <-watched; dead != nil {
		return nil, dead, fabric.HangUp(conns)
	}
	return conns, nil, err
}

// watch cancels the joining if a process dies, and returns that death. It takes one death at most: others, and any
// after all have joined, stay in deaths.
func (f *fleet) watch(joined <-chan struct{}, cancel context.CancelCauseFunc) *node.Death {
	select {
	case d := <-f.deaths:
		cancel(errors.New(d.Reason))
		return &d
	case <-joined:
		return nil
	}
}

// wait reports the end of a process, unless it was requested.
func (f *fleet) wait(c *child) {
	c.Wait()
	if !c.shut.Load() {
		select {
		case f.deaths <- node.Death{Node: c.node, Reason: c.death()}:
		case <-f.ending:
		}
	}
}

// death returns how a process ended, with its last lines, which usually have the reason.
func (c *child) death() string { return fmt.Sprintf("node %d %s%s", c.node, c.How(), c.Last()) }

// close ends the processes: it asks all of them first, and kills those that have not ended after patience.
func (f *fleet) close() {
	f.mu.Lock()
	f.closed = true
	children := f.children
	f.mu.Unlock()
	for _, c := range children {
		c.end()
	}
	if f.ending != nil {
		close(f.ending)
	}
	late := time.AfterFunc(f.patience, func() {
		for _, c := range children {
			c.Kill()
		}
	})
	f.waits.Wait()
	late.Stop()
}

// end asks a process to end, once.
func (c *child) end() {
	if !c.shut.Swap(true) {
		c.End()
	}
}
