package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bellows"
	"bellows/core/heartbeat"
	"bellows/core/shell"
	"bellows/link/fabric"
	"bellows/link/transport"
	"bellows/link/wire"
	"bellows/train"
)

// Serve runs this node's part of a job, as a member of a cluster that fabric.Connect has joined, until node 0
// lets it go. It fails if node 0 is lost before the job has ended. Where the cluster says that this node was invited, it takes
// part from when node 0 lets it: it has no split and no partition until it is given some.
func Serve(ctx context.Context, job train.Job, c Cluster, conns []transport.Conn, opt Options) error {
	m := fabric.NewMesh(conns)
	var p *process
	var err error
	if c.Invited != nil {
		err = c.Invited.Check(&job, opt.Wire)
	}
	if err == nil {
		p, err = assemble(&job, c, m, opt)
	}
	if err != nil {
		return errors.Join(err, m.HangUp())
	}
	defer p.close()
	if opt.Alone {
		p.computeOnly()
	}
	s := &member{process: p, lost: make(chan fabric.Loss), met: make(chan struct{}, 1), follows: make(chan struct{}, 1), left: make(chan struct{})}
	s.fx = s.effects()
	if c.Invited != nil {
		s.shell = shell.NewGuest(p.common, c.Invited.Newcomer)
	} else {
		s.shell = shell.NewMember(p.common, c.Self)
		s.met <- struct{}{} // all others wait for it
	}
	p.start(s.disconnected, s.meets, s.followed)
	defer close(s.left)
	return s.run(ctx)
}

// disconnected handles the end of a node's connections. The mesh calls it on the goroutine of the reader that saw it.
func (s *member) disconnected(n fabric.Loss) {
	select {
	case s.lost <- n:
	case <-s.left:
	}
}

// meets handles the mesh's notification that all other nodes have connected to this node.
func (s *member) meets() {
	select {
	case s.met <- struct{}{}:
	default: // it is known: the node has already joined
	}
}

// followed handles the mesh's notification that another process leads.
func (s *member) followed() {
	select {
	case s.follows <- struct{}{}:
	default: // what is said again then is for the newest
	}
}

// member drives the shell of a node that does not lead, and carries out its effects. The whole shell belongs to run:
// outside events reach it by channels, and its messages to actors go into their queues.
//
// States: joining, if it was invited; ready, when it has announced its job; serving, until the node knows that the job
// has ended; leaving, while its executors close, and gone when the shell says so. It is gone at once if node 0 is lost
// before the end.
//
// Invariants:
//   - A reader that has lost its node waits for the timer's goroutine, which waits for no reader, or for its end
//     (TestNodesEndWithoutNodeZero).
//   - An invited node announces that it is ready when all others have connected to it: messages that they send to it
//     from then on arrive (TestAJobGrowsAndItsSplitsMove).
//   - The end of the connections to node 0 is a loss before the node knows that the job has ended, and its leave
//     afterwards (TestNodesEndWithoutNodeZero, TestANodeWhoseTasksHangLeaves).
//   - If the context ends before the job, serving ends at once: the starter of this process has gone, and nothing else
//     will release it.
//
// Locks: none.
type member struct {
	*process
	lost    chan fabric.Loss
	met     chan struct{} // has room; it may say that it is ready
	follows chan struct{} // has room; another process leads
	left    chan struct{} // closed when run has returned
	shell   *shell.Member
	fx      heartbeat.Effects
}

// noticeMost bounds what a report says, in milliseconds: weeks.
const noticeMost = 1<<31 - 1

// run keeps the node's time until it is let go. A turn ends with what the shell has to send, before the next thing is waited
// for, and so with its last words before it returns.
func (s *member) run(ctx context.Context) error {
	s.fx.Send(wire.ClientAt(s.cluster.Self), wire.ControllerAt(), s.report()) // identifies the node
	s.awaitTasks()
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	done := ctx.Done()
	for {
		s.bus.Enqueue(&s.fx.Outbox)
		s.bus.Leave()
		if l := s.fx.Leave; l != nil {
			if l.Reason == "" {
				s.letGo.Store(true)
				return nil
			}
			return bellows.Errorf(bellows.Lost, "serve", fmt.Sprintf("node %d", s.cluster.Self), "%s", l.Reason)
		}
		s.fx = s.effects()
		select {
		case err := <-s.closed:
			if err != nil { // the model is whole all the same
				s.notice(fmt.Sprintf("node %d: an executor did not close: %v", s.cluster.Self, err))
			}
			s.shell.TasksEnded(&s.fx)
		case <-s.met:
			s.shell.Start(train.Fingerprint(s.job, s.opt.Wire), &s.fx)
		case <-s.follows:
			s.shell.Followed(&s.fx)
			s.fx.Send(wire.ClientAt(s.cluster.Self), wire.ControllerAt(), s.report())
		case notice := <-s.opt.Warned:
			s.goneBy.Store(max(1, s.millis()+min(notice.Milliseconds(), noticeMost)))
			s.fx.Send(wire.ClientAt(s.cluster.Self), wire.ControllerAt(), s.report())
		case <-ticker.C:
			s.tick()
		case n := <-s.lost:
			s.shell.Disconnected(n.Node, n.Reason, n.Breach, s.hasEnded(), &s.fx)
		case <-done:
			if !s.hasEnded() {
				return ctx.Err()
			}
			done = nil // the starter of this process has released it
			s.shell.Disconnected(0, ctx.Err().Error(), false, true, &s.fx)
		}
	}
}

// effects returns empty effects of this era.
func (s *member) effects() heartbeat.Effects {
	return heartbeat.Effects{Outbox: wire.Outbox{Era: s.opt.Era}}
}

// tick sends the time to this node's actors. Other goroutines run them: the timer's goroutine never waits.
func (s *member) tick() {
	now := s.millis()
	s.spare.Measure(now)
	s.fx.Send(wire.ClientAt(s.cluster.Self), wire.ControllerAt(), s.report())
	if s.runner != nil {
		s.runner.Tick(now)
	}
	s.mesh.Tick()
	s.shell.Tick(now, s.mesh.HeardOf(0), s.hasEnded(), s.unfinished(), &s.fx)
}
