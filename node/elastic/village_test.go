package elastic_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"bellows"
	"bellows/core/liveness"
	"bellows/internal/require"
	"bellows/link/fabric"
	"bellows/link/transport"
	"bellows/link/transport/mem"
	"bellows/node"
	"bellows/node/elastic"
	"bellows/train"
	"bellows/train/traintest"
)

// village is a job whose nodes are all in this process, joined by memory. Commands are given one after the other while
// it trains. It runs only so many clocks after each move that begins, so that it does not end before all are given.
type village struct {
	t        *testing.T
	job      func() train.Job
	most     bellows.Clock // clocks that a move may take
	network  *mem.Network
	commands node.Commands
	shaper   *elastic.Shaper
	members  []node.Member
	others   sync.WaitGroup

	mu        sync.Mutex // guards what follows
	gate      *sync.Cond // of all of it
	warn      map[bellows.NodeID]chan time.Duration
	changes   []node.Change
	addresses map[bellows.NodeID]string
	at, until bellows.Clock // of split 0: where it is, and how far it may go
	begun     chan struct{} // closed when the first task has begun
}

func newVillage(t *testing.T, job func() train.Job, most bellows.Clock, members ...node.Member) *village {
	v := &village{t: t, job: job, most: most, network: mem.New(), members: members, addresses: map[bellows.NodeID]string{}, warn: map[bellows.NodeID]chan time.Duration{}, begun: make(chan struct{})}
	v.gate = sync.NewCond(&v.mu)
	return v
}

func (v *village) listen(n bellows.NodeID) (transport.Transport, transport.Listener) {
	tr, err := v.network.Join(transport.Config{Self: transport.Hello{Node: n, Token: transport.Token{1}}})
	require.NoError(v.t, err)
	l, err := tr.Listen(fmt.Sprintf("mem:%d", n))
	require.NoError(v.t, err)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.addresses[n] = l.Address()
	return tr, l
}

// below returns the addresses of the nodes of lower number than n.
func (v *village) below(n bellows.NodeID) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := make([]string, n)
	for i := range list {
		list[i] = v.addresses[bellows.NodeID(i)]
	}
	return list
}

// come makes an invited node come, which serves until it is let go.
func (v *village) come(ctx context.Context, i node.Invitation) error {
	v.others.Go(func() {
		if err := i.Await(ctx); err != nil {
			v.t.Errorf("node %d: %v", i.Node, err)
			return
		}
		c := node.Cluster{Members: v.members}.Accept(i)
		tr, l := v.listen(i.Node)
		defer l.Close()
		warned := v.warned(i.Node)
		conns, err := fabric.Connect(context.Background(), tr, l, c.Joining(), v.below(i.Node), liveness.Times{}, func(string) {})
		if err == nil {
			err = node.Serve(context.Background(), v.gated(), c, conns, node.Options{Links: &fabric.Links{Transport: tr, Listener: l, Addresses: v.below(i.Node)}, Warned: warned})
		}
		if err != nil {
			v.t.Errorf("node %d: %v", i.Node, err)
		}
	})
	return nil
}

// gated returns the job, whose split 0 waits until it may continue.
func (v *village) gated() train.Job {
	return traintest.Before(v.job(), func(t *train.Task) {
		if t.Split() == 0 {
			v.pass(t.Clock())
		}
	})
}

func (v *village) pass(c bellows.Clock) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.at == bellows.NoClock {
		close(v.begun)
	}
	v.at = max(v.at, c)
	for c > v.until {
		v.gate.Wait()
	}
}

// free lets split 0 run for so many clocks more.
func (v *village) free(clocks bellows.Clock) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.until = v.at + clocks
	v.gate.Broadcast()
}

// freeing lets the job run while something moves, which happens between two clocks.
type freeing struct {
	elastic.Job
	village *village
}

func (f *freeing) MoveSplit(ctx context.Context, s bellows.SplitID, to bellows.NodeID) (<-chan error, error) {
	moved, err := f.Job.MoveSplit(ctx, s, to)
	f.village.free(f.village.most)
	return moved, err
}

func (v *village) changed(c node.Change) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.changes = append(v.changes, c)
	v.gate.Broadcast()
}

// await waits for a reported change for which what returns true.
func (v *village) await(what func(node.Change) bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for !slices.ContainsFunc(v.changes, what) {
		v.gate.Wait()
	}
}

// warned returns where a node is warned that its process will be gone.
func (v *village) warned(n bellows.NodeID) chan time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.warn[n] == nil {
		v.warn[n] = make(chan time.Duration, 1)
	}
	return v.warn[n]
}

func (f *freeing) MovePartition(ctx context.Context, p bellows.PartitionRef, to bellows.NodeID) (<-chan error, error) {
	moved, err := f.Job.MovePartition(ctx, p, to)
	f.village.free(f.village.most)
	return moved, err
}

func (f *freeing) HurryPartition(ctx context.Context, p bellows.PartitionRef, to bellows.NodeID) (<-chan error, error) {
	moved, err := f.Job.HurryPartition(ctx, p, to)
	f.village.free(f.village.most)
	return moved, err
}

// run leads the job to its end, while the script is followed.
func (v *village) run(script []func(ctx context.Context) error) (*node.Result, error) {
	tr, l := v.listen(0)
	v.at, v.until = bellows.NoClock, 0
	v.shaper = elastic.New(&freeing{elastic.NewJob(&v.commands, v.come), v}, elastic.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	followed := make(chan error, 1)
	go func() {
		var err error
		<-v.begun
		for i, command := range script {
			if e := command(ctx); e != nil {
				err = errors.Join(err, fmt.Errorf("command %d: %w", i, e))
			}
		}
		v.free(1 << 30)
		followed <- err
	}()
	r, err := node.Lead(context.Background(), v.gated(), node.Cluster{Members: v.members}, nil,
		node.Options{Commands: &v.commands, Links: &fabric.Links{Transport: tr, Listener: l}, OnChange: v.changed, OnWarning: v.shaper.Warn})
	cancel()
	err = errors.Join(err, <-followed, l.Close())
	v.shaper.Close()
	v.others.Wait()
	return r, err
}

// equal holds a run's result against that of a quiet one.
func (v *village) equal(r, quiet *node.Result) {
	v.t.Helper()
	for i := range quiet.Tables {
		if !slices.Equal(r.Tables[i], quiet.Tables[i]) {
			v.t.Errorf("table %d is not that of a job in which no node came or went", i)
		}
	}
	if r.Audit.Sent == 0 || r.Audit.Disagreements(true) != nil {
		v.t.Errorf("audit %+v", r.Audit)
	}
}
