package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bellows"
	"bellows/core/members"
	"bellows/core/shell"
	"bellows/link/fabric"
	"bellows/link/transport"
	"bellows/link/wire"
	"bellows/train"
)

// Serve runs this node's part of a job, as a member of a cluster that fabric.Connect has joined, until node 0
// lets it go. It fails if node 0 is lost before the job has ended.
func Serve(ctx context.Context, job train.Job, c Cluster, conns []transport.Conn, opt Options) error {
	m := fabric.NewMesh(conns)
	p, err := assemble(&job, c, m, opt)
	if err != nil {
		return errors.Join(err, m.HangUp())
	}
	defer p.close()
	if opt.Alone {
		p.computeOnly()
	}
	s := &member{process: p, lost: make(chan fabric.Loss, len(c.Members)), shell: shell.NewMember(p.common, c.Self)}
	p.start(func(n fabric.Loss) { s.lost <- n })
	return s.run(ctx)
}

// member drives the shell of a node that does not lead, and carries out its effects. All of the shell is run's: what happens
// elsewhere comes to it by channels, and what it has to say to actors goes into their queues.
//
// States: ready, when it has said what job it has; serving, until its node is told that the job is over; leaving, while
// its executors close, and gone when the shell says so. It is gone at once when node 0 is lost before the end.
//
// Invariants:
//   - lost has room for every node, each of which is lost once: no reader waits for who keeps the time.
//   - The end of the connections to node 0 is a loss before the node knows that the job is over, and its leave
//     afterwards (TestWithoutNodeZeroTheOthersEndByName, TestANodeWhoseTasksHangLeaves).
//   - The end of the context before that of the job ends serving at once: who started this process has gone, and nobody else
//     will let it go.
//
// Locks: none.
type member struct {
	*process
	lost  chan fabric.Loss // has room for all
	shell *shell.Member
	fx    members.Effects
}

// run keeps the node's time until it is let go. A turn ends with what the shell has to send, before the next thing is waited
// for, and so with its last words before it returns.
func (s *member) run(ctx context.Context) error {
	s.fx.Send(wire.ClientAt(s.cluster.Self), wire.ControllerAt(), s.report()) // who it is
	s.shell.Start(train.Fingerprint(s.job, s.opt.Wire), &s.fx)
	s.awaitTasks()
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	done := ctx.Done()
	for {
		s.bus.Enqueue(&s.fx.Outbox)
		s.bus.Leave()
		if l := s.fx.Leave; l != nil {
			if l.Reason == "" {
				return nil
			}
			return bellows.Errorf(bellows.Lost, "serve", fmt.Sprintf("node %d", s.cluster.Self), "%s", l.Reason)
		}
		s.fx = members.Effects{}
		select {
		case err := <-s.closed:
			if err != nil { // the model is whole all the same
				s.notice(fmt.Sprintf("node %d: an executor did not close: %v", s.cluster.Self, err))
			}
			s.shell.TasksEnded(&s.fx)
		case <-ticker.C:
			s.tick()
		case n := <-s.lost:
			s.shell.Disconnected(n.Node, n.Reason, n.Breach, s.over(), &s.fx)
		case <-done:
			if !s.over() {
				return ctx.Err()
			}
			done = nil // who started this process has let it go
			s.shell.Disconnected(0, ctx.Err().Error(), false, true, &s.fx)
		}
	}
}

// tick tells this node's actors the time. Others run them: who keeps the time waits for nobody.
func (s *member) tick() {
	now := s.millis()
	s.fx.Send(wire.ClientAt(s.cluster.Self), wire.ControllerAt(), s.report())
	if s.runner != nil {
		s.runner.Tick(now)
	}
	s.mesh.Tick()
	s.shell.Tick(now, s.mesh.HeardOf(0), s.over(), s.unfinished(), &s.fx)
}
