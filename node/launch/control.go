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

// Ended reports whether the Run has ended, or is about to: pending changes are of no use any more, and no node counts
// as lost.
func (c *Control) Ended() bool { return c.over.Load() }

// grower is what a Run has for its Control.
type grower struct {
	fleet  *fleet
	of     Processes
	own    assignment
	shaper *elastic.Shaper
}

// Add starts a process that joins the job, with a number of compute slots and lanes, and returns its node when it takes
// part. If it returns an error, which has the process's last lines if it has ended, the process is gone and the job
// continues unchanged.
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
		return g.fleet.awaitExit(n)
	}
	return nil
}

// Scale works like that of elastic.Shaper. It starts processes for new nodes and ends those of departing ones. A new
// node has as many compute slots and lanes as the largest that the job began with.
func (c *Control) Scale(ctx context.Context, workers, servers int) (elastic.Result, error) {
	s, err := c.shaper("scale")
	if err != nil {
		return elastic.Result{}, err
	}
	return s.Scale(ctx, workers, servers)
}

// Drain works like that of elastic.Shaper. The node's process has ended when it returns without an error.
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

// Switch works like that of elastic.Shaper.
func (c *Control) Switch(ctx context.Context, n bellows.NodeID, role elastic.Role) (elastic.Result, error) {
	s, err := c.shaper("switch")
	if err != nil {
		return elastic.Result{}, err
	}
	return s.Switch(ctx, n, role)
}

// begins gives the Control access to a Run. The function that it returns ends all changes.
func (c *Control) begins(f *fleet, of Processes, own assignment) (end func()) {
	var largest elastic.Options
	for _, m := range of.Members {
		largest.Slots, largest.Lanes = max(largest.Slots, m.Slots), max(largest.Lanes, m.Lanes)
	}
	s := elastic.New(c, largest)
	if of.Advice != nil {
		s.Advise(c, *of.Advice)
	}
	c.grow.Store(&grower{f, of, own, s})
	return func() {
		c.over.Store(true)
		s.Close()
	}
}

// warned drains a node whose process will end soon. The outcome is reported as a decision.
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
