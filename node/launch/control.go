package launch

import (
	"context"
	"sync/atomic"
	"time"

	"bellows"
	"bellows/node"
	"bellows/node/elastic"
)

// Control changes a job in processes while it runs. The zero Control is ready for one Run.
type Control struct {
	node.Commands
	grow atomic.Pointer[grower]
	over atomic.Bool
}

// Over reports whether the Run has ended, or is about to: what has not been done is of no use any more, and nobody is lost by it.
func (c *Control) Over() bool { return c.over.Load() }

// grower is what a Run has for its Control.
type grower struct {
	fleet  *fleet
	of     Processes
	own    assignment
	shaper *elastic.Shaper
}

// Add starts a process that joins the job, with so many compute slots and lanes, and returns its node when it takes part. An
// error is why it does not, with the process's last lines if it has ended: the process is gone then, and the job goes on as it was.
func (c *Control) Add(ctx context.Context, slots, lanes int) (bellows.NodeID, error) {
	var g *grower
	n, err := c.Commands.Add(ctx, slots, lanes, func(ctx context.Context, i node.Invitation) error {
		g = c.grow.Load()
		return g.fleet.add(ctx, g.of, g.own, i)
	})
	if err != nil && g != nil {
		g.fleet.dismiss(n)
	}
	return n, err
}

// Remove lets a node leave, as node.Commands.Remove does, and returns when its process has ended.
func (c *Control) Remove(ctx context.Context, n bellows.NodeID) error {
	if err := c.Commands.Remove(ctx, n); err != nil {
		return err
	}
	if g := c.grow.Load(); g != nil {
		return g.fleet.left(n)
	}
	return nil
}

// Scale is that of elastic.Shaper: processes are started for nodes that come, and end with those that leave. One that comes
// has as many compute slots and lanes as the largest that the job began with.
func (c *Control) Scale(ctx context.Context, workers, servers int) (elastic.Result, error) {
	s, err := c.shaper("scale")
	if err != nil {
		return elastic.Result{}, err
	}
	return s.Scale(ctx, workers, servers)
}

// Drain is that of elastic.Shaper. The node's process has ended when it returns without an error.
func (c *Control) Drain(ctx context.Context, n bellows.NodeID, notice time.Duration) (elastic.Result, error) {
	s, err := c.shaper("drain")
	if err != nil {
		return elastic.Result{}, err
	}
	return s.Drain(ctx, n, notice)
}

// DrainAll calls that of elastic.Shaper. When it returns, the processes of nodes without an error have ended.
func (c *Control) DrainAll(ctx context.Context, nodes []bellows.NodeID, notice time.Duration) ([]elastic.Result, []error) {
	s, err := c.shaper("drain")
	if err != nil {
		errs := make([]error, len(nodes))
		for i := range errs {
			errs[i] = err
		}
		return make([]elastic.Result, len(nodes)), errs
	}
	return s.DrainAll(ctx, nodes, notice)
}

// Switch is that of elastic.Shaper.
func (c *Control) Switch(ctx context.Context, n bellows.NodeID, role elastic.Role) (elastic.Result, error) {
	s, err := c.shaper("switch")
	if err != nil {
		return elastic.Result{}, err
	}
	return s.Switch(ctx, n, role)
}

// begins gives the Control what a Run has for it. What it returns ends all changes.
func (c *Control) begins(f *fleet, of Processes, own assignment) (end func()) {
	var largest elastic.Options
	for _, m := range of.Members {
		largest.Slots, largest.Lanes = max(largest.Slots, m.Slots), max(largest.Lanes, m.Lanes)
	}
	s := elastic.New(c, largest)
	c.grow.Store(&grower{f, of, own, s})
	return func() {
		c.over.Store(true)
		s.Close()
	}
}

// warned has a node drained whose process is to be gone soon. What becomes of it is told as a decision.
func (c *Control) warned(n bellows.NodeID, notice time.Duration) {
	if g := c.grow.Load(); g != nil {
		g.shaper.Warn(n, notice)
	}
}

func (c *Control) shaper(what string) (*elastic.Shaper, error) {
	g := c.grow.Load()
	if g == nil {
		return nil, bellows.Errorf(bellows.Unavailable, what, "", "the job's nodes have not begun to join")
	}
	return g.shaper, nil
}
