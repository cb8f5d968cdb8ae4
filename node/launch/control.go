package launch

import (
	"context"
	"sync/atomic"

	"bellows"
	"bellows/node"
)

// Control changes a job in processes while it runs. The zero Control is ready for one Run.
type Control struct {
	node.Commands
	grow atomic.Pointer[grower]
}

// grower is what a Run has for its Control.
type grower struct {
	fleet *fleet
	of    Processes
	own   assignment
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
