package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bellows"
	"bellows/link/fabric"
	"bellows/link/transport"
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
	patience time.Duration // how long one that is asked to end may take

	mu        sync.Mutex
	children  []*child
	addresses []string // by node
	closed    bool
}

// child is a process, as its parent sees it: RunChild is its own side. It is alive until over is closed; shut is set before
// its end is asked for, so that the end is then no death.
type child struct {
	node  bellows.NodeID
	cmd   *exec.Cmd
	in    io.WriteCloser
	first first
	tail  tail
	over  chan struct{} // it has ended and was waited for
	shut  atomic.Bool   // its end is wanted
}

// closeWait is how long a process that is asked to end may take. It has nothing left to save: the job is over, or lost.
const closeWait = 3 * time.Second

// startFleet starts a process for every member of the cluster but the one that is assigned, which listens at address. When it
// returns each knows where all others are.
func startFleet(ctx context.Context, l Processes, own assignment, address string, notice func(string)) (*fleet, error) {
	f := &fleet{deaths: make(chan node.Death, len(own.Members)), ending: make(chan struct{}), addresses: make([]string, len(own.Members)), patience: closeWait}
	f.addresses[own.Self] = address
	err := f.start(l.Program, l.Args, own, l.Roam)
	if err == nil {
		err = f.introduce(ctx, newWait(own.Self, own.Times, own.Times.Or().Start, notice))
	}
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// start starts the processes, each on its share of the processors where it computes and does not roam: under BSP all of them
// sleep and wake together, and where the system puts one in a hurry, two may share a processor while another idles. Nodes
// that only hold tables go anywhere. A process that computes may thus be short of a processor that something else on the
// machine takes: --pin=false is for those.
func (f *fleet) start(program string, args []string, each assignment, roam bool) error {
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
		if err := f.startOne(program, args, each, place, computing); err != nil {
			return err
		}
	}
	return nil
}

// startOne starts a process, in its place among so many that compute, and tells it who it is.
func (f *fleet) startOne(program string, args []string, each assignment, place, computing int) error {
	c := &child{node: each.Self, cmd: exec.Command(program), over: make(chan struct{}), first: first{line: make(chan []byte, 1)}}
	c.cmd.Args, c.cmd.Stdout, c.cmd.Stderr, c.cmd.SysProcAttr = args, &c.first, &c.tail, apart()
	c.cmd.Env = append(os.Environ(), started+"=1")
	in, err := c.cmd.StdinPipe()
	if err == nil {
		c.in = in
		err = f.enlist(c, place, computing)
	}
	if err != nil {
		if c.in != nil {
			err = errors.Join(err, c.in.Close())
		}
		return bellows.Errorf(bellows.Lost, "start a process", c.name(), "%w", err)
	}
	if err := c.say(each); err != nil {
		return bellows.Errorf(bellows.Lost, "start a process", c.name(), "%w%s", err, c.tail.last())
	}
	return nil
}

// enlist starts a process as one of the fleet.
func (f *fleet) enlist(c *child, place, computing int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errors.New("the job is over")
	}
	if err := startPlaced(c.cmd, place, computing); err != nil {
		return err
	}
	f.children = append(f.children, c)
	f.waits.Go(func() { f.wait(c) })
	return nil
}

// add starts a process that is invited, and tells it where those of lower number listen. It has the whole machine: shares are
// of those that the job began with. What it waits for is named by node 0, which waits for the process to join.
func (f *fleet) add(ctx context.Context, l Processes, own assignment, i node.Invitation) error {
	each := own
	each.Cluster = own.Cluster.Accept(i)
	if err := f.startOne(l.Program, l.Args, each, -1, 0); err != nil {
		return err
	}
	c := f.child(i.Node)
	if c == nil {
		return errors.New("the job is over")
	}
	w := newWait(own.Self, own.Times, own.Times.Or().Start, func(string) {})
	ctx, cancel := w.bound(ctx)
	defer cancel()
	at, err := c.listens(ctx, w)
	if err != nil {
		return err
	}
	f.mu.Lock()
	for len(f.addresses) <= int(i.Node) {
		f.addresses = append(f.addresses, "")
	}
	f.addresses[i.Node] = at
	below := slices.Clone(f.addresses[:i.Node])
	f.mu.Unlock()
	return c.told(below)
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
	late := time.AfterFunc(f.patience, c.kill)
	<-c.over
	late.Stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.children = slices.DeleteFunc(f.children, func(o *child) bool { return o == c })
}

