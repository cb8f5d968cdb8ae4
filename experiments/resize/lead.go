package main

import (
	"bufio"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"bytes"

	"bellows"
	"bellows/experiments/internal/subject"
	"bellows/node"
	"bellows/node/launch"
	"bellows/train"
)

// The first argument of a process that is started for another. The second is a led.
const (
	leads  = "--lead"
	serves = "--serve"
)

// led is a job as its leader receives it.
type led struct {
	Order   subject.Order
	Item    time.Duration // what an item takes at least
	Reads   time.Duration // what a process takes at least to read its data, as from storage that is far away
	Serial  bool          // those that join come one after the other
	Workers int           // at first
	Image   string        // file to save to when it is asked to stop, or
	Resume  bool          // to continue from
}

// said is a line of the process that leads. One field of it is set.
type said struct {
	Epoch  int            `json:",omitempty"` // has ended
	Joined bellows.NodeID `json:",omitempty"` // takes part
	Moved  int            `json:",omitempty"` // splits, all that were to
	Saved  bool           `json:",omitempty"`
}

// job makes the job, paced.
func (l *led) job() (train.Job, error) {
	time.Sleep(l.Reads)
	run, err := l.Order.Make()
	if err != nil {
		return train.Job{}, err
	}
	job := run.Job
	made := job.NewExecutor
	job.NewExecutor = func(s bellows.SplitID) (train.Executor, error) {
		e, err := made(s)
		return paced{e, l.Item}, err
	}
	return job, nil
}

// paced is an executor on a slow machine: its tasks rest, on their slots, when they have computed and before what they have changed leaves.
type paced struct {
	train.Executor
	item time.Duration
}

// RunTask implements train.Executor.
func (p paced) RunTask(t *train.Task) error {
	err := p.Executor.RunTask(t)
	time.Sleep(time.Duration(t.Items().Len()) * p.item)
	return err
}

// Close implements io.Closer.
func (p paced) Close() error {
	if c, ok := p.Executor.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// serve runs a part of a job.
func (l *led) serve() error {
	return launch.RunChild(context.Background(), os.Stdin, os.Stdout, func(_ context.Context, saved []byte) (launch.Part, error) {
		job, err := l.job()
		if err != nil || saved == nil {
			return launch.Part{Job: job}, err
		}
		image, err := load(string(saved))
		return launch.Part{Job: job, Saved: image}, err
	})
}

// load reads a saved run.
func load(path string) (*train.Image, error) {
	saved, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	image := new(train.Image)
	return image, gob.NewDecoder(bytes.NewReader(saved)).Decode(image)
}

// lead runs the job with its workers as other processes, and obeys what in says.
func (l *led) lead(in io.Reader, out io.Writer) error {
	job, err := l.job()
	if err != nil {
		return err
	}
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	members := []node.Member{{Lanes: 1}}
	for i := range l.Workers {
		members = append(members, node.Member{Node: bellows.NodeID(i + 1), Slots: 1})
	}
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	v := &voice{out: out}
	opt := node.Options{OnEpoch: func(e train.Epoch, _ node.Spent) { v.say(said{Epoch: e.Number}) }}
	p := launch.Processes{Program: program, Args: []string{program, serves, string(text)}, Members: members, Transport: "unix", Roam: true, Control: &launch.Control{}}
	if l.Resume {
		p.Saved = []byte(l.Image)
		if opt.Resume, err = load(l.Image); err != nil {
			return err
		}
	}
	go l.obey(ctx, in, v, p.Control, stop)
	r, err := p.Run(ctx, job, opt)
	switch {
	case err != nil:
		return err
	case v.err != nil:
		return v.err
	case r.Image == nil:
		return nil
	}
	if cause := context.Cause(ctx); !errors.Is(cause, errStop) {
		return cause
	}
	var image bytes.Buffer
	if err := gob.NewEncoder(&image).Encode(r.Image); err != nil {
		return err
	}
	if err := write(l.Image, image.Bytes()); err != nil {
		return err
	}
	v.say(said{Saved: true})
	return v.err
}

// write writes a file that is on the disk then.
func write(path string, text []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

var errStop = errors.New("told to stop")

// obey carries out the lines of in, until they end.
func (l *led) obey(ctx context.Context, in io.Reader, v *voice, c *launch.Control, stop context.CancelCauseFunc) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var more int
		switch line := lines.Text(); {
		case line == "stop":
			stop(errStop)
		case strings.HasPrefix(line, "grow "):
			if _, err := fmt.Sscanf(line, "grow %d", &more); err != nil {
				stop(err)
			} else if err := l.grow(ctx, c, v, more); err != nil {
				stop(err)
			}
		default:
			stop(fmt.Errorf("there is no command %q", line))
		}
	}
}

// grow adds workers, all at the same time unless configured otherwise, and gives each its even share of the splits as
// soon as it takes part. Moves may be under way for long, so the future owner of each split is kept here.
func (l *led) grow(ctx context.Context, c *launch.Control, v *voice, more int) error {
	now, err := c.Splits(ctx)
	if err != nil {
		return err
	}
	type arrival struct {
		node bellows.NodeID
		err  error
	}
	arrivals := make(chan arrival, more)
	add := func() {
		n, err := c.Add(ctx, 1, 0)
		arrivals <- arrival{n, err}
	}
	for range more {
		if l.Serial {
			break
		}
		go add()
	}
	var moves []<-chan error
	for range more {
		if l.Serial {
			add()
		}
		a := <-arrivals
		n := a.node
		if a.err != nil {
			return a.err
		}
		v.say(said{Joined: n})
		for range len(now) / (l.Workers + more) {
			s := last(now)
			now[s] = n
			moved, err := c.MoveSplit(ctx, bellows.SplitID(s), n)
			if err != nil {
				return err
			}
			moves = append(moves, moved)
		}
	}
	for _, moved := range moves {
		if err := <-moved; err != nil {
			return err
		}
	}
	v.say(said{Moved: len(moves)})
	return nil
}

// last returns the last split of the node that has most.
func last(now []bellows.NodeID) (split int) {
	count := map[bellows.NodeID]int{}
	for _, n := range now {
		count[n]++
	}
	most := -1
	for s, n := range now {
		if count[n] >= most {
			split, most = s, count[n]
		}
	}
	return split
}

// voice is where the process says its lines.
type voice struct {
	mu  sync.Mutex
	out io.Writer
	err error // that no line could be written
}

func (v *voice) say(s said) {
	v.mu.Lock()
	defer v.mu.Unlock()
	text, err := json.Marshal(s)
	if err == nil {
		_, err = fmt.Fprintf(v.out, "%s\n", text)
	}
	v.err = errors.Join(v.err, err)
}
