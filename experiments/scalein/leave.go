package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"bellows"
	"bellows/experiments/internal/subject"
	"bellows/node"
	"bellows/node/elastic"
	"bellows/node/launch"
	"bellows/train"
)

// serves is the first argument of a process that is started for another. The second is an order.
const serves = "--serve"

// roles are those of the processes that are started for another.
var roles = map[string]func(args []string) error{serves: serve, takes: take, gives: give}

// serve runs a part of a job.
func serve(args []string) error {
	var o subject.Order
	if err := json.Unmarshal([]byte(strings.Join(args, " ")), &o); err != nil {
		return err
	}
	return launch.RunChild(context.Background(), os.Stdin, os.Stdout, func(context.Context, []byte) (launch.Part, error) {
		run, err := o.Make()
		if err != nil {
			return launch.Part{}, err
		}
		return launch.Part{Job: run.Job}, nil
	})
}

// notice is what nodes have to leave, far more than they need.
const notice = 2 * time.Minute

// errEnough is why a job ends from which nodes have left.
var errEnough = errors.New("the nodes have left")

// leave trains, lets nodes leave, and ends the job.
func (p *plan) leave() (*turn, error) {
	o := p.order()
	run, err := o.Make()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	members := []node.Member{{}}
	for i := range p.first {
		members = append(members, node.Member{Node: bellows.NodeID(i + 1), Slots: 1, Lanes: 1})
	}
	control := &launch.Control{}
	ctx, stop := context.WithTimeoutCause(context.Background(), 2*notice, errors.New("the nodes have not left in time"))
	defer stop()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	t := &turn{}
	trains := make(chan struct{})
	var before time.Time
	var mu sync.Mutex // of moved
	moved := map[bool]time.Time{}
	opt := node.Options{OnEpoch: func(e train.Epoch, _ node.Spent) {
		if e.Number == begun {
			t.Epoch = seconds(before)
			close(trains)
		}
		before = time.Now()
	}, OnChange: func(c node.Change) { // on one goroutine, ahead of what ends the drain
		if c.Kind == node.Moved {
			mu.Lock()
			moved[len(c.Splits) > 0] = time.Now()
			mu.Unlock()
		}
	}}
	left := make(chan error, 1)
	go func() {
		select {
		case <-trains:
			left <- p.drain(ctx, control, t)
		case <-ctx.Done():
			left <- context.Cause(ctx)
		}
		end(errEnough)
	}()
	processes := launch.Processes{Program: p.program, Args: []string{p.program, serves, string(text)}, Members: members, Transport: "unix", Roam: true, Control: control}
	if p.link != "" {
		processes.Transport, processes.Host, processes.Starter = "tcp", addressOf(0), linked{p, string(text)}
	}
	_, err = processes.Run(ctx, run.Job, opt)
	if err == nil && context.Cause(ctx) == nil {
		err = fmt.Errorf("the job was over after %d epochs, before nodes could leave", most)
	}
	end(nil)
	err = errors.Join(err, <-left)
	mu.Lock()
	defer mu.Unlock()
	t.Splits, t.Partitions = moved[true].Sub(t.asked).Seconds(), moved[false].Sub(t.asked).Seconds()
	return t, err
}

// drain makes the last nodes leave, all at once.
func (p *plan) drain(ctx context.Context, c *launch.Control, t *turn) error {
	type exit struct {
		at     float64
		result elastic.Result
		err    error
	}
	exits := make(chan exit, p.first-p.last)
	asked := time.Now()
	t.asked = asked
	for n := p.last + 1; n <= p.first; n++ {
		go func() {
			r, err := c.Drain(ctx, bellows.NodeID(n), notice)
			exits <- exit{seconds(asked), r, err}
		}()
	}
	var all error
	for range cap(exits) {
		e := <-exits
		all = errors.Join(all, e.err)
		t.Exits = append(t.Exits, e.at)
		t.Bytes += e.result.Bytes
		t.Steps += e.result.Moved
	}
	slices.Sort(t.Exits)
	t.Seconds = t.Exits[len(t.Exits)-1]
	return all
}

// copy returns the time of a plain copy of so many bytes.
func (p *plan) copy(bytes int64) (float64, error) {
	if p.link != "" {
		return p.copyOver(bytes)
	}
	return copyOf(bytes, p.first-p.last)
}

// copyOf returns the time of a plain copy of so many bytes through so many pairs of sockets at once, into memory that
// holds them.
func copyOf(bytes int64, pairs int) (float64, error) {
	ended := make(chan error, 2*pairs)
	each := max(1, int(bytes)/pairs)
	began := time.Now()
	for range pairs {
		ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		if err != nil {
			return 0, err
		}
		from, to := os.NewFile(uintptr(ends[0]), "sender"), os.NewFile(uintptr(ends[1]), "receiver")
		go func() {
			_, err := from.Write(make([]byte, each))
			ended <- errors.Join(err, from.Close())
		}()
		go func() {
			_, err := io.ReadFull(to, make([]byte, each))
			ended <- errors.Join(err, to.Close())
		}()
	}
	var all error
	for range cap(ended) {
		all = errors.Join(all, <-ended)
	}
	return seconds(began), all
}
