package launch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"bellows"
	"bellows/core/join"
	"bellows/link/transport"
	"bellows/node"
	"bellows/train"
)

// Part is what a process that was started makes of its arguments, and of where the saved run lies.
type Part struct {
	Job         train.Job
	Saved       train.Saved       // the state to resume from; nil: the job begins
	Checkpoints *node.Checkpoints // where it is saved; nil: nowhere
}

// RunChild reads this process's assignment from standard input, and runs its part of the job until it is released.
// prepare makes the same job as in the process that started it, and finds the saved run if there is one. RunChild
// listens before it prepares, which may take a while: node 0 then knows all addresses, and can send them, while others
// still read their data.
//
// Its context ends with the input, whatever it is doing: a process whose parent was killed does not finish reading a
// file first. Its messages for people go to standard error; the parent keeps the last lines.
//
// Once the process takes part, the end of ctx is a warning: the process will end after the notice of the Processes.
// Node 0, if it has a Control, moves its work and its partitions elsewhere, and releases it. The process continues
// until then, and so does the context that prepare was given: it may get other splits meanwhile, if others die
// (TestWarnedProcessContinues).
func RunChild(ctx context.Context, in io.Reader, out io.Writer, prepare func(ctx context.Context, saved []byte) (Part, error)) error {
	asked := ctx
	parent, letGo := context.WithCancelCause(context.WithoutCancel(ctx))
	defer letGo(nil)
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	unasked := context.AfterFunc(asked, func() { cancel(context.Cause(asked)) })
	defer unasked()
	self, err := takeAssignment(in, out, letGo)
	if err != nil {
		return err
	}
	defer self.listener.Close()
	part, err := prepare(ctx, self.Saved)
	if err != nil {
		return err
	}
	if i := self.Invited; i != nil {
		if err := i.Check(&part.Job, self.Wire); err != nil {
			return err
		}
	}
	conns, err := self.join(ctx, func(sentence string) { fmt.Fprintln(os.Stderr, sentence) })
	if err != nil {
		return err
	}
	if !unasked() { // from here on a warning ends nothing: what prepare made may still read with its context
		return context.Cause(asked)
	}
	warned := make(chan time.Duration, 1)
	defer context.AfterFunc(asked, func() { warned <- self.Notice })()
	return node.Serve(parent, part.Job, self.Cluster, conns,
		node.Options{Era: self.Era, Resume: part.Saved, Checkpoints: part.Checkpoints, Wire: self.Wire, Times: self.Times, Links: self.links(self.known), Alone: true, Warned: warned})
}

// takeAssignment reads this process's assignment from in, listens, and writes the answer to out. letGo is called when
// in ends.
func takeAssignment(in io.Reader, out io.Writer, letGo context.CancelCauseFunc) (*endpoint, error) {
	lines := bufio.NewReader(in)
	var s assignment
	if err := hear(lines, &s); err != nil {
		return nil, err
	}
	c, err := s.listen()
	if err != nil {
		return nil, err
	}
	at := address{Address: c.listener.Address()}
	if c.identity != nil {
		at.Key = c.identity.Public()
	}
	line, err := json.Marshal(at)
	if err == nil {
		_, err = fmt.Fprintf(out, "%s\n", line)
	}
	if err != nil {
		return nil, errors.Join(err, c.listener.Close())
	}
	told := make(chan addresses, 1)
	c.addresses = told
	go func() {
		c.hear(lines, told)
		letGo(errLetGo)
	}()
	return c, nil
}

// hear reads the addresses of the others, again and again, and then the end of the input.
func (c *endpoint) hear(lines *bufio.Reader, told chan<- addresses) {
	var a addresses
	others := len(c.Members)
	if c.Invited != nil {
		others = int(c.Self) // nodes of higher number are not called
	}
	if err := hear(lines, &a); err != nil || len(a.Addresses) != others {
		return
	}
	if c.hold(a) {
		told <- a
	}
	for {
		var a addresses
		if hear(lines, &a) != nil {
			return
		}
		c.hold(a)
	}
}

// hold takes a certificate into use. An invalid one is reported, and the one in use stays: without any, calls from
// other hosts are refused.
func (c *endpoint) hold(a addresses) bool {
	if c.identity == nil {
		return true
	}
	err := c.identity.Hold(a.Certificate, c.Authority)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return err == nil
}

// hear reads a line of JSON. If a person started the process by hand, its error says what the process is for.
func hear(lines *bufio.Reader, to any) error {
	line, err := lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, to)
	}
	if err != nil {
		return bellows.Errorf(bellows.Usage, "take assignment", "standard input", "this process is started by another, which tells it its place: %w", err)
	}
	return nil
}

// join connects the process to all others, once it has their addresses. It gets these when all listen, so the wait for
// the slowest to start is here, and is named (TestAddressesWaitTimesOut). A process that joins while the job runs gets
// them when it is its turn.
func (c *endpoint) join(ctx context.Context, notice func(string)) ([]transport.Conn, error) {
	within := c.Times.Or().Join
	if c.Invited != nil {
		within = join.WaitMillis(c.Times)
	}
	w := newWait(c.Self, c.Times, within, notice)
	bounded, cancel := w.bound(ctx)
	defer cancel()
	for {
		select {
		case a := <-c.addresses:
			c.known = a.Addresses
			if c.Invited != nil {
				c.Invited.Gone = a.Gone
			}
			return c.joinAt(ctx, c.known, notice)
		case <-bounded.Done():
			return nil, bellows.Errorf(bellows.Lost, "join the nodes of the job", "node 0, to say where the others are", "%w", context.Cause(bounded))
		case <-w.next():
			w.name("node 0 to say where the others are")
		}
	}
}

// errLetGo is why a started process ends when its input ends. Its parent may be dead, or may not need it any more: the
// process cannot tell, and ends in both cases.
var errLetGo = errors.New("the process that leads has gone, or let this one go")
