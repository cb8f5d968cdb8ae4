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

// fleet is the processes of a job on this machine, but for this one.
//
// States: starting, one process after the other; introduced, when all have said where they listen and have been told of
// each other; joined, when this node has a connection to each; closed. One that fails on the way is closed by who made it.
//
// Invariants:
//   - A process that was started is waited for, by a goroutine of its own, and has ended when close returns: asked by the
//     end of its input, and killed if it does not follow within patience (TestWhoDoesNotFollowIsKilled).
//   - The end of a process that nobody asked for is told once: as the error of who waits for it, while all are introduced
//     and join, or in deaths, which has room for all (TestADeathWhileJoiningEndsIsNotLost, TestADeathEndsTheJoining).
//   - Every wait is named while it lasts, and ends (TestTheWaitForAnAddressIsNamedAndEnds).
//
// A process may be added while the others run (add). Lock: mu guards the list of children, addresses, and closed, of a fleet that has
// been started: no process is started behind its end. It is not held while anybody is waited for.
type fleet struct {
	deaths   chan node.Death // processes that ended before close
	ending   chan struct{}   // closed by close: nobody reads deaths any more
	waits    sync.WaitGroup
	patience time.Duration     // how long one that is asked to end may take
	issues   *secure.Authority // of the processes' certificates; nil: they have none
	own      assignment        // of the process that leads
	succeed  func(Succession)  // told what another needs to follow this one; nil: nobody is
	begun    atomic.Bool       // from now on
	telling  sync.Mutex        // keeps what is told in order; before mu

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
	told   bool // of the others, and they of it: it may take part. Behind the fleet's lock
	Process
	shut atomic.Bool // its end is wanted
	key  []byte      // of its certificates; nil: it has none, or not yet. Behind the fleet's lock
}

// closeWait is how long a process that is asked to end may take. It has nothing left to save: the job is over, or lost.
const closeWait = 3 * time.Second

// startFleet starts a process for every member of the cluster but the one that is assigned, which listens at address. When it
// returns each knows where all others are.
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

// renew has them all get new certificates now and then, until the fleet is closed.
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

// certifyAll gives each process that has a certificate another one. One that cannot be told has ended, or is about to.
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
		_ = f.tell(c, addresses{}, key)
	}
}

// tell tells a process where others listen, which it is told once, and certifies its key.
func (f *fleet) tell(c *child, a addresses, key []byte) (err error) {
	if f.issues != nil {
		if a.Certificate, err = f.issues.Issue(key, sock.NodeName(c.node)); err != nil {
			return bellows.Errorf(bellows.Lost, "start a process", c.name(), "%w", err)
		}
	}
	if err := c.say(a); err != nil {
		return bellows.Errorf(bellows.Lost, "start a process", c.name(), "%w%s", err, c.Last())
	}
	if f.issues != nil {
		f.mu.Lock()
		c.key = key // and from now on it is told again
		f.mu.Unlock()
	}
	return nil
}

// start starts the processes, each on its share of the processors where it computes and does not roam: under BSP all of them
// sleep and wake together, and where the system puts one in a hurry, two may share a processor while another idles. Nodes
// that only hold tables go anywhere. A process that computes may thus be short of a processor that something else on the
// machine takes: --pin=false is for those.
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