func (c *child) name() string { return fmt.Sprintf("node %d", c.node) }

// say writes a line of JSON to the process. A line is shorter than a pipe's buffer: a process that does not read holds
// nobody up.
func (c *child) say(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = c.in.Write(append(line, '\n'))
	return err
}

// introduce learns where the processes listen and tells all of them. They are asked one after the other, which costs nothing:
// what the later ones say waits in a buffer, and the last to come is waited for in any order.
func (f *fleet) introduce(ctx context.Context, w *wait) error {
	ctx, cancel := w.bound(ctx)
	defer cancel()
	for _, c := range f.children {
		at, err := c.listens(ctx, w)
		if err != nil {
			return err
		}
		f.addresses[c.node] = at
	}
	for _, c := range f.children {
		if err := c.told(f.addresses); err != nil {
			return err
		}
	}
	return nil
}

// listens is where the process says that it does.
func (c *child) listens(ctx context.Context, w *wait) (string, error) {
	line, err := c.answer(ctx, w)
	if err != nil {
		return "", err
	}
	var a address
	if err := json.Unmarshal(line, &a); err != nil {
		return "", bellows.Errorf(bellows.Lost, "start a process", c.name(), "it says %q and not where it listens", line)
	}
	return a.Address, nil
}

// told tells the process where others listen.
func (c *child) told(list []string) error {
	if err := c.say(addresses{list}); err != nil {
		return bellows.Errorf(bellows.Lost, "start a process", c.name(), "%w%s", err, c.tail.last())
	}
	return nil
}

// answer is the first line that the process says. One that has died instead is named with its last lines; it has left a word
// in deaths, too, which nobody reads any more.
func (c *child) answer(ctx context.Context, w *wait) ([]byte, error) {
	for {
		select {
		case line := <-c.first.line:
			return line, nil
		case <-c.over:
			return nil, bellows.Errorf(bellows.Lost, "start a process", c.name(), "%s", c.death())
		case <-ctx.Done():
			return nil, bellows.Errorf(bellows.Lost, "start a process", c.name(), "it has not said where it listens: %w%s", context.Cause(ctx), c.tail.last())
		case <-w.next():
			w.name(c.name() + " to say where it listens")
		}
	}
}

// join waits for all processes to come, as long as all live. A process that dies while they come is the error, at once: nobody
// waits a minute for the dead. One that dies later is left in deaths. Which of the two a death is is decided in one place,
// by watch, so that it is never both or neither.
func (f *fleet) join(ctx context.Context, connect func(ctx context.Context) ([]transport.Conn, error)) ([]transport.Conn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	joined, watched := make(chan struct{}), make(chan *node.Death, 1)
	go func() { watched <- f.watch(joined, cancel) }()
	conns, err := connect(ctx)
	close(joined)
	if dead := <-watched; dead != nil {
		return nil, errors.Join(bellows.Errorf(bellows.Lost, "start the job", "", "%s", dead.Reason), fabric.HangUp(conns))
	}
	return conns, err
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

// wait reports the end of a process, if nobody asked for it. An error of Wait that is no exit status, as one of a pipe, is
// added to what the process said last.
func (f *fleet) wait(c *child) {
	err := c.cmd.Wait()
	close(c.over)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.tail.note(err.Error())
	}
	if !c.shut.Load() {
		select {
		case f.deaths <- node.Death{Node: c.node, Reason: c.death()}:
		case <-f.ending:
		}
	}
}

// death says how a process ended, with its last lines: the reason is mostly there, in the words of the process itself.
func (c *child) death() string {
	how := "ended"
	if state := c.cmd.ProcessState; state != nil {
		how = "ended with " + state.String()
	}
	return fmt.Sprintf("node %d (process %d) %s%s", c.node, c.cmd.Process.Pid, how, c.tail.last())
}

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
			c.kill()
		}
	})
	f.waits.Wait()
	late.Stop()
}

// end asks a process to end, once.
func (c *child) end() {
	if c.shut.Swap(true) {
		return
	}
	if err := c.in.Close(); err != nil {
		c.tail.note(err.Error())
	}
}

// kill ends a process that does not follow.
func (c *child) kill() {
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.tail.note(err.Error())
	}
}
