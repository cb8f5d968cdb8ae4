package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bellows"
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

// first is the first line of a process's standard output; what follows is dropped.
type first struct {
	seen []byte
	line chan []byte
	done bool
}

func (w *first) Write(b []byte) (int, error) {
	if !w.done {
		w.seen = append(w.seen, b...)
		if i := bytes.IndexByte(w.seen, '\n'); i >= 0 {
			w.line <- w.seen[:i]
			w.done = true
		}
	}
	return len(b), nil
}

// tail is the end of a process's standard error.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// tailMost is how much of it is kept, in bytes, and shown, in lines.
const (
	tailMost  = 16 << 10
	tailLines = 8
)

func (w *tail) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, b...)
	if n := len(w.text) - tailMost; n > 0 {
		w.text = append(w.text[:0], w.text[n:]...)
	}
	return len(b), nil
}

func (w *tail) note(line string) {
	if _, err := w.Write([]byte(line + "\n")); err != nil {
		panic(err) // it never fails
	}
}

// last is the last lines, as the end of a sentence.
func (w *tail) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(w.text)), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return ""
	}
	lines = lines[max(0, len(lines)-tailLines):]
	for i := range lines {
		lines[i] = bellows.Printable(lines[i], tailMost)
	}
	return "; its last lines:\n  " + strings.Join(lines, "\n  ")
}
