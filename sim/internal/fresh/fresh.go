// Package fresh checks what lanes answer to a process that begins to lead a simulated job, as that process does
// (package validate). Its checker knows the job as the controller before was saved.
package fresh

import (
	"fmt"

	"bellows"
	"bellows/core"
	"bellows/core/coord"
	"bellows/core/route"
	"bellows/core/validate"
	"bellows/link/wire"
)

// Checker is that of a process which leads with a controller of a term. The zero Checker is of none, and takes whatever comes.
type Checker struct {
	*validate.Checker
	term bellows.Term
}

// New makes that of a job that has been saved, or has begun.
func New(job core.Job, from coord.Saved, term bellows.Term) (Checker, error) {
	if len(from.Whole) > 0 {
		var err error
		if job.Route, err = job.Route.Rebuilt(from.Route, from.Whole); err != nil {
			return Checker{}, fmt.Errorf("the route that was saved cannot be made: %w", err)
		}
	}
	c := validate.New(job, 0)
	c.Follow()
	return Checker{c, term}, nil
}

// Learn records the lanes that the controller asks, and the route that it goes by; nil: the previous route.
func (c *Checker) Learn(met []wire.Address, r *route.Route) {
	if c.Checker == nil {
		return
	}
	c.Meet(met)
	if r != nil {
		c.Checker.Learn(r)
	}
}

// Check returns what a checker has against a frame of a peer.
func Check(c *validate.Checker, peer bellows.NodeID, h wire.Header, e wire.Envelope) error {
	if err := c.Header(peer, h); err != nil {
		return err
	}
	return c.Message(h, e)
}

// Judge checks the answers of lanes to its controller. Other messages of the attempt were for the previous process.
func (c *Checker) Judge(peer bellows.NodeID, h wire.Header, e wire.Envelope) error {
	var term bellows.Term
	switch m := e.Message.(type) {
	case *wire.Holding:
		term = m.Term
	case *wire.Records:
		term = m.Term
	default:
		return nil
	}
	if c.Checker == nil || e.To != wire.ControllerAt() || term != c.term {
		return nil
	}
	if err := Check(c.Checker, peer, h, e); err != nil {
		return fmt.Errorf("the checker of a process that begins to lead refuses what a lane answers: %w", err)
	}
	return nil
}
