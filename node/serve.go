package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bellows"
	"bellows/lease"
	"bellows/train"
	"bellows/transport"
	"bellows/wire"
)

// Serve runs this node's part of a job, as a member of a cluster that Connect has joined, until node 0
// lets it go. It fails if node 0 is lost before the job has ended.
func Serve(ctx context.Context, job train.Job, c Cluster, conns []transport.Conn, opt Options) error {
	m := newMesh(conns)
	defer m.close()
	p, err := assemble(&job, c, m, opt)
	if err != nil {
		return err
	}
	if opt.alone {
		p.computeOnly()
	}
	if opt.LeaseMillis == 0 {
		opt.LeaseMillis = leaseDefault.Milliseconds()
	}
	s := &member{process: p, gone: make(chan error, 2), watch: lease.NewTable(leaderLeases * opt.LeaseMillis)}
	s.watch.Add(0, 0)
	m.start(p.bus, p.newGuard(), p.formats(), s.disconnected)
	return s.run(ctx)
}

// member is the shell of a node that does not lead.
type member struct {
	*process
	gone  chan error // node 0 is lost: its connection has ended, or it is silent
	watch *lease.Table
	heard uint64 // frames from node 0 at the last tick
}

// leaderLeases is how many leases long node 0 may be silent before the others give it up. Without it none of
// them can go on, so that nothing is gained by haste.
const leaderLeases = 3

// disconnected is told by the mesh that a node's connection has ended. Node 0 decides what follows from
// the loss of others; here it is only told.
func (s *member) disconnected(n bellows.NodeID, err error) {
	if n == 0 {
		s.gone <- err
		return
	}
	word := &wire.Severed{Node: n, Reason: fmt.Sprintf("node %d lost its connection to node %d: %v", s.cluster.Self, n, err)}
	if b := (*breach)(nil); errors.As(err, &b) {
		word.Reason, word.Breach = fmt.Sprintf("node %d hears no more of node %d: %v", s.cluster.Self, n, err), true
	}
	s.bus.send(clientAddress(s.cluster.Self), controllerAddress, word)
}

// run keeps the node's time until it is let go.
func (s *member) run(ctx context.Context) error {
	s.bus.send(clientAddress(s.cluster.Self), controllerAddress, s.report()) // who it is
	s.bus.send(clientAddress(s.cluster.Self), controllerAddress, &wire.Ready{})
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	var ended <-chan struct{}
	if s.runner != nil {
		ended = s.runner.Ended()
	}
	var asked chan wire.Envelope // nil until no task runs
	if s.runner == nil {
		asked = s.asked
	}
	for {
		select {
		case <-ended:
			if err := s.runner.Close(); err != nil {
				return err
			}
			ended, asked = nil, s.asked
		case e := <-asked:
			s.surrender(e)
		case <-ticker.C:
			s.tick()
		case err := <-s.gone:
			if s.over() {
				return nil
			}
			return bellows.Errorf(bellows.Lost, "serve", fmt.Sprintf("node %d", s.cluster.Self), "node 0 is gone: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// over reports whether this node has been told that the job is over: then nothing is lost with node 0.
func (s *member) over() bool {
	if s.runner == nil {
		return s.ended.Load()
	}
	select {
	case <-s.runner.Ended():
		return true
	default:
		return false
	}
}

// tick says that this node lives, and watches over node 0, which does the same.
func (s *member) tick() {
	now := s.millis()
	s.bus.send(clientAddress(s.cluster.Self), controllerAddress, s.report())
	if s.runner != nil {
		s.runner.Tick(now)
	} else {
		s.bus.send(clientAddress(s.cluster.Self), controllerAddress, &wire.Beat{})
	}
	s.watch.Tick(now)
	if heard := s.mesh.heard(0); heard != s.heard {
		s.heard = heard
		s.watch.Beat(0, now)
	}
	if _, silent, found := s.watch.Expired(now); found {
		s.watch.Remove(0)
		s.gone <- fmt.Errorf("it has been silent for %.1f s", float64(silent)/1000)
	}
}
