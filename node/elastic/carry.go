package elastic

import (
	"context"
	"time"

	"bellows"
	"bellows/api"
	"bellows/node"
	"bellows/policy/plan"
	"bellows/policy/reshape"
)

// answerWithin limits a look at the job, or a command to it.
const answerWithin = 10 * time.Second

// begin starts an op on a separate goroutine. Its caller holds the lock. After Close the machine starts none.
func (s *Shaper) begin(op reshape.Op) {
	ctx, abandon := context.WithCancel(s.ctx)
	s.under[op.ID] = abandon
	s.ops.Go(func() {
		end := s.carry(ctx, &op)
		abandon()
		s.ended(op.ID, end)
	})
}

// ended tells the machine the end of an op, with the job as it is then.
func (s *Shaper) ended(id reshape.OpID, end reshape.End) {
	ctx, cancel := context.WithTimeout(s.ctx, answerWithin)
	defer cancel()
	layout, err := s.job.Layout(ctx)
	s.step(func(m *reshape.Machine, fx *reshape.Effects) {
		delete(s.under, id)
		var f reshape.Facts // with time zero, which the machine ignores
		if err == nil {
			f = s.facts(&layout)
		}
		m.Ended(id, end, f, fx)
		if bellows.KindOf(err) == bellows.Interrupted && err != nil {
			m.Stop(err.Error(), fx)
		}
	})
}

// carry carries out an op, and returns when it has succeeded or failed. An op whose context ends is abandoned as soon
// as possible.
func (s *Shaper) carry(ctx context.Context, op *reshape.Op) (end reshape.End) {
	var err error
	switch {
	case op.Kind == plan.Add:
		end.Node, err = s.job.Add(ctx, op.Slots, s.lanes)
	case op.Kind == plan.Delete:
		err = s.job.Remove(ctx, op.Node)
	case op.Split >= 0:
		err = s.moveSplit(ctx, bellows.SplitID(op.Split), op.Node)
	default:
		err = s.movePartition(ctx, op.Partition, op.Node, op.Urgent)
	}
	if err != nil {
		kind := bellows.KindOf(err)
		end.Err, end.Final = err.Error(), kind == bellows.Config || kind == bellows.Bug
	}
	return end
}

func (s *Shaper) moveSplit(ctx context.Context, split bellows.SplitID, to bellows.NodeID) error {
	moved, err := s.job.MoveSplit(ctx, split, to)
	if err != nil {
		return err
	}
	return await(ctx, moved, func(ctx context.Context) error { return s.job.StaySplit(ctx, split) })
}

func (s *Shaper) movePartition(ctx context.Context, number int, to bellows.NodeID, urgent bool) error {
	s.mu.Lock()
	ref := s.refs[number]
	s.mu.Unlock()
	move := s.job.MovePartition
	if urgent {
		move = s.job.HurryPartition
	}
	moved, err := move(ctx, ref, to)
	if err != nil {
		return err
	}
	return await(ctx, moved, func(ctx context.Context) error { return s.job.StayPartition(ctx, ref) })
}

// await waits until something has moved. If ctx ends, it stays where it is, unless it has moved already.
func await(ctx context.Context, moved <-chan error, stay func(context.Context) error) error {
	select {
	case err := <-moved:
		return err
	case <-ctx.Done():
	}
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWithin)
	defer cancel()
	if err := stay(back); err != nil {
		return err
	}
	select {
	case err := <-moved: // it has gone, or it stays
		return err
	case <-back.Done():
		return context.Cause(back)
	}
}

// wake sets the machine's timer if the machine has asked for one. Its caller holds the lock.
func (s *Shaper) wake() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if next, needed := s.machine.Next(); needed && !s.closed {
		s.timer = time.AfterFunc(time.Duration(next)*time.Millisecond, func() { s.step(func(*reshape.Machine, *reshape.Effects) {}) })
	}
}

// change returns a note in the form for the job's user.
func (s *Shaper) change(n *reshape.Note) node.Change {
	c := node.Change{Kind: node.Planned, Bytes: n.Bytes, Seconds: float64(n.Millis) / 1000, Sentence: n.Sentence}
	for i := range n.Steps {
		c.Steps = append(c.Steps, n.Steps[i].String())
	}
	return c
}

// remark reports something that no caller waits for.
func (s *Shaper) remark(sentence string) {
	s.decide(node.Change{Kind: node.Planned, Sentence: sentence})
}

// decide reports a decision.
func (s *Shaper) decide(c node.Change) {
	s.leave(c)
	s.notify()
}

// leave leaves a decision to the next report.
func (s *Shaper) leave(c node.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decided = append(s.decided, c)
	s.changed = true
}

// notify reports news to the job, one report at a time, so that decisions are reported in their order. A job that has
// ended gets no reports.
func (s *Shaper) notify() {
	for {
		s.mu.Lock()
		if s.telling || !s.changed {
			s.mu.Unlock()
			return
		}
		s.telling, s.changed = true, false
		decided := s.decided
		s.decided = nil
		p := s.progress()
		s.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), answerWithin)
		err := s.job.Planned(ctx, p, decided)
		cancel()
		s.mu.Lock()
		s.telling = false
		if err != nil {
			s.changed = false
		}
		s.mu.Unlock()
	}
}

// progress returns the progress of the current plan; nil if nothing is wanted. Its caller holds the lock.
func (s *Shaper) progress() *api.Plan {
	p, wanted := s.machine.Progress()
	if !wanted {
		return nil
	}
	return &api.Plan{Reason: p.Reason, Steps: p.Steps, Of: p.Of, Bytes: p.Bytes, All: p.All, Seconds: float64(p.SinceMillis) / 1000, Rate: p.Rate}
}

// Close answers all requests, abandons ops in progress, and returns when those have ended.
func (s *Shaper) Close() {
	s.step(func(m *reshape.Machine, fx *reshape.Effects) {
		s.closed = true
		m.Stop("the job is over", fx)
	})
	s.end()
	s.ops.Wait()
}
