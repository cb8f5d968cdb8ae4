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
type fleet struct {
	deaths    chan node.Death // processes that ended before close
	children  []*child
	addresses []string
	waits     sync.WaitGroup
	patience  time.Duration // how long one that is asked to end may take
}

// child is a process.
type child struct {
	node  bellows.NodeID
	cmd   *exec.Cmd
	in    io.WriteCloser
	first first
	tail  tail
	over  chan struct{} // it has ended and was waited for
	shut  atomic.Bool   // its end is wanted
}

// closeWait is how long a process that is asked to end may take.
const closeWait = 3 * time.Second

// startFleet starts a process for every member of the cluster but the one that is assigned, which listens at address.
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

// say writes a line of JSON to the process.
func (c *child) say(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = c.in.Write(append(line, '\n'))
	return err
}

// introduce learns where the processes listen and tells all of them.
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

// answer is the first line that the process says.
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

// join waits for all processes to come, as long as all live. A process that dies while they come is the error; one that dies
// later is left in deaths.
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

// watch gives the joining up when a process dies, and says which.
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

// death says how a process ended, with its last lines.
func (c *child) death() string {
	how := "ended"
	if state := c.cmd.ProcessState; state != nil {
		how = "ended with " + state.String()
	}
	return fmt.Sprintf("node %d (process %d) %s%s", c.node, c.cmd.Process.Pid, how, c.tail.last())
}

// close ends the processes: it asks first, and kills those that do not follow.
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
