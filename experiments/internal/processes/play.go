package processes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"bellows"
	"bellows/experiments/internal/netns"
	"bellows/node"
	"bellows/node/elastic"
	"bellows/node/launch"
	"bellows/policy/choose"
	"bellows/policy/gauge"
	"bellows/policy/shape"
	"bellows/train"
)

// Counts are numbers of nodes of a shape: that only work, that only serve, and that do both.
type Counts struct {
	Workers int `json:"workers"`
	Servers int `json:"servers"`
	Both    int `json:"both,omitempty"`
}

// String returns the counts as the paper has them.
func (c Counts) String() string {
	if c.Both > 0 {
		return fmt.Sprintf("(%d, %d) and %d both", c.Workers, c.Servers, c.Both)
	}
	return fmt.Sprintf("(%d, %d)", c.Workers, c.Servers)
}

// countsOf returns the counts of a shape by what its nodes hold.
func countsOf(l *node.Layout) (c Counts) {
	works, serves := map[bellows.NodeID]bool{}, map[bellows.NodeID]bool{}
	for _, n := range l.Splits {
		works[n] = true
	}
	for _, p := range l.Partitions {
		serves[p.Node] = true
	}
	for n := range works {
		if serves[n] {
			c.Both++
		} else {
			c.Workers++
		}
	}
	c.Servers = len(serves) - c.Both
	return c
}

// errEnough is why a job ends that was measured.
var errEnough = errors.New("the job was measured")

// playMost bounds a run.
const playMost = 10 * time.Minute

// run is one run of the job.
type run struct {
	*Plan
	control *launch.Control
	mu      sync.Mutex
	epochs  []time.Time // ends
	changes []string    // decisions
}

// play runs the job in processes, calls what is to be done with it in a goroutine when its nodes have joined, and ends it.
func (p *Plan) play(advice *elastic.Advice, do func(ctx context.Context, r *run) error) error {
	text, err := json.Marshal(&p.Job)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	members := []node.Member{{}}
	for i := range p.Nodes {
		members = append(members, node.Member{Node: bellows.NodeID(i + 1), Slots: 1, Lanes: 1})
	}
	r := &run{Plan: p, control: &launch.Control{}}
	ctx, stop := context.WithTimeoutCause(context.Background(), playMost, errors.New("the job was not measured in time"))
	defer stop()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	began := make(chan struct{})
	var once sync.Once
	opt := node.Options{OnEpoch: func(train.Epoch, node.Spent) {
		r.mu.Lock()
		r.epochs = append(r.epochs, time.Now())
		r.mu.Unlock()
		once.Do(func() { close(began) })
	}, OnChange: func(c node.Change) {
		if c.Kind == node.Planned {
			r.mu.Lock()
			r.changes = append(r.changes, c.Sentence)
			r.mu.Unlock()
		}
	}}
	done := make(chan error, 1)
	go func() {
		select {
		case <-began:
			done <- do(ctx, r)
		case <-ctx.Done():
			done <- context.Cause(ctx)
		}
		end(errEnough)
	}()
	l := launch.Processes{Program: program, Args: []string{program, Serves, string(text)}, Members: members,
		Transport: "unix", Roam: true, Control: r.control, Advice: advice}
	if p.spaces != nil {
		l.Transport, l.Host, l.Starter = "tcp", p.spaces.Address(0), linked{p.spaces, program, string(text)}
	}
	_, err = l.Run(ctx, p.Job.make(), opt)
	end(nil)
	if fault := <-done; fault != nil {
		return errors.Join(err, fault)
	}
	if bellows.KindOf(err) == bellows.Interrupted {
		return nil
	}
	return err
}

// linked starts each process of a job in its namespace.
type linked struct {
	spaces        netns.Spaces
	program, text string
}

// Start implements launch.Starter.
func (l linked) Start(m node.Member, place, computing int) (launch.Process, error) {
	args := append(l.spaces.Command(int(m.Node)), l.program, Serves, l.text)
	first, err := exec.LookPath(args[0])
	if err != nil {
		return nil, err
	}
	return launch.Local{Program: first, Args: args, Host: l.spaces.Address(int(m.Node))}.Start(m, place, computing)
}

// take makes the job take a shape by moving splits and partitions. All processes can run both.
func (r *run) take(ctx context.Context, s *shape.Shape) error {
	var moves []<-chan error
	for split, to := range s.Splits {
		moved, err := r.control.MoveSplit(ctx, bellows.SplitID(split), to)
		if err != nil {
			return err
		}
		moves = append(moves, moved)
	}
	for partition, to := range s.Partitions {
		ref := bellows.PartitionRef{Partition: bellows.PartitionID(partition)}
		moved, err := r.control.MovePartition(ctx, ref, to.Node)
		if err != nil {
			return err
		}
		moves = append(moves, moved)
	}
	for _, moved := range moves {
		select {
		case err := <-moved:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// seconds waits for so many epochs, and returns their mean.
func (r *run) seconds(ctx context.Context, epochs int) (float64, error) {
	at := func() (time.Time, int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.epochs[len(r.epochs)-1], len(r.epochs)
	}
	begin, from := time.Time{}, -1
	_, now := at()
	for {
		last, n := at()
		if from < 0 && n > now { // the present epoch is not whole
			begin, from = last, n
		}
		if from >= 0 && n >= from+epochs {
			return last.Sub(begin).Seconds() / float64(n-from), nil
		}
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// measured is the job in a shape.
type measured struct {
	seconds float64 // of an epoch
	figures *gauge.Figures
	epoch   gauge.Interval // as the job measures it
}

// measure measures the job in a shape.
func (p *Plan) measure(s *shape.Shape) (m measured, err error) {
	err = p.play(nil, func(ctx context.Context, r *run) error {
		if err := r.take(ctx, s); err != nil {
			return err
		}
		var err error
		if m.seconds, err = r.seconds(ctx, p.epochs()); err != nil {
			return err
		}
		for {
			at, err := r.control.Moment(ctx)
			if err == nil {
				m.figures, m.epoch = at.Figures, at.Epoch
				return nil
			}
			if bellows.KindOf(err) != bellows.Unavailable || ctx.Err() != nil {
				return err
			}
			if err := r.control.AwaitClocks(ctx, 2); err != nil {
				return err
			}
		}
	})
	return m, err
}

// auto lets the job choose its shape, beginning in one.
func (p *Plan) auto(from Counts) (*Auto, error) {
	a := &Auto{From: from}
	advice := &elastic.Advice{Acts: true}
	advice.Ask = choose.Ask{Apart: p.Apart}
	return a, p.play(advice, func(ctx context.Context, r *run) (err error) {
		if err := r.take(ctx, p.shape(from)); err != nil {
			return err
		}
		r.mu.Lock()
		r.changes = nil
		r.mu.Unlock()
		last := ""
		for quiet := 0; quiet < 3; { // until it has stayed three times
			if err := r.control.AwaitClocks(ctx, gauge.ClocksLeast+2); err != nil {
				return err
			}
			l, err := r.control.Layout(ctx)
			if err != nil {
				return err
			}
			a.End = countsOf(&l)
			if name := fmt.Sprint(l.Splits, l.Partitions); name == last {
				quiet++
			} else {
				quiet, last = 0, name
			}
		}
		r.mu.Lock()
		a.Decided = r.changes
		r.mu.Unlock()
		a.Changes = changesOf(a.Decided)
		a.Seconds, err = r.seconds(ctx, p.epochs())
		return err
	})
}

// epochs returns how many epochs are measured in a shape.
func (p *Plan) epochs() int { return max(1, (gauge.ClocksLeast+4)/p.Job.Clocks) }
