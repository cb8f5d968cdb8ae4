package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
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
// Locks: none. children and addresses are who starts the fleet's, and do not change when that has returned.
type fleet struct {
	deaths    chan node.Death // processes that ended before close
	children  []*child
	addresses []string
	waits     sync.WaitGroup
	patience  time.Duration // how long one that is asked to end may take
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
	f := &fleet{deaths: make(chan node.Death, len(own.Members)), addresses: make([]string, len(own.Members)), patience: closeWait}
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
		c := &child{node: m.Node, cmd: exec.Command(program), over: make(chan struct{}), first: first{line: make(chan []byte, 1)}}
		c.cmd.Args, c.cmd.Stdout, c.cmd.Stderr, c.cmd.SysProcAttr = args, &c.first, &c.tail, apart()
		c.cmd.Env = append(os.Environ(), started+"=1")
		var err error
		if c.in, err = c.cmd.StdinPipe(); err == nil {
			err = startPlaced(c.cmd, place, computing)
		}
		if err != nil {
			if c.in != nil {
				err = errors.Join(err, c.in.Close())
			}
			return bellows.Errorf(bellows.Lost, "start a process", c.name(), "%w", err)
		}
		f.children = append(f.children, c)
		f.waits.Go(func() { f.wait(c) })
		if err := c.say(each); err != nil {
			return bellows.Errorf(bellows.Lost, "start a process", c.name(), "%w%s", err, c.tail.last())
		}
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
	_, err = c.in.Write(append(line, '\n'))
	return err
}

// introduce learns where the processes listen and tells all of them. They are asked one after the other, which costs nothing:
// what the later ones say waits in a buffer, and the last to come is waited for in any order.
func (f *fleet) introduce(ctx context.Context, w *wait) error {
	ctx, cancel := w.bound(ctx)
	defer cancel()
	for _, c := range f.children {
		line, err := c.answer(ctx, w)
		if err != nil {
			return err
		}
		var a address
		if err := json.Unmarshal(line, &a); err != nil {
			return bellows.Errorf(bellows.Lost, "start a process", c.name(), "it says %q and not where it listens", line)
		}
		f.addresses[c.node] = a.Address
	}
	for _, c := range f.children {
		if err := c.say(addresses{f.addresses}); err != nil {
			return bellows.Errorf(bellows.Lost, "start a process", c.name(), "%w%s", err, c.tail.last())
		}
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
		f.deaths <- node.Death{Node: c.node, Reason: c.death()}
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
	for _, c := range f.children {
		c.shut.Store(true)
		if err := c.in.Close(); err != nil {
			c.tail.note(err.Error())
		}
	}
	late := time.AfterFunc(f.patience, func() {
		for _, c := range f.children {
			if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				c.tail.note(err.Error())
			}
		}
	})
	f.waits.Wait()
	late.Stop()
}