// startOne starts a process, in its place among so many that compute, and tells it who it is.
func (f *fleet) startOne(by Starter, each assignment, place, computing int) error {
	c := &child{node: each.Self, member: each.Cluster.Me()}
	if err := f.enlist(c, by, each.Cluster.Me(), place, computing); err != nil {
		return bellows.Errorf(bellows.Lost, "start a process", c.name(), "%w", err)
	}
	if err := c.say(each); err != nil {
		return bellows.Errorf(bellows.Lost, "start a process", c.name(), "%w%s", err, c.Last())
	}
	return nil
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

// add starts a process that is invited, and tells it where those of lower number listen when it is its turn to call them: it starts and reads its data
// beside others that are invited. It has the whole machine: shares are
// of those that the job began with. What it waits for is named by node 0, which waits for the process to join.
func (f *fleet) add(ctx context.Context, l Processes, own assignment, i node.Invitation) error {
	f.mu.Lock()
	f.nodes = max(f.nodes, int(i.Node)+1)
	f.mu.Unlock()
	f.heirs() // before anybody else hears of that number
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
	if err := i.Await(ctx); err != nil { // which ends with the process, too
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
	f.heirs() // before it can take part
	return f.tell(c, addresses{Addresses: below, Gone: i.Gone}, at.Key)
}

// child is the process of a node; nil: there is none.
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
	<-c.Over()
	late.Stop()
	f.forget(c)
}

// forget takes a process out that has ended as it was to.
func (f *fleet) forget(c *child) {
	f.mu.Lock()
	f.children = slices.DeleteFunc(f.children, func(o *child) bool { return o == c })
	f.mu.Unlock()
	f.heirs()
}

// bury kills what is left of the processes of nodes that are lost: one that is stopped, or that nobody reaches, would not hear that it is to end, and be waited for.
func (f *fleet) bury(gone []bellows.NodeID) {
	for _, n := range gone {
		if c := f.child(n); c != nil {
			c.end()
			c.Kill()
		}
	}
}

// left waits for the end of a process whose node takes part no more, and forgets it. It ends by itself; one that does not is
// made to, and no harm is done.
func (f *fleet) left(n bellows.NodeID) error {
	c := f.child(n)
	if c == nil {
		return nil
	}
	slow := time.AfterFunc(f.patience, c.end)
	late := time.AfterFunc(2*f.patience, c.Kill)
	<-c.Over()
	slow.Stop()
	late.Stop()
	f.forget(c)
	if how := c.How(); !strings.HasSuffix(how, "exit status 0") {
		return bellows.Errorf(bellows.Lost, "remove a node", c.name(), "it has left, and its process %s%s", how, c.Last())
	}
	return nil
}

func (c *child) name() string { return fmt.Sprintf("node %d", c.node) }

// say writes a line of JSON to the process. A line is shorter than a pipe's buffer: a process that does not read holds
// nobody up.
func (c *child) say(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.Say(append(line, '\n'))
}

// introduce learns where the processes listen and tells all of them. They are asked one after the other, which costs nothing:
// what the later ones say waits in a buffer, and the last to come is waited for in any order.
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
		if err := f.tell(c, addresses{Addresses: f.addresses}, keys[i]); err != nil {
			return err
		}
	}
	return nil
}

// listens is where the process says that it does.
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

// answer is the first line that the process says. One that has died instead is named with its last lines; it has left a word
// in deaths, too, which nobody reads any more.
func (c *child) answer(ctx context.Context, w *wait) ([]byte, error) {
	for {
		select {
		case line := <-c.Answer():
			return line, nil
		case <-c.Over():
			return nil, bellows.Errorf(bellows.Lost, "start a process", c.name(), "%s", c.death())
		case <-ctx.Done():
			return nil, bellows.Errorf(bellows.Lost, "start a process", c.name(), "it has not said where it listens: %w%s", context.Cause(ctx), c.Last())
		case <-w.next():
			w.name(c.name() + " to say where it listens")
		}
	}
}

// join waits for all processes to come, as long as all live. A process that dies while they come is the error, at once: nobody
// waits a minute for the dead. One that dies later is left in deaths. Which of the two a death is is decided in one place,
// by watch, so that it is never both or neither.
func (f *fleet) join(ctx context.Context, connect func(ctx context.Context) ([]transport.Conn, error)) ([]transport.Conn, error) {
	conns, dead, err := f.joinOnce(ctx, connect)
	if dead != nil {
		err = errors.Join(bellows.Errorf(bellows.Lost, "start the job", "", "%s", dead.Reason), err)
	}
	return conns, err
}

// joinOnce is join, and says who has died meanwhile: there are no connections then, and an error is of their end.
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

// watch gives the joining up when a process dies, and says which. It takes one death at most: others are left, and so is one
// that comes when all have joined.
func (f *fleet) watch(joined <-chan struct{}, cancel context.CancelCauseFunc) *node.Death {
	select {
	case d := <-f.deaths:
		cancel(errors.New(d.Reason))
		return &d
	case <-joined:
		return nil
	}
}

// wait reports the end of a process, if nobody asked for it.
func (f *fleet) wait(c *child) {
	c.Wait()
	if !c.shut.Load() {
		select {
		case f.deaths <- node.Death{Node: c.node, Reason: c.death()}:
		case <-f.ending:
		}
	}
}

// death says how a process ended, with its last lines: the reason is mostly there, in the words of the process itself.
func (c *child) death() string { return fmt.Sprintf("node %d %s%s", c.node, c.How(), c.Last()) }

// close ends the processes: it asks all of them first, and kills those that do not follow, all at the same time.
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
